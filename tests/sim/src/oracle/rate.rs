//! How many pods go in a window, by releases and by the taint that is one.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use crate::truth::Truth;

/// From the decision, which the controller counts by, to what is done.
const DECIDED: Duration = Duration::from_secs(15);

/// Pods that went, or go whatever the controller does: when, and of which node.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    pub(super) at: Moment,
    node: String,
}

impl Truth {
    /// The pods of one node alone may be more than the policy's `pods`, if no other node's go in the same window.
    pub(super) fn count_pods(&mut self, node: &str, uids: &[String]) {
        let now = self.now();
        let new = self.remember_gone(node, uids);
        if new == 0 {
            return;
        }
        self.oracle.released += new;
        self.oracle.released_at.get_or_insert(now);
        let Some((most, window)) = self.scenario.pod_limit() else { return };
        let (here, others) = self.gone_within(node, window);
        if others > 0 && here + others > most {
            self.violate(
                "I1",
                format!("{here} pods of {node} go and {others} of other nodes within {window:?}, {most} may"),
            );
        }
    }

    /// A drain takes a node's pods in portions.
    pub(super) fn count_evicted(&mut self, node: &str, uid: &String) {
        self.remember_gone(node, std::slice::from_ref(uid));
        let Some((most, window)) = self.scenario.pod_limit() else { return };
        let (here, others) = self.gone_within(node, window);
        if here + others > most {
            self.violate(
                "I1",
                format!("{here} pods of {node} are evicted and {others} of other nodes within {window:?}, {most} may"),
            );
        }
    }

    /// How many of them are new.
    fn remember_gone(&mut self, node: &str, uids: &[String]) -> u64 {
        let now = self.now();
        let gone = &mut self.oracle.gone;
        let mut new = 0;
        for uid in uids {
            if self.oracle.gone_uids.insert(uid.clone()) {
                gone.push(Gone { at: now, node: node.to_owned() });
                new += 1;
            }
        }
        new
    }

    /// Of this node, and of others.
    fn gone_within(&self, node: &str, window: Duration) -> (usize, usize) {
        let (now, window) = (self.now(), window.saturating_sub(DECIDED));
        let recent = self.oracle.gone.iter().rev().take_while(|gone| now.since(gone.at) < window);
        let (here, others): (Vec<&Gone>, Vec<&Gone>) = recent.partition(|gone| gone.node == node);
        (here.len(), others.len())
    }
}
