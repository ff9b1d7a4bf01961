//! A SCSI disk that knows no log page: it cannot be asked for its health, so that it is well by what is known, and
//! nothing is complained of, round after round.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("scsi_disk").case_with(
        &[Need::LongSuite, GUEST],
        "is_well_by_what_is_known",
        is_well_by_what_is_known,
    );
}

const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";
/// What the agent or the kernel logged of it; not that an emulated machine was slow.
const COMPLAINTS: &str = "
grep -E ' (WARN|ERROR) .*(sda|scsi0)' /run/agent.log | grep -v 'no answer in time'
dmesg | grep -iE 'sda.*error|sd 0:0:0:0.*(error|sense key|fail)'
";

fn is_well_by_what_is_known() {
    let (image, other) = (Image::empty(16), Image::empty(16));
    let plan = Plan::default().scsi("scsi0", &image).nvme("other", &other, None);
    let guest = plan.modules(&["virtio_scsi", "sd_mod", "sg", "nvme"]).boot();
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks", |disks| (disks.total, disks.healthy) == (2, 2));
    guest.wait_condition("DiskUnhealthy", "False");
    another_round(&guest, 1, 1);
    another_round(&guest, 0, 2);
    let complaints = guest.run(COMPLAINTS);
    assert_eq!(complaints.stdout, "", "it complains of the disk");
}

/// The disk beside it shows when a round is over: it has as many well ones then.
fn another_round(guest: &Guest, warning: u64, healthy: u32) {
    guest.set("other", "smart_critical_warning", warning);
    guest.wait_hardware("disks", |disks| (disks.total, disks.healthy) == (2, healthy));
    let disks = guest.condition("DiskUnhealthy").unwrap();
    let of_scsi = disks.problems.iter().filter(|problem| problem.subject.as_deref() == Some("sda")).count();
    assert_eq!(of_scsi, 0, "{disks:?}");
}
