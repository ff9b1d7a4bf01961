//! The checks' process is killed while a process of its service hangs in the kernel, as a worker does at a device that
//! answers nothing, under a whole Debian's systemd with cgroups of version 2 alone: that stays in the service's cgroup for as
//! long as it hangs, and the service is started again all the same.

use std::{fs, path::Path};

use nodewell_tests::{
    machine::{Package, Release, Tree},
    suite::{Need, Suite},
};
use nodewell_vm::{
    GUEST,
    disk::Image,
    guest::{Guest, Plan},
    system::{System, within},
};

const CONFIG: &str = "standalone = true\n[mounts]\ninterval = \"5s\"\n";
const SERVICE: &str = "nodewell-check.service";
/// In the place of a worker: it joins the workers, and waits for a filesystem that takes no writes.
const HANG: &str = "
sh -c 'echo $$ >/sys/fs/cgroup/nodewell.slice/nodewell-check.service/check-process/cgroup.procs; exec touch /mnt/file' \\
  >/dev/null 2>&1 &
";
/// Those that no signal reaches.
const STUCK: &str = "
for pid in $(cat /sys/fs/cgroup/nodewell.slice/nodewell-check.service/check-process/cgroup.procs); do
  grep -q '^State:.D' /proc/$pid/status && echo $pid
done
true
";
/// Which controllers it gives on. While it gives one on, no process can be in the service's cgroup itself.
const GIVEN_ON: &str = "cat /sys/fs/cgroup/nodewell.slice/nodewell-check.service/cgroup.subtree_control";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("killed_beside_stuck").case_with(
        &[Need::LongSuite, GUEST, Need::Machine(Release::Bookworm)],
        "the_checks_are_started_again",
        the_checks_are_started_again,
    );
}

fn the_checks_are_started_again() {
    let (system, image) = (System::of(Tree::of(Release::Bookworm), fill), Image::ext4(64));
    let plan = Plan::default().processors(2).kernel("systemd.getty_auto=no").system(&system);
    let guest = plan.nvme("disk", &image, None).modules(&["nvme"]).boot();
    guest.sh("mount /dev/nvme0n1 /mnt");
    guest.wait_condition("FilesystemFull", "False");
    assert!(guest.sh(GIVEN_ON).contains("memory"), "it divides its cgroup");
    let before = life(&guest).expect("it runs");

    guest.sh("fsfreeze --freeze /mnt");
    guest.sh(HANG);
    let stuck = guest.until("it hangs in the kernel", || Some(guest.sh(STUCK)).filter(|pids| !pids.is_empty()));
    guest.sh(&format!("kill -9 {before}"));
    guest.until("another process runs the checks", || life(&guest).filter(|now| *now != before));
    assert_eq!(guest.sh(STUCK), stuck, "it hung all the time, or nothing was proven");
    assert!(guest.sh(GIVEN_ON).contains("memory"), "it divides its cgroup again");
    guest.sh("fsfreeze --unfreeze /mnt");
}

fn fill(root: &Path) {
    let drop_ins = root.join("etc/nodewell/nodewell.toml.d");
    fs::copy(Package::built().path(), root.join("root/package.deb")).unwrap();
    within(root, &["dpkg", "--install", "/root/package.deb"]);
    fs::write(drop_ins.join("guest.toml"), CONFIG).unwrap();
}

/// The main process of the service, once that has said that it is ready. One that is being started has a process, too.
fn life(guest: &Guest) -> Option<String> {
    let shown = guest.sh(&format!("systemctl show --property=ActiveState --property=MainPID --value {SERVICE}"));
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    match lines[..] {
        [pid, "active"] => Some(pid.to_owned()),
        _ => None,
    }
}
