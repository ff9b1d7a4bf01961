//! A disk begins to fail writes: ext4 goes read-only, and both are reported; after repair and a new mount both are
//! over.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::{Image, Server},
    guest::Plan,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("block_errors").case_with(&[Need::LongSuite, GUEST], "ext4_goes_read_only", ext4_goes_read_only);
}

const CONFIG: &str = "check-processes = \"spawn\"";
const CHANGE: &str = "mkdir /mnt/folder && rmdir /mnt/folder; sync";

fn ext4_goes_read_only() {
    let server = Server::of(Image::ext4(64));
    let guest = Plan::default().nvme("disk", &server, None).modules(&["nvme", "crc32c_generic", "ext4"]).boot();
    guest.sh("mount -o errors=remount-ro /dev/nvme0n1 /mnt && echo before >/mnt/file && sync");
    guest.start_agent(CONFIG);
    guest.wait_condition("ReadonlyFilesystem", "False");
    server.fail_writes();
    // The first failed write aborts the journal; the next change to the filesystem finds it aborted.
    guest.until("ext4 refuses changes", || guest.run(CHANGE).stderr.contains("Read-only").then_some(()));
    let read_only = guest.wait_problem("ReadonlyFilesystem", "FilesystemIsReadOnly");
    assert_eq!(read_only.subject.as_deref(), Some("nvme0n1"), "{read_only:?}");
    guest.wait_problem("DiskUnhealthy", "IOError");
    server.mend_writes();
    // The agent tries a write now and then, and has a file open there meanwhile.
    guest.until("it is unmounted", || guest.run("umount /mnt").code.eq(&0).then_some(()));
    guest.sh("mount -o errors=remount-ro /dev/nvme0n1 /mnt && echo after >/mnt/file");
    guest.wait_condition("ReadonlyFilesystem", "False");
}
