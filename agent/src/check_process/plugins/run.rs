//! One run, from its start to the moment when no process of it is left.

use std::{os::unix::process::ExitStatusExt, path::PathBuf, process::ExitStatus, rc::Rc, time::Duration};

use nodewell_checks::plugin::{MemoryKill, RunCgroup, RunEnd, RunResult, judge};
use nodewell_rules::plugin::{PluginTask, Protocol, Task};
use tokio::{
    process::Child,
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    confinement::{Confinement, LONGEST_LOOK, RunContainment},
    pipe::Pipe,
    start::Start,
};

/// As Node Problem Detector reads; longer messages than this are not shown anywhere.
const OUTPUT_BYTES: usize = 4096;
const ERRORS_BYTES: usize = 1024;
/// After SIGKILL, for the processes of a run to be gone and their pipes to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// A plug-in: a program that is run again and again.
pub(super) struct Job {
    name: String,
    path: PathBuf,
    args: Vec<String>,
    protocol: Protocol,
    output_limit_bytes: usize,
    timeout: Duration,
}

/// The end of a run.
pub(super) struct Finished {
    /// Its result; `None` for what was waited for after it was reported.
    pub(super) result: Option<RunResult>,
    /// What of it could not be ended.
    pub(super) stuck: Option<StuckRun>,
}

/// What survives SIGKILL at the end of a run: it hangs in the kernel.
pub(super) enum StuckRun {
    /// Its program cannot even be opened.
    Opening(JoinHandle<Result<Child, RunEnd>>, RunContainment),
    Program(Box<Child>, RunContainment),
    /// Others that it started, by the pid that the program had.
    Tree(u32, RunContainment),
}

/// How a run went, before it is judged.
struct Ran {
    end: RunEnd,
    output: Vec<u8>,
    stuck: Option<StuckRun>,
}

impl Job {
    /// `None` for what is no program.
    pub(super) fn of(task: &PluginTask) -> Option<Self> {
        let Task::Run { path, args, protocol } = &task.task else { return None };
        Some(Self {
            name: task.name.clone(),
            path: path.clone(),
            args: args.clone(),
            protocol: *protocol,
            output_limit_bytes: task.output_limit_bytes,
            timeout: task.timeout,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs it once, or until `stop` is true.
    pub(super) async fn run(&self, confinement: &Rc<Confinement>, mut stop: watch::Receiver<bool>) -> Finished {
        // Closed only when all is dropped.
        let _permit = confinement.permits.acquire().await;
        let Ran { end, output, stuck } = self.finish(confinement, &mut stop).await;
        if *stop.borrow() {
            return Finished { result: None, stuck };
        }
        if stuck.is_some() {
            tracing::error!(
                plugin = self.name,
                ?end,
                "a plug-in survives SIGKILL; it is not started again before it is gone"
            );
        }
        let result = judge(self.protocol, &end, &output, self.output_limit_bytes);
        Finished { result: Some(result), stuck }
    }

    async fn finish(&self, confinement: &Rc<Confinement>, stop: &mut watch::Receiver<bool>) -> Ran {
        let deadline = Instant::now() + self.timeout;
        let mut containment = confinement.containment();
        let start = Start {
            path: self.path.clone(),
            args: self.args.clone(),
            environment: confinement.environment(),
            rlimits: confinement.rlimits(self.timeout),
            cgroup: containment.cgroup.as_ref().and_then(|cgroup| cgroup.procs_fd().ok()),
        };
        let mut opening = tokio::task::spawn_blocking(move || start.run());
        match before(deadline, stop, &mut opening).await {
            Some(Ok(Ok(child))) => self.follow(child, containment, deadline, stop).await,
            Some(Ok(Err(end))) => {
                containment.did_not_start();
                // An empty cgroup is in no other run's way.
                containment.emptied(0, KILL_TIMEOUT).await;
                Ran::without_output(end, None)
            }
            // It panicked: a fault of ours.
            Some(Err(error)) => Ran::without_output(RunEnd::NotStarted(error.to_string()), None),
            None => {
                containment.kill();
                Ran::without_output(RunEnd::TimedOut, Some(StuckRun::Opening(opening, containment)))
            }
        }
    }

    async fn follow(
        &self,
        mut child: Child,
        mut containment: RunContainment,
        deadline: Instant,
        stop: &mut watch::Receiver<bool>,
    ) -> Ran {
        let pid = child.id().unwrap_or_default();
        containment.began(pid);
        let output = child.stdout.take().map(|from| Pipe::read(from, OUTPUT_BYTES));
        let errors = child.stderr.take().map(|from| Pipe::read(from, ERRORS_BYTES));
        let mut end = match before(deadline, stop, child.wait()).await {
            Some(Ok(status)) => run_end(status),
            // Only this task waits for it.
            Some(Err(error)) => RunEnd::NotStarted(error.to_string()),
            None => RunEnd::TimedOut,
        };
        if end != RunEnd::Exited(0)
            && let Some(kill) = containment.cgroup.as_ref().and_then(RunCgroup::memory_kill)
        {
            end = killed(kill);
        }
        let stuck = reap(child, containment, pid).await;
        let output = output_of(output).await;
        self.note_errors(&output_of(errors).await);
        Ran { end, output, stuck }
    }

    fn note_errors(&self, errors: &[u8]) {
        if !errors.is_empty() {
            tracing::debug!(
                plugin = self.name,
                stderr = nodewell_model::text::message(errors),
                "a plug-in's standard error"
            );
        }
    }
}

impl Ran {
    fn without_output(end: RunEnd, stuck: Option<StuckRun>) -> Self {
        Self { end, output: Vec::new(), stuck }
    }
}

/// What comes of `work`, unless its time is over before.
async fn before<T>(deadline: Instant, stop: &mut watch::Receiver<bool>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = sleep_until(deadline) => None,
        // A dropped sender has no use for the result either.
        _ = stop.wait_for(|stop| *stop) => None,
    }
}

async fn output_of(pipe: Option<Pipe>) -> Vec<u8> {
    match pipe {
        Some(pipe) => pipe.finish(KILL_TIMEOUT).await,
        None => Vec::new(),
    }
}

fn run_end(status: ExitStatus) -> RunEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => RunEnd::Exited(code),
        (None, signal) => RunEnd::Signalled(signal.unwrap_or_default()),
    }
}

