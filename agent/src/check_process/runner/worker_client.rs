//! The one worker of a worker group, seen from the check process. The client asks the worker one thing at a time, each
//! with a deadline. It makes sure that a worker which does not answer is gone, or that no worker is sent where it hangs.

use std::{io, os::unix::net::UnixStream as StdStream, time::Duration};

use crate::check_process::check_kind::CheckKind;
use jiff::Timestamp;
use nodewell_hardware::{NoAnswer, ReadError};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::{sleep, timeout},
};

use super::{
    leftovers::LeftOvers,
    process::{Start, Task},
};
use crate::check_process::{
    place::Place,
    protocol::{Ask, LINE_LIMIT_BYTES, Question, Reply, Said, WorkerConfig},
};

/// A killed process that is not in the kernel is gone within milliseconds.
pub(super) const DEATH: Duration = Duration::from_secs(1);
const DEATH_LOOKS_APART: Duration = Duration::from_millis(10);
/// Late answers to earlier questions; a worker that sends more of them is none of ours.
const STRAYS_LIMIT: usize = 16;

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::check_process) enum Outcome {
    Said(Said),
    /// No answer in time.
    Silent(NoAnswer),
    /// The worker ended, cannot be started, or sends what is no answer.
    Broken(String),
}

impl Outcome {
    /// Whether it cost the worker, or would have.
    pub(super) fn is_lost(&self) -> bool {
        !matches!(self, Self::Said(_))
    }
}

/// Where questions are asked.
pub(in crate::check_process) struct WorkerClient {
    start: Box<dyn Start>,
    worker_config: WorkerConfig,
    worker: Option<Worker>,
    pub(super) leftovers: LeftOvers,
    /// How many workers there have been.
    workers: u64,
    /// Of all workers: a late answer of one of them is no answer to another one's question.
    last_id: u64,
}

struct Worker {
    task: Box<dyn Task>,
    lines: BufReader<OwnedReadHalf>,
    questions: OwnedWriteHalf,
}

/// Why there is no answer that could be used.
enum Failure {
    Gone,
    Broken(String),
}

impl WorkerClient {
    pub(in crate::check_process) fn new(start: Box<dyn Start>, worker_config: WorkerConfig) -> Self {
        Self { start, worker_config, worker: None, leftovers: LeftOvers::default(), workers: 0, last_id: 0 }
    }

    /// Asks, and waits for the answer no longer than `deadline`, and for the end of a worker that gives none.
    pub(super) async fn ask(&mut self, check: CheckKind, ask: Ask, deadline: Duration) -> Outcome {
        let place = Place::of(check, &ask);
        if let Some(no_answer) = self.leftovers.forbid(&place) {
            return Outcome::Silent(no_answer);
        }
        let since = Timestamp::now();
        match timeout(deadline, self.answer(check, ask)).await {
            Ok(Ok(said)) => Outcome::Said(said),
            Ok(Err(failure)) => self.broken(place, since, failure).await,
            Err(_) => self.silent(place, since, deadline).await,
        }
    }

