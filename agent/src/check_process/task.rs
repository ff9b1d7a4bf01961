//! What the kernel shows of a task, also of one that hangs: nothing here waits for the task's memory.

use std::{fs, io, path::Path};

/// SIGKILL, as `/proc/PID/status` shows pending signals: signal 9 is the ninth bit.
const KILLED: u64 = 1 << 8;

/// The content of `/proc/PID/stat` (`proc_pid_stat(5)`): unlike the command line it needs nothing of the task's memory,
/// and can be read of one that hangs.
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) state: char,
    pub(super) parent: u32,
    pub(super) threads: u64,
    pub(super) started: u64,
}

impl Stat {
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        Self::look(folder).ok().flatten()
    }

    /// `None` where the task is gone; one that exits between open and read answers ESRCH.
    pub(super) fn look(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read_to_string(folder.join("stat")) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name stands in brackets and may hold any of them itself.
    fn parse(text: &str) -> Option<Self> {
        let (before, rest) = text.rsplit_once(") ")?;
        let (_, name) = before.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The third field of the line is the first after the name.
        let number = |at: usize| fields.get(at - 3)?.parse::<u64>().ok();
        let state = fields.first()?.chars().next()?;
        let parent = u32::try_from(number(4)?).ok()?;
        Some(Self { name: name.to_owned(), state, parent, threads: number(20)?, started: number(22)? })
    }

    /// A zombie holds nothing any more, unless another thread of it, of a library's, hangs.
    pub(crate) fn is_there(&self) -> bool {
        !matches!(self.state, 'Z' | 'X') || self.threads > 1
    }
}

/// Real, effective, saved and filesystem user.
pub(super) fn uids(folder: &Path) -> Option<Vec<u32>> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    field(&status, "Uid:")?.split_whitespace().map(|uid| uid.parse().ok()).collect()
}

/// Whether it, or a thread of it, waits in the kernel for what cannot be interrupted, or was killed and is still there.
pub(super) fn is_stuck(folder: &Path, stat: &Stat) -> bool {
    let threads = fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
    let mut all = threads.filter_map(|thread| Stat::read(&thread.path()));
    stat.state == 'D' || is_killed(folder) || all.any(|thread| thread.state == 'D')
}

fn is_killed(folder: &Path) -> bool {
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let pending = |name| field(&status, name).and_then(|mask| u64::from_str_radix(mask, 16).ok());
    ["SigPnd:", "ShdPnd:"].into_iter().filter_map(pending).any(|mask| mask & KILLED != 0)
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
pub(super) mod tests;
