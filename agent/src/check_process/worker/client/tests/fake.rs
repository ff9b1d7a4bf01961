//! Workers that are threads and follow a script; and one that is a shell.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
    net::Shutdown,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{MsgFlags, recv};
use nodewell_checks::{
    Settings,
    probe::{RawReading, Roots},
};
use serde_json::json;

use super::super::{SpawnWorker, WorkerClient, WorkerProcess};
use crate::check_process::worker::protocol::{Operation, Reply, ReplyBody, Request, WorkerConfig};

/// More than all that a client asks at once.
const INBOX_BYTES: usize = 65_536;
/// Never reached.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a worker does with a request.
#[derive(Clone)]
pub(in crate::check_process) enum Act {
    Answer,
    Hang,
    /// And survives SIGKILL.
    HangForGood,
    Die,
    Send(Vec<u8>),
    SendAndAnswer(Vec<u8>),
    AnswerAndSend(Vec<u8>),
}

type Script = Arc<dyn Fn(&Request) -> Act + Send + Sync>;

/// Starts workers of one script.
#[derive(Clone)]
pub(in crate::check_process) struct Fake {
    script: Script,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    worker_config: Option<WorkerConfig>,
    asked: Vec<Request>,
    started: u32,
    killed: u32,
    /// By pid; pids count from 1.
    unkillable: BTreeSet<u32>,
    dead: BTreeSet<u32>,
    refuses: bool,
}

struct FakeTask {
    pid: u32,
    seen: Arc<Mutex<Seen>>,
    /// The worker's end: what it has not taken up yet is in there.
    inbox: UnixStream,
}

impl Fake {
    pub(in crate::check_process) fn new(script: impl Fn(&Request) -> Act + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), seen: Arc::default() }
    }

    pub(in crate::check_process) fn started(&self) -> u32 {
        self.seen.lock().unwrap().started
    }

    pub(in crate::check_process) fn killed(&self) -> u32 {
        self.seen.lock().unwrap().killed
    }

    pub(in crate::check_process) fn asked(&self) -> Vec<String> {
        self.seen.lock().unwrap().asked.iter().map(name_of).collect()
    }

    pub(super) fn worker_config(&self) -> Option<WorkerConfig> {
        self.seen.lock().unwrap().worker_config.clone()
    }

    pub(super) fn refuse(&self) {
        self.seen.lock().unwrap().refuses = true;
    }

    /// The kernel lets go of the one that hung for good.
    pub(in crate::check_process) fn let_go(&self, pid: u32) {
        self.seen.lock().unwrap().dead.insert(pid);
    }
}

impl SpawnWorker for Fake {
    fn spawn(&self) -> io::Result<(Box<dyn WorkerProcess>, UnixStream)> {
        let mut seen = self.seen.lock().unwrap();
        if seen.refuses {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        let (ours, theirs) = UnixStream::pair()?;
        seen.started += 1;
        let pid = seen.started;
        let fake = self.clone();
        let inbox = theirs.try_clone()?;
        // One that hangs stays behind, as the real one would.
        thread::spawn(move || {
            fake.work(pid, &theirs);
            // Its process holds the socket too, and must not keep it open.
            theirs.shutdown(Shutdown::Both)
        });
        Ok((Box::new(FakeTask { pid, seen: Arc::clone(&self.seen), inbox }), ours))
    }
}

impl Fake {
    fn work(&self, pid: u32, check_process: &UnixStream) {
        let worker_config = peek_line(check_process).unwrap();
        self.seen.lock().unwrap().worker_config = serde_json::from_str(&worker_config).ok();
        take_line(check_process);
        while let Some(line) = peek_line(check_process) {
            let request: Request = serde_json::from_str(&line).unwrap();
            let act = (self.script)(&request);
            self.take_up(pid, request.clone(), &act);
            take_line(check_process);
            let bytes = match act {
                Act::Hang | Act::HangForGood => continue,
                Act::Die => return,
                Act::Answer => answer(&request),
                Act::Send(bytes) => bytes,
                Act::SendAndAnswer(bytes) => [bytes, answer(&request)].concat(),
                Act::AnswerAndSend(bytes) => [answer(&request), bytes].concat(),
            };
            // The client may have hung up in the middle of nonsense.
            if (&*check_process).write_all(&bytes).is_err() {
                return;
            }
        }
    }

