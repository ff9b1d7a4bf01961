//! How many pods go in a window, by releases and by the taint that is one.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use crate::{scenario::PODS_WITHIN, truth::Truth};

/// From the decision, which the controller counts by, to what is done.
const DECIDED: Duration = Duration::from_secs(15);

/// Pods that went, or go whatever the controller does: when, of which node, their UIDs.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    at: Moment,
    node: String,
    uid: String,
}

impl Truth {
    /// The pods of one node alone may be more than the policy's `pods`, if no other node's go in the same window.
    pub(super) fn count_pods(&mut self, node: &str, uids: &[String]) {
        let now = self.now();
        let known = |uid: &String| self.oracle.gone.iter().any(|gone| gone.uid == *uid);
        let new: Vec<String> = uids.iter().filter(|uid| !known(uid)).cloned().collect();
        if new.is_empty() {
            return;
        }
        self.oracle.released += new.len() as u64;
        self.oracle.released_at.get_or_insert(now);
        self.oracle.gone.extend(new.into_iter().map(|uid| Gone { at: now, node: node.to_owned(), uid }));
        let Some(most) = self.scenario.most_pods else { return };
        let window = PODS_WITHIN.saturating_sub(DECIDED);
        let recent = self.oracle.gone.iter().filter(|gone| now.since(gone.at) < window);
        let (here, others): (Vec<_>, Vec<_>) = recent.partition(|gone| gone.node == node);
        if !others.is_empty() && here.len() + others.len() > most {
            let text = format!(
                "{} pods of {node} go and {} of other nodes within {window:?}, {most} may",
                here.len(),
                others.len()
            );
            self.violate("I1", text);
        }
    }
}
