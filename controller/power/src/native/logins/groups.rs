//! One account for many BMCs: where several refuse it one after the other, it is wrong, and the others are not asked by it. A
//! directory behind the BMCs may count their refusals together.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_remediation::time::Moment;

/// Different BMCs that refuse it with none between that takes it.
const IN_A_ROW: usize = 3;
/// From then on it is tried on one BMC in so long.
const TRIAL: Duration = Duration::from_secs(60);
/// Accounts that are gone are forgotten where there are more than any cluster has.
const LIMIT: usize = 16_384;
const OLD: Duration = Duration::from_secs(7200);

/// By [`super::Account::shared`].
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<u64, Group>);

#[derive(Debug, Default)]
struct Group {
    /// Nodes whose BMCs refused it since the last that took it; no more than make it stop.
    refused: BTreeSet<String>,
    /// BMCs that refused it since then and took the Secret's other account: they were changed, and it is not wrong by them.
    replaced: usize,
    is_taken: bool,
    /// When it was refused last, or tried in spite of it.
    trial: Moment,
}

impl Groups {
    /// Whether it may be tried on a BMC; one that is stopped has its trial by this.
    pub(super) fn check(&mut self, shared: u64, secret: &str, now: Moment) -> Result<(), String> {
        let Some(group) = self.0.get_mut(&shared).filter(|group| group.refused.len() >= IN_A_ROW) else {
            return Ok(());
        };
        if now.since(group.trial) >= TRIAL {
            group.trial = now;
            return Ok(());
        }
        let nodes: Vec<&str> = group.refused.iter().map(String::as_str).collect();
        Err(format!(
            "{IN_A_ROW} BMCs in a row refused the account of Secret {secret} (nodes {}); no other is asked by it, but one a \
             minute, until it is changed or one takes it",
            nodes.join(", ")
        ))
    }

    pub(super) fn refused(&mut self, shared: u64, node: &str, now: Moment) {
        if self.0.len() > LIMIT {
            self.0.retain(|_, group| now.since(group.trial) < OLD);
        }
        let group = self.0.entry(shared).or_default();
        group.trial = now;
        if group.refused.len() < IN_A_ROW {
            group.refused.insert(node.to_owned());
        }
    }

    pub(super) fn taken(&mut self, shared: u64) {
        let group = self.0.entry(shared).or_default();
        group.is_taken = true;
        group.refused.clear();
        group.replaced = 0;
    }

    /// The node's BMC refused it, and takes the other account of its Secret.
    pub(super) fn replaced(&mut self, shared: u64, node: &str) {
        if let Some(group) = self.0.get_mut(&shared)
            && group.refused.remove(node)
        {
            group.replaced += 1;
        }
    }

    pub(super) fn is_taken(&self, shared: u64) -> bool {
        self.0.get(&shared).is_some_and(|group| group.is_taken)
    }

    /// Several in a row refused it, whatever they took instead.
    pub(super) fn is_going(&self, shared: u64) -> bool {
        self.in_a_row(shared) >= IN_A_ROW
    }

    pub(super) fn in_a_row(&self, shared: u64) -> usize {
        self.0.get(&shared).map_or(0, |group| group.refused.len() + group.replaced)
    }
}
