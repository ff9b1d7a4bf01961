//! False positives: what a person said of a problem that is there, and how often that happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use nodewell_model::{Ack, Name, Severity};
use serde::{Deserialize, Serialize};

/// So many reasons and conditions are counted by themselves: more than all rules have, and a person types each.
const COUNTED_LIMIT: usize = 1_024;

/// What holds of one problem until it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldAck {
    #[serde(flatten)]
    pub(crate) ack: Ack,
    /// How bad the problem was: one that gets worse is not what the person saw.
    #[serde(deserialize_with = "Severity::saved")]
    pub(crate) severity: Severity,
    /// Whose claims the person saw, as far as they have gone on since: another source's is news, whatever it claims.
    #[serde(default)]
    pub(crate) sources: BTreeSet<Arc<str>>,
}

impl HeldAck {
    /// With what was said of the same problem before: what people saw then, and now.
    pub(crate) fn add(&mut self, earlier: Self) {
        self.severity = self.severity.max(earlier.severity);
        self.sources.extend(earlier.sources);
    }
}

/// Why a problem is not what the person saw any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outgrown {
    Worse(Severity),
    /// This source claims it, too, or has begun again.
    Another(Arc<str>),
}

/// How often people called something a false positive. The counts only grow, and outlive restarts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(crate) struct FalsePositives {
    /// Problems, by condition and reason.
    pub(crate) problems: BTreeMap<(Name, Name), u64>,
    /// Conditions that were True by nothing else.
    pub(crate) conditions: BTreeMap<Name, u64>,
}

/// Their row: JSON has no pairs as keys.
#[derive(Serialize, Deserialize)]
struct Saved {
    problems: Vec<(Name, Name, u64)>,
    conditions: Vec<(Name, u64)>,
}

impl FalsePositives {
    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// One more problem; past the limit it shares a count with all such.
    pub(crate) fn count_problem(&mut self, condition: &Name, reason: &Name) {
        let own = (condition.clone(), reason.clone());
        let has_room = self.problems.contains_key(&own) || self.problems.len() < COUNTED_LIMIT;
        let key = if has_room { own } else { (condition.clone(), Name::fixed("Others")) };
        increase(&mut self.problems, key, 1);
    }

    /// One more condition, of which a node has few.
    pub(crate) fn count_condition(&mut self, condition: &Name) {
        increase(&mut self.conditions, condition.clone(), 1);
    }

    /// With those of an earlier run.
    pub(crate) fn add(&mut self, earlier: Self) {
        earlier.problems.into_iter().for_each(|(key, count)| increase(&mut self.problems, key, count));
        earlier.conditions.into_iter().for_each(|(key, count)| increase(&mut self.conditions, key, count));
    }
}

fn increase<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, by: u64) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(by);
}

impl From<Saved> for FalsePositives {
    fn from(Saved { problems, conditions }: Saved) -> Self {
        let problems = problems.into_iter().map(|(condition, reason, count)| ((condition, reason), count)).collect();
        Self { problems, conditions: conditions.into_iter().collect() }
    }
}

impl From<FalsePositives> for Saved {
    fn from(FalsePositives { problems, conditions }: FalsePositives) -> Self {
        let problems = problems.into_iter().map(|((condition, reason), count)| (condition, reason, count)).collect();
        Self { problems, conditions: conditions.into_iter().collect() }
    }
}
