//! What the ledger would hold with a batch of reports: counted while the batch is read, so that no entry costs a look at
//! those before it.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{Name, ProblemKey, Status};

use super::super::Sender;
use crate::reporter::Held;

/// An entry of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Position {
    pub(super) report: usize,
    pub(super) condition: usize,
}

#[derive(Default)]
pub(super) struct Draft<'a> {
    /// What daemons would report: every one of a peer, others near the limit of one daemon.
    pub(super) reported: BTreeMap<&'a str, Held>,
    pub(super) ids: BTreeSet<(&'a str, &'a str)>,
    /// Daemons that would claim what they do not claim yet.
    pub(super) claims: BTreeMap<ProblemKey, BTreeSet<&'a str>>,
    /// The reasons of these by type, and where each is named last.
    pub(super) claimed: BTreeMap<&'a Name, BTreeMap<&'a Name, Position>>,
    /// The entry that is being read.
    pub(super) position: Position,
    /// How many conditions the whole batch names.
    pub(super) conditions: usize,
    /// Daemons that are not there yet.
    pub(super) new: BTreeSet<&'a str>,
    /// How many problems would begin.
    pub(super) problems: usize,
    /// Of each type and reason.
    pub(super) alike: BTreeMap<(&'a Name, &'a Name), usize>,
    /// How many reasons of each type would have their first problem.
    pub(super) reasons: BTreeMap<&'a Name, usize>,
    pub(super) may_use_reserve: bool,
    /// How many claims were looked at for the shares.
    #[cfg(test)]
    pub(super) walked: std::cell::Cell<usize>,
}

impl Draft<'_> {
    pub(super) fn new(reports: &[Status], sender: &Sender) -> Self {
        let conditions = reports.iter().map(|status| status.conditions.len()).sum();
        Self { conditions, may_use_reserve: sender.may_use_reserve, ..Self::default() }
    }

    /// How many problems of this type and reason would begin.
    pub(super) fn alike(&self, condition: &Name, reason: &Name) -> usize {
        self.alike.get(&(condition, reason)).copied().unwrap_or_default()
    }
}
