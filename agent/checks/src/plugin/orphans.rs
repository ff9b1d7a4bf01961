//! Where there are no cgroups: what a run leaves behind becomes a child of this process (`PR_SET_CHILD_SUBREAPER`), and
//! is distinguished from children of our own by its session, for each program leads one of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use nodewell_sys::proc::{Stat, content};

/// The runs in progress and what others left.
#[derive(Debug)]
pub struct Orphans {
    proc: PathBuf,
    session: i32,
    /// Programs that are being started: one of them may be there, and its pid is not known yet.
    starting: usize,
    /// The programs that run now; each leads the session that is called as it.
    running: BTreeSet<i32>,
    /// What has left every known session, and the programs that may have started it.
    suspects: BTreeMap<i32, BTreeSet<i32>>,
}

impl Orphans {
    /// For the children of this process.
    #[must_use]
    pub fn new(proc: PathBuf) -> Self {
        let session = nix::unistd::getsid(None).map_or(0, Pid::as_raw);
        Self { proc, session, starting: 0, running: BTreeSet::new(), suspects: BTreeMap::new() }
    }

    /// A program is about to be started.
    pub fn starts(&mut self) {
        self.starting += 1;
    }

    /// It was not.
    pub fn did_not_start(&mut self) {
        self.starting = self.starting.saturating_sub(1);
    }

    /// It runs, as the leader of its session.
    pub fn began(&mut self, pid: u32) {
        self.did_not_start();
        self.running.insert(pid.cast_signed());
    }

    /// A program has ended, and was waited for.
    pub fn ended(&mut self, pid: u32) {
        self.running.remove(&pid.cast_signed());
        for runs in self.suspects.values_mut() {
            runs.remove(&pid.cast_signed());
        }
    }

    /// Kills what the program `pid`, which has ended, left, as far as it is a child of ours by now; its own children
    /// will be next. Returns whether anything of it is there.
    pub fn sweep(&mut self, pid: u32) -> bool {
        let session = self.session;
        let children = self.children();
        self.suspects.retain(|suspect, _| children.iter().any(|child| child.pid == *suspect));
        let mut remains = false;
        for child in children.into_iter().filter(|child| child.session != session) {
            if child.session == pid.cast_signed() || self.is_unowned(child) {
                remains |= is_there_after_a_kill(child);
            }
        }
        remains
    }

    /// It has left the session that it was started in, and no program that could have started it still runs.
    fn is_unowned(&mut self, child: Child) -> bool {
        if self.starting > 0 || self.running.contains(&child.pid) || self.running.contains(&child.session) {
            return false;
        }
        let running = &self.running;
        self.suspects.entry(child.pid).or_insert_with(|| running.clone()).is_empty()
    }

    fn children(&self) -> Vec<Child> {
        let threads = fs::read_dir(self.proc.join("self/task")).into_iter().flatten().flatten();
        let listed = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let pids: Vec<i32> = listed.flat_map(|pids| parse(&pids)).collect();
        pids.into_iter().filter_map(|pid| Child::read(&self.proc, pid)).collect()
    }
}

/// A child of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Child {
    pid: i32,
    session: i32,
}

impl Child {
    fn read(proc: &Path, pid: i32) -> Option<Self> {
        let stat = content(&proc.join(pid.to_string()).join("stat")).ok()??;
        Some(Self { pid, session: Stat::parse(&stat)?.session })
    }
}

fn is_there_after_a_kill(child: Child) -> bool {
    let pid = Pid::from_raw(child.pid);
    let _ = kill(pid, Signal::SIGKILL);
    // No other code waits for it: it was never started by us.
    matches!(waitpid(pid, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive))
}

fn parse(pids: &str) -> Vec<i32> {
    pids.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
