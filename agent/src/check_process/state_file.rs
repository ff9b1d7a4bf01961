//! The state that a check saves across restarts, in a file of its own. A thread reads and writes it, because the disk
//! may be the one that is dying: no task waits for it.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
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

/// The latest text for the thread; it replaces one that was not written yet.
#[derive(Default)]
struct LatestWrite {
    text: Mutex<Option<Vec<u8>>>,
    changed: Condvar,
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
        let thread = thread::Builder::new().name("state-file".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            let _ = done.send(read_file(&file));
            latest_write.write_for_ever(&file);
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
        let next = SavedState { judge: judge.or_else(|| self.last.judge.clone()), reported };
        if !self.is_read || next == self.last {
            return;
        }
        if let Ok(text) = serde_json::to_vec(&next) {
            self.last = next;
            self.latest_write.put(text);
        }
    }
}

impl LatestWrite {
    fn put(&self, text: Vec<u8>) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        self.changed.notify_one();
    }

    fn take(&self) -> Vec<u8> {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(text) = text.take() {
                return text;
            }
            text = self.changed.wait(text).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write_for_ever(&self, file: &Path) {
        let mut is_healthy = true;
        loop {
            match write_file(file, &self.take()) {
                Ok(()) => is_healthy = true,
                // Once: the disk stays as it is, and there is a round every minute.
                Err(error) => {
                    if std::mem::replace(&mut is_healthy, false) {
                        tracing::warn!(file = %file.display(), %error, "the state cannot be saved");
                    }
                }
            }
        }
    }
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
