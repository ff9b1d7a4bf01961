//! Boots of a machine, from a tree of files to verdicts.

mod machine;
mod no_loss;

use std::fs;

use nodewell_model::inventory::{Acceptance, ComponentClass};
use proptest::prelude::*;
use serde_json::json;

use super::{dmi::tests::module, reading::ALL};
use crate::probe::{Findings, Judge, NoAnswer, PollError, ReadError, Round, State};

use machine::{DISKS, GIB, Machine};

/// What is missing: `name: reason`.
fn missing(findings: &Findings) -> Vec<String> {
    let faults = |state: &State| match state {
        State::Faulty(faults) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
        State::Healthy { .. } => Vec::new(),
        State::Unknown { reason, .. } => vec![format!("unknown {reason}")],
    };
    let of = |verdict: &crate::probe::Verdict| {
        let subject = verdict.subject.clone();
        faults(&verdict.state).into_iter().map(move |reason| format!("{subject}: {reason}")).collect::<Vec<_>>()
    };
    findings.verdicts.iter().flat_map(of).collect()
}

fn events(findings: &Findings) -> Vec<String> {
    findings.events.iter().map(|event| event.reason.to_string()).collect()
}

/// A machine whose first boot has settled.
fn settled() -> Machine {
    let mut machine = Machine::new();
    let findings = machine.looks(3);
    assert_eq!((missing(&findings), events(&findings), findings.verdicts.len()), (vec![], vec![], 1));
    machine
}

#[test]
fn what_is_there_is_shown_and_its_words_are_short_and_plain() {
    use ComponentClass::{Accelerator, Cpu, Disk, Memory, MemoryModule, NetworkCard};
    let view = settled().view();
    let classes: Vec<_> = view.components.iter().map(|one| (one.class, one.component.amount)).collect();
    let expected = [
        (Memory, 31 * 1024),
        (Cpu, 8),
        (MemoryModule, 16384),
        (MemoryModule, 16384),
        (Disk, 0),
        (Disk, 0),
        (NetworkCard, 0),
        (Accelerator, 0),
        (Accelerator, 0),
    ];
    assert_eq!(classes, expected);
    assert_eq!((view.facts.kernel.as_str(), view.facts.bios_version.as_str()), ("6.12.9", "2.7.3 [31m"));
    assert_eq!(view.components[6].component.serial, "02:00:00:00:00:01");
    assert_eq!(view.components[4].name, "disk S1NX0K71");
    assert_eq!(view.missing().count(), 0);
}

#[test]
fn cards_and_accelerators_show_their_driver_and_firmware() {
    let mut machine = Machine::new();
    let driven = |address: &str, class: &str, vendor: &str, driver: &str| {
        let home = machine.function(address, class, vendor);
        machine.link(&home, "driver", &format!("sys/bus/pci/drivers/{driver}"));
        home
    };
    driven("0000:51:00.0", "0x020000", "0x14e4", "bnxt_en");
    let by_rdma = driven("0000:52:00.0", "0x020700", "0x15b3", "mlx5_core");
    driven("0000:53:00.0", "0x030200", "0x10de", "nvidia");
    let amd = driven("0000:54:00.0", "0x038000", "0x1002", "amdgpu");
    machine.interface("0000:51:00.0", "eth1", "02:00:00:00:00:02");
    machine.set(&format!("{by_rdma}/infiniband/mlx5_0/fw_ver"), "28.43.1014");
    machine.set("sys/module/mlx5_core/version", "24.10-1.1.4");
    machine.set("sys/module/nvidia/version", "580.65.06");
    machine.set(&format!("{amd}/vbios_version"), "113-D65209-080");
    machine.looks(1);
    let view = machine.view();
    let shown = |slot: &str| {
        let component = &view.components.iter().find(|one| one.component.slot == slot).unwrap().component;
        (component.driver.as_str(), component.firmware.as_str())
    };
    assert_eq!(shown("0000:51:00.0"), ("bnxt_en", "214.4.9.6/pkg 21"), "by its interface");
    assert_eq!(shown("0000:52:00.0"), ("mlx5_core 24.10-1.1.4", "28.43.1014"));
    assert_eq!(shown("0000:53:00.0"), ("nvidia 580.65.06", ""), "the GPU check knows its VBIOS");
    assert_eq!(shown("0000:54:00.0"), ("amdgpu", "113-D65209-080"));
    assert_eq!(shown("0000:3b:00.0"), ("", ""), "no driver is loaded");
}

