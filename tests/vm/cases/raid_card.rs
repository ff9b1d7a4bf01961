//! A RAID card under the kernel's megaraid_sas: a disk is pulled out of its slot, and its volume given up.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, disk::Image, guest::Plan};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("raid_card").case_with(
        &[Need::LongSuite, GUEST],
        "a_pulled_disk_is_named_by_its_slot",
        a_pulled_disk_is_named_by_its_slot,
    );
}

const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";
/// The driver has the card, and its volumes are there.
const VOLUMES: &str = "ls -d /sys/bus/scsi/devices/*:2:0:0 /sys/bus/scsi/devices/*:2:3:0";

fn a_pulled_disk_is_named_by_its_slot() {
    let (first, other) = (Image::empty(16), Image::empty(16));
    let plan = Plan::default().device("megasas-gen2,id=card").raid_disk("first", &first, "card", 0);
    let guest = plan.raid_disk("other", &other, "card", 3).modules(&["megaraid_sas", "sd_mod"]).boot();
    guest.until("the kernel has the volumes", || (guest.run(VOLUMES).code == 0).then_some(()));
    guest.sh("test ! -e /dev/megaraid_sas_ioctl_node && nodewell-checks raid-node");
    // As before each start of the service.
    guest.sh("nodewell-checks raid-node && test -c /dev/megaraid_sas_ioctl_node");
    guest.start_agent(CONFIG);
    guest.wait_hardware("RAID disks", |disks| (disks.total, disks.healthy) == (2, 2));
    guest.wait_hardware("RAID volumes", |volumes| (volumes.total, volumes.healthy) == (2, 2));
    guest.wait_hardware("RAID controllers", |cards| (cards.total, cards.healthy) == (1, 1));
    guest.wait_condition("DiskUnhealthy", "False");

    // QEMU's firmware forgets the volume with the disk, and does not report that to the driver.
    guest.qmp("device_del", &json!({ "id": "first" }));
    let problem = guest.wait_problem("DiskUnhealthy", "RaidDiskMissing");
    let subject = problem.subject.as_deref().unwrap_or_default();
    assert!(subject.ends_with(".0 slot 0"), "{problem:?}");
    assert!(problem.message.contains("volume 0 is gone with its disk"), "{problem:?}");

    // As the driver does on a real card, where the firmware reports it, and an operator who gives up the volume.
    guest.sh("for volume in /sys/bus/scsi/devices/*:2:0:0; do echo 1 >$volume/delete; done");
    guest.wait_condition("DiskUnhealthy", "False");
}
