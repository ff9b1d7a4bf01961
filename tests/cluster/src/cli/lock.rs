//! Which process holds the cluster: it has a lock from before anything is started until all of it has ended, and what is
//! locked has its number.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_tests::wait::found_within;

use super::Failure;

/// A process that was killed is gone by then, and one that was asked to end its cluster has ended.
const ENDED: Duration = Duration::from_secs(60);
/// For so long another command may look whether there is a holder.
const LOOKED: Duration = Duration::from_secs(1);
/// From the lock to the number in the file.
const WRITTEN: Duration = Duration::from_secs(5);

/// Held until it is dropped, or its process ends, however that does.
#[derive(Debug)]
pub(super) struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Takes it for this process.
    pub(super) fn take() -> Result<Self, Failure> {
        // A command that looks whether there is a holder has it for a moment.
        let locked = found_within(LOOKED, || try_lock().transpose()).transpose()?;
        let Some(mut file) = locked else {
            return Err(Failure::Failed("another process holds a cluster".to_owned()));
        };
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The process that holds a cluster, if there is one: it may be bringing it up.
pub(super) fn holder() -> Result<Option<Pid>, Failure> {
    if try_lock()?.is_some() {
        return Ok(None);
    }
    let number = found_within(WRITTEN, || fs::read_to_string(path()).ok()?.parse().ok());
    let number = number.ok_or_else(|| Failure::Failed(format!("{} has no number of a process", path().display())))?;
    Ok(Some(Pid::from_raw(number)))
}

/// Ends a process that holds a cluster and takes no requests yet; all of the cluster ends with it.
pub(super) fn end(holder: Pid) -> Result<(), Failure> {
    match kill(holder, Signal::SIGKILL) {
        // It has ended by itself.
        Ok(()) | Err(Errno::ESRCH) => wait_until_free(),
        Err(error) => Err(Failure::Failed(format!("process {holder}: {error}"))),
    }
}

/// Waits until no process holds a cluster.
pub(super) fn wait_until_free() -> Result<(), Failure> {
    let free = found_within(ENDED, || match try_lock() {
        Ok(None) => None,
        Ok(Some(_)) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    });
    free.unwrap_or_else(|| Err(Failure::Failed(format!("{} is locked still", path().display()))))
}

/// The file, locked, unless another process has it. It lies beside the folder, which is removed.
fn try_lock() -> Result<Option<Flock<File>>, Failure> {
    if let Some(parent) = path().parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(path()).map_err(failed)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(locked) => Ok(Some(locked)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(failed(error.into())),
    }
}

fn path() -> PathBuf {
    super::folder().with_extension("lock")
}

fn failed(error: io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path().display()))
}
