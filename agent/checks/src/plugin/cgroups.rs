//! Where a run is contained: a cgroup of its own below the one that systemd has delegated to the service (cgroup v2), with
//! limits for all of its processes together. Whatever it starts, however it detaches itself, is in there.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_sys::proc::mountinfo;

use crate::cgroup::{self, Cgroups};

/// Ours within the service's: processes live in leaves only ("no internal processes", cgroups(7)).
const OURS: &str = "check-process";
const THEIRS: &str = "plugins";
/// Of systemd's own, in a delegated cgroup: what it starts beside or after the main process.
const CONTROL: &str = "/.control";
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// Beside our leaf and theirs: what the kernel takes for the cgroups themselves, and systemd's shell at a reload.
const SLACK_BYTES: u64 = 16 << 20;
/// The period of `cpu.max`, the kernel's own default.
const CPU_PERIOD_MICROS: u64 = 100_000;

/// What all processes of one run together may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub memory_bytes: u64,
    pub tasks: u64,
    /// Of one core.
    pub cpu_percent: u64,
}

/// What this process and its workers have of what the service may use, whatever runs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// They get no more of it either.
    pub memory_bytes: u64,
    pub tasks: u64,
}

/// Our part of the cgroup tree.
#[derive(Debug)]
pub struct PluginCgroups {
    /// Runs have theirs in here.
    folder: PathBuf,
    limits: Limits,
}

/// Why runs get no cgroups.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    #[error("this system has no cgroups of version 2 for it")]
    NoVersion2,
    #[error("{0}: {1}")]
    Refused(PathBuf, io::Error),
}

impl PluginCgroups {
    /// Makes cgroups below the service's own cgroup, into which processes of other services may not come. This process
    /// moves into a leaf of its own; runs may use, all together, what `own` leaves of the service's limits.
    ///
    /// # Errors
    /// What the system does not have or allow; nothing is lost but the limits.
    pub fn create(proc: &Path, own: Own, limits: Limits) -> Result<Self, CgroupError> {
        let service = own_cgroup(proc).ok_or(CgroupError::NoVersion2)?;
        Self::below(&service, own, limits)
    }

    fn below(service: &Path, own: Own, limits: Limits) -> Result<Self, CgroupError> {
        let (ours, theirs) = (service.join(OURS), service.join(THEIRS));
        for folder in [&ours, &theirs] {
            make(folder)?;
        }
        // What an earlier life of ours left there would hold its memory.
        left_over(&theirs).for_each(|run| run.kill());
        put(&ours.join("cgroup.procs"), &std::process::id().to_string())?;
        for controller in CONTROLLERS {
            // One that the kernel or systemd does not give limits nothing.
            let enabled = put(&service.join("cgroup.subtree_control"), &format!("+{controller}"));
            let _ = enabled.and_then(|()| put(&theirs.join("cgroup.subtree_control"), &format!("+{controller}")));
        }
        limit(&ours, "memory.max", &own.memory_bytes.to_string());
        // Else many runs at their limits would meet the service's, which are ours too: then no worker could be started.
        for (file, own) in [("memory.max", own.memory_bytes + SLACK_BYTES), ("pids.max", own.tasks)] {
            limit(&theirs, file, &left_of(&service.join(file), own));
        }
        Ok(Self { folder: theirs, limits })
    }

    /// A new cgroup for a run.
    ///
    /// # Errors
    /// The folder that cannot be made.
    pub fn run_cgroup(&self, name: &str) -> Result<RunCgroup, CgroupError> {
        let run = RunCgroup { folder: self.folder.join(name) };
        make(&run.folder)?;
        let Limits { memory_bytes, tasks, cpu_percent } = self.limits;
        limit(&run.folder, "memory.max", &memory_bytes.to_string());
        limit(&run.folder, "memory.swap.max", "0");
        // A program that lost one of its processes reports nothing that could be believed.
        limit(&run.folder, "memory.oom.group", "1");
        limit(&run.folder, "pids.max", &tasks.to_string());
        let quota = CPU_PERIOD_MICROS * cpu_percent / 100;
        limit(&run.folder, "cpu.max", &format!("{quota} {CPU_PERIOD_MICROS}"));
        Ok(run)
    }
}

impl Drop for PluginCgroups {
    fn drop(&mut self) {
        if let Some(service) = self.folder.parent() {
            undivide(service);
        }
    }
}

/// For a service whose main process was killed and could not do it itself, by a process that systemd starts after that
/// (`ExecStopPost=`). Nothing is done in any other process.
pub fn undivide_after_main_process(proc: &Path) {
    let own = own_path(proc).unwrap_or_default();
    let service = own.strip_suffix(CONTROL).and_then(|service| of_service(proc, service));
    if let Some(service) = service {
        undivide(&service);
    }
}

