//! Starting and ending the container: a throw-away layer over the tree, a private node for the kernel log, and its PID 1.

use std::{ffi::OsString, fs, path::Path, time::Duration};

use nix::{
    sys::{
        signal::{Signal, kill},
        stat::{Mode, SFlag, makedev, mknod},
    },
    unistd::Pid,
};
use tempfile::TempDir;

use super::{Machine, Release, cgroup::Cgroup};
use crate::{
    process::Process,
    wait::{until, until_within},
};

/// It takes a second or two on an idle machine.
const BOOT_TIME: Duration = Duration::from_secs(60);

pub(super) fn boot(release: Release) -> Machine {
    let tree = release.tree().unwrap_or_else(|reason| panic!("{reason}"));
    start(&tree, &["--volatile=overlay"])
}

/// Boots from `tree` itself: what is written stays.
pub(super) fn start(tree: &Path, flags: &[&str]) -> Machine {
    let folder = TempDir::with_prefix("nodewell-machine-").unwrap();
    let node = folder.path().join("kmsg");
    // A node of our own: the outer machine's is the same inode for all processes, and a program inside may change its
    // mode.
    mknod(&node, SFlag::S_IFCHR, Mode::from_bits_truncate(0o600), makedev(1, 11)).unwrap();
    let cgroup = Cgroup::make().unwrap();
    let log = folder.path().join("console");
    let mut nspawn = Process::start(&argv(tree, flags, &node, &cgroup), &log).unwrap();
    let leader = until("the container has an init", || {
        assert!(nspawn.ended().is_none(), "{}", fs::read_to_string(&log).unwrap_or_default());
        init_of(nspawn.pid())
    });
    let machine = Machine { leader, nspawn, _cgroup: cgroup, _folder: folder };
    until_within(BOOT_TIME, "the machine is up", || {
        let state = machine.run(["systemctl", "is-system-running"]).stdout;
        // Degraded: a kernel without modules fails some unit that tests nothing of ours.
        ["running", "degraded"].contains(&state.trim()).then_some(())
    });
    machine
}

fn argv(tree: &Path, more: &[&str], kmsg: &Path, cgroup: &Cgroup) -> Vec<OsString> {
    let script = format!("{}exec env SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn \"$@\"", cgroup.enter());
    let mut argv: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into(), "sh".into()];
    // Without bpf(2) the kernel's side of DeviceAllow= and IPAddressDeny= would silently be left out; without
    // CAP_SYSLOG the machine's own root could not open the kernel log.
    let flags = "--quiet --machine=node --register=no --keep-unit --private-network --console=pipe --boot \
                 --capability=all --system-call-filter=bpf";
    argv.extend(flags.split_whitespace().chain(more.iter().copied()).map(OsString::from));
    argv.push(format!("--directory={}", tree.display()).into());
    argv.push(format!("--bind={}:/dev/kmsg", kmsg.display()).into());
    argv
}

/// The child that is the first of a PID namespace.
fn init_of(nspawn: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{nspawn}/task/{nspawn}/children")).ok()?;
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(|pid| inner_pid(*pid) == Some(1))
}

/// The number that a process has in the innermost namespace it is in, if that is not ours.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    let mut numbers = numbers.split_whitespace();
    let _ours = numbers.next()?;
    numbers.next_back()?.parse().ok()
}

/// Our number for the process that the machine of `leader` calls `inside`.
pub(super) fn pid_outside(leader: u32, inside: u32) -> Option<u32> {
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let wanted = namespace(leader)?;
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid| inner_pid(*pid) == Some(inside) && namespace(*pid).as_ref() == Some(&wanted))
}

/// Ends PID 1 of the machine, and waits for what started it.
pub(super) fn end(leader: u32, nspawn: &mut Process) {
    // It may be gone already.
    let _ = kill(Pid::from_raw(leader.cast_signed()), Signal::SIGKILL);
    for _ in 0..500 {
        if nspawn.ended().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    nspawn.kill();
}
