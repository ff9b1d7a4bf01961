//! An NVMe disk that is pulled out while a filesystem on it is mounted.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{GUEST, disk::Image, guest::Plan};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("nvme_unplugged").case_with(
        &[Need::LongSuite, GUEST],
        "its_filesystem_fails",
        its_filesystem_fails,
    );
}

fn its_filesystem_fails() {
    let image = Image::ext4(64);
    let plan = Plan::default().slot("slot1", 1).nvme("disk", &image, Some("slot1"));
    let guest = plan.modules(&["nvme", "crc32c_generic", "ext4"]).boot();
    guest.sh("mount -o errors=remount-ro /dev/nvme0n1 /mnt && echo before >/mnt/file && sync");
    guest.start_agent("check-processes = \"spawn\"");
    guest.qmp("device_del", &json!({ "id": "disk" }));
    guest.until("the disk is gone", || guest.run("[ -e /sys/block/nvme0n1 ]").code.eq(&1).then_some(()));
    guest.until("ext4 refuses changes", || {
        guest.run("mkdir /mnt/folder && rmdir /mnt/folder; sync").stderr.contains("Read-only").then_some(())
    });
    let problem = guest.wait_problem("ReadonlyFilesystem", "FilesystemIsReadOnly");
    assert_eq!(problem.subject.as_deref(), Some("nvme0n1"), "{problem:?}");
    // Nothing of it is left: nothing of it is the node's any more.
    guest.sh("umount /mnt");
    guest.wait_condition("ReadonlyFilesystem", "False");
}
