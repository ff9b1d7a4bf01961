//! What ends by itself, in the order of its boot time.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use nodewell_model::ProblemKey;

use crate::claim::Claimant;

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    Claim(ProblemKey, Claimant),
    Daemon(Arc<str>),
    /// Conditions that it has not reported since it was started again.
    Unreported(Arc<str>),
}

/// Deadlines; everything is O(log n), and what is set is exactly what is held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Timers {
    set: BTreeSet<(Duration, Due)>,
}

impl Timers {
    /// Replaces the deadline of `due`.
    pub(crate) fn reset(&mut self, due: Due, before: Option<Duration>, after: Option<Duration>) {
        if before == after {
            return;
        }
        let mut entry = (before.unwrap_or_default(), due);
        if before.is_some() {
            self.set.remove(&entry);
        }
        if let Some(after) = after {
            entry.0 = after;
            self.set.insert(entry);
        }
    }

    pub(crate) fn next(&self) -> Option<Duration> {
        self.set.first().map(|(deadline, _)| *deadline)
    }

    /// The first that is due at `boottime`; it is no longer set.
    pub(crate) fn pop(&mut self, boottime: Duration) -> Option<(Duration, Due)> {
        if self.next()? > boottime { None } else { self.set.pop_first() }
    }
}
