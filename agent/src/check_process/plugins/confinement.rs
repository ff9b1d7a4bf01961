//! What contains a run of a plug-in: a cgroup where systemd delegated one to this service, else a process session
//! (`setsid(2)`) and this process as the subreaper of what leaves it. Also what a run may use, and its environment.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use nodewell_checks::plugin::{Limits, Orphans, Own, PluginCgroups, RunCgroup};
use nodewell_sys::contain::{Rlimits, adopt_orphans};
use nodewell_time::Backoff;
use tokio::{sync::Semaphore, time::sleep};

/// So many programs run at once, whatever the files contain: a node has other things to do.
const AT_ONCE: usize = 16;
/// What all processes of one run may use. Scripts in Python or Perl need a tenth of the memory.
pub(super) const LIMITS: Limits = Limits { memory_bytes: 256 << 20, tasks: 128, cpu_percent: 100 };
/// What the check process needs for its own work and its workers, several times over. All of its program counts, which
/// is more than three times as large without optimisation. Tasks: a thread for each program that is being started, for
/// each state that is saved, for each filesystem that is tried; two worker groups, each with a worker and two that hang
/// in the kernel. That is some forty.
const OWN: Own = Own { memory_bytes: 64 << 20, tasks: 128 };
/// A program's state, not its logs.
const FILE_BYTES: u64 = 64 << 20;
/// What most systems give a login.
const OPEN_FILES: u64 = 1024;
/// Between two looks whether what was killed is gone.
const FIRST_LOOK: Duration = Duration::from_millis(1);
pub(super) const LONGEST_LOOK: Duration = Duration::from_millis(50);
/// At a stop, for processes that outlived their run.
const CLEARED_WITHIN: Duration = Duration::from_millis(500);

/// Shared by all runs of this process.
pub(in crate::check_process) struct Confinement {
    isolation: Isolation,
    node_name: RefCell<String>,
    pub(super) permits: Semaphore,
    runs: Cell<u64>,
}

/// How the processes of a run are found and ended.
enum Isolation {
    /// A cgroup for each run.
    Cgroups(PluginCgroups),
    /// `setsid(2)` for each run; what leaves its session becomes a child of this process, their subreaper.
    ProcessSessions(RefCell<Orphans>),
}

impl Confinement {
    /// Before this process has children.
    pub(in crate::check_process) fn prepare(is_service: bool) -> Self {
        Self {
            isolation: Isolation::prepare(is_service),
            node_name: RefCell::default(),
            permits: Semaphore::new(AT_ONCE),
            runs: Cell::new(0),
        }
    }

    pub(super) fn set_node_name(&self, name: String) {
        self.node_name.replace(name);
    }

    /// All that a program finds in its environment.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            // What Debian's login(1) gives root.
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("HOME", "/".to_owned()),
            ("NODE_NAME", self.node_name.borrow().clone()),
        ]
    }

    /// Contains the next run.
    pub(super) fn containment(self: &std::rc::Rc<Self>) -> RunContainment {
        let number = self.runs.get() + 1;
        self.runs.set(number);
        let cgroup = match &self.isolation {
            Isolation::Cgroups(cgroups) => {
                let cgroup = cgroups.run_cgroup(&number.to_string());
                cgroup.inspect_err(|error| tracing::warn!(%error, "a plug-in runs without limits of its own")).ok()
            }
            Isolation::ProcessSessions(_) => None,
        };
        if let Isolation::ProcessSessions(orphans) = &self.isolation {
            orphans.borrow_mut().starts();
        }
        RunContainment { confinement: self.clone(), cgroup, is_starting: true, program: None }
    }

    /// What a single process may use, beside what all of a run may together.
    pub(super) fn rlimits(&self, timeout: Duration) -> Rlimits {
        // One core for all of its time; a second for rounding.
        let cpu_secs = timeout.as_secs() + 2;
        Rlimits { memory_bytes: LIMITS.memory_bytes, cpu_secs, file_bytes: FILE_BYTES, open_files: OPEN_FILES }
    }

    /// At the stop: ends processes that outlived their run.
    pub(in crate::check_process) async fn clear(&self) {
        let Isolation::ProcessSessions(orphans) = &self.isolation else { return };
        let ended = async {
            // No program has pid 0: what is found belongs to no run.
            while orphans.borrow_mut().sweep(0) {
                sleep(FIRST_LOOK).await;
            }
        };
        let _ = tokio::time::timeout(CLEARED_WITHIN, ended).await;
    }
}

