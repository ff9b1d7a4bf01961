//! A disk whose commands never come back: its reader hangs in the kernel and survives SIGKILL. The disk is told as not
//! answering and left alone, the others go on being read, and all is well once the kernel lets go.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::{Image, Server},
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("stuck_reader").case_with(
        &[Need::LongSuite, GUEST],
        "is_left_alone_until_it_is_gone",
        is_left_alone_until_it_is_gone,
    );
}

const CONFIG: &str = "satellites = \"spawn\"\n[disk]\ninterval = \"1m\"\n";
/// The controller takes no other command while a queued write is under way (`ata_std_qc_defer` in libata-core.c), so that
/// one which asks for the disk's health waits for it, unkillable. The kernel would reset the controller after 30 s.
const HANG: &str = "
echo 3600 >/sys/block/sda/device/timeout
dd if=/dev/zero of=/dev/sda bs=64k count=1 oflag=direct >/dev/null 2>&1 &
";
/// The tasks that hang in the kernel, by name.
const HANGING: &str = "cat /proc/[0-9]*/stat 2>/dev/null | sed -n 's/^[0-9]* (\\(.*\\)) D .*/\\1/p'";

fn is_left_alone_until_it_is_gone() {
    let server = Server::of(Image::empty(16));
    let (first, second) = (Image::empty(16), Image::empty(16));
    let plan = Plan::default().sata("stuck", &server, 0).nvme("first", &first, None).nvme("second", &second, None);
    let guest = plan.modules(&["ahci", "sd_mod", "sg", "nvme"]).boot();
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks", |disks| disks.well == 3);
    guest.wait_condition("DiskUnhealthy", "False");
    server.fall_silent();
    guest.sh(HANG);
    the_others_are_read(&guest);
    server.speak();
    guest.until("nothing hangs", || guest.sh(HANGING).is_empty().then_some(()));
    guest.wait_hardware("disks", |disks| !disks.states.contains_key("not answering"));
}

fn the_others_are_read(guest: &Guest) {
    guest.until("a reader hangs in the kernel", || guest.sh(HANGING).contains("nwd:sda").then_some(()));
    guest.wait_hardware("disks", |disks| disks.states.get("not answering") == Some(&1));
    // What the others say from now on, somebody hears.
    guest.set("first", "smart_critical_warning", 1);
    let problem = guest.wait_problem("DiskUnhealthy", "NvmeSpareLow");
    assert_eq!(problem.subject.as_deref(), Some("nvme0"), "{problem:?}");
    guest.set("first", "smart_critical_warning", 0);
    guest.until("the others are well again", || {
        let disks = guest.condition("DiskUnhealthy")?;
        disks.problems.is_empty().then_some(())
    });
    assert_eq!(guest.sh(HANGING).matches("nwd:sda").count(), 1, "the stuck disk is asked no more");
}
