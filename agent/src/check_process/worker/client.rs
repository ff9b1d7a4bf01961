//! The one worker of a worker group, seen from the check process. The client sends one request at a time, each with a
//! deadline. It makes sure that a worker which does not answer is gone, or that its device is not asked again.

use std::{
    io::{self, ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_checks::{
    Check,
    probe::{NoAnswer, ReadError},
};
use tokio::{
    io::unix::AsyncFd,
    time::{sleep, timeout},
};

use super::{
    process::{SpawnWorker, WorkerProcess},
    protocol::{LINE_LIMIT_BYTES, Operation, Reply, ReplyBody, Request, WorkerConfig},
    stuck::StuckWorkers,
    task_name::TaskName,
};
use crate::runtime::readable::readable;

/// After SIGKILL, for the worker to be gone: milliseconds, unless it hangs in the kernel.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(1);
const DEATH_LOOKS_APART: Duration = Duration::from_millis(10);
/// A reply has some hundred bytes, most of them.
const CHUNK_BYTES: usize = 4096;
/// The kernel takes some hundred kilobytes that a worker has not read: a request is a hundredth of that.
const FULL_SOCKET_PAUSE: Duration = Duration::from_millis(5);
/// Late replies to earlier requests; a worker that sends more of them is none of ours.
const LATE_REPLIES_LIMIT: usize = 16;

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::check_process) enum Outcome {
    Reply(ReplyBody),
    /// No answer in time.
    NoAnswer(NoAnswer),
    /// The worker ended, cannot be started, or sends what is no answer.
    Broken(String),
}

impl Outcome {
    /// Whether the worker was lost, or none was asked because of a stuck one.
    pub(in crate::check_process) fn is_lost(&self) -> bool {
        !matches!(self, Self::Reply(_))
    }
}

/// Sends requests to the worker, and starts one where there is none.
pub(in crate::check_process) struct WorkerClient {
    spawn_worker: Box<dyn SpawnWorker>,
    worker_config: WorkerConfig,
    worker: Option<Worker>,
    pub(in crate::check_process) stuck: StuckWorkers,
    /// The number of the newest worker: how many there have been.
    generation: u64,
    /// Of all workers: a late reply of one of them is no reply to another one's request.
    last_id: u64,
}

struct Worker {
    process: Box<dyn WorkerProcess>,
    /// It wakes us when there is something to read, and not when the worker has read what we wrote: that would be one more
    /// wake for each request.
    socket: AsyncFd<UnixStream>,
    /// The beginning of the next line, and how much of it has been searched for the end.
    received: Vec<u8>,
    searched: usize,
}

/// Why there is no reply that could be used.
enum RequestError {
    WorkerGone,
    Broken(String),
}

impl WorkerClient {
    pub(in crate::check_process) fn new(spawn_worker: Box<dyn SpawnWorker>, worker_config: WorkerConfig) -> Self {
        Self { spawn_worker, worker_config, worker: None, stuck: StuckWorkers::default(), generation: 0, last_id: 0 }
    }

    /// Asks, and waits for the answer no longer than `deadline`, and for the end of a worker that gives none.
    pub(in crate::check_process) async fn request(
        &mut self,
        check: &'static Check,
        operation: Operation,
        deadline: Duration,
    ) -> Outcome {
        let task_name = TaskName::of(check, &operation);
        if let Some(no_answer) = self.stuck.forbid(&task_name) {
            return Outcome::NoAnswer(no_answer);
        }
        let since = Timestamp::now();
        match timeout(deadline, self.answer(check, operation)).await {
            Ok(Ok(body)) => Outcome::Reply(body),
            Ok(Err(error)) => self.broken(task_name, since, error).await,
            Err(_) => self.silent(task_name, since, deadline).await,
        }
    }

    async fn answer(&mut self, check: &'static Check, operation: Operation) -> Result<ReplyBody, RequestError> {
        self.drop_ended();
        self.last_id += 1;
        let request = Request { id: self.last_id, check, operation };
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => {
                let worker = none.insert(Worker::spawn(&*self.spawn_worker)?);
                self.generation += 1;
                worker.send(&self.worker_config).await?;
                worker
            }
        };
        worker.send(&request).await?;
        for _ in 0..LATE_REPLIES_LIMIT {
            let reply = worker.receive().await?;
            if reply.id == request.id {
                return matching(reply.body, &request.operation);
            }
        }
        Err(RequestError::Broken("its reply belongs to no request".to_owned()))
    }

    /// Whether one runs, as far as is known.
    pub(in crate::check_process) fn has_worker(&self) -> bool {
        self.worker.is_some()
    }

    /// One that ended between two requests, killed for its memory for example, is no device's error.
    fn drop_ended(&mut self) {
        if let Some(how) = self.worker.as_mut().and_then(|worker| worker.process.ended()) {
            tracing::warn!(how, "the worker ended while it was idle; another one is started");
            self.worker = None;
        }
    }

    async fn silent(&mut self, task_name: TaskName, since: Timestamp, deadline: Duration) -> Outcome {
        tracing::warn!(at = task_name.device(), "no answer in time; its worker is killed");
        let message = match self.kill_worker(&task_name, since).await {
            KillOutcome::Gone(_) => format!("no answer within {} s", deadline.as_secs_f32()),
            KillOutcome::Stuck(pid) => format!("its worker, pid {pid}, is stuck in the kernel"),
        };
        Outcome::NoAnswer(NoAnswer::asked(since, message))
    }

    async fn broken(&mut self, task_name: TaskName, since: Timestamp, error: RequestError) -> Outcome {
        let how = match (self.kill_worker(&task_name, since).await, error) {
            (KillOutcome::Stuck(pid), _) => {
                let message = format!("its worker, pid {pid}, is stuck in the kernel");
                return Outcome::NoAnswer(NoAnswer::asked(since, message));
            }
            (KillOutcome::Gone(Some(how)), RequestError::WorkerGone) => format!("its worker ended: {how}"),
            (KillOutcome::Gone(None), RequestError::WorkerGone) => "its worker ended".to_owned(),
            (_, RequestError::Broken(how)) => how,
        };
        tracing::warn!(at = task_name.device(), how, "no answer");
        Outcome::Broken(how)
    }

    /// Kills the worker and sees whether it dies.
    async fn kill_worker(&mut self, task_name: &TaskName, since: Timestamp) -> KillOutcome {
        let Some(Worker { mut process, .. }) = self.worker.take() else { return KillOutcome::Gone(None) };
        // One that has ended by itself is distinguished from one that we end.
        let mut ended = process.ended();
        if ended.is_none() {
            process.kill();
            for _ in 0..KILL_TIMEOUT.as_millis() / DEATH_LOOKS_APART.as_millis() {
                sleep(DEATH_LOOKS_APART).await;
                ended = process.ended();
                if ended.is_some() {
                    break;
                }
            }
        }
        if ended.is_none() {
            let pid = process.pid();
            self.stuck.add(task_name.clone(), since, process);
            return KillOutcome::Stuck(pid);
        }
        KillOutcome::Gone(ended)
    }

    /// The number of the worker that is asked now. What one worker could not do (a command that its library lacks), a
    /// later one may.
    pub(in crate::check_process) fn worker_generation(&self) -> u64 {
        self.generation
    }

    /// Ends the worker, so that it holds nothing any more: no library, no device.
    pub(in crate::check_process) async fn end(&mut self, check: &'static Check) {
        let task_name = TaskName::of(check, &Operation::List);
        self.kill_worker(&task_name, Timestamp::now()).await;
    }
}

