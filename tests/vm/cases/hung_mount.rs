//! An NFS server that goes away under a hard mount: a process that asks hangs in the kernel, and can be killed. The
//! mount is reported as not answering, the server is the problem that the kernel log reports too, and all is well once
//! it is back.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("hung_mount").case_with(
        &[Need::LongSuite, GUEST],
        "nfs_without_its_server_hangs_no_other_mount",
        nfs_without_its_server_hangs_no_other_mount,
    );
}

const CONFIG: &str = "check-processes = \"spawn\"\n[mounts]\ninterval = \"5s\"\ndeadline = \"15s\"\n";

/// The kernel's own server, of version 4 alone, which needs no portmapper; what mountd would answer is written
/// beforehand: which client it is, which file handle is which folder, and how it is exported (flags: by number, no
/// subtree, any port).
const SERVE: &str = "
set -e
echo '-2 -3 +4 +4.0' >/proc/fs/nfsd/versions
echo 'tcp 2049' >/proc/fs/nfsd/portlist
echo 2 >/proc/fs/nfsd/threads
echo 'nfsd 127.0.0.1 2147483647 guest' >/proc/net/rpc/auth.unix.ip/channel
echo 'guest /srv/export 2147483647 9218 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
printf 'guest 1 \\\\x00000000 2147483647 /srv/export\\n' >/proc/net/rpc/nfsd.fh/channel
";
const PREPARE: &str = "
set -e
mkdir -p /srv/export /srv/nfs
mount -t tmpfs export /srv/export
mount -t nfsd nfsd /proc/fs/nfsd
";
/// Two tries of two seconds before the kernel reports that it waits.
const MOUNT: &str =
    "mount -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.0,hard,timeo=20,retrans=1 127.0.0.1:/ /srv/nfs";
const STOP: &str = "echo 0 >/proc/fs/nfsd/threads";

fn nfs_without_its_server_hangs_no_other_mount() {
    let guest = Plan::default().modules(&["nfsd", "nfsv4"]).boot();
    guest.sh(PREPARE);
    guest.sh(SERVE);
    guest.sh(MOUNT);
    guest.start_agent(CONFIG);
    guest.wait_condition("MountHung", "False");
    guest.sh(STOP);
    let hung = guest.wait_problem("MountHung", "MountNotAnswering");
    assert_eq!(hung.subject.as_deref(), Some("/srv/nfs"), "{hung:?}");
    assert!(hung.message.contains("127.0.0.1:/ (nfs4): no answer within 15 s"), "{hung:?}");
    the_server_is_one_problem(&guest);
    guest.sh(SERVE);
    guest.until("the mount answers again", || guest.condition("MountHung")?.problems.is_empty().then_some(()));
    // The kernel's own line, of the renewal of the lease, ends by quiet.
    guest.until("the check says no more that the server is silent", || {
        let problems = guest.condition("VolumeUnhealthy")?.problems;
        problems.iter().all(|one| !one.source.contains("mounts@")).then_some(())
    });
    let log = guest.sh("cat /run/agent.log");
    assert!(!log.contains("survives SIGKILL"), "a reader at a hard mount can be killed: {log}");
}

/// By the check, and by the kernel's line.
fn the_server_is_one_problem(guest: &Guest) {
    let both = guest.until("both speak of the server", || {
        let problems = guest.condition("VolumeUnhealthy")?.problems;
        let is_whole = |source: &str| source.contains("kernel-monitor") && source.contains("mounts@");
        problems.iter().any(|one| is_whole(&one.source)).then_some(problems)
    });
    assert_eq!(both.len(), 1, "{both:?}");
    assert_eq!(both[0].subject.as_deref(), Some("127.0.0.1"), "{both:?}");
}
