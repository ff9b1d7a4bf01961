//! `nodewell-checks worker`: answers the requests of the check process that started it, one at a time, by calls that may
//! never return. It has no runtime, reads no configuration and holds nothing but its readers.
//!
//! Its room has the check process's end as well: how that starts a worker (`process`), asks it (`client`, in the words
//! of `protocol`), and knows those that hang and survive SIGKILL (`stuck`) by what the kernel shows of them (`task`,
//! `task_name`).

pub(super) mod client;
pub(super) mod process;
pub(super) mod protocol;
pub(super) mod stuck;
mod task;
mod task_name;

use std::{
    collections::BTreeMap,
    io::{self, BufReader, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
    time::Duration,
};

use nodewell_checks::{
    Check,
    probe::{ReadError, Reader},
};

pub(crate) use task::Stat;
pub(crate) use task_name::TaskName;

use super::{Group, ReleaseFile, WorkerGroup, memory::lock_rounds};
use protocol::{Operation, Reply, ReplyBody, Request, WorkerConfig, read_line};

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("standard input is no socket to a check process: {0}; `nodewell-checks run` starts workers by itself")]
    NoSocket(io::Error),
    #[error("cannot read from the check process: {0}")]
    Receive(io::Error),
    #[error("cannot write to the check process: {0}")]
    Send(io::Error),
    #[error("this is no request of a check process: {0}")]
    Parse(serde_json::Error),
}

/// The error sent in place of an answer that cannot be written as JSON.
const UNWRITABLE: &str = "its reading cannot be written down";

/// Answers until the check process is gone. Devices that are released beside `socket` are not touched.
pub fn run(worker_group: WorkerGroup, socket: Option<&Path>) -> Result<(), WorkerError> {
    let idle = TaskName::idle(worker_group);
    set_task_name(idle.as_str());
    // In this order: `nodewell release` writes its file and then looks for workers by name. One that it did not see
    // yet sees the file.
    if socket.is_some_and(|socket| is_released(worker_group, socket)) {
        return Ok(());
    }
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(WorkerError::NoSocket)?;
    let mut check_process = UnixStream::from(input);
    let mut lines = BufReader::new(check_process.try_clone().map_err(WorkerError::NoSocket)?);
    let Some(first) = read_line(&mut lines).map_err(WorkerError::Receive)? else { return Ok(()) };
    let worker_config = serde_json::from_str(&first).map_err(WorkerError::Parse)?;
    let mut worker = Worker { worker_config, readers: BTreeMap::new(), idle };
    lock_rounds(worker_group);
    loop {
        let Some(line) = read_line(&mut lines).map_err(WorkerError::Receive)? else { return Ok(()) };
        let request: Request = serde_json::from_str(&line).map_err(WorkerError::Parse)?;
        check_process.write_all(&worker.answer(&request)).map_err(WorkerError::Send)?;
    }
}

/// The readers of the checks that were asked for so far: to create one may already be a call that hangs.
struct Worker {
    worker_config: WorkerConfig,
    readers: BTreeMap<&'static Check, Box<dyn Reader>>,
    /// Between two requests, and while its readers' libraries are left.
    idle: TaskName,
}

impl Worker {
    fn answer(&mut self, request: &Request) -> Vec<u8> {
        let task_name = TaskName::of(request.check, &request.operation);
        set_task_name(task_name.as_str());
        let body = self.perform(request);
        set_task_name(self.idle.as_str());
        let reply = |body| serde_json::to_vec(&Reply { id: request.id, body });
        let unwritable = |_| reply(ReplyBody::Error(ReadError::Failed { message: UNWRITABLE.to_owned() }));
        let mut line = reply(body).or_else(unwritable).unwrap_or_default();
        line.push(b'\n');
        line
    }

    fn perform(&mut self, request: &Request) -> ReplyBody {
        let Self { worker_config, readers, .. } = self;
        let check = request.check;
        let reader = readers
            .entry(check)
            .or_insert_with(|| (check.reader)(worker_config.roots.clone(), &worker_config.settings));
        let body = match &request.operation {
            Operation::List => reader.list().map(|names| ReplyBody::Devices {
                names,
                has_events: reader.has_events(),
                is_fixed: reader.is_list_fixed(),
            }),
            Operation::Read { device, cursor } => reader.read_from(device, cursor.as_ref()).map(ReplyBody::Reading),
            Operation::Wait { within_millis } => {
                reader.wait(Duration::from_millis(*within_millis)).map(ReplyBody::Events)
            }
        };
        body.unwrap_or_else(ReplyBody::Error)
    }
}

fn is_released(worker_group: WorkerGroup, socket: &Path) -> bool {
    Group::of(worker_group).is_some_and(|group| ReleaseFile::of(socket, group).now().is_some())
}

/// Only a null byte could be refused, and no device has one.
fn set_task_name(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name) {
        let _ = nix::sys::prctl::set_name(&name);
    }
}

#[cfg(test)]
mod tests {
    use nodewell_checks::{clock, limits, mounts};

    use super::*;

    /// What this machine's list of `check` says of itself.
    fn is_fixed(check: &'static Check) -> bool {
        let worker_config = client::tests::fake::worker_config();
        let idle = TaskName::idle(check.worker_group);
        let mut worker = Worker { worker_config, readers: BTreeMap::new(), idle };
        match worker.perform(&Request { id: 1, check, operation: Operation::List }) {
            ReplyBody::Devices { names, is_fixed, .. } if !names.is_empty() => is_fixed,
            other => panic!("{}: {other:?}", check.name),
        }
    }

    #[test]
    fn a_list_says_whether_it_stays() {
        assert!(is_fixed(&clock::CHECK) && is_fixed(&limits::CHECK));
        assert!(!is_fixed(&mounts::CHECK), "filesystems come and go");
    }
}