impl Isolation {
    fn prepare(is_service: bool) -> Self {
        // Only systemd can have delegated a cgroup to us: others are not ours to divide.
        if is_service {
            match PluginCgroups::create(&PathBuf::from("/proc"), OWN, LIMITS) {
                Ok(cgroups) => return Self::Cgroups(cgroups),
                Err(error) => tracing::info!(%error, "plug-ins run without cgroups of their own"),
            }
        }
        if let Err(error) = adopt_orphans() {
            tracing::warn!(%error, "what plug-ins leave behind cannot be found");
        }
        Self::ProcessSessions(RefCell::new(Orphans::new("/proc".into())))
    }
}

/// The containment of one run: finds and ends all its processes. Dropped, it ends them as far as that can be done
/// without waiting.
pub(super) struct RunContainment {
    confinement: std::rc::Rc<Confinement>,
    pub(super) cgroup: Option<RunCgroup>,
    /// Whether the result of the start is not known yet.
    is_starting: bool,
    /// The program's process, while it was not waited for.
    program: Option<u32>,
}

impl RunContainment {
    /// The program was started.
    pub(super) fn began(&mut self, pid: u32) {
        self.program = Some(pid);
        self.is_starting = false;
        if let Isolation::ProcessSessions(orphans) = &self.confinement.isolation {
            orphans.borrow_mut().began(pid);
        }
    }

    /// There is no program.
    pub(super) fn did_not_start(&mut self) {
        if let (true, Isolation::ProcessSessions(orphans)) =
            (std::mem::take(&mut self.is_starting), &self.confinement.isolation)
        {
            orphans.borrow_mut().did_not_start();
        }
    }

    /// The program itself was waited for.
    pub(super) fn ended(&mut self, pid: u32) {
        self.program = None;
        if let Isolation::ProcessSessions(orphans) = &self.confinement.isolation {
            orphans.borrow_mut().ended(pid);
        }
    }

    pub(super) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    /// Whether nothing of the run of `pid` is left; what is, is killed.
    pub(super) fn is_empty(&self, pid: u32) -> bool {
        match (&self.cgroup, &self.confinement.isolation) {
            (Some(cgroup), _) => {
                cgroup.is_gone() || {
                    cgroup.kill();
                    false
                }
            }
            (None, Isolation::ProcessSessions(orphans)) => !orphans.borrow_mut().sweep(pid),
            (None, Isolation::Cgroups(_)) => true,
        }
    }

    /// Waits until nothing is left of it, for as long as `within`; returns whether that is so.
    pub(super) async fn emptied(&self, pid: u32, within: Duration) -> bool {
        let mut looks = Backoff::new(FIRST_LOOK, LONGEST_LOOK);
        let deadline = tokio::time::Instant::now() + within;
        while !self.is_empty(pid) {
            if tokio::time::Instant::now() >= deadline {
                return false;
            }
            sleep(looks.pause()).await;
        }
        true
    }
}

impl Drop for RunContainment {
    fn drop(&mut self) {
        self.kill();
        self.did_not_start();
        if let (Some(pid), Isolation::ProcessSessions(orphans)) = (self.program, &self.confinement.isolation) {
            // It leads its group, and was not waited for.
            let _ = killpg(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
            orphans.borrow_mut().ended(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `nodewell-check.service`.
    fn of_the_service(key: &str) -> u64 {
        let unit = include_str!("../../../../systemd/nodewell-check.service");
        let value = unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        value.strip_suffix('M').map_or_else(|| value.parse().unwrap(), |mib| mib.parse::<u64>().unwrap() << 20)
    }

    #[test]
    fn a_run_at_its_limits_leaves_room_for_others_and_for_checks() {
        let (memory_bytes, tasks) = (of_the_service("MemoryMax="), of_the_service("TasksMax="));
        assert!(LIMITS.memory_bytes + LIMITS.memory_bytes / 2 + OWN.memory_bytes < memory_bytes, "{memory_bytes}");
        assert!(2 * LIMITS.tasks + OWN.tasks < tasks, "{tasks}");
    }
}
