//! `nodewelld worker`: answers the questions of the check process that started it, one at a time, by calls that may
//! never return. It has no runtime, reads no configuration and holds nothing but its readers.

use std::{
    collections::BTreeMap,
    io::{self, BufReader, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    time::Duration,
};

use crate::check_process::check_kind::CheckKind;
use nodewell_hardware::{ReadError, Reader};

use super::{
    WorkerGroup,
    place::Place,
    protocol::{Ask, Question, Reply, Said, WorkerConfig, read_line},
};

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("standard input is no socket to a check process: {0}; `nodewelld monitor` starts workers by itself")]
    NoSocket(io::Error),
    #[error("the check process cannot be heard: {0}")]
    Hearing(io::Error),
    #[error("cannot write to the check process: {0}")]
    Telling(io::Error),
    #[error("this is not a check process's question: {0}")]
    NoQuestion(serde_json::Error),
}

/// The error sent in place of an answer that cannot be written as JSON.
const UNWRITABLE: &str = "its reading cannot be written down";

/// Answers until the check process is gone.
pub fn run(worker_group: WorkerGroup) -> Result<(), WorkerError> {
    let idle = Place::idle(worker_group);
    called(idle.as_str());
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(WorkerError::NoSocket)?;
    let mut check_process = UnixStream::from(input);
    let mut lines = BufReader::new(check_process.try_clone().map_err(WorkerError::NoSocket)?);
    let Some(first) = read_line(&mut lines).map_err(WorkerError::Hearing)? else { return Ok(()) };
    let worker_config = serde_json::from_str(&first).map_err(WorkerError::NoQuestion)?;
    let mut worker = Worker { worker_config, readers: BTreeMap::new(), idle };
    let mut is_settled = false;
    while let Some(line) = read_line(&mut lines).map_err(WorkerError::Hearing)? {
        let question: Question = serde_json::from_str(&line).map_err(WorkerError::NoQuestion)?;
        check_process.write_all(&worker.answer(&question)).map_err(WorkerError::Telling)?;
        // What only the start ran is needed no more. Without it that stays as well: not worth a message.
        if !std::mem::replace(&mut is_settled, true) {
            let _ = nodewell_sys::memory::let_go_of_code();
        }
    }
    Ok(())
}

/// The readers that were asked for so far: making one may already call what hangs.
struct Worker {
    worker_config: WorkerConfig,
    readers: BTreeMap<CheckKind, Box<dyn Reader>>,
    /// Between two questions, and while its readers' libraries are left.
    idle: Place,
}

impl Worker {
    fn answer(&mut self, question: &Question) -> Vec<u8> {
        let place = Place::of(question.check, &question.ask);
        called(place.as_str());
        let said = self.said(question);
        called(self.idle.as_str());
        let reply = |said| serde_json::to_vec(&Reply { id: question.id, said });
        let unwritable = |_| reply(Said::Trouble(ReadError::Failed { message: UNWRITABLE.to_owned() }));
        let mut line = reply(said).or_else(unwritable).unwrap_or_default();
        line.push(b'\n');
        line
    }

    fn said(&mut self, question: &Question) -> Said {
        let Self { worker_config, readers, .. } = self;
        let check = question.check;
        let reader =
            readers.entry(check).or_insert_with(|| check.reader(worker_config.roots.clone(), &worker_config.settings));
        let said = match &question.ask {
            Ask::List => reader.list().map(|names| Said::Devices { names, has_news: reader.has_news() }),
            Ask::Read { device } => reader.read(device).map(Said::Reading),
            Ask::Wait { within_millis } => reader.wait(Duration::from_millis(*within_millis)).map(Said::News),
        };
        said.unwrap_or_else(Said::Trouble)
    }
}

/// Only a null byte could be refused, and no device has one.
fn called(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        let _ = nix::sys::prctl::set_name(&name);
    }
}