    /// What the request does to the worker, seen by all before the request is out of the inbox.
    fn take_up(&self, pid: u32, request: Request, act: &Act) {
        let mut seen = self.seen.lock().unwrap();
        seen.asked.push(request);
        match act {
            Act::HangForGood => _ = seen.unkillable.insert(pid),
            Act::Die => _ = seen.dead.insert(pid),
            _ => (),
        }
    }
}

/// The next line, left where it is; `None` when the other side is gone.
fn peek_line(from: &UnixStream) -> Option<String> {
    let mut bytes = vec![0; INBOX_BYTES];
    loop {
        let count = recv(from.as_raw_fd(), &mut bytes, MsgFlags::MSG_PEEK).ok().filter(|count| *count > 0)?;
        if let Some(end) = bytes[..count].iter().position(|byte| *byte == b'\n') {
            return String::from_utf8(bytes[..end].to_vec()).ok();
        }
        thread::yield_now();
    }
}

fn take_line(mut from: &UnixStream) {
    let line = peek_line(from).unwrap();
    from.read_exact(&mut vec![0; line.len() + 1]).unwrap();
}

impl WorkerProcess for FakeTask {
    fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the worker has taken up what it was asked. On a busy machine its thread may not have run yet, and
    /// then it is not yet known to hang for good.
    fn kill(&mut self) {
        let waiting = || recv(self.inbox.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
        let since = Instant::now();
        while waiting().is_ok_and(|count| count > 0) {
            assert!(since.elapsed() < TIMEOUT, "the worker does not take up what it is asked");
            thread::yield_now();
        }
        let mut seen = self.seen.lock().unwrap();
        seen.killed += 1;
        if !seen.unkillable.contains(&self.pid) {
            seen.dead.insert(self.pid);
        }
    }

    fn ended(&mut self) -> Option<String> {
        self.seen.lock().unwrap().dead.contains(&self.pid).then(|| "signal: 11".to_owned())
    }
}

fn answer(request: &Request) -> Vec<u8> {
    let body = match &request.operation {
        Operation::List => ReplyBody::Devices { names: vec!["sda".to_owned()], has_events: false, is_fixed: false },
        Operation::Read { device, .. } => ReplyBody::Reading(RawReading::of(&json!({ "of": device })).unwrap()),
        Operation::Wait { .. } => ReplyBody::Events(Vec::new()),
    };
    line(request.id, body)
}

/// One reply as it is sent.
pub(in crate::check_process) fn line(id: u64, body: ReplyBody) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Reply { id, body }).unwrap();
    line.push(b'\n');
    line
}

pub(in crate::check_process) fn name_of(request: &Request) -> String {
    match &request.operation {
        Operation::Read { device, .. } => device.clone(),
        Operation::List => "list".to_owned(),
        Operation::Wait { .. } => "wait".to_owned(),
    }
}

pub(in crate::check_process) fn worker_config() -> WorkerConfig {
    WorkerConfig { roots: Roots::default(), settings: Settings::default() }
}

pub(in crate::check_process) fn worker_client_with(fake: &Fake) -> WorkerClient {
    WorkerClient::new(Box::new(fake.clone()), worker_config())
}

/// A worker that is a real process.
pub(super) struct Shell(&'static str);

pub(super) fn shell(script: &'static str) -> Shell {
    Shell(script)
}

impl SpawnWorker for Shell {
    fn spawn(&self) -> io::Result<(Box<dyn WorkerProcess>, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new("sh");
        command.args(["-c", self.0]).stdin(Stdio::from(OwnedFd::from(theirs)));
        Ok((Box::new(command.spawn()?), ours))
    }
}
