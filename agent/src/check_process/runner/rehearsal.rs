//! What a runner does where the root disk dies, done once while that works: a worker is silent and is killed, one
//! survives that, one ends by itself; devices cannot be read; filesystems take no writes. Code that never ran is not in
//! memory, and a check process that waits for it is silent about the very disk that it waits for. Nothing of this is
//! seen outside.

use std::{io, os::unix::net::UnixStream, time::Duration};

use nodewell_checks::{
    Check,
    probe::{PollError, ReadError},
};
use nodewell_client::Client;
use tokio::time::sleep;
use tracing::{Dispatch, instrument::WithSubscriber};

use super::{RunnerPlan, poll_loop::PollLoop};
use crate::check_process::{
    WorkerGroup,
    report::{ConditionReporter, Link, Unreached},
    status_line::StatusLine,
    worker::{
        client::WorkerClient,
        process::{SelfExec, SpawnWorker, WorkerProcess},
        protocol::{Operation, Reply, ReplyBody, WorkerConfig},
    },
};

/// Where no agent listens.
const NOWHERE: &str = "/proc/nodewell-rehearsal";
/// For workers that do not answer.
const DEADLINE: Duration = Duration::from_millis(1);
/// A reporter waits for more, and composes its report then.
const UNTIL_COMPOSED: Duration = Duration::from_millis(50);

/// To be called once everything was asked for the first time.
pub(super) async fn rehearse(plan: &RunnerPlan, poll_loops: &[PollLoop]) {
    let Some(first) = poll_loops.first() else { return };
    // Of its process nothing is locked, and a library is not loaded for this.
    if plan.worker_group == WorkerGroup::Gpu {
        return;
    }
    let all = async {
        let real = || -> Box<dyn SpawnWorker> {
            Box::new(SelfExec { worker_group: plan.worker_group, socket: plan.release_socket.clone() })
        };
        let mut errors = silences(real, &plan.worker_config, first.check).await;
        errors.extend(read_error());
        report(plan, poll_loops, &errors).await;
    };
    // Who reads the log would take it for the truth.
    all.with_subscriber(Dispatch::none()).await;
}

/// What the worker of `real` and two others that are made up are taken for.
async fn silences(
    real: impl Fn() -> Box<dyn SpawnWorker>,
    worker_config: &WorkerConfig,
    check: &'static Check,
) -> Vec<PollError> {
    let mut errors = Vec::new();
    for fate in [Fate::IsKilled, Fate::Survives, Fate::Ends] {
        let workers = Rehearsed { real: real(), fate };
        let mut worker_client = WorkerClient::new(Box::new(workers), worker_config.clone());
        // Where one hangs in the kernel, nothing is asked the second time.
        let times = if fate == Fate::Survives { 2 } else { 1 };
        for _ in 0..times {
            let outcome = worker_client.request(check, Operation::List, DEADLINE).await;
            errors.extend(Result::<ReplyBody, PollError>::from(outcome).err());
        }
        let _ = worker_client.stuck.summary();
        worker_client.stuck.reap();
    }
    errors
}

/// As it comes from a worker.
fn read_error() -> Option<PollError> {
    let error = ReadError::Failed { message: "Input/output error".to_owned() };
    let sent = serde_json::to_vec(&Reply { id: 0, body: ReplyBody::Error(error) }).ok()?;
    match serde_json::from_slice::<Reply>(&sent).ok()?.body {
        ReplyBody::Error(error) => Some(PollError::Read(error)),
        _ => None,
    }
}

/// To no agent.
async fn report(plan: &RunnerPlan, poll_loops: &[PollLoop], errors: &[PollError]) {
    let link = Link::new(Client::new(NOWHERE), "rehearsal", StatusLine::new(""));
    let mut condition_reporter = ConditionReporter::new(&link);
    for poll_loop in poll_loops {
        let check = poll_loop.check;
        let judge = (check.judge)(&plan.worker_config.settings, &plan.pod_names);
        for findings in poll_loop.rehearsed(judge, errors) {
            condition_reporter.report(check, findings, &Unreached::Nothing).await;
        }
        drop(condition_reporter.reported(check));
    }
    sleep(UNTIL_COMPOSED).await;
}

