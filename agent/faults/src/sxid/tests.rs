//! The lines of NVSwitches, and what their codes mean.

use std::path::Path;

use nodewell_model::{Action, Severity};

use super::{Line, Table};
use crate::codes::Overrides;

fn line(text: &str) -> Line {
    Line::parse(text).unwrap()
}

#[test]
fn the_drivers_line_is_read() {
    let timeout =
        line("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)");
    assert_eq!((timeout.address.as_str(), timeout.code), ("0000:c3:00.0", 24007));
    assert_eq!((timeout.is_fatal, timeout.link), (Some(true), Some(28)));
    let halted = line("nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 26006, SOE HALTED");
    assert_eq!((halted.code, halted.is_fatal, halted.link), (26006, None, None));
    let privilege = line(
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
    );
    assert_eq!((privilege.is_fatal, privilege.link), (Some(false), Some(32)));
}

#[test]
fn lines_that_go_on_about_the_one_before_are_no_faults() {
    let lines = [
        "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Data {0x50610002, 0x10100030, 0x00000001}",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Severity 0 Engine instance 32 Sub-engine instance 00",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): abc, Fatal",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 99999999999, Fatal",
        "nvidia-nvswitch3: SXid (PCI:nowhere): 12028, Fatal",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0",
        "nvidia-nvswitch3: open (major=510)",
    ];
    for text in lines {
        assert_eq!(Line::parse(text), None, "{text}");
    }
}

#[test]
fn the_fabric_managers_line_is_read() {
    let text = "[Jul 09 2024 18:14:07] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61";
    let found = line(text);
    assert_eq!((found.address.as_str(), found.code), ("0000:86:00.0", 12028));
    assert_eq!((found.is_fatal, found.link), (Some(false), Some(61)));
    assert_eq!(Line::parse("[ERROR] detected NVSwitch fatal error 12028 on"), None);
}

#[test]
fn the_lines_word_decides_but_for_what_is_always_fatal() {
    let holds = |code, word| Table::shipped().classify(code, word).condition.is_some();
    assert_eq!([Some(true), Some(false), None].map(|word| holds(24007, word)), [true, false, false]);
    assert_eq!([Some(true), Some(false), None].map(|word| holds(12028, word)), [true, false, false]);
    assert_eq!([Some(true), Some(false), None].map(|word| holds(22003, word)), [true, true, true]);
    assert_eq!([Some(true), Some(false), None].map(|word| holds(26006, word)), [true, false, true]);
    assert_eq!([Some(true), Some(false), None].map(|word| holds(31999, word)), [true, false, false]);
}

#[test]
fn an_unlisted_code_is_the_same_with_a_name_of_the_operators() {
    let overrides = Overrides::parse("[[sxid]]\ncode = 31999\nname = 'New'", Path::new("xids.toml")).unwrap();
    let named = Table::shipped().merged(&overrides, Path::new("xids.toml")).unwrap();
    for word in [None, Some(false), Some(true)] {
        let (unlisted, named) = (Table::shipped().classify(31999, word), named.classify(31999, word));
        assert_eq!(named.reason.as_str(), "NvSwitchSXid31999New");
        assert_eq!((named.condition, named.severity), (unlisted.condition, unlisted.severity), "{word:?}");
        assert_eq!((named.action, named.fatal), (unlisted.action, unlisted.fatal), "{word:?}");
    }
}

#[test]
fn the_fatal_ones_name_an_action() {
    for meaning in Table::shipped().codes().all() {
        let fatal = Table::shipped().classify(meaning.code, Some(true));
        assert_eq!((fatal.severity, fatal.action), (Severity::Critical, Action::ResetGpu), "{meaning:?}");
        assert_eq!(fatal.condition.unwrap().as_str(), "GpuFabricUnhealthy");
    }
    let reason = Table::shipped().classify(24007, None).reason;
    assert_eq!(reason.as_str(), "NvSwitchSXid24007SourcetrackTimeout");
}
