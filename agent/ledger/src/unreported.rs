//! Conditions of a daemon that was started again, by itself or with the node: what it reported of them before is not
//! what it sees now.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_model::Name;
use serde::{Deserialize, Serialize};

/// The conditions that it has not reported since, and the boot time until which each is believed nevertheless. `None`:
/// not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Unreported(BTreeMap<Name, Option<Duration>>);

impl Unreported {
    /// After a boot anything may be different.
    pub(crate) fn since_boot(watches: &BTreeSet<Name>) -> Self {
        Self(watches.iter().map(|condition| (condition.clone(), None)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// It reports again after a clean stop, whose conditions stay until `until`. What it has not reported since an
    /// earlier start is believed no longer than it was.
    pub(crate) fn came_back(&mut self, watches: &BTreeSet<Name>, until: Duration) {
        for condition in watches {
            self.0.entry(condition.clone()).or_insert(Some(until));
        }
    }

    /// It named these; `all`: there are no others. Returns whether that is news.
    pub(crate) fn reported<'a>(&mut self, named: impl Iterator<Item = &'a Name>, all: bool) -> bool {
        let before = self.0.len();
        if all {
            self.0.clear();
        }
        named.for_each(|condition| _ = self.0.remove(condition));
        before != self.0.len()
    }

    /// It watches these only.
    pub(crate) fn retain(&mut self, watches: &BTreeSet<Name>) {
        self.0.retain(|condition, _| watches.contains(condition));
    }

    /// Whether what it reported of `condition` before does not count.
    pub(crate) fn is_doubted(&self, condition: &Name) -> bool {
        self.0.get(condition).is_some_and(Option::is_none)
    }

    /// The boot time at which [`Unreported::expire`] has something to do.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.0.values().flatten().min().copied()
    }

    pub(crate) fn expire(&mut self, boottime: Duration) {
        for until in self.0.values_mut() {
            *until = until.filter(|until| *until > boottime);
        }
    }
}