#[test]
fn a_module_that_is_gone_after_a_reboot_is_missing_until_it_is_back() {
    let mut machine = settled();
    machine.reboot("two");
    machine.modules(&[module("A1", 16384, "77AB"), module("B1", 0, "NO DIMM")]);
    assert_eq!(missing(&machine.looks(3)), Vec::<String>::new(), "a boot that is young, and two looks");
    let findings = machine.looks(1);
    assert_eq!(missing(&findings), ["memory module B1: MemoryModuleMissing"]);
    let State::Faulty(faults) = &findings.verdicts[0].state else { panic!() };
    let message = &faults[0].message;
    assert!(message.contains("16.0 GiB, serial 77AC, at B1") && message.contains("1970-01-01 00:00 UTC"), "{message}");
    machine.restart();
    assert_eq!(missing(&machine.looks(1)).len(), 1, "a restart takes nothing back");
    machine.reboot("three");
    assert_eq!(missing(&machine.looks(1)).len(), 1, "nor does a boot");
    machine.modules(&[module("A1", 16384, "77AC"), module("B1", 16384, "77AB")]);
    let findings = machine.looks(3);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec![]), "both are there, in each other's slots");
}

#[test]
fn memory_that_is_halved_is_missing_and_a_little_less_is_none() {
    for (mebibytes, expected) in
        [(15 * 1024, "memory: MemoryMissing"), (27 * 1024, "memory: MemoryMissing"), (30_732, "")]
    {
        let mut machine = settled();
        machine.reboot("two");
        machine.set("proc/meminfo", &format!("MemTotal: {} kB", mebibytes * 1024));
        assert_eq!(missing(&machine.looks(9)).join(""), expected, "{mebibytes}");
        machine.reboot("three");
        machine.set("proc/meminfo", &format!("MemTotal: {} kB", 31 * GIB));
        assert_eq!(missing(&machine.looks(1)), Vec::<String>::new());
    }
    let mut machine = settled();
    // Each boot a tenth less than the one before: against what was accepted it is more than an eighth.
    for (boot, gib) in [("two", 28), ("three", 26)] {
        machine.reboot(boot);
        machine.set("proc/meminfo", &format!("MemTotal: {} kB", gib * GIB));
        assert_eq!(missing(&machine.looks(9)).is_empty(), boot == "two", "{gib}");
    }
}

#[test]
fn fewer_cpus_are_missing_and_more_are_accepted() {
    let mut machine = settled();
    machine.reboot("two");
    machine.set("sys/devices/system/cpu/present", "0-15");
    let findings = machine.looks(3);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec!["HardwareAdded".to_owned()]));
    assert_eq!(findings.events[0].message, "16 in this boot, 8 in earlier ones");
    machine.reboot("three");
    machine.set("sys/devices/system/cpu/present", "0-14");
    let findings = machine.looks(9);
    assert_eq!(missing(&findings), ["CPUs: CpuMissing"]);
    let view = machine.view();
    let [less] = view.missing().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((less.component.amount, less.accepted), (15, Some(16)));
}

#[test]
fn each_kind_of_device_is_missed_by_its_own_reason() {
    for (address, expected) in [
        (DISKS[1], "disk S2NX0K71: DiskMissing"),
        ("0000:3b:00.0", "network card 0000:3b:00.0: NetworkCardMissing"),
        ("0000:42:00.0", "accelerator 0000:42:00.0: AcceleratorMissing"),
    ] {
        let mut machine = settled();
        machine.remove(address);
        assert_eq!(missing(&machine.looks(9)), Vec::<String>::new(), "within a boot it is another check's");
        machine.reboot("two");
        assert_eq!(missing(&machine.looks(9)), [expected]);
        let names = machine.view().missing().map(|one| one.name.clone()).collect();
        let by = "alice".to_owned();
        let acceptance = Acceptance { boot_id: "two".to_owned(), time: machine.now.wall, names, by };
        assert!(machine.judge.accept(&Acceptance { names: vec!["disk other".to_owned()], ..acceptance.clone() }));
        assert_eq!(missing(&machine.looks(1)), [expected], "another was accepted");
        assert!(machine.judge.accept(&acceptance));
        let findings = machine.looks(1);
        assert_eq!((missing(&findings), events(&findings)), (vec![], vec!["HardwareAccepted".to_owned()]));
        machine.reboot("three");
        assert_eq!(missing(&machine.looks(9)), Vec::<String>::new());
    }
}

