//! One planted fault: what is waited for while it lasts, and when each came.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{choice::Choice, well::Before};
use crate::cluster::Cluster;

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Why a fault was not seen to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Miss {
    /// What did not come in time, or was not as it has to be.
    Missed(String),
    /// A person ends the soak.
    Ended,
}

impl From<String> for Miss {
    fn from(why: String) -> Self {
        Self::Missed(why)
    }
}

/// When each came, since the fault was planted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    pub found: Option<Duration>,
    /// By which source.
    pub by: &'static str,
    /// Its pods were drained, or released by a fence.
    pub acted: Option<Duration>,
    pub over: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) choice: Choice,
    /// The machine that has it; of an API server that is away, the one that reports.
    pub(super) node: String,
    pub(super) before: &'a Before,
    pub(super) times: Times,
    /// Where pods were released without proof, or written twice.
    pub(super) breaches: Vec<String>,
    stop: &'a AtomicBool,
    planted: Instant,
}

impl<'a> Trial<'a> {
    pub(super) fn new(choice: Choice, node: String, before: &'a Before, stop: &'a AtomicBool) -> Self {
        let times = Times::default();
        Self { choice, node, before, times, breaches: Vec::new(), stop, planted: Instant::now() }
    }

    /// All times count from here.
    pub(super) fn planted(&mut self) {
        self.planted = Instant::now();
    }

    pub(super) fn found(&mut self, by: &'static str) {
        (self.times.found, self.times.by) = (Some(self.planted.elapsed()), by);
    }

    pub(super) fn acted(&mut self) {
        self.times.acted = Some(self.planted.elapsed());
    }

    /// Waits for what `look` gives.
    pub(super) fn wait<T>(&self, limit: Duration, what: &str, look: impl FnMut() -> Option<T>) -> Result<T, Miss> {
        wait(self.stop, limit, look)?.ok_or_else(|| Miss::Missed(format!("not within {} s: {what}", limit.as_secs())))
    }

    /// It lasts for as long as it was chosen to.
    pub(super) fn last(&self) -> Result<(), Miss> {
        wait(self.stop, self.choice.lasts, || None::<()>).map(drop)
    }

    /// Waits until all is as it was before the fault.
    pub(super) fn over(&mut self, cluster: &Cluster, limit: Duration) -> Result<(), Miss> {
        let mut differs = None;
        let over = wait(self.stop, limit, || {
            differs = self.before.differs(cluster);
            differs.is_none().then_some(())
        })?;
        over.ok_or_else(|| {
            let why = differs.unwrap_or_default();
            Miss::Missed(format!("not over within {} s: {why}", limit.as_secs()))
        })?;
        self.times.over = Some(self.planted.elapsed());
        Ok(())
    }
}

/// The first `Some` of `look` within `limit`; none if it does not come.
///
/// # Errors
/// If `stop` is set before.
pub fn wait<T>(stop: &AtomicBool, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Result<Option<T>, Miss> {
    let deadline = Instant::now() + limit;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= deadline {
            return Ok(found);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Miss::Ended);
        }
        thread::sleep(LOOK_EVERY.min(deadline.saturating_duration_since(Instant::now())));
    }
}
