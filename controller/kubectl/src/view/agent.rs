//! Whether a node's agent reports. The controller counts what it has seen pass; here there is one look, at times that
//! the node's clock wrote.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_remediation::{
    facts::ConditionStatus,
    liveness::{AGENT_SILENT, SilenceTimeouts},
};
use serde::Serialize;

use crate::facts::{AgentLease, ConditionFacts, Facts, NodeFacts};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum AgentState {
    Reports,
    /// It has a Lease, and has reported no condition yet.
    Starts,
    Silent,
    /// There is no sign of one.
    Absent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentView {
    pub(crate) state: AgentState,
    /// The last sign of it, by the node's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_seen: Option<Timestamp>,
    pub(crate) has_lease: bool,
    /// What the controller has written in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl AgentView {
    pub(crate) fn of(facts: &Facts, node: &NodeFacts, now: Timestamp) -> Self {
        let lease = facts.leases.get(&node.name);
        let heartbeat = node.of_agent().filter_map(|condition| condition.heartbeat).max();
        // One that was True before has a longer message, which quotes that.
        let for_silent = node.of_agent().filter(|condition| is_for_a_silent_agent(condition));
        let reported = for_silent.max_by_key(|condition| condition.message.len());
        Self {
            state: match reported {
                Some(_) => AgentState::Silent,
                None => state(node, lease, heartbeat, now),
            },
            last_seen: lease.and_then(|lease| lease.renewed).max(heartbeat),
            has_lease: lease.is_some(),
            message: reported.map(|condition| condition.message.clone()),
        }
    }

    pub(crate) fn reports(&self) -> bool {
        self.state == AgentState::Reports
    }
}

/// The controller has set it to Unknown, since its agent is silent. All of a node are so at once.
pub(crate) fn is_for_a_silent_agent(condition: &ConditionFacts) -> bool {
    condition.reason == AGENT_SILENT && condition.status == ConditionStatus::Unknown
}

/// By the times after which the controller calls an agent silent.
fn state(node: &NodeFacts, lease: Option<&AgentLease>, heartbeat: Option<Timestamp>, now: Timestamp) -> AgentState {
    let timeouts = SilenceTimeouts::default();
    let has_reported = node.of_agent().next().is_some();
    let (seen, limit) = match lease {
        Some(lease) => (lease.renewed, lease.duration.max(timeouts.lease)),
        None => (heartbeat, timeouts.heartbeat),
    };
    match (lease, seen) {
        (None, _) if !has_reported => AgentState::Absent,
        (_, Some(seen)) if ago(seen, now) <= limit => {
            if has_reported {
                AgentState::Reports
            } else {
                AgentState::Starts
            }
        }
        (_, Some(_) | None) => AgentState::Silent,
    }
}

/// What comes from the future is new.
fn ago(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// Conditions of the agent with these heartbeats, by seconds.
    fn node(heartbeats: &[i64]) -> NodeFacts {
        let conditions: Vec<_> = heartbeats
            .iter()
            .zip(["DiskUnhealthy", "KernelDeadlock"])
            .map(|(second, kind)| {
                json!({ "type": kind, "status": "False", "lastHeartbeatTime": at(*second).to_string() })
            })
            .collect();
        let raw = json!({ "metadata": { "name": "n1" }, "status": { "conditions": conditions } });
        NodeFacts::read(&raw, None).unwrap()
    }

    fn state_of(heartbeats: &[i64], renewed: Option<Option<i64>>, now: i64) -> AgentState {
        let lease = renewed.map(|renewed| AgentLease { renewed: renewed.map(at), duration: Duration::from_secs(240) });
        let facts =
            Facts { leases: lease.map(|lease| ("n1".to_owned(), lease)).into_iter().collect(), ..Facts::default() };
        AgentView::of(&facts, &node(heartbeats), at(now)).state
    }

    #[test]
    fn a_lease_counts_where_there_is_one_and_heartbeats_where_there_is_none() {
        for (heartbeats, renewed, now, state) in [
            (&[0, 0][..], Some(Some(0)), 240, AgentState::Reports),
            (&[0, 0], Some(Some(0)), 241, AgentState::Silent),
            // The Lease says more, and its clock may be ahead.
            (&[0, 0], Some(Some(900)), 800, AgentState::Reports),
            (&[], Some(Some(0)), 60, AgentState::Starts),
            (&[], Some(None), 60, AgentState::Silent),
            (&[0, 600], None, 1_500, AgentState::Reports),
            (&[0, 600], None, 1_501, AgentState::Silent),
            (&[], None, 0, AgentState::Absent),
        ] {
            assert_eq!(state_of(heartbeats, renewed, now), state, "{heartbeats:?} {renewed:?} {now}");
        }
    }

    #[test]
    fn what_the_controller_has_written_counts_and_keeps_the_last_word() {
        let raw = json!({ "metadata": { "name": "n1" }, "status": { "conditions": [
            { "type": "DiskUnhealthy", "status": "Unknown", "reason": "AgentSilent",
                "message": "no report from this node's agent since then", "lastHeartbeatTime": at(0).to_string() },
        ] } });
        let node = NodeFacts::read(&raw, None).unwrap();
        let view = AgentView::of(&Facts::default(), &node, at(10));
        assert_eq!((view.state, view.last_seen), (AgentState::Silent, Some(at(0))));
        assert_eq!(view.message.as_deref(), Some("no report from this node's agent since then"));
    }
}