/// What came of killing a worker.
enum KillOutcome {
    Gone(Option<String>),
    Stuck(u32),
}

impl Worker {
    fn spawn(spawn_worker: &dyn SpawnWorker) -> Result<Self, RequestError> {
        let failed = |error: io::Error| RequestError::Broken(format!("no worker can be started: {error}"));
        let (mut process, stream) = spawn_worker.spawn().map_err(failed)?;
        let socket = connected(stream).inspect_err(|_| process.kill()).map_err(failed)?;
        Ok(Self { process, socket, received: Vec::new(), searched: 0 })
    }

    async fn send(&mut self, what: &impl serde::Serialize) -> Result<(), RequestError> {
        // Our types have string keys and finite numbers only: they always serialise.
        let mut line = serde_json::to_vec(what).unwrap_or_default();
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let mut socket: &UnixStream = self.socket.get_ref();
            match socket.write(rest) {
                Ok(count @ 1..) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(FULL_SOCKET_PAUSE).await,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return Err(RequestError::WorkerGone),
            }
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<Reply, RequestError> {
        loop {
            if let Some(line) = self.take_line() {
                return serde_json::from_slice(&line)
                    .map_err(|error| RequestError::Broken(format!("its worker sends what is no reply: {error}")));
            }
            if self.received.len() >= LINE_LIMIT_BYTES {
                return Err(RequestError::Broken(format!("its worker sends more than {LINE_LIMIT_BYTES} bytes")));
            }
            self.read().await?;
        }
    }

    /// The next line with its end, if all of it is here.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let found = self.received[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = found.map(|found| self.searched + found + 1) else {
            self.searched = self.received.len();
            return None;
        };
        // The room of a long line goes with it.
        let rest = self.received.split_off(end);
        self.searched = 0;
        Some(std::mem::replace(&mut self.received, rest))
    }

    async fn read(&mut self) -> Result<(), RequestError> {
        loop {
            let mut ready = self.socket.readable().await.map_err(|_| RequestError::WorkerGone)?;
            let mut chunk = [0; CHUNK_BYTES];
            let read = ready.try_io(|socket| {
                let mut socket: &UnixStream = socket.get_ref();
                socket.read(&mut chunk)
            });
            match read {
                Ok(Ok(count @ 1..)) => {
                    // Less than there was room for is all that there was.
                    if count < CHUNK_BYTES {
                        ready.clear_ready();
                    }
                    self.received.extend_from_slice(&chunk[..count]);
                    return Ok(());
                }
                Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) => return Err(RequestError::WorkerGone),
                // It was read before.
                Err(_) => {}
            }
        }
    }
}

fn connected(stream: UnixStream) -> io::Result<AsyncFd<UnixStream>> {
    stream.set_nonblocking(true)?;
    readable(stream)
}

/// A reply of the kind that was asked for.
fn matching(body: ReplyBody, operation: &Operation) -> Result<ReplyBody, RequestError> {
    match (&body, operation) {
        (ReplyBody::Error(_), _)
        | (ReplyBody::Devices { .. }, Operation::List)
        | (ReplyBody::Reading(_), Operation::Read { .. })
        | (ReplyBody::Events(_), Operation::Wait { .. }) => Ok(body),
        _ => Err(RequestError::Broken("its reply is to another request".to_owned())),
    }
}

impl From<Outcome> for Result<ReplyBody, nodewell_checks::probe::PollError> {
    fn from(outcome: Outcome) -> Self {
        use nodewell_checks::probe::PollError;
        match outcome {
            Outcome::Reply(ReplyBody::Error(error)) => Err(PollError::Read(error)),
            Outcome::Reply(body) => Ok(body),
            Outcome::NoAnswer(no_answer) => Err(PollError::NoAnswer(no_answer)),
            Outcome::Broken(message) => Err(PollError::Read(ReadError::Failed { message })),
        }
    }
}

#[cfg(test)]
pub(in crate::check_process) mod tests;
