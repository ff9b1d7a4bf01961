//! What a policy's own status reports: whether it can be read, how many nodes it is true of, and how many are blocked.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use jiff::Timestamp;
use nodewell_reconcile::{api_error::ApiError, cache::Cache, leader::Term};
use nodewell_remediation::{
    api::{GROUP, VERSION},
    node_report::NodeReport,
    snapshot::Snapshot,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::kube::KubeCluster;

/// Counts may be this old; a policy is written only when they changed.
const APART: Duration = Duration::from_secs(5);
/// The condition's message; a policy has few errors, and errors of CEL are long.
const MESSAGE: usize = 4096;

/// What is to be shown of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PolicyStatus {
    problem: Option<String>,
    matched: usize,
    blocked: usize,
}

/// While `term` is ours; a dry run has none, and writes nothing. Never returns.
pub(super) async fn look_after(cluster: &KubeCluster, cache: &Cache, term: Term) -> Infallible {
    let clock = cluster.clock();
    let mut written: BTreeMap<String, PolicyStatus> = BTreeMap::new();
    loop {
        sleep(APART).await;
        if !term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(clock.moment())) {
            written.clear();
            continue;
        }
        let statuses = cache.with(|snapshot| snapshot.host.synced.then(|| known(snapshot)));
        let Some(mut statuses) = statuses else { continue };
        count(&mut statuses, &cache.node_reports());
        written.retain(|name, _| statuses.contains_key(name));
        for (name, status) in statuses {
            if written.get(&name) == Some(&status) {
                continue;
            }
            match write(cluster, &name, &status).await {
                Ok(()) => drop(written.insert(name, status)),
                Err(error) => {
                    tracing::warn!(policy = name, %error, "the policy's status cannot be written; tried again");
                }
            }
        }
    }
}

fn known(snapshot: &Snapshot) -> BTreeMap<String, PolicyStatus> {
    let status = |problem: Option<&String>| PolicyStatus { problem: problem.cloned(), matched: 0, blocked: 0 };
    let readable = snapshot.policies.iter().map(|policy| (policy.name.clone(), status(None)));
    let unreadable = snapshot.unreadable_policies.iter().map(|(name, problem)| (name.clone(), status(Some(problem))));
    readable.chain(unreadable).collect()
}

/// A node counts for each policy that is true of it, and is blocked for the one that decides.
fn count(statuses: &mut BTreeMap<String, PolicyStatus>, node_reports: &[NodeReport]) {
    for node_report in node_reports {
        for name in node_report.policy.iter().chain(&node_report.also) {
            statuses.entry(name.clone()).and_modify(|status| status.matched += 1);
        }
        if let Some(name) = node_report.policy.as_ref().filter(|_| !node_report.blockers.is_empty()) {
            statuses.entry(name.clone()).and_modify(|status| status.blocked += 1);
        }
    }
}

/// node-reaper's policy is a file, and no object that could be written to.
async fn write(cluster: &KubeCluster, name: &str, status: &PolicyStatus) -> Result<(), ApiError> {
    let path = format!("/apis/{GROUP}/{VERSION}/remediationpolicies/{name}");
    let Some(policy) = cluster.wire().get::<Value>(&path).await? else { return Ok(()) };
    let body = body(&policy["status"], status, Timestamp::now());
    if policy["status"] == body {
        return Ok(());
    }
    let patch = json!({ "status": body });
    match cluster.wire().merge::<Value>(&format!("{path}/status"), &patch).await {
        // It was deleted meanwhile.
        Ok(_) | Err(ApiError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

fn body(before: &Value, status: &PolicyStatus, now: Timestamp) -> Value {
    let (is, reason) = if status.problem.is_none() { ("True", "Readable") } else { ("False", "Unreadable") };
    let message = status.problem.as_deref().unwrap_or("the policy can be read and is in force");
    let message: String = message.chars().take(MESSAGE).collect();
    let known = before["conditions"].as_array().into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let since = known.filter(|known| known["status"] == is).map(|known| known["lastTransitionTime"].clone());
    let since = since.unwrap_or_else(|| json!(format!("{now:.0}")));
    json!({
        "conditions": [{ "type": "Ready", "status": is, "reason": reason, "message": message, "lastTransitionTime": since }],
        "matched": status.matched,
        "blocked": status.blocked,
    })
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::Blocker;

    use super::*;

    fn node_report(policy: Option<&str>, also: &[&str], blocked: bool) -> NodeReport {
        NodeReport {
            policy: policy.map(str::to_owned),
            also: also.iter().map(|name| (*name).to_owned()).collect(),
            blockers: blocked.then(|| Blocker::new("Storm", "")).into_iter().collect(),
            ..NodeReport::default()
        }
    }

    #[test]
    fn nodes_are_counted_for_each_policy_and_blocked_for_the_first() {
        let snapshot = Snapshot { unreadable_policies: [("c".into(), "line 3".into())].into(), ..Snapshot::default() };
        let mut statuses = known(&snapshot);
        let empty = PolicyStatus { problem: None, matched: 0, blocked: 0 };
        statuses.extend([("a".to_owned(), empty.clone()), ("b".to_owned(), empty)]);
        count(
            &mut statuses,
            &[node_report(Some("a"), &["b"], true), node_report(Some("a"), &[], false), node_report(None, &[], true)],
        );
        let shown = |name: &str| (statuses[name].matched, statuses[name].blocked);
        assert_eq!((shown("a"), shown("b"), shown("c")), ((2, 1), (1, 0), (0, 0)));
        assert_eq!(statuses["c"].problem.as_deref(), Some("line 3"));
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let good = PolicyStatus { problem: None, matched: 1, blocked: 0 };
        let first = body(&Value::Null, &good, at("2026-01-01T00:00:00Z"));
        assert_eq!((first["conditions"][0]["status"].as_str(), &first["matched"]), (Some("True"), &json!(1)));
        assert_eq!(body(&first, &good, at("2026-01-01T01:00:00Z")), first, "nothing to write");
        let bad = PolicyStatus { problem: Some("spec.when: line 1".into()), ..good };
        let turned = body(&first, &bad, at("2026-01-01T02:00:00Z"));
        let condition = &turned["conditions"][0];
        assert_eq!(condition["lastTransitionTime"], "2026-01-01T02:00:00Z");
        assert_eq!(
            (condition["status"].as_str(), condition["message"].as_str()),
            (Some("False"), Some("spec.when: line 1"))
        );
    }
}
