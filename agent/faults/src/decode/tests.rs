//! What lines mean by the tables; and that no line, however mangled, does harm.

use nodewell_model::{Action, FindingKind, Severity};
use proptest::prelude::*;

use super::{Decoded, Decoder, Tables};
use crate::{Branch, Host};

const GPU: Option<&str> = Some("GpuUnhealthy");
const FABRIC: Option<&str> = Some("GpuFabricUnhealthy");

fn xid(line: &str) -> Vec<Decoded> {
    Tables::shipped().decode(Decoder::Xid, line, &Host::default())
}

fn of_branch(branch: Option<u32>) -> Host {
    Host { branch: branch.map(Branch), ..Host::default() }
}

/// Reason, condition, severity, action, subject.
fn reported(decoded: &Decoded) -> (&str, Option<&str>, Severity, Action, &str) {
    let condition = decoded.condition.as_ref().map(|name| name.as_str());
    (decoded.reason.as_str(), condition, decoded.severity, decoded.action, decoded.subject.as_str())
}

fn only(line: &str) -> Decoded {
    let [decoded] = <[Decoded; 1]>::try_from(xid(line)).unwrap();
    decoded
}

#[test]
fn xids_mean_what_the_table_has() {
    let fallen = only("NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    assert_eq!(reported(&fallen), ("GpuXid79FallenOffBus", GPU, Severity::Critical, Action::Reboot, "0000:05:00.0"));
    let firmware = only(
        "NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response \
         from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4).",
    );
    assert_eq!(
        reported(&firmware),
        ("GpuXid119GspRpcTimeout", GPU, Severity::Critical, Action::ResetGpu, "0000:9b:00.0")
    );
    let timeout = only("NVRM: Xid (PCI:0000:3f:00): 46");
    assert_eq!(reported(&timeout), ("GpuXid46GpuTimeout", GPU, Severity::Critical, Action::ResetGpu, "0000:3f:00.0"));
    assert_eq!(xid("NVRM: Xid (PCI:0000:66:00): abc, x"), []);
}

fn merged(words: &str, line: &str, branch: u32) -> Vec<Decoded> {
    let tables = Tables::merged(words, "/etc/nodewell/xids.toml".as_ref()).unwrap();
    tables.decode(Decoder::Xid, line, &of_branch(Some(branch)))
}

#[test]
fn an_operators_action_stands_whatever_the_line_reports() {
    let cartridge = "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x0 0x0)";
    let reported = merged("[[xid]]\ncode = 149\naction = 'reboot'", cartridge, 580);
    assert_eq!((reported[0].condition.is_some(), reported[0].action), (true, Action::Reboot));
    let reset =
        "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
    let reported = merged("[[xid]]\ncode = 154\naction = 'reboot'", reset, 580);
    assert_eq!(
        (reported[0].condition.is_some(), reported[0].severity, reported[0].action),
        (true, Severity::Error, Action::Reboot)
    );
    let reported = merged("[[xid]]\ncode = 154\nseverity = 'info'\ncondition = 'none'", reset, 580);
    assert_eq!(
        (reported[0].condition.is_some(), reported[0].severity, reported[0].action),
        (false, Severity::Info, Action::ResetGpu)
    );
}

#[test]
fn what_ends_is_what_the_drivers_branch_held() {
    let words = "[[xid]]\ncode = 13\ncondition = 'GpuUnhealthy'\naction = 'reset-gpu'\nbefore = 575";
    let none =
        "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";
    let ends_13 = |branch| merged(words, none, branch).iter().any(|end| end.reason.as_str().starts_with("GpuXid13G"));
    assert!(ends_13(570) && !ends_13(580));
}

#[test]
fn nvlink_5_is_as_bad_as_its_line_reports() {
    let nonfatal =
        only("NVRM: Xid (PCI:0019:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x0)");
    assert_eq!(reported(&nonfatal), ("GpuXid145NvlinkRlw", None, Severity::Warn, Action::Watch, "0019:01:00.0"));
    // The catalogue has nothing to be done about it at once.
    let saw = only("NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000008 0x0)");
    assert_eq!(reported(&saw), ("GpuXid144NvlinkSaw", None, Severity::Info, Action::None, "0000:01:00.0"));
    let cartridge = only("NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x0 0x0)");
    let inspect = ("GpuXid149NvlinkNetir", FABRIC, Severity::Critical, Action::InspectHardware, "0018:01:00.0");
    assert_eq!(reported(&cartridge), inspect);
    let remap = only("NVRM: Xid (PCI:0018:01:00): 145, RLW_REMAP Fatal XC0 i0 Link 1 (0x04098004 0x00000040 0x0)");
    assert_eq!((remap.condition.is_some(), remap.action), (true, Action::ResetGpu));
}

#[test]
fn the_registers_of_a_hoppers_link_say_what_it_needs() {
    let hopper = Host { hoppers: ["0000:5d:00.0".to_owned()].into(), ..Host::default() };
    let fatal = |registers: &str| {
        format!(
            "NVRM: Xid (PCI:0000:5d:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link \
             6({registers})"
        )
    };
    let decoded =
        |registers: &str, host: &Host| Tables::shipped().decode(Decoder::Xid, &fatal(registers), host).remove(0);
    let (mechanical, memory) = ("0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", "0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0");
    let harmless = "0x800000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0";
    let held = |action| ("GpuXid74NvlinkError", FABRIC, Severity::Error, action, "0000:5d:00.0");
    assert_eq!(reported(&decoded(mechanical, &hopper)), held(Action::InspectHardware));
    assert_eq!(reported(&decoded(memory, &hopper)), held(Action::ResetGpu));
    let event = ("GpuXid74NvlinkError", None, Severity::Info, Action::None, "0000:5d:00.0");
    assert_eq!(reported(&decoded(harmless, &hopper)), event);
    // Of another GPU the bits are not known.
    for registers in [mechanical, memory, harmless] {
        assert_eq!(reported(&decoded(registers, &Host::default())), held(Action::ResetGpu), "{registers}");
    }
    let words = "[[xid]]\ncode = 74\naction = 'reboot'\ncondition = 'GpuUnhealthy'";
    let tables = Tables::merged(words, "/etc/nodewell/xids.toml".as_ref()).unwrap();
    let operators = tables.decode(Decoder::Xid, &fatal(harmless), &hopper).remove(0);
    assert_eq!((operators.condition.is_some(), operators.action), (true, Action::Reboot));
}

#[test]
fn nvlink_5_without_the_tables_help_goes_by_the_lines_word() {
    let chip = only("NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0 0x0)");
    assert_eq!((chip.condition.is_some(), chip.action), (true, Action::ResetGpu));
    let new = only("NVRM: Xid (PCI:0018:01:00): 147, NEW_UNIT Fatal XC0 i0 Link 1 (0xffffffff 0xffffffff)");
    assert_eq!((new.condition.is_some(), new.action), (true, Action::ResetGpu));
    assert_eq!(only("NVRM: Xid (PCI:0018:01:00): 147").condition, None);
    // The table has a reset for this status, the driver reports no loss.
    let mild = only("NVRM: Xid (PCI:0018:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 1 (0x04098082 0x00000040 0x0)");
    assert_eq!((mild.condition, mild.action), (None, Action::Watch));
}

#[test]
fn the_recovery_action_is_raised_and_taken_back() {
    let line =
        |from, to| format!("NVRM: Xid (PCI:0000:05:00): 154, pid=1, GPU recovery action changed from {from} to {to}");
    let reset = only(&line("0x0 (None)", "0x1 (GPU Reset Required)"));
    assert_eq!(reported(&reset), ("GpuXid154RecoveryAction", GPU, Severity::Error, Action::ResetGpu, "0000:05:00.0"));
    let reboot = only(&line("0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)"));
    assert_eq!((reboot.severity, reboot.action), (Severity::Critical, Action::Reboot));
    let ended = xid(&line("0x1 (GPU Reset Required)", "0x0 (None)"));
    assert!(ended.iter().all(|decoded| decoded.kind == FindingKind::Clear && decoded.subject == "0000:05:00.0"));
    let ends = |reason| ended.iter().any(|decoded| decoded.reason.as_str() == reason && decoded.condition.is_some());
    assert!(ends("GpuXid154RecoveryAction") && ends("GpuXid119GspRpcTimeout") && ends("GpuXid149NvlinkNetir"));
    assert!(!ends("GpuXid79FallenOffBus"), "a reset does not bring it back");
    let cut = only("NVRM: Xid (PCI:0000:05:00): 154 (");
    assert_eq!((cut.kind, cut.condition), (FindingKind::Raise, None));
}

#[test]
fn power_smoothing_that_comes_back_ends_that_it_was_off() {
    let off = only("NVRM: Xid (PCI:0000:05:00): 163, power smoothing off");
    let [back, ended] = <[Decoded; 2]>::try_from(xid("NVRM: Xid (PCI:0000:05:00): 162, on again")).unwrap();
    assert_eq!((back.kind, back.condition), (FindingKind::Raise, None));
    assert_eq!((ended.kind, ended.condition, ended.reason), (FindingKind::Clear, off.condition, off.reason));
}

#[test]
fn a_switchs_line_and_its_continuation_are_one() {
    let decode = |line| Tables::shipped().decode(Decoder::Sxid, line, &Host::default());
    let first = decode("nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
    let reset = ("NvSwitchSXid20034LinkTrainingFault", FABRIC, Severity::Critical, Action::ResetGpu, "0000:00:00.0");
    assert_eq!(first.iter().map(reported).collect::<Vec<_>>(), [reset]);
    assert_eq!(decode("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Data {0x50610002, 0x10100030}"), []);
}

#[test]
fn an_operators_overrides_stand_whatever_the_line_reports() {
    let words = "[[xid]]\ncode = 149\ncondition = 'none'\n[[sxid]]\ncode = 24007\ncondition = 'none'";
    let tables = Tables::merged(words, std::path::Path::new("xids.toml")).unwrap();
    let link = "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x0 0x0)";
    assert_eq!(tables.decode(Decoder::Xid, link, &Host::default())[0].condition, None);
    let switch = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)";
    assert_eq!(tables.decode(Decoder::Sxid, switch, &Host::default())[0].condition, None);
}

#[test]
fn every_reason_has_a_line_that_shows_it() {
    let tables = Tables::shipped();
    let xids = tables.xids.codes().all().map(|meaning| (Decoder::Xid, meaning));
    let sxids = tables.sxids.codes().all().map(|meaning| (Decoder::Sxid, meaning));
    for (decoder, meaning) in xids.chain(sxids) {
        let line = tables.example(decoder, &meaning.reason).unwrap();
        let shown = tables.decode(decoder, &line, &Host::default()).remove(0);
        assert_eq!((&shown.reason, shown.kind), (&meaning.reason, FindingKind::Raise), "{line}");
        assert_eq!(shown.condition, meaning.conditions().into_iter().next(), "{line}");
        let other = if decoder == Decoder::Xid { Decoder::Sxid } else { Decoder::Xid };
        assert_eq!(tables.example(other, &meaning.reason), None);
    }
}

/// Real lines, to be cut and mangled.
const LINES: [&str; 7] = [
    "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x0)",
    "NVRM: Xid (PCI:0000:05:00): 154, pid=1, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
    "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)",
    "[ERROR] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61",
    "NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0 0x0)",
    "NVRM: Xid (PCI:0000:5d:00): 74, NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
];

fn mangled() -> impl Strategy<Value = String> {
    let place = any::<prop::sample::Index>;
    (prop::sample::select(&LINES[..]), place(), "\\PC{0,12}", place()).prop_map(|(line, from, put, to)| {
        let (from, to) = (from.index(line.len() + 1), to.index(line.len() + 1));
        format!("{}{put}{}", &line[..from.min(to)], &line[from.max(to)..])
    })
}

proptest! {
    #[test]
    fn what_is_decoded_is_always_sound(
        line in prop_oneof![mangled(), "\\PC{0,80}"],
        branch in proptest::option::of(0u32..1000),
    ) {
        for decoder in Decoder::ALL {
            for decoded in Tables::shipped().decode(decoder, &line, &of_branch(branch)) {
                prop_assert_eq!(crate::pci::address(&decoded.subject), Some(decoded.subject.clone()));
                let prefix = if decoder == Decoder::Xid { "GpuXid" } else { "NvSwitchSXid" };
                prop_assert!(decoded.reason.as_str().starts_with(prefix));
                prop_assert!(decoded.kind == FindingKind::Raise || decoded.condition.is_some());
            }
        }
    }

    #[test]
    fn a_cut_line_is_of_the_same_gpu(line in prop::sample::select(&LINES[..3]), cut in any::<prop::sample::Index>()) {
        let whole = crate::xid::Line::parse(line).unwrap();
        if let Some(cut) = crate::xid::Line::parse(&line[..cut.index(line.len() + 1)]) {
            prop_assert_eq!(cut.address, whole.address);
            prop_assert!(whole.code.to_string().starts_with(&cut.code.to_string()));
        }
    }
}
