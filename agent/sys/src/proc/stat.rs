//! `/proc/PID/stat`: one line, in which the name may hold anything (fs/proc/array.c do_task_stat). Unlike the command
//! line it needs nothing of the task's memory, and can be read of one that hangs.

use std::str::FromStr;

/// `PF_EXITING` (include/linux/sched.h).
const EXITING: u64 = 0x4;

/// What of the line is used (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'a> {
    pub pid: u32,
    /// As the task has chosen it: parentheses, spaces and line breaks too, and bytes that are no text.
    pub name: &'a [u8],
    /// A letter: `b'D'` of one that waits in the kernel, `b'Z'` of one that has ended.
    pub state: u8,
    pub parent: u32,
    /// Below zero where the task is about to be gone.
    pub session: i32,
    pub flags: u64,
    /// Of CPU time used.
    pub ticks: u64,
    pub threads: u32,
    /// In ticks since boot.
    pub started: u64,
}

impl<'a> Stat<'a> {
    /// Reads the line; `None` if it is none.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|byte| *byte == b'(')?;
        let close = line.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
        let rest = &line[close + 1..];
        let mut fields = rest.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        // The manual counts them from 1: the state is the third.
        let state = *fields.next()?.first()?;
        let parent = number(fields.next()?)?;
        let session = number(fields.nth(6 - 5)?)?;
        let flags = number(fields.nth(9 - 7)?)?;
        let user: u64 = number(fields.nth(14 - 10)?)?;
        let system = number(fields.next()?)?;
        let threads = number(fields.nth(20 - 16)?)?;
        let started = number(fields.nth(22 - 21)?)?;
        let pid = number(line[..open].trim_ascii())?;
        let ticks = user.saturating_add(system);
        Some(Self { pid, name: &line[open + 1..close], state, parent, session, flags, ticks, threads, started })
    }

    /// Whether this thread has ended or is about to. On cgroup v1 the kernel shows such a one in the root cgroup.
    #[must_use]
    pub fn is_exiting(&self) -> bool {
        self.flags & EXITING != 0
    }
}

fn number<T: FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
