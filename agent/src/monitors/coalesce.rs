//! A flood of equal findings travels as one: counts stay exact, the channel to the ledger stays short.

use std::collections::HashMap;

use nodewell_model::{Finding, FindingKind, Name};

/// Findings that wait to be sent, merged, in the order in which they first came.
#[derive(Debug, Default)]
pub struct Coalescer {
    waiting: Vec<Finding>,
    by_key: HashMap<Key, usize>,
    /// How often a (reason, condition) has turned from raising to clearing or back, and where it stands.
    turns: HashMap<(Name, Option<Name>), (FindingKind, u32)>,
}

/// A raise and a clear must not be merged across each other: the order is the meaning. So the turn is part of the key.
type Key = (Name, Option<Name>, Option<String>, u32);

impl Coalescer {
    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        let turn = self.turn(&finding);
        let key = (finding.reason.clone(), finding.condition.clone(), finding.subject.clone(), turn);
        match self.by_key.get(&key) {
            Some(&index) if self.waiting[index].merges_with(&finding) => self.waiting[index].merge(finding),
            _ => {
                self.by_key.insert(key, self.waiting.len());
                self.waiting.push(finding);
            }
        }
    }

    /// Everything that waits, in order; nothing waits afterwards.
    pub fn take(&mut self) -> Vec<Finding> {
        self.by_key.clear();
        self.turns.clear();
        std::mem::take(&mut self.waiting)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many different findings wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    fn turn(&mut self, finding: &Finding) -> u32 {
        let of = (finding.reason.clone(), finding.condition.clone());
        let (kind, turn) = self.turns.entry(of).or_insert((finding.kind, 0));
        if *kind != finding.kind {
            (*kind, *turn) = (finding.kind, *turn + 1);
        }
        *turn
    }
}

#[cfg(test)]
mod tests;
