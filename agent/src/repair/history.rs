//! What was tried, in a file that is on the disk before anything is done: an end in the middle of a repair counts it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use nix::fcntl::{Flock, FlockArg};
use nodewell_checks::repair::History;

use super::RepairError;

const FILE: &str = "history.json";
const LOCK: &str = "lock";
/// 256 attempts are a tenth of it.
const FILE_LIMIT_BYTES: u64 = 1024 * 1024;

/// The folder of one helper; no other process works with it meanwhile.
pub(super) struct HistoryFile {
    folder: PathBuf,
    pub(super) history: History,
    _lock: Flock<File>,
}

impl HistoryFile {
    /// Takes the folder, which it makes.
    pub(super) fn open(folder: &Path) -> Result<Self, RepairError> {
        let wrong = |error| RepairError::State { path: folder.to_owned(), error };
        fs::create_dir_all(folder).map_err(wrong)?;
        let file = private().create(true).truncate(false).open(folder.join(LOCK)).map_err(wrong)?;
        let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => return Err(RepairError::Taken(folder.to_owned())),
            Err((_, error)) => return Err(wrong(error.into())),
        };
        Ok(Self { folder: folder.to_owned(), history: read(folder)?, _lock: lock })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the history on the disk; only then may it be acted upon.
    pub(super) fn write(&self) -> io::Result<()> {
        let draft = self.folder.join(format!("{FILE}.new"));
        let mut file = private().create(true).truncate(true).open(&draft)?;
        serde_json::to_writer(&mut file, &self.history)?;
        file.flush()?;
        file.sync_all()?;
        fs::rename(&draft, self.folder.join(FILE))?;
        File::open(&self.folder)?.sync_all()
    }
}

/// What was tried so far. A file that is there and cannot be understood is an error: it may be the one that forbids
/// more.
pub(super) fn read(folder: &Path) -> Result<History, RepairError> {
    let path = folder.join(FILE);
    let wrong = |error| RepairError::State { path: path.clone(), error };
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
        Err(error) => return Err(wrong(error)),
        Ok(about) if about.len() > FILE_LIMIT_BYTES => return Err(wrong(io::ErrorKind::FileTooLarge.into())),
        Ok(_) => {}
    }
    let text = fs::read(&path).map_err(wrong)?;
    serde_json::from_slice(&text).map_err(|error| wrong(error.into()))
}

/// For root alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::watch::now;

    #[test]
    fn what_was_begun_is_known_to_the_next_run_and_only_one_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = HistoryFile::open(folder.path()).unwrap();
        assert!(matches!(HistoryFile::open(folder.path()), Err(RepairError::Taken(_))));
        file.history.begin("containerd.service", &now());
        file.write().unwrap();
        drop(file);
        assert_eq!(HistoryFile::open(folder.path()).unwrap().history.attempts().len(), 1);
    }

    #[test]
    fn a_history_that_cannot_be_understood_forbids_repairs() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{\"attempts\": 7}").unwrap();
        let error = HistoryFile::open(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("history.json") && error.contains("nothing is repaired"), "{error}");
    }
}
