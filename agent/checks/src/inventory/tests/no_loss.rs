//! What looks like a loss and is none: another machine, another kernel, a look at the wrong moment.

use std::fs;

use serde_json::json;

use super::{
    events,
    machine::{DISKS, GIB, Machine},
    missing, settled,
};
use crate::probe::Judge;

const UUID: &str = "sys/class/dmi/id/product_uuid";
const STARTED_AGAIN: &str = "InventoryStartedAgain";

#[test]
fn what_another_machine_had_is_not_missed_here() {
    let mut machine = Machine::new();
    machine.set(UUID, "4c4c4544-0043-3010-8052-b4c04f564e31");
    machine.looks(3);
    machine.reboot("two");
    machine.remove(DISKS[1]);
    fs::remove_file(machine.path(UUID)).unwrap();
    assert_eq!(missing(&machine.looks(9)), ["disk S2NX0K71: DiskMissing"], "what is not shown is no other machine");
    machine.reboot("three");
    machine.set(UUID, "4c4c4544-0043-3010-8052-b4c04f564e32");
    let findings = machine.looks(9);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec![STARTED_AGAIN.to_owned()]));
    assert!(findings.events[0].message.contains("another machine"), "{}", findings.events[0].message);
}

#[test]
fn a_virtual_machine_of_another_product_was_resized() {
    let mut machine = Machine::new();
    machine.settings.virtual_machines = true;
    machine.restart();
    machine.set("proc/cpuinfo", "flags\t\t: fpu hypervisor vme");
    machine.set("sys/class/dmi/id/product_name", "m5.2xlarge");
    machine.looks(3);
    for (boot, product, expected) in [("two", "m5.2xlarge", &["CPUs: CpuMissing"][..]), ("three", "m5.large", &[])] {
        machine.reboot(boot);
        machine.set("sys/class/dmi/id/product_name", product);
        machine.set("sys/devices/system/cpu/present", "0-1");
        assert_eq!(missing(&machine.looks(9)), expected, "{product}");
    }
}

/// An update shows the same hardware by other names.
#[test]
fn what_an_agent_remembers_that_reads_in_another_way_is_no_evidence() {
    let mut machine = settled();
    machine.reboot("two");
    machine.remove(DISKS[1]);
    let mut saved = machine.judge.save().unwrap_or_else(|| machine.saved());
    saved["form"] = json!(77);
    machine.judge.load(saved);
    let findings = machine.looks(9);
    assert_eq!((missing(&findings), events(&findings)), (vec![], vec![STARTED_AGAIN.to_owned()]));
}

#[test]
fn disks_behind_a_controller_without_a_driver_are_not_missing() {
    let mut machine = Machine::new();
    let controller = machine.function("0000:17:00.0", "0x010700", "0x1000");
    let drive = |machine: &Machine, driver: &str| {
        let _ = fs::remove_file(machine.path(&controller).join("driver"));
        machine.link(&controller, "driver", &format!("sys/bus/pci/drivers/{driver}"));
    };
    machine.scsi(&format!("{controller}/host0/target0:0:5/0:0:5:0"), "sda");
    drive(&machine, "mpt3sas");
    machine.looks(3);
    machine.reboot("two");
    fs::remove_file(machine.path("sys/block/sda")).unwrap();
    fs::remove_file(machine.path(&controller).join("driver")).unwrap();
    assert_eq!(missing(&machine.looks(9)), Vec::<String>::new(), "no driver");
    for (boot, driver, expected) in
        [("three", "vfio-pci", &[][..]), ("four", "mpt3sas", &["disk WD-WX11: DiskMissing"])]
    {
        machine.reboot(boot);
        drive(&machine, driver);
        assert_eq!(missing(&machine.looks(9)), expected, "{driver}");
    }
}

#[test]
fn each_is_looked_for_three_times() {
    let mut machine = settled();
    machine.reboot("two");
    machine.remove(DISKS[0]);
    machine.looks(3);
    machine.remove(DISKS[1]);
    assert_eq!(missing(&machine.looks(1)), Vec::<String>::new(), "another one is in its reset");
    machine.nvme(DISKS[1], "nvme1", "S2");
    assert_eq!(missing(&machine.looks(1)), ["disk S1NX0K71: DiskMissing"]);
}

#[test]
fn a_kernel_that_is_to_use_less_proves_no_loss() {
    let mut machine = settled();
    machine.set("proc/meminfo", &format!("MemTotal: {} kB", 15 * GIB));
    machine.set("sys/devices/system/cpu/present", "0-3");
    let both = &["memory: MemoryMissing", "CPUs: CpuMissing"][..];
    for (boot, line, expected) in
        [("two", "quiet mem=16G nr_cpus=4", &[][..]), ("three", "quiet mem_sleep=s2idle", both)]
    {
        machine.reboot(boot);
        machine.set("proc/cmdline", line);
        assert_eq!(missing(&machine.looks(9)), expected, "{line}");
    }
    let mut machine = settled();
    machine.reboot("two");
    machine.set("proc/meminfo", &format!("MemTotal: {} kB", 26 * GIB));
    machine.set("sys/kernel/kexec_crash_size", &(5_u64 << 30).to_string());
    assert_eq!(missing(&machine.looks(9)), Vec::<String>::new(), "what is set aside for a crash");
}
