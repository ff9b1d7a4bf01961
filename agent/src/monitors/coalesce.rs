//! A flood of equal findings travels as one: counts stay exact, the channel to the ledger stays short.

use std::collections::HashMap;

use nodewell_model::{Finding, FindingKind, Name};

/// How many different problems are held before the rest of a reason shares one entry without a subject.
const KEY_LIMIT: usize = 8192;

/// Findings that wait to be sent, merged, in the order in which they first came.
#[derive(Debug, Default)]
pub struct Coalescer {
    waiting: Vec<Finding>,
    by_key: HashMap<Key, usize>,
}

type Key = (Name, Option<Name>, Option<String>, FindingKind);

impl Coalescer {
    /// Takes a finding in.
    pub fn add(&mut self, finding: Finding) {
        let mut finding = finding;
        if self.waiting.len() >= KEY_LIMIT && finding.kind == FindingKind::Raise {
            finding.subject = None;
        }
        let key = (finding.reason.clone(), finding.condition.clone(), finding.subject.clone(), finding.kind);
        match self.by_key.get(&key) {
            Some(&index) if self.waiting[index].merges_with(&finding) => self.waiting[index].merge(finding),
            _ => self.append(key, finding),
        }
    }

    /// Everything that waits, in order; nothing waits afterwards.
    pub fn take(&mut self) -> Vec<Finding> {
        self.by_key.clear();
        std::mem::take(&mut self.waiting)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A raise must not be merged into one from before a clear of the same reason: the order is the meaning.
    fn append(&mut self, key: Key, finding: Finding) {
        if finding.kind == FindingKind::Clear {
            let (reason, condition, ..) = &key;
            self.by_key.retain(|(other, of, ..), _| other != reason || of != condition);
        }
        self.by_key.insert(key, self.waiting.len());
        self.waiting.push(finding);
    }
}

#[cfg(test)]
mod tests;