fn killed(kill: MemoryKill) -> RunEnd {
    match kill {
        MemoryKill::OwnLimit => RunEnd::OutOfMemory,
        MemoryKill::Shortage => RunEnd::MemoryShortage,
    }
}

/// Ends the program, if it has not, and all that it has started.
async fn reap(mut child: Child, mut containment: RunContainment, pid: u32) -> Option<StuckRun> {
    if child.id().is_some() {
        containment.kill();
        // It has not been waited for: the pid is still its own.
        let _ = child.start_kill();
        if timeout(KILL_TIMEOUT, child.wait()).await.is_err() {
            return Some(StuckRun::Program(Box::new(child), containment));
        }
    }
    containment.ended(pid);
    let is_gone = containment.emptied(pid, KILL_TIMEOUT).await;
    (!is_gone).then_some(StuckRun::Tree(pid, containment))
}

impl StuckRun {
    /// Returns when nothing of it is there.
    pub(super) async fn gone(self) -> Finished {
        match self {
            Self::Opening(opening, mut containment) => {
                // What starts after all was not to start.
                let Ok(Ok(child)) = opening.await else { return Finished { result: None, stuck: None } };
                let pid = child.id().unwrap_or_default();
                containment.began(pid);
                let stuck = reap(child, containment, pid).await;
                return Finished { result: None, stuck };
            }
            Self::Program(mut child, mut containment) => {
                let pid = child.id().unwrap_or_default();
                let _ = child.wait().await;
                containment.ended(pid);
                until_empty(pid, &containment).await;
            }
            Self::Tree(pid, containment) => until_empty(pid, &containment).await,
        }
        Finished { result: None, stuck: None }
    }
}

async fn until_empty(pid: u32, containment: &RunContainment) {
    while !containment.emptied(pid, KILL_TIMEOUT).await {
        sleep(LONGEST_LOOK).await;
    }
}