    async fn answer(&mut self, check: CheckKind, ask: Ask) -> Result<Said, Failure> {
        self.drop_ended();
        self.last_id += 1;
        let question = Question { id: self.last_id, check, ask };
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => {
                let worker = none.insert(Worker::start(&*self.start)?);
                self.workers += 1;
                worker.say(&self.worker_config).await?;
                worker
            }
        };
        worker.say(&question).await?;
        for _ in 0..STRAYS_LIMIT {
            let reply = worker.hear().await?;
            if reply.id == question.id {
                return fitting(reply.said, &question.ask);
            }
        }
        Err(Failure::Broken("its reply belongs to no request".to_owned()))
    }

    /// One that ended between two questions, killed for its memory for example, is no device's error.
    fn drop_ended(&mut self) {
        if let Some(how) = self.worker.as_mut().and_then(|worker| worker.task.ended()) {
            tracing::warn!(how, "the reader ended while it was idle; another one is started");
            self.worker = None;
        }
    }

    async fn silent(&mut self, place: Place, since: Timestamp, deadline: Duration) -> Outcome {
        tracing::warn!(at = place.device(), "no answer in time; its reader is killed");
        let message = match self.dismiss(&place, since).await {
            Dismissal::Gone(_) => format!("no answer within {} s", deadline.as_secs_f32()),
            Dismissal::Stuck(pid) => format!("its reader, pid {pid}, is stuck in the kernel"),
        };
        Outcome::Silent(NoAnswer::asked(since, message))
    }

    async fn broken(&mut self, place: Place, since: Timestamp, failure: Failure) -> Outcome {
        let how = match (self.dismiss(&place, since).await, failure) {
            (Dismissal::Stuck(pid), _) => {
                let message = format!("its reader, pid {pid}, is stuck in the kernel");
                return Outcome::Silent(NoAnswer::asked(since, message));
            }
            (Dismissal::Gone(Some(how)), Failure::Gone) => format!("its reader ended: {how}"),
            (Dismissal::Gone(None), Failure::Gone) => "its reader ended".to_owned(),
            (_, Failure::Broken(how)) => how,
        };
        tracing::warn!(at = place.device(), how, "no answer");
        Outcome::Broken(how)
    }

    /// Kills the worker and sees whether it dies.
    async fn dismiss(&mut self, place: &Place, since: Timestamp) -> Dismissal {
        let Some(Worker { mut task, .. }) = self.worker.take() else { return Dismissal::Gone(None) };
        // One that has ended by itself is distinguished from one that we end.
        let mut ended = task.ended();
        if ended.is_none() {
            task.kill();
            for _ in 0..DEATH.as_millis() / DEATH_LOOKS_APART.as_millis() {
                sleep(DEATH_LOOKS_APART).await;
                ended = task.ended();
                if ended.is_some() {
                    break;
                }
            }
        }
        if ended.is_none() {
            let pid = task.pid();
            self.leftovers.add(place.clone(), since, task);
            return Dismissal::Stuck(pid);
        }
        Dismissal::Gone(ended)
    }

    /// Which of all workers is asked: another one may know what this one does not.
    pub(super) fn worker(&self) -> u64 {
        self.workers
    }

    /// Ends the worker, so that it holds nothing any more: no library, no device.
    pub(super) async fn end(&mut self, check: CheckKind) {
        let place = Place::of(check, &Ask::List);
        self.dismiss(&place, Timestamp::now()).await;
    }
}

/// What came of killing a worker.
enum Dismissal {
    Gone(Option<String>),
    Stuck(u32),
}

impl Worker {
    fn start(start: &dyn Start) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Broken(format!("no reader can be started: {error}"));
        let (mut task, stream) = start.start().map_err(failed)?;
        let (lines, questions) = connected(stream).inspect_err(|_| task.kill()).map_err(failed)?;
        Ok(Self { task, lines, questions })
    }

    async fn say(&mut self, what: &impl serde::Serialize) -> Result<(), Failure> {
        // Our types have string keys and finite numbers only: they always serialise.
        let mut line = serde_json::to_vec(what).unwrap_or_default();
        line.push(b'\n');
        self.questions.write_all(&line).await.map_err(|_| Failure::Gone)
    }

    async fn hear(&mut self) -> Result<Reply, Failure> {
        let mut line = Vec::new();
        let limit = LINE_LIMIT_BYTES as u64;
        (&mut self.lines).take(limit).read_until(b'\n', &mut line).await.map_err(|_| Failure::Gone)?;
        match line.pop() {
            None => Err(Failure::Gone),
            Some(b'\n') => serde_json::from_slice(&line)
                .map_err(|error| Failure::Broken(format!("its reader says what is no answer: {error}"))),
            Some(_) if line.len() + 1 < LINE_LIMIT_BYTES => Err(Failure::Gone),
            Some(_) => Err(Failure::Broken(format!("its reader says more than {LINE_LIMIT_BYTES} bytes"))),
        }
    }
}

fn connected(stream: StdStream) -> io::Result<(BufReader<OwnedReadHalf>, OwnedWriteHalf)> {
    stream.set_nonblocking(true)?;
    let (read, write) = UnixStream::from_std(stream)?.into_split();
    Ok((BufReader::new(read), write))
}

/// An answer of the kind that was asked for.
fn fitting(said: Said, ask: &Ask) -> Result<Said, Failure> {
    match (&said, ask) {
        (Said::Trouble(_), _)
        | (Said::Devices { .. }, Ask::List)
        | (Said::Reading(_), Ask::Read { .. })
        | (Said::News(_), Ask::Wait { .. }) => Ok(said),
        _ => Err(Failure::Broken("its reader answers something else than it was asked".to_owned())),
    }
}

impl From<Outcome> for Result<Said, nodewell_hardware::PollError> {
    fn from(outcome: Outcome) -> Self {
        use nodewell_hardware::PollError;
        match outcome {
            Outcome::Said(Said::Trouble(error)) => Err(PollError::Read(error)),
            Outcome::Said(said) => Ok(said),
            Outcome::Silent(no_answer) => Err(PollError::NoAnswer(no_answer)),
            Outcome::Broken(message) => Err(PollError::Read(ReadError::Failed { message })),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
