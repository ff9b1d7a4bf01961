//! A task that waits for a frozen filesystem: the kernel reports it, and a watcher of the node hears of it.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, disk::Image, guest::Plan};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("hung_task").case_with(&[Need::LongSuite, GUEST], "is_reported_by_name", is_reported_by_name);
}

fn is_reported_by_name() {
    let image = Image::ext4(64);
    let guest = Plan::default().nvme("disk", &image, None).modules(&["nvme", "crc32c_generic", "ext4"]).boot();
    guest.sh("mount /dev/nvme0n1 /mnt && echo 5 >/proc/sys/kernel/hung_task_timeout_secs");
    guest.start_agent("");
    guest.sh("fsfreeze --freeze /mnt && { touch /mnt/file >/dev/null 2>&1 & }");
    let event = guest.wait_event("TaskHung", |_| true);
    assert_eq!(event.subject.as_deref(), Some("touch"), "{event:?}");
    // Nothing that the node lives on hangs.
    assert_eq!(guest.condition("KernelDeadlock").unwrap().status.as_str(), "False");
    guest.sh("fsfreeze --unfreeze /mnt");
}