/// A restarted service starts in the service's own cgroup, which must be a leaf again if anything is left of this run: a
/// worker that hangs in the kernel. systemd could put no process into it (EBUSY), and would try again for ever.
fn undivide(service: &Path) {
    for controller in CONTROLLERS {
        let disabled = put(&service.join(THEIRS).join("cgroup.subtree_control"), &format!("-{controller}"));
        let _ = disabled.and_then(|()| put(&service.join("cgroup.subtree_control"), &format!("-{controller}")));
    }
}

/// Why the kernel ended a run for its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKill {
    /// It needed more than a run may.
    OwnLimit,
    /// All runs together, or the node, had none left.
    Shortage,
}

/// The cgroup of one run.
#[derive(Debug)]
pub struct RunCgroup {
    folder: PathBuf,
}

impl RunCgroup {
    /// The file by which a process enters.
    ///
    /// # Errors
    /// As the kernel has it.
    pub fn procs_fd(&self) -> io::Result<OwnedFd> {
        OpenOptions::new().write(true).open(self.folder.join("cgroup.procs")).map(OwnedFd::from)
    }

    /// SIGKILL for all that is in it.
    pub fn kill(&self) {
        // Linux 5.14: also what forks in this very moment.
        if put(&self.folder.join("cgroup.kill"), "1").is_ok() {
            return;
        }
        let inside = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 1) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Whether all is gone that was in it; the cgroup is, too, then.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        match fs::remove_dir(&self.folder) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Why the kernel ended something in it for its memory, if it did: `oom_kill` counts what was ended in here, `oom`
    /// how often a limit was met in here (`Documentation/admin-guide/cgroup-v2.rst`).
    #[must_use]
    pub fn memory_kill(&self) -> Option<MemoryKill> {
        let events = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        let has_counted =
            |name: &str| events.lines().any(|line| line.strip_prefix(name).is_some_and(|times| times != "0"));
        let kill = if has_counted("oom ") { MemoryKill::OwnLimit } else { MemoryKill::Shortage };
        has_counted("oom_kill ").then_some(kill)
    }
}

/// Cgroups of runs that are there already.
fn left_over(theirs: &Path) -> impl Iterator<Item = RunCgroup> {
    let entries = fs::read_dir(theirs).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| RunCgroup { folder: entry.path() })
}

/// The service's cgroup, as a folder.
fn own_cgroup(proc: &Path) -> Option<PathBuf> {
    let own = own_path(proc)?;
    // Check processes of earlier starts were moved; the service is one above.
    of_service(proc, own.strip_suffix(&format!("/{OURS}")).unwrap_or(&own))
}

/// Where this process is in the tree of version 2.
fn own_path(proc: &Path) -> Option<String> {
    let groups = cgroup::read(&proc.join("self")).ok()??;
    Cgroups::parse(&groups).unified_path().map(str::to_owned)
}

/// As a folder; `None` of the root.
fn of_service(proc: &Path, path: &str) -> Option<PathBuf> {
    let tree = mountinfo::read(proc).ok()?.into_iter().find(|mount| mount.filesystem == "cgroup2")?;
    let below = Path::new(path).strip_prefix(&tree.root).ok()?;
    // The root of the tree belongs to no service.
    (below != Path::new("")).then(|| Path::new(&tree.mount_point).join(below))
}

fn make(folder: &Path) -> Result<(), CgroupError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(CgroupError::Refused(folder.to_owned(), error))
        }
        _ => Ok(()),
    }
}

/// Kernel files take a value in one write, and are never made by us.
fn put(file: &Path, value: &str) -> Result<(), CgroupError> {
    let open = |file: &Path| -> io::Result<File> { OpenOptions::new().write(true).open(file) };
    let written = open(file).and_then(|mut open| open.write_all(value.as_bytes()));
    written.map_err(|error| CgroupError::Refused(file.to_owned(), error))
}

/// What `own` leaves of the limit in this file, and half of it at least: an administrator may have given the service
/// less than we expect. Of what is not limited it leaves all.
fn left_of(file: &Path, own: u64) -> String {
    let whole = fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u64>().ok());
    whole.map_or_else(|| "max".to_owned(), |whole| whole.saturating_sub(own).max(whole / 2).to_string())
}

/// A limit that the kernel does not have is none.
fn limit(folder: &Path, file: &str, value: &str) {
    if let Err(error) = put(&folder.join(file), value) {
        tracing::debug!(%error, "not limited");
    }
}

#[cfg(test)]
mod tests;
