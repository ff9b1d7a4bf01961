//! The state that a check saves across restarts, in a file of its own. A thread reads and writes it, because the disk
//! may be the one that is dying: no task waits for it. It is there as long as there is something to read or to write.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::Builder,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_checks::Check;
use nodewell_model::Name;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};

/// A disk that takes longer is not waited for: the check starts without saved state.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);
/// A baseline of a hundred disks is a tenth of it; more is not ours.
const FILE_LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// serde_json goes at most 128 levels deep.
const STACK_BYTES: usize = 256 * 1024;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct SavedState {
    /// The judge's own.
    #[serde(default)]
    pub(super) judge: Option<Value>,
    /// What was reported, each with its time.
    #[serde(default)]
    pub(super) reported: Vec<ReportedCondition>,
}

/// A reason that was reported of a device, and since when: also the one of a device that is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReportedCondition {
    pub(super) condition: Name,
    pub(super) subject: String,
    pub(super) reason: Name,
    pub(super) since: Timestamp,
}

/// One check's file.
pub(super) struct StateFile {
    file: PathBuf,
    last: SavedState,
    /// What could not be read is not written over either: a later run may read it.
    is_read: bool,
    latest_write: Arc<LatestWrite>,
}

/// What is to be written, and by whom.
#[derive(Default)]
struct LatestWrite(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// The latest text; it replaces one that was not written yet.
    text: Option<Vec<u8>>,
    /// There is a thread, which takes what comes meanwhile.
    is_at_work: bool,
    /// The last write failed, which was logged: the disk stays as it is, and there is a round every minute.
    has_failed: bool,
}

impl StateFile {
    /// In `folder`, which the thread makes.
    pub(super) fn of_check(folder: &Path, check: &'static Check) -> Self {
        Self::named(folder, check.name)
    }

    /// Of a part of the check process that has no [`&'static Check`].
    pub(super) fn named(folder: &Path, name: &str) -> Self {
        let file = folder.join(format!("{name}.json"));
        Self { file, last: SavedState::default(), is_read: false, latest_write: Arc::default() }
    }

    /// What was saved. Damage is put aside; what cannot be read now stays as it is, and this run starts without saved
    /// state.
    pub(super) async fn load(&mut self) -> SavedState {
        let (file, latest_write) = (self.file.clone(), Arc::clone(&self.latest_write));
        let (done, read) = oneshot::channel();
        self.latest_write.lock().is_at_work = true;
        let thread = thread().spawn(move || {
            let _ = done.send(read_file(&file));
            latest_write.write_all(&file);
        });
        let state = match thread {
            Ok(_) => timeout(LOAD_TIMEOUT, read).await.ok().and_then(Result::ok),
            Err(error) => {
                tracing::warn!(%error, "no state is saved: no thread");
                None
            }
        };
        let state = match state {
            Some(Ok(state)) => Some(state),
            Some(Err(error)) => {
                tracing::warn!(file = %self.file.display(), %error, "the saved state cannot be read");
                None
            }
            None => {
                tracing::warn!(file = %self.file.display(), "the saved state cannot be read in time");
                None
            }
        };
        self.is_read = state.is_some();
        self.last = state.unwrap_or_default();
        self.last.clone()
    }

    /// Hands over what is to be saved from now on. `judge`: `None` if it is as it was.
    pub(super) fn save(&mut self, judge: Option<Value>, reported: Vec<ReportedCondition>) {
        if judge.is_none() && reported == self.last.reported {
            return;
        }
        let next = SavedState { judge: judge.or_else(|| self.last.judge.clone()), reported };
        if !self.is_read || next == self.last {
            return;
        }
        if let Ok(text) = serde_json::to_vec(&next)
            && self.latest_write.put(&self.file, text)
        {
            self.last = next;
        }
    }
}

impl LatestWrite {
    /// Whether there is a thread for it; if not, the next round brings it again.
    fn put(self: &Arc<Self>, file: &Path, text: Vec<u8>) -> bool {
        self.lock().text = Some(text);
        self.start(file)
    }

    /// Whether there is a thread, by now.
    fn start(self: &Arc<Self>, file: &Path) -> bool {
        let is_there = std::mem::replace(&mut self.lock().is_at_work, true);
        if is_there {
            return true;
        }
        let (latest_write, path) = (Arc::clone(self), file.to_owned());
        let started = thread().spawn(move || latest_write.write_all(&path));
        if let Err(error) = &started {
            self.lock().is_at_work = false;
            self.failed(file, error);
        }
        started.is_ok()
    }

    fn failed(&self, file: &Path, error: &io::Error) {
        if !std::mem::replace(&mut self.lock().has_failed, true) {
            tracing::warn!(file = %file.display(), %error, "the state cannot be saved");
        }
    }

    /// Until nothing waits any more.
    fn write_all(&self, file: &Path) {
        while let Some(text) = self.next() {
            match write_file(file, &text) {
                Ok(()) => self.lock().has_failed = false,
                Err(error) => self.failed(file, &error),
            }
        }
    }

    /// `None` ends the thread: what is put from then on has another one.
    fn next(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        waiting.is_at_work = waiting.text.is_some();
        waiting.text.take()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn thread() -> Builder {
    Builder::new().name("state-file".to_owned()).stack_size(STACK_BYTES)
}

fn read_file(file: &Path) -> io::Result<SavedState> {
    let mut text = Vec::new();
    match fs::File::open(file) {
        Ok(from) => from.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut text)?,
        // The folder may be wrong, and what is written into it fails with a message of its own.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(SavedState::default());
        }
        Err(error) => return Err(error),
    };
    let is_small = u64::try_from(text.len()).is_ok_and(|bytes| bytes <= FILE_LIMIT_BYTES);
    match is_small.then(|| serde_json::from_slice(&text).ok()).flatten() {
        Some(state) => Ok(state),
        None => put_aside(file),
    }
}

/// For an operator who wants to know what was in it.
fn put_aside(file: &Path) -> io::Result<SavedState> {
    let aside = file.with_extension("corrupt");
    fs::rename(file, &aside)?;
    tracing::warn!(file = %aside.display(), "the saved state is damaged and was put aside");
    Ok(SavedState::default())
}

/// Whole or not at all, whenever the power fails.
fn write_file(file: &Path, text: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let draft = file.with_extension("new");
    let mut to = fs::File::create(&draft)?;
    to.write_all(text)?;
    to.sync_all()?;
    fs::rename(&draft, file)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