#[test]
fn less_memory_that_is_accepted_is_what_is_expected_then() {
    let mut machine = settled();
    let names = vec!["memory".to_owned()];
    let acceptance = Acceptance { boot_id: "two".to_owned(), time: machine.now.wall, names, by: "root".to_owned() };
    machine.reboot("two");
    assert!(!machine.judge.accept(&acceptance), "nothing was looked at yet");
    machine.set("proc/meminfo", &format!("MemTotal: {} kB", 15 * GIB));
    assert_eq!(missing(&machine.looks(9)).len(), 1);
    assert!(machine.judge.accept(&acceptance));
    assert_eq!(missing(&machine.looks(1)), Vec::<String>::new());
    machine.reboot("three");
    machine.set("proc/meminfo", &format!("MemTotal: {} kB", 7 * GIB));
    assert_eq!(missing(&machine.looks(9)).len(), 1, "and less than that is missing again");
}

#[test]
fn what_is_replaced_is_an_event() {
    let mut machine = settled();
    machine.reboot("two");
    machine.remove(DISKS[1]);
    machine.nvme(DISKS[1], "nvme1", "S9");
    let findings = machine.looks(9);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec!["HardwareReplaced".to_owned()]));
    assert!(findings.events[0].message.contains("serial S9NX0K71"), "{}", findings.events[0].message);
    // One that was missing, by one that is plugged in while the system runs.
    machine.remove(DISKS[0]);
    machine.reboot("three");
    assert_eq!(missing(&machine.looks(9)), ["disk S1NX0K71: DiskMissing"]);
    machine.nvme(DISKS[0], "nvme0", "S8");
    let findings = machine.looks(1);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec!["HardwareReplaced".to_owned()]));
}

#[test]
fn what_is_named_or_numbered_otherwise_or_comes_late_is_nothing() {
    let mut machine = settled();
    machine.reboot("two");
    machine.remove("0000:3b:00.0");
    machine.function("0000:3c:00.0", "0x020000", "0x15b3");
    fs::remove_dir_all(machine.path("sys/devices/net")).unwrap();
    machine.interface("0000:3c:00.0", "ens9", "02:00:00:00:00:01");
    machine.remove("0000:42:00.0");
    machine.function("0000:43:00.0", "0x030200", "0x10de");
    machine.remove(DISKS[1]);
    assert_eq!(missing(&machine.looks(3)), Vec::<String>::new());
    machine.nvme(DISKS[1], "nvme1", "S2");
    let findings = machine.looks(9);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec![]));
}

#[test]
fn a_disk_without_a_driver_is_there() {
    let mut machine = settled();
    machine.reboot("two");
    fs::remove_dir_all(machine.path("sys/bus/pci/devices").join(DISKS[1]).join("nvme")).unwrap();
    let findings = machine.looks(9);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec![]));
    assert_eq!(machine.view().components[5].component.slot, DISKS[1]);
}

/// By what a SCSI disk shows: its serial number in page 80h, its port of SATA.
#[test]
fn a_scsi_disk_is_known_by_its_serial_and_one_of_a_network_or_usb_is_none() {
    let mut machine = Machine::new();
    let controller = machine.function("0000:17:00.0", "0x010601", "0x8086");
    for (way, name) in [
        ("ata3/host2/target2:0:0/2:0:0:0", "sda"),
        ("usb1/1-1/host3/target3:0:0/3:0:0:0", "sdb"),
        ("host4/rport-4:0-1/target4:0:0/4:0:0:0", "sdc"),
    ] {
        machine.scsi(&format!("{controller}/{way}"), name);
    }
    machine.set(&format!("{controller}/ata3/ata_port/ata3/port_no"), "3");
    machine.looks(1);
    let disks: Vec<_> = machine.view().components.into_iter().filter(|one| one.class == ComponentClass::Disk).collect();
    let found: Vec<_> = disks.iter().map(|one| (one.component.serial.as_str(), one.component.slot.as_str())).collect();
    let [first, second] = [("S1NX0K71", DISKS[0]), ("S2NX0K71", DISKS[1])];
    assert_eq!(found, [first, second, ("WD-WX11", "0000:17:00.0 port 3")]);
}

