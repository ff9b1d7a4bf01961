//! Worker processes: starts and kills one, and finds out whether it is gone. A process that hangs in the kernel
//! survives SIGKILL.

use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{check_process::WorkerGroup, runtime::program::CHECKS};

/// Starts workers; the tests have one of their own.
pub(in crate::check_process) trait SpawnWorker {
    /// A fresh worker, and the socket to it.
    fn spawn(&self) -> io::Result<(Box<dyn WorkerProcess>, UnixStream)>;
}

/// A worker that this check process started, or one that an earlier run of it left behind.
pub(in crate::check_process) trait WorkerProcess {
    fn pid(&self) -> u32;

    /// SIGKILL; what hangs in the kernel dies when the kernel lets it go.
    fn kill(&mut self);

    /// How it ended; `None` while it is there.
    fn ended(&mut self) -> Option<String>;
}

/// Starts this very program as a worker.
#[derive(Debug)]
pub(in crate::check_process) struct SelfExec {
    pub(in crate::check_process) worker_group: WorkerGroup,
    /// Beside it its devices are released: `nodewell release` shows where a worker can be released.
    pub(in crate::check_process) socket: PathBuf,
}

impl SpawnWorker for SelfExec {
    fn spawn(&self) -> io::Result<(Box<dyn WorkerProcess>, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        // Whatever lies at its path by now: both sides have to use one protocol.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(CHECKS)
            .args(["worker", self.worker_group.as_str(), "--parent"])
            .arg(std::process::id().to_string());
        command.arg("--socket").arg(&self.socket);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        // The watchdog and the readiness are the check process's.
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        Ok((Box::new(command.spawn()?), ours))
    }
}

impl WorkerProcess for Child {
    fn pid(&self) -> u32 {
        self.id()
    }

    fn kill(&mut self) {
        // It has not been waited for: the pid is still its own.
        let _ = Child::kill(self);
    }

    fn ended(&mut self) -> Option<String> {
        match self.try_wait() {
            Ok(status) => status.map(|status| status.to_string()),
            // Only this process waits for it.
            Err(error) => Some(error.to_string()),
        }
    }
}
