//! The condition `FenceReady` of every node: whether it could be fenced, found out long before it has to be.

mod looks;
mod rounds;

use jiff::{SignedDuration, Timestamp};
use nodewell_power::native::{NativePower, Preflight, logins};
use nodewell_reconcile::{api_error::ApiError, cache::Cache, clock::Clock, leader::Term};
use nodewell_remediation::{
    facts::{Condition, FENCE_READY, Node, READS_OFF},
    time::Moment,
};
use serde_json::{Value, json};

use crate::config::Fencing;
use crate::kube::{FIELD_MANAGER, KubeCluster, Manager};

/// The condition's heartbeat is at least so frequent: it shows that the check still runs.
const HEARTBEAT: SignedDuration = SignedDuration::from_hours(6);
/// Longer ones are cut, behind what they report of refused logins: many clients read a Node. What to do comes last, after
/// what two machines are called.
const MESSAGE_CHARS: usize = 512;

/// While `term` is ours; never returns.
pub(super) async fn look_after(
    power: &NativePower<KubeCluster>,
    cluster: &KubeCluster,
    cache: &Cache,
    fencing: &Fencing,
    term: Term,
) -> std::convert::Infallible {
    let clock = cluster.clock();
    let pace = rounds::Pace { interval: fencing.preflight_interval, at_once: fencing.preflight_concurrency };
    let asker = Asker { power, cluster, cache };
    tokio::select! {
        never = rounds::run(&asker, cache, clock, pace, || leads(&term, clock)) => never,
        never = looks::run(async |nodes| power.look(nodes).await, cache, clock, || leads(&term, clock)) => never,
    }
}

fn leads(term: &Term, clock: Clock) -> bool {
    term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(clock.moment()))
}

/// Writes what was found for a person who asked: the controller that leads begins with it, and tries no account again that was
/// refused right now.
///
/// # Errors
/// Why it could not be written.
pub(crate) async fn write(cluster: &KubeCluster, node: &Node, preflight: &Preflight) -> Result<(), ApiError> {
    // That the kubelet has spoken since is not known here.
    let is_there = node.condition(FENCE_READY).is_some_and(|there| there.reason == READS_OFF);
    match news(node, preflight, true, Timestamp::now()).filter(|_| preflight.reason != READS_OFF || is_there) {
        Some(conditions) => apply(cluster, node, &conditions).await,
        None => Ok(()),
    }
}

async fn apply(cluster: &KubeCluster, node: &Node, conditions: &Value) -> Result<(), ApiError> {
    let path = format!("/api/v1/nodes/{}/status", node.name);
    let metadata = json!({ "name": node.name, "uid": node.uid });
    let status = json!({ "conditions": conditions });
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status });
    // The controller owns this condition: a client that wrote it before was not entitled to.
    let manager = Manager { name: FIELD_MANAGER, force: true };
    cluster.wire().apply(&path, manager, &body).await
}

struct Asker<'a> {
    power: &'a NativePower<KubeCluster>,
    cluster: &'a KubeCluster,
    cache: &'a Cache,
}

impl rounds::Asker for Asker<'_> {
    fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.power.retain(is_there);
    }

    fn urgent(&self) -> rounds::Urgent {
        rounds::Urgent { unwritten: self.power.unreported(), changed: self.power.changed() }
    }

    fn end_term(&self) {
        self.power.end_term();
    }

    async fn find(&self, node: &Node) -> Option<Preflight> {
        let preflight = self.power.preflight(node).await;
        // A machine may have lost its power right before: what its kubelet does is known when it is asked again.
        let is_early = preflight.reason == READS_OFF && !self.power.is_contradicted(node, self.renewed(node));
        (!is_early).then_some(preflight)
    }

    async fn write(&self, node: &Node, found: &Preflight, wanted: bool) -> bool {
        match news(node, found, wanted, Timestamp::now()) {
            Some(conditions) => self.apply(node, found, &conditions).await,
            None => true,
        }
    }

    fn reported(&self, node: &Node, message: &str) {
        self.power.reported(&node.name, message);
    }
}

