//! What has changed since the rows were last taken: marks only, the rows are made when they are wanted.

use std::{collections::BTreeSet, sync::Arc};

use nodewell_model::{MuteKey, Name, ProblemKey, Table};

use crate::claim::Claimant;

/// The marks. A mark means that a row may differ, not how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dirty {
    pub(crate) claims: BTreeSet<(ProblemKey, Claimant)>,
    pub(crate) daemons: BTreeSet<Arc<str>>,
    pub(crate) totals: BTreeSet<Name>,
    pub(crate) departed: bool,
    pub(crate) mutes: BTreeSet<MuteKey>,
    pub(crate) acks: BTreeSet<ProblemKey>,
    pub(crate) false_positives: bool,
    /// Rows in the store that are not understood or not wanted.
    pub(crate) unwanted: BTreeSet<(Table, String)>,
    /// Grows with every mark: it distinguishes a report of something that lasts from a mere heartbeat.
    pub(crate) marks: u64,
}

impl Dirty {
    pub(crate) fn claim(&mut self, key: &ProblemKey, claimant: &Claimant) {
        self.marks += 1;
        self.claims.insert((key.clone(), claimant.clone()));
    }

    pub(crate) fn daemon(&mut self, name: &Arc<str>) {
        self.marks += 1;
        if !self.daemons.contains(name) {
            self.daemons.insert(Arc::clone(name));
        }
    }

    pub(crate) fn total(&mut self, name: &Name) {
        self.marks += 1;
        if !self.totals.contains(name) {
            self.totals.insert(name.clone());
        }
    }

    pub(crate) fn departed(&mut self) {
        self.marks += 1;
        self.departed = true;
    }

    pub(crate) fn mute(&mut self, key: &MuteKey) {
        self.marks += 1;
        self.mutes.insert(key.clone());
    }

    pub(crate) fn ack(&mut self, problem: &ProblemKey) {
        self.marks += 1;
        self.acks.insert(problem.clone());
    }

    pub(crate) fn false_positives(&mut self) {
        self.marks += 1;
        self.false_positives = true;
    }

    pub(crate) fn unwanted(&mut self, table: Table, key: String) {
        self.marks += 1;
        self.unwanted.insert((table, key));
    }
}
