//! What the kernel shows of a task, also of one that hangs: nothing here waits for the task's memory.

use std::{fs, io, path::Path};

use nodewell_sys::proc::{self, Status, content};

/// SIGKILL, as `/proc/PID/status` shows pending signals: signal 9 is the ninth bit.
const KILLED: u64 = 1 << 8;

/// What of `/proc/PID/stat` is of interest in a task of ours.
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) state: char,
    pub(super) parent: u32,
    pub(super) threads: u32,
    pub(super) started: u64,
}

impl Stat {
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        Self::look(folder).ok().flatten()
    }

    /// `None` where the task is gone.
    pub(super) fn look(folder: &Path) -> io::Result<Option<Self>> {
        Ok(content(&folder.join("stat"))?.and_then(|line| Self::parse(&line)))
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let proc::Stat { name, state, parent, threads, started, .. } = proc::Stat::parse(line)?;
        // Names of ours are text.
        let name = String::from_utf8_lossy(name).into_owned();
        Some(Self { name, state: char::from(state), parent, threads, started })
    }

    /// A zombie holds nothing any more, unless another thread of it, of a library's, hangs.
    pub(crate) fn is_there(&self) -> bool {
        !matches!(self.state, 'Z' | 'X') || self.threads > 1
    }
}

/// Real, effective, saved and filesystem user.
pub(super) fn uids(folder: &Path) -> Option<[u32; 4]> {
    Status::of(&content(&folder.join("status")).ok()??).uids()
}

/// Whether it, or a thread of it, waits in the kernel for what cannot be interrupted, or was killed and is still there.
pub(super) fn is_stuck(folder: &Path, stat: &Stat) -> bool {
    let threads = fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
    let mut all = threads.filter_map(|thread| Stat::read(&thread.path()));
    stat.state == 'D' || is_killed(folder) || all.any(|thread| thread.state == 'D')
}

fn is_killed(folder: &Path) -> bool {
    let status = content(&folder.join("status")).ok().flatten().unwrap_or_default();
    let status = Status::of(&status);
    ["SigPnd", "ShdPnd"].into_iter().filter_map(|key| status.mask(key)).any(|mask| mask & KILLED != 0)
}

#[cfg(test)]
pub(super) mod tests;
