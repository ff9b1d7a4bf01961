//! One run, from its start to the moment when nothing of it is left.

use std::{os::unix::process::ExitStatusExt, path::PathBuf, process::ExitStatus, rc::Rc, time::Duration};

use nodewell_checks::plugin::{Ending, RunResult, judge};
use nodewell_rules::plugin::{PluginTask, Protocol, Task};
use tokio::{
    process::Child,
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    ground::{Ground, LONGEST_LOOK, Pen},
    pipe::Pipe,
    start::Start,
};

/// As Node Problem Detector reads; longer messages than this are not shown anywhere.
const OUTPUT_BYTES: usize = 4096;
const ERRORS_BYTES: usize = 1024;
/// For what was killed to be gone, and for its pipes to end.
const DEATH: Duration = Duration::from_secs(1);

/// What is to be run, again and again.
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
    pub(super) said: Option<RunResult>,
    /// What of it could not be ended.
    pub(super) left: Option<Left>,
}

/// What is there after the end of a run: it hangs in the kernel.
pub(super) enum Left {
    /// Its program cannot even be opened.
    Opening(JoinHandle<Result<Child, Ending>>, Pen),
    Program(Box<Child>, Pen),
    /// Others that it started, by the pid that the program had.
    Tree(u32, Pen),
}

/// How a run went, before it is judged.
struct Ran {
    ending: Ending,
    output: Vec<u8>,
    left: Option<Left>,
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
    pub(super) async fn run(&self, ground: &Rc<Ground>, mut stop: watch::Receiver<bool>) -> Finished {
        // Closed only when all is dropped.
        let _permit = ground.permits.acquire().await;
        let Ran { ending, output, left } = self.finish(ground, &mut stop).await;
        if *stop.borrow() {
            return Finished { said: None, left };
        }
        if left.is_some() {
            tracing::error!(
                plugin = self.name,
                ?ending,
                "a plug-in survives SIGKILL; it is not started again before it is gone"
            );
        }
        let said = judge(self.protocol, &ending, &output, self.output_limit_bytes);
        Finished { said: Some(said), left }
    }

    async fn finish(&self, ground: &Rc<Ground>, stop: &mut watch::Receiver<bool>) -> Ran {
        let deadline = Instant::now() + self.timeout;
        let mut pen = ground.pen();
        let start = Start {
            path: self.path.clone(),
            args: self.args.clone(),
            environment: ground.environment(),
            rlimits: ground.rlimits(self.timeout),
            cgroup: pen.room.as_ref().and_then(|room| room.entrance().ok()),
        };
        let mut opening = tokio::task::spawn_blocking(move || start.run());
        match before((deadline, stop), &mut opening).await {
            Some(Ok(Ok(child))) => self.follow((child, pen), (deadline, stop)).await,
            Some(Ok(Err(ending))) => {
                pen.did_not_start();
                // An empty room is in no other run's way.
                pen.emptied(0, DEATH).await;
                Ran::without_output(ending, None)
            }
            // It panicked: a fault of ours.
            Some(Err(error)) => Ran::without_output(Ending::NotStarted(error.to_string()), None),
            None => {
                pen.kill();
                Ran::without_output(Ending::TimedOut, Some(Left::Opening(opening, pen)))
            }
        }
    }

    async fn follow(&self, (mut child, mut pen): (Child, Pen), until: (Instant, &mut watch::Receiver<bool>)) -> Ran {
        let pid = child.id().unwrap_or_default();
        pen.began(pid);
        let output = child.stdout.take().map(|from| Pipe::read(from, OUTPUT_BYTES));
        let errors = child.stderr.take().map(|from| Pipe::read(from, ERRORS_BYTES));
        let mut ending = match before(until, child.wait()).await {
            Some(Ok(status)) => ending(status),
            // Only this task waits for it.
            Some(Err(error)) => Ending::NotStarted(error.to_string()),
            None => Ending::TimedOut,
        };
        if pen.room.as_ref().is_some_and(|room| ending != Ending::Exited(0) && room.ran_out_of_memory()) {
            ending = Ending::OutOfMemory;
        }
        let left = end(child, pen, pid).await;
        let output = kept(output).await;
        self.note_errors(&kept(errors).await);
        Ran { ending, output, left }
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
    fn without_output(ending: Ending, left: Option<Left>) -> Self {
        Self { ending, output: Vec::new(), left }
    }
}

/// What comes of `work`, unless its time is over before.
async fn before<T>(
    (deadline, stop): (Instant, &mut watch::Receiver<bool>),
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = sleep_until(deadline) => None,
        // A dropped sender has no use for the result either.
        _ = stop.wait_for(|stop| *stop) => None,
    }
}

async fn kept(pipe: Option<Pipe>) -> Vec<u8> {
    match pipe {
        Some(pipe) => pipe.finish(DEATH).await,
        None => Vec::new(),
    }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}

/// Ends the program, if it has not, and all that it has started.
async fn end(mut child: Child, mut pen: Pen, pid: u32) -> Option<Left> {
    if child.id().is_some() {
        pen.kill();
        // It has not been waited for: the pid is still its own.
        let _ = child.start_kill();
        if timeout(DEATH, child.wait()).await.is_err() {
            return Some(Left::Program(Box::new(child), pen));
        }
    }
    pen.ended(pid);
    let is_gone = pen.emptied(pid, DEATH).await;
    (!is_gone).then_some(Left::Tree(pid, pen))
}

impl Left {
    /// Returns when nothing of it is there.
    pub(super) async fn gone(self) -> Finished {
        match self {
            Self::Opening(opening, mut pen) => {
                // What starts after all was not to start.
                let Ok(Ok(child)) = opening.await else { return Finished { said: None, left: None } };
                let pid = child.id().unwrap_or_default();
                pen.began(pid);
                let left = end(child, pen, pid).await;
                return Finished { said: None, left };
            }
            Self::Program(mut child, mut pen) => {
                let pid = child.id().unwrap_or_default();
                let _ = child.wait().await;
                pen.ended(pid);
                until_empty(pid, &pen).await;
            }
            Self::Tree(pid, pen) => until_empty(pid, &pen).await,
        }
        Finished { said: None, left: None }
    }
}

async fn until_empty(pid: u32, pen: &Pen) {
    while !pen.emptied(pid, DEATH).await {
        sleep(LONGEST_LOOK).await;
    }
}
