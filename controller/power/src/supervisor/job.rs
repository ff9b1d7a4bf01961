//! What passes between the controller and a supervisor.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// These distinguish an agent that could not be executed from one that ended so.
pub(super) const NOT_STARTED: &str = "nodewell: not executed: ";
pub(super) const NOT_STARTED_STATUS: u8 = 126;

/// One run of one program. It holds secrets: no `Debug`.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// An absolute path.
    pub program: PathBuf,
    /// Fence agents get none: with one they would not read stdin.
    pub args: Vec<String>,
    /// All of its environment.
    pub env: BTreeMap<String, String>,
    pub stdin: String,
    /// After this it is asked to end, and a little later made to.
    pub deadline: Duration,
    /// Of each of its outputs, this much is stored.
    pub limit_bytes: usize,
    /// `CLOCK_BOOTTIME` in milliseconds: nothing of it runs after this.
    pub until_millis: u64,
    /// The arguments by which the supervisor's own program is a supervisor.
    pub own_args: Vec<String>,
}

/// How a run ended; whatever it had started has ended too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    /// Its own time was over.
    TimedOut,
    /// The leader's time was over, or the controller has gone.
    LeaseDeadline,
    /// Nothing was executed; why.
    NotStarted(String),
    /// It would not even be killed (it waits in the kernel): it may still do something.
    Immortal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub ending: Ending,
    /// What is no UTF-8 is replaced.
    pub stdout: String,
    pub stderr: String,
    /// More was written than is stored.
    pub cut: bool,
    /// By the controller's clock, without the wait for a place among other runs. The controller fills it in.
    #[serde(skip)]
    pub took: Duration,
}

impl Report {
    #[must_use]
    pub(super) fn not_started(why: impl Into<String>) -> Self {
        let ending = Ending::NotStarted(why.into());
        Self { ending, stdout: String::new(), stderr: String::new(), cut: false, took: Duration::ZERO }
    }
}

/// The present by `CLOCK_BOOTTIME`, which goes on while the machine sleeps and is the same in all its processes.
#[must_use]
pub fn boottime_millis() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or(Duration::MAX);
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
