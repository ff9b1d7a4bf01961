//! What blocks nodes before they have a record: reported once for each change, and never in a flood.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use crate::{
    action::{EventDraft, NodeEvent},
    facts::Node,
    guard::reason::{
        BUSY, CACHE_NOT_SYNCED, DRY_RUN, KUBELET_LATE, NOT_LEADING, OBSERVE, OWN_HOST, PAUSED, PREDICATE_ERROR,
        SHUTDOWN_ANNOUNCED, WITHIN_GRACE_PERIOD,
    },
    message::{Message, MessageArgs},
    node_report::NodeReport,
    time::Moment,
};

/// The least time between two Events about one node: what flaps is reported once.
const MIN_INTERVAL: Duration = Duration::from_secs(600);
/// The most Events of all nodes within [`WINDOW`]. The others are reported later, if it is still so.
const MAX_EVENTS: usize = 60;
const WINDOW: Duration = Duration::from_secs(60);

/// With one of these nothing is reported: this controller does not lead, must not write, or does not know enough.
const UNREPORTED: [&str; 3] = [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED];
/// These end by themselves in a moment. Of its own host a leader reports no more until it is known whether another
/// replica leads in its place.
const TRANSIENT: [&str; 4] = [WITHIN_GRACE_PERIOD, BUSY, OWN_HOST, KUBELET_LATE];
/// An operator wanted it so: nothing to warn of.
const SET_BY_OPERATOR: [&str; 3] = [OBSERVE, PAUSED, SHUTDOWN_ANNOUNCED];

/// What was reported of nodes without a record.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockedEvents {
    last: BTreeMap<String, LastReport>,
    sent: VecDeque<Moment>,
}

#[derive(Debug, Clone)]
struct LastReport {
    uid: String,
    reasons: Vec<String>,
    reported: Moment,
    /// When the node was last blocked by anything.
    blocked: Moment,
}

impl BlockedEvents {
    pub(super) fn forget(&mut self, now: Moment) {
        self.last.retain(|_, last| now.since(last.reported.max(last.blocked)) < MIN_INTERVAL);
        while self.sent.front().is_some_and(|at| now.since(*at) >= WINDOW) {
            self.sent.pop_front();
        }
    }

    /// The Event about a node whose report has blockers, if they changed; `cause` has the inputs.
    pub(super) fn event_if_new(
        &mut self,
        node: &Node,
        node_report: &NodeReport,
        cause: impl FnOnce() -> String,
        now: Moment,
    ) -> Option<NodeEvent> {
        let reasons = reasons(node_report)?;
        if let Some(last) = self.last.get_mut(&node.name).filter(|last| last.uid == node.uid) {
            last.blocked = now;
            if last.reasons == reasons || now.since(last.reported) < MIN_INTERVAL {
                return None;
            }
        }
        if self.sent.len() >= MAX_EVENTS {
            return None;
        }
        self.sent.push_back(now);
        let wanted = reasons.iter().all(|reason| SET_BY_OPERATOR.contains(&reason.as_str()));
        let message = message(node_report, &cause());
        let event = if wanted { EventDraft::normal(message) } else { EventDraft::warning(message) };
        self.last.insert(node.name.clone(), LastReport { uid: node.uid.clone(), reasons, reported: now, blocked: now });
        Some(NodeEvent { node: node.name.clone(), uid: node.uid.clone(), event })
    }
}

/// In order; nothing if there is nothing that an operator has to know.
fn reasons(node_report: &NodeReport) -> Option<Vec<String>> {
    let mut reasons: Vec<String> = node_report.blockers.iter().map(|blocker| blocker.reason.clone()).collect();
    if reasons.iter().any(|reason| UNREPORTED.contains(&reason.as_str())) {
        return None;
    }
    reasons.retain(|reason| !TRANSIENT.contains(&reason.as_str()));
    reasons.extend(node_report.errors.first().map(|_| PREDICATE_ERROR.to_owned()));
    reasons.sort_unstable();
    reasons.dedup();
    (!reasons.is_empty()).then_some(reasons)
}

fn message(node_report: &NodeReport, cause: &str) -> Message {
    let blockers = node_report.blockers.iter().map(ToString::to_string);
    let errors = node_report.errors.iter().filter(|_| node_report.policy.is_none());
    let errors = errors.map(|(policy, error)| format!("{PREDICATE_ERROR}: policy {policy}: {error}"));
    let against = blockers.chain(errors).collect::<Vec<_>>().join("; ");
    match (&node_report.policy, &node_report.next) {
        (Some(policy), Some(next)) => {
            let args: MessageArgs<'_> =
                &[("next", next), ("policy", policy), ("blockers", &against), ("evidence", &cause)];
            Message::of("Blocked", args)
        }
        _ => Message::of("Blocked/record", &[("blockers", &against)]),
    }
}