/// What becomes of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is silent, and dies when it is killed.
    IsKilled,
    /// It is silent, and hangs in the kernel.
    Survives,
    Ends,
}

/// Starts workers that no request reaches.
struct Rehearsed {
    real: Box<dyn SpawnWorker>,
    fate: Fate,
}

/// One of them.
struct RehearsedWorker {
    /// Only what is to be killed has one.
    process: Option<Box<dyn WorkerProcess>>,
    fate: Fate,
    /// The other ends: of what is written to the worker, and of what a process waits for.
    _ends: Vec<UnixStream>,
}

impl SpawnWorker for Rehearsed {
    fn spawn(&self) -> io::Result<(Box<dyn WorkerProcess>, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let (process, ends) = match self.fate {
            Fate::IsKilled => {
                let (process, unused) = self.real.spawn()?;
                (Some(process), vec![theirs, unused])
            }
            Fate::Survives => (None, vec![theirs]),
            Fate::Ends => (None, Vec::new()),
        };
        Ok((Box::new(RehearsedWorker { process, fate: self.fate, _ends: ends }), ours))
    }
}

impl WorkerProcess for RehearsedWorker {
    fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| process.pid())
    }

    fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill();
        }
    }

    fn ended(&mut self) -> Option<String> {
        match self.fate {
            Fate::IsKilled => self.process.as_mut()?.ended(),
            Fate::Survives => None,
            Fate::Ends => Some("as rehearsed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        sync::{
            Arc, Mutex,
            atomic::{AtomicU32, Ordering},
        },
    };

    use nodewell_checks::disk;

    use super::*;
    use crate::check_process::worker::client::tests::fake::worker_config;

    /// Its workers die when they are killed; what comes to them can be read.
    #[derive(Clone, Default)]
    struct Mortal {
        killed: Arc<AtomicU32>,
        ends: Arc<Mutex<Vec<UnixStream>>>,
    }

    impl SpawnWorker for Mortal {
        fn spawn(&self) -> io::Result<(Box<dyn WorkerProcess>, UnixStream)> {
            let (ours, theirs) = UnixStream::pair()?;
            self.ends.lock().unwrap().push(theirs);
            Ok((Box::new(self.clone()), ours))
        }
    }

    impl WorkerProcess for Mortal {
        fn pid(&self) -> u32 {
            7
        }

        fn kill(&mut self) {
            self.killed.fetch_add(1, Ordering::Relaxed);
        }

        fn ended(&mut self) -> Option<String> {
            (self.killed.load(Ordering::Relaxed) > 0).then(|| "signal: 9".to_owned())
        }
    }

    fn message(error: &PollError) -> String {
        match error {
            PollError::NoAnswer(no_answer) => no_answer.message.clone(),
            PollError::Read(error) => error.to_string(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_way_to_be_silent_is_gone_and_no_request_reaches_a_worker() {
        let mortal = Mortal::default();
        let real = || -> Box<dyn SpawnWorker> { Box::new(mortal.clone()) };
        let errors = silences(real, &worker_config(), &disk::CHECK).await;
        let messages: Vec<String> = errors.iter().map(message).collect();
        let stuck = "its worker, pid 0, is stuck in the kernel";
        assert_eq!(messages, ["no answer within 0.001 s", stuck, stuck, "its worker ended: as rehearsed"]);
        assert_eq!(mortal.killed.load(Ordering::Relaxed), 1);
        let mut ends = mortal.ends.lock().unwrap();
        let mut came = Vec::new();
        assert_eq!((ends.len(), ends[0].read_to_end(&mut came).unwrap()), (1, 0), "{came:?}");
    }

    #[test]
    fn an_error_of_a_reader_comes_back_as_one() {
        assert_eq!(read_error().as_ref().map(message).as_deref(), Some("Input/output error"));
    }
}
