//! Starting and ending the container: a throw-away layer over the tree, a private node for the kernel log, and its PID
//! 1.

use std::{
    ffi::OsString,
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    sys::{
        signal::{Signal, kill},
        stat::{Mode, SFlag, makedev, mknod},
    },
    unistd::Pid,
};

use super::{Hardware, Inside, Machine, cgroup::Cgroup};
use crate::{
    leftovers,
    process::Process,
    wait::{PATIENCE, found_within, until_within},
};

/// It takes a second or two on an idle machine.
const BOOT_TIME: Duration = Duration::from_secs(180);
/// The container runs in a PID namespace whose first process is this shell. systemd-nspawn that is killed leaves its
/// container behind; the end of a namespace's first process takes all with it. That one is killed when what started it
/// is, and that when the test process ends, however it ends.
const OWN_NAMESPACE: [&str; 6] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=slave"];

/// Starts it, and does not wait until it is up.
pub(super) fn start(hardware: &Hardware) -> Result<Machine, String> {
    let failed = |step: &str, error: &dyn Display| format!("a machine's {step}: {error}");
    let folder = leftovers::folder("machine");
    let node = folder.path().join("kmsg");
    // A node of our own: the outer machine's is the same inode for all processes, and a program inside may change its
    // mode.
    let device = makedev(1, hardware.kernel_log.minor());
    mknod(&node, SFlag::S_IFCHR, Mode::from_bits_truncate(0o600), device)
        .map_err(|error| failed("kernel log", &error))?;
    let cgroup = Cgroup::make(hardware.controllers).map_err(|error| failed("cgroup", &error))?;
    let log = folder.path().join("console");
    let mut nspawn =
        Process::start(&argv(hardware, &node, &cgroup), &log).map_err(|error| failed("container", &error))?;
    let leader = wait_for_leader(&mut nspawn).ok_or_else(|| {
        let output = fs::read_to_string(&log).unwrap_or_default();
        failed("container has no init", &output)
    })?;
    Ok(Machine { inside: Inside::of(leader), nspawn, _cgroup: cgroup, _folder: folder })
}

fn wait_for_leader(nspawn: &mut Process) -> Option<u32> {
    let found = found_within(PATIENCE, || match nspawn.ended() {
        Some(_) => Some(None),
        None => leader_of(nspawn.pid()).map(Some),
    });
    found.flatten()
}

pub(super) fn wait_until_up(machine: &Machine) {
    until_within(BOOT_TIME, "the machine is up", || {
        let state = machine.run(["systemctl", "is-system-running"]).stdout;
        // Degraded: a kernel without modules fails some unit that tests nothing of ours.
        ["running", "degraded"].contains(&state.trim()).then_some(())
    });
}

fn argv(hardware: &Hardware, kmsg: &Path, cgroup: &Cgroup) -> Vec<OsString> {
    // The shell stays: it is the first process of the namespace. It stays outside of the machine's cgroup, which systemd-nspawn
    // divides.
    let unified = hardware.controllers.unified_hierarchy();
    let script = format!(
        "{}(\n{}export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY={unified} SYSTEMD_NSPAWN_API_VFS_WRITABLE=network\n\
         exec systemd-nspawn \"$@\"\n)\nexit $?",
        cgroup.wait_beside(),
        cgroup.enter()
    );
    let mut argv: Vec<OsString> = OWN_NAMESPACE.map(OsString::from).to_vec();
    argv.extend(["sh".into(), "-c".into(), script.into(), "sh".into()]);
    argv.push(format!("--bind={}:/dev/kmsg", kmsg.display()).into());
    argv.extend(hardware.argv());
    argv
}

/// The container's init: the first process of a PID namespace within that of the shell.
fn leader_of(starter: u32) -> Option<u32> {
    let depth = numbers(std::process::id())?.len() + 2;
    let is_leader = |pid: &u32| numbers(*pid).is_some_and(|all| all.len() == depth && all.last() == Some(&1));
    let mut generation = vec![starter];
    while !generation.is_empty() {
        generation = generation.into_iter().flat_map(children).collect();
        if let Some(leader) = generation.iter().copied().find(is_leader) {
            return Some(leader);
        }
    }
    None
}

fn children(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The numbers that a process has: ours first, that of the innermost PID namespace it is in last.
fn numbers(pid: u32) -> Option<Vec<u32>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().map(|number| number.parse().ok()).collect()
}

/// Our number for the process that the machine of `leader` calls `inside`.
pub(super) fn pid_outside(leader: u32, inside: u32) -> Option<u32> {
    let namespace = |pid: u32| fs::read_link(PathBuf::from(format!("/proc/{pid}/ns/pid"))).ok();
    let wanted = namespace(leader)?;
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |pid: &u32| numbers(*pid).and_then(|all| all.last().copied()) == Some(inside);
    pids.into_iter().find(|pid| is_it(pid) && namespace(*pid).as_ref() == Some(&wanted))
}

/// Ends PID 1 of the machine, and waits for what started it.
pub(super) fn end(leader: u32, nspawn: &mut Process) {
    // What started it ends after it: while that is there, the number is the leader's.
    if nspawn.ended().is_some() {
        return;
    }
    let _ = kill(Pid::from_raw(leader.cast_signed()), Signal::SIGKILL);
    for _ in 0..500 {
        if nspawn.ended().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    nspawn.kill();
}