#[test]
fn what_is_no_part_of_the_machine_is_not_missed() {
    let mut machine = Machine::new();
    for (address, attribute, value, class) in [
        ("0000:51:00.0", "removable", "removable", "0x020000"),
        ("0000:52:00.0", "physfn", "", "0x020000"),
        ("0000:53:00.0", "vendor", "0x1d0f", "0x020000"),
        ("0000:54:00.0", "vendor", "0x1a03", "0x030000"),
        ("0000:56:00.0", "vendor", "0x1002", "0x030000"),
        ("0000:55:00.0", "class", "0x028000", "0x028000"),
    ] {
        let home = machine.function(address, class, "0x8086");
        machine.set(&format!("{home}/{attribute}"), value);
    }
    machine.looks(3);
    let found = machine.view().components.iter().filter(|one| one.component.slot.starts_with("0000:5")).count();
    assert_eq!(found, 0);
}

#[test]
fn devices_of_a_virtual_machine_are_not_missed_and_its_memory_is_as_the_settings_say() {
    for (compares, expected) in [(true, &["memory: MemoryMissing"][..]), (false, &[])] {
        let mut machine = Machine::new();
        machine.settings.virtual_machines = compares;
        machine.set("proc/cpuinfo", "flags\t\t: fpu hypervisor vme");
        machine.restart();
        machine.looks(3);
        machine.reboot("two");
        machine.remove(DISKS[1]);
        machine.set("proc/meminfo", &format!("MemTotal: {} kB", GIB));
        assert_eq!(missing(&machine.looks(9)), Vec::<String>::new(), "a balloon");
        machine.reboot("three");
        machine.modules(&[module("A1", 16384, "77AB")]);
        assert_eq!(missing(&machine.looks(9)), expected);
    }
}

#[test]
fn what_cannot_be_read_is_not_missing_and_a_container_has_nothing() {
    let mut machine = settled();
    machine.reboot("two");
    for path in ["sys/firmware", "sys/bus", "sys/devices/system", "proc/meminfo"] {
        let _ = fs::remove_dir_all(machine.path(path));
        let _ = fs::remove_file(machine.path(path));
    }
    fs::write(machine.path("sys/bus"), "").unwrap();
    assert_eq!(missing(&machine.looks(9)), Vec::<String>::new());
    let silent = PollError::NoAnswer(NoAnswer::asked(machine.now.wall, "no answer within 20 s"));
    let round = machine.round();
    let answers = vec![(ALL.to_owned(), Err(silent))];
    assert_eq!(missing(&machine.judge.judge(Round { answers, ..round })), [": unknown DeviceNotAnswering"]);
    for mark in ["run/systemd/container", "proc/vmcore"] {
        machine.set(mark, "");
        let round = machine.round();
        assert!(matches!(round.listed, Err(PollError::Read(ReadError::Gone { .. }))), "{mark}");
        assert_eq!(machine.judge.judge(round), Findings::default());
        fs::remove_file(machine.path(mark)).unwrap();
    }
}

#[test]
fn a_saved_state_that_is_damaged_is_started_again_with_a_note() {
    let of = |classes: serde_json::Value| json!({"form": 1, "classes": classes});
    for saved in [
        json!(null),
        json!({"disk": {}}),
        of(json!({"disk": 7})),
        of(json!({"disk": {"known": [{"component": 1}]}})),
        of(json!({"shoes": {}})),
    ] {
        let mut machine = Machine::new();
        machine.judge.load(saved.clone());
        let findings = machine.looks(3);
        assert_eq!(
            (missing(&findings), events(&findings)),
            (vec![], vec!["InventoryStartedAgain".to_owned()]),
            "{saved}"
        );
    }
}

#[test]
fn a_boot_without_a_name_is_compared_with_none() {
    let mut machine = settled();
    machine.reboot("");
    machine.remove(DISKS[1]);
    assert_eq!(missing(&machine.looks(9)), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever firmware and devices say, nothing panics, and each message is one short line.
    #[test]
    fn whatever_the_host_shows_the_account_is_sound(
        words in prop::collection::vec("\\PC{0,200}", 6),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut machine = settled();
        machine.reboot("two");
        fs::write(machine.path("sys/firmware/dmi/tables/DMI"), bytes).unwrap();
        let paths = [
            "sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/nvme/nvme1/serial",
            "sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/nvme/nvme1/model",
            "sys/devices/system/cpu/present",
            "sys/devices/net/eth0/address",
            "sys/class/dmi/id/bios_version",
            "proc/meminfo",
        ];
        paths.iter().zip(&words).for_each(|(path, word)| machine.set(path, word));
        let findings = machine.looks(9);
        for verdict in &findings.verdicts {
            if let State::Faulty(faults) = &verdict.state {
                prop_assert!(faults.iter().all(|fault| fault.message.len() <= 256 && !fault.message.contains('\n')));
            }
            prop_assert!(verdict.subject.len() <= 256);
        }
    }
}
