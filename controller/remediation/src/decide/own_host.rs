//! Whether the host of this very controller needs remediation. Every replica judges that of its own host, whether it leads
//! or not: a leader that is in need hands the lead over, since it never acts on the host that it runs on.

use std::time::Duration;

use super::events_only;
use crate::{
    api::{
        SKIP_REMEDIATION,
        fence::Phase,
        policy::{ControlPlane, Mode},
    },
    facts::Node,
    guard::life,
    policy::{Policy, selector},
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// What lasts no longer than this is no reason to change the leader.
const NEEDED_FOR: Duration = Duration::from_secs(3);
/// A host that was in need leads again, and takes the lead from another in need, after so long without any.
const WELL_FOR: Duration = Duration::from_secs(60);

/// What this replica has seen of its own host.
#[derive(Debug, Clone, Default)]
pub struct OwnHost {
    is_in_need: bool,
    /// Since when the opposite of that is so.
    turned: Option<Moment>,
}

impl OwnHost {
    /// Looks at the host once more; whether it is in need. What cannot be known leaves that as it was.
    pub fn observe(&mut self, snapshot: &Snapshot, now: Now) -> bool {
        let Some(needs) = needs(snapshot, now) else {
            self.turned = None;
            return self.is_in_need;
        };
        if needs == self.is_in_need {
            self.turned = None;
            return self.is_in_need;
        }
        let since = *self.turned.get_or_insert(now.moment);
        if now.moment.since(since) >= if needs { NEEDED_FOR } else { WELL_FOR } {
            (self.is_in_need, self.turned) = (needs, None);
        }
        self.is_in_need
    }
}

/// Nothing if the watches are not complete, or its kubelet may only be late. A host that is no Node, or whose Node is
/// not known, can only be cut off.
fn needs(snapshot: &Snapshot, now: Now) -> Option<bool> {
    if !snapshot.host.synced {
        return None;
    }
    let node = snapshot.host.node.as_ref().and_then(|name| snapshot.nodes.get(name));
    let is_late = |node: &Node| life::late_for(snapshot, &node.name, now.moment).is_some();
    if snapshot.host.unreachable.is_empty() && node.is_some_and(|node| !has_record(snapshot, node) && is_late(node)) {
        return None;
    }
    Some(!snapshot.host.unreachable.is_empty() || node.is_some_and(|node| is_to_be_remediated(snapshot, node, now)))
}

fn has_record(snapshot: &Snapshot, node: &Node) -> bool {
    snapshot.fences.get(&node.name).is_some_and(|fence| fence.spec.node_uid == node.uid)
}

fn is_to_be_remediated(snapshot: &Snapshot, node: &Node, now: Now) -> bool {
    if node.annotations.contains_key(SKIP_REMEDIATION) {
        return false;
    }
    match snapshot.fences.get(&node.name).filter(|fence| fence.spec.node_uid == node.uid) {
        // What was given up, and what a person aborted, waits for a person whichever replica leads.
        Some(fence) => !matches!(fence.status.phase, Phase::Closed | Phase::Quarantined) && !fence.spec.abort,
        None => snapshot.policies.iter().any(|policy| is_wanted(policy, snapshot, node, now)),
    }
}

/// Another replica would act on it by this policy, now or when the time of `for` is over.
fn is_wanted(policy: &Policy, snapshot: &Snapshot, node: &Node, now: Now) -> bool {
    let may_act = policy.mode == Mode::Enforce
        && selector::matches(&policy.selector, &node.labels)
        && (policy.control_plane == ControlPlane::OneAtATime || !node.is_control_plane());
    may_act
        && policy.when.judge(node, snapshot, now) == Ok(true)
        && !events_only::by_events_alone(policy, node, snapshot, now)
}
