//! Workers that were killed and do not die: they hang in the kernel, at a device that is not asked again until they are
//! gone. Each of them may hold a lock of the kernel, so there are never many.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use nodewell_checks::{cgroup, probe::NoAnswer};

use tokio::time::sleep;

use super::{
    client::KILL_TIMEOUT,
    process::WorkerProcess,
    task::{self, Stat},
    task_name::TaskName,
};
use crate::{
    check_process::WorkerGroup,
    runtime::{notify, program::CHECKS},
};

/// With so many nothing more is asked: what hangs is more than single devices.
const LIMIT: usize = 2;

/// Those of one worker group.
#[derive(Default)]
pub(in crate::check_process) struct StuckWorkers {
    stuck: Vec<StuckWorker>,
    /// All since the start of this process.
    count: u64,
}

struct StuckWorker {
    task_name: TaskName,
    /// When it was asked, or found.
    since: Timestamp,
    process: Box<dyn WorkerProcess>,
}

impl StuckWorkers {
    pub(super) fn add(&mut self, task_name: TaskName, since: Timestamp, process: Box<dyn WorkerProcess>) {
        tracing::error!(
            pid = process.pid(),
            at = task_name.device(),
            "a worker hangs in the kernel and survives SIGKILL"
        );
        self.count += 1;
        self.stuck.push(StuckWorker { task_name, since, process });
    }

    pub(in crate::check_process) fn are_none(&self) -> bool {
        self.stuck.is_empty()
    }

    /// Lets go of those that are gone. Returns whether any was.
    pub(in crate::check_process) fn reap(&mut self) -> bool {
        let before = self.stuck.len();
        self.stuck.retain_mut(|worker| match worker.process.ended() {
            Some(how) => {
                tracing::info!(
                    pid = worker.process.pid(),
                    at = worker.task_name.device(),
                    how,
                    "a worker that hung is gone"
                );
                false
            }
            None => true,
        });
        self.stuck.len() < before
    }

    /// Why nothing is asked there.
    pub(super) fn forbid(&self, task_name: &TaskName) -> Option<NoAnswer> {
        if let Some(worker) = self.stuck.iter().find(|worker| worker.task_name.is_same(task_name)) {
            let message = format!("its worker, pid {}, is stuck in the kernel", worker.process.pid());
            return Some(NoAnswer::asked(worker.since, message));
        }
        let last = self.stuck.last().filter(|_| self.are_many())?;
        let why = format!("the workers of {} others are stuck in the kernel", self.stuck.len());
        Some(NoAnswer::not_asked(last.since, &why))
    }

    /// Whether nothing more is asked of the whole group.
    pub(super) fn are_many(&self) -> bool {
        self.stuck.len() >= LIMIT
    }

    /// For the status line; nothing while no worker is stuck.
    pub(in crate::check_process) fn summary(&self) -> Option<String> {
        let named: Vec<&str> = self.stuck.iter().map(|worker| worker.task_name.device()).collect();
        let count = self.count;
        (!named.is_empty())
            .then(|| format!("workers stuck in the kernel at {}; {count} since the start", named.join(", ")))
    }

    /// Finds the workers that an earlier run of this check process left behind: ours, stuck, and without a live parent.
    pub(in crate::check_process) async fn find(&mut self, proc: &Path, ours: &WorkerIdentity) {
        if Orphan::all(proc, ours).next().is_some() {
            // Those that were at work a moment ago are dying with their check process.
            sleep(KILL_TIMEOUT).await;
        }
        for orphan in Orphan::all(proc, ours) {
            self.add(orphan.task_name.clone(), Timestamp::now(), Box::new(orphan));
        }
    }
}

/// What identifies a worker that an earlier run of this check process started. Its name does not suffice: any user can
/// give a process that name.
pub(in crate::check_process) struct WorkerIdentity {
    worker_group: WorkerGroup,
    uid: u32,
    /// Of the service: only what a service started is in it. `None` where we are no service.
    cgroup: Option<String>,
}

impl WorkerIdentity {
    pub(in crate::check_process) fn new(worker_group: WorkerGroup, proc: &Path) -> Self {
        let cgroup = notify::is_service().then(|| cgroup::read(&proc.join("self")).ok().flatten()).flatten();
        Self { worker_group, uid: nix::unistd::geteuid().as_raw(), cgroup }
    }

    fn owns(&self, folder: &Path) -> bool {
        match &self.cgroup {
            Some(ours) => cgroup::read(folder).is_ok_and(|cgroup| cgroup.as_ref() == Some(ours)),
            None => task::uids(folder).is_some_and(|uids| uids.iter().all(|uid| *uid == self.uid)),
        }
    }
}

/// A worker of an earlier run, by now the child of another process.
struct Orphan {
    folder: PathBuf,
    pid: u32,
    task_name: TaskName,
    /// Distinguishes it from a later process with its pid.
    started: u64,
}

impl Orphan {
    fn all<'a>(proc: &'a Path, ours: &'a WorkerIdentity) -> impl Iterator<Item = Self> + 'a {
        let entries = fs::read_dir(proc).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(move |pid| Self::read(proc, ours, pid))
    }

    fn read(proc: &Path, ours: &WorkerIdentity, pid: u32) -> Option<Self> {
        let folder = proc.join(pid.to_string());
        let stat = Stat::read(&folder)?;
        let task_name = TaskName::named(&stat.name, ours.worker_group).filter(|_| stat.is_there())?;
        // One whose check process lives is looked after by that.
        let parent = Stat::read(&proc.join(stat.parent.to_string()));
        let is_orphan = parent.is_none_or(|parent| parent.name != CHECKS);
        let is_stuck = is_orphan && ours.owns(&folder) && task::is_stuck(&folder, &stat);
        is_stuck.then_some(Self { folder, pid, task_name, started: stat.started })
    }
}

impl WorkerProcess for Orphan {
    fn pid(&self) -> u32 {
        self.pid
    }

    /// It was killed with its check process.
    fn kill(&mut self) {}

    /// One that cannot be looked at is still there: its device is asked again only when it is gone.
    fn ended(&mut self) -> Option<String> {
        let is_it = |stat: &Stat| stat.started == self.started && stat.is_there();
        let found = Stat::look(&self.folder).ok()?;
        found.is_none_or(|stat| !is_it(&stat)).then(|| "of an earlier run".to_owned())
    }
}

#[cfg(test)]
mod tests;