impl Asker<'_> {
    fn renewed(&self, node: &Node) -> Option<Moment> {
        self.cache.with(|snapshot| Some(snapshot.kubelet_leases.get(&node.name)?.change_seen_at))
    }

    async fn apply(&self, node: &Node, preflight: &Preflight, conditions: &Value) -> bool {
        match apply(self.cluster, node, conditions).await {
            Ok(()) => {
                let Preflight { status, reason, message } = preflight;
                tracing::info!(node = node.name, %status, reason, message, "FenceReady");
                true
            }
            Err(error) => {
                tracing::warn!(node = node.name, %error, "FenceReady cannot be written; tried again");
                false
            }
        }
    }
}

/// What is to be written, if the Node itself does not have it already: another client may have taken the condition
/// away, and a Node that was created again never had it.
fn news(node: &Node, preflight: &Preflight, wanted: bool, now: Timestamp) -> Option<Value> {
    let there = node.condition(FENCE_READY);
    if preflight.reason == "NoMethods" && !wanted {
        return there.map(|_| json!([]));
    }
    let message = logins::cut(&preflight.message, MESSAGE_CHARS);
    let is_written = |there: &Condition| {
        let beat = there.heartbeat.is_some_and(|beat| now.duration_since(beat).abs() < HEARTBEAT);
        let Preflight { status, reason, .. } = preflight;
        beat && (&there.status, &there.reason, &there.message) == (status, reason, &message)
    };
    if there.is_some_and(is_written) {
        return None;
    }
    let since = there.filter(|there| there.status == preflight.status).and_then(|there| there.since).unwrap_or(now);
    Some(json!([{
        "type": FENCE_READY, "status": preflight.status.to_string(), "reason": preflight.reason, "message": message,
        "lastHeartbeatTime": format!("{now:.0}"), "lastTransitionTime": format!("{since:.0}"),
    }]))
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::{facts::ConditionStatus, time::Moment};

    use super::*;
    use crate::kube::convert;

    const NOW: &str = "2026-01-02T00:00:00Z";

    fn node(condition: Option<Value>) -> Node {
        let conditions: Vec<Value> = condition.into_iter().collect();
        let raw = json!({ "metadata": { "name": "n", "uid": "u" }, "status": { "conditions": conditions } });
        convert::node(serde_json::from_value(raw).unwrap(), Moment::default()).unwrap()
    }

    fn with_condition(changed: Value) -> Node {
        let mut condition = json!({ "type": FENCE_READY, "status": "False", "reason": "NoAnswer", "message": "m",
            "lastHeartbeatTime": "2026-01-01T23:00:00Z", "lastTransitionTime": "2025-01-01T00:00:00Z" });
        condition.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        node(Some(condition))
    }

    fn news_of(node: &Node, reason: &str, wanted: bool) -> Option<Value> {
        let status = if reason == "NoMethods" { ConditionStatus::Unknown } else { ConditionStatus::False };
        news(node, &Preflight { status, reason: reason.into(), message: "m".into() }, wanted, NOW.parse().unwrap())
    }

    #[test]
    fn what_the_node_reports_already_is_not_written_again() {
        assert_eq!(news_of(&with_condition(json!({})), "NoAnswer", true), None);
    }

    #[test]
    fn whatever_the_node_lacks_is_written() {
        for (node, since) in [
            (node(None), NOW),
            (with_condition(json!({ "reason": "Other" })), "2025-01-01T00:00:00Z"),
            (with_condition(json!({ "message": "other" })), "2025-01-01T00:00:00Z"),
            (with_condition(json!({ "status": "True" })), NOW),
            (with_condition(json!({ "lastHeartbeatTime": "2026-01-01T17:00:00Z" })), "2025-01-01T00:00:00Z"),
            (with_condition(json!({ "lastHeartbeatTime": null })), "2025-01-01T00:00:00Z"),
        ] {
            let news = news_of(&node, "NoAnswer", true).unwrap();
            assert_eq!((&news[0]["lastTransitionTime"], &news[0]["lastHeartbeatTime"]), (&json!(since), &json!(NOW)));
        }
    }

    #[test]
    fn a_node_without_methods_has_it_only_while_a_policy_would_fence_it() {
        assert_eq!(news_of(&node(None), "NoMethods", false), None);
        assert_eq!(news_of(&with_condition(json!({})), "NoMethods", false), Some(json!([])));
        assert!(news_of(&node(None), "NoMethods", true).is_some());
        assert!(news_of(&node(None), "FenceNotReady", false).is_some());
    }
}
