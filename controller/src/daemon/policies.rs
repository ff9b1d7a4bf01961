//! What a policy's own status reports: whether it can be read and can act in this cluster, how many nodes it is true of, and
//! how many are blocked.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use jiff::Timestamp;
use nodewell_reconcile::{api_error::ApiError, cache::Cache};
use nodewell_remediation::{
    api::{GROUP, VERSION},
    guard::never,
    node_report::NodeReport,
    policy::PolicyDiagnostic,
    snapshot::Snapshot,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::own_objects::Writer;
use crate::kube::KubeCluster;

/// A mistake is shown as soon as this, because a person waits for it.
const LOOK: Duration = Duration::from_secs(1);
/// Counts may be this old; a policy is written only when they changed.
const APART: Duration = Duration::from_secs(5);
/// The condition's message; a policy has few errors, and errors of CEL are long.
const MESSAGE: usize = 4096;

/// What is to be shown of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PolicyStatus {
    problem: Option<String>,
    /// Why it, or one of its steps, never acts in this cluster; empty if all can.
    never: String,
    matched: usize,
    blocked: usize,
}

/// While it is ours to write; never returns.
pub(super) async fn look_after(cluster: &KubeCluster, cache: &Cache, mut writer: Writer<'_>) -> Infallible {
    let clock = cluster.clock();
    let mut written: BTreeMap<String, PolicyStatus> = BTreeMap::new();
    let mut counted = None;
    loop {
        sleep(LOOK).await;
        let now = clock.moment();
        if !writer.is_us(now).await {
            written.clear();
            continue;
        }
        let statuses = cache.with(|snapshot| snapshot.host.synced.then(|| known(snapshot)));
        let Some(mut statuses) = statuses else { continue };
        count(&mut statuses, &cache.node_reports());
        written.retain(|name, _| statuses.contains_key(name));
        let counts_are_due = counted.is_none_or(|counted| now.since(counted) >= APART);
        if counts_are_due {
            counted = Some(now);
        }
        for (name, status) in statuses {
            if !is_due(written.get(&name), &status, counts_are_due) {
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

/// Whether it can be read is shown at once, how many nodes it is true of now and then.
fn is_due(written: Option<&PolicyStatus>, status: &PolicyStatus, counts_are_due: bool) -> bool {
    written.is_none_or(|written| written.problem != status.problem || counts_are_due && written != status)
}

fn known(snapshot: &Snapshot) -> BTreeMap<String, PolicyStatus> {
    let never = never::in_cluster(snapshot);
    let status = |name: &String, problem: Option<&String>| {
        let never = listed(never.get(name).map_or(&[], Vec::as_slice));
        (name.clone(), PolicyStatus { problem: problem.cloned(), never, matched: 0, blocked: 0 })
    };
    let readable = snapshot.policies.iter().map(|policy| status(&policy.name, None));
    let unreadable = snapshot.unreadable_policies.iter().map(|(name, problem)| status(name, Some(problem)));
    readable.chain(unreadable).collect()
}

fn listed(found: &[PolicyDiagnostic]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
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
    let conditions = [Condition::ready(status), Condition::can_act(status)].map(|one| one.body(before, now));
    json!({
        "conditions": conditions,
        "matched": status.matched,
        "blocked": status.blocked,
    })
}

struct Condition<'a> {
    kind: &'static str,
    is: &'static str,
    reason: &'static str,
    message: &'a str,
}

impl<'a> Condition<'a> {
    fn ready(status: &'a PolicyStatus) -> Self {
        match &status.problem {
            None => Self {
                kind: "Ready",
                is: "True",
                reason: "Readable",
                message: "the policy can be read and is in force",
            },
            Some(message) => Self { kind: "Ready", is: "False", reason: "Unreadable", message },
        }
    }

    fn can_act(status: &'a PolicyStatus) -> Self {
        let kind = "CanAct";
        match (&status.problem, status.never.as_str()) {
            (Some(_), _) => Self { kind, is: "Unknown", reason: "Unreadable", message: "the policy cannot be read" },
            (None, "") => {
                Self { kind, is: "True", reason: "HasRoom", message: "its limits have room for each of its steps" }
            }
            (None, message) => Self { kind, is: "False", reason: "NeverActs", message },
        }
    }

    fn body(&self, before: &Value, now: Timestamp) -> Value {
        let Self { kind, is, reason, message } = self;
        let message: String = message.chars().take(MESSAGE).collect();
        let known = before["conditions"].as_array().into_iter().flatten().find(|known| known["type"] == *kind);
        let since = known.filter(|known| known["status"] == *is).map(|known| known["lastTransitionTime"].clone());
        let since = since.unwrap_or_else(|| json!(format!("{now:.0}")));
        json!({ "type": kind, "status": is, "reason": reason, "message": message, "lastTransitionTime": since })
    }
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::{
        api::{fence::Blocker, policy::StepSpec},
        facts::Node,
        policy::Policy,
    };

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
        let empty = PolicyStatus { problem: None, never: String::new(), matched: 0, blocked: 0 };
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
    fn a_mistake_is_written_at_once_and_a_count_when_it_is_due() {
        let status = |problem: Option<&str>, matched| PolicyStatus {
            problem: problem.map(str::to_owned),
            never: String::new(),
            matched,
            blocked: 0,
        };
        let before = status(None, 1);
        assert!(is_due(None, &before, false), "a new policy is shown at once");
        assert!(is_due(Some(&before), &status(Some("spec.when"), 1), false));
        assert!(!is_due(Some(&before), &status(None, 2), false) && is_due(Some(&before), &status(None, 2), true));
        assert!(!is_due(Some(&before), &before, true));
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let good = PolicyStatus { problem: None, never: String::new(), matched: 1, blocked: 0 };
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

    #[test]
    fn a_policy_that_can_never_act_says_why() {
        let mut policy = Policy { name: "p".into(), ..Policy::default() };
        policy.steps = vec![StepSpec { cordon: Some(Default::default()), ..StepSpec::default() }];
        policy.cordon_budget.max_concurrent = Some(0);
        let mut snapshot = Snapshot { policies: vec![policy], ..Snapshot::default() };
        let can_act = |snapshot: &Snapshot| {
            let body = body(&Value::Null, &known(snapshot)["p"], Timestamp::UNIX_EPOCH);
            assert_eq!(body["conditions"][0]["status"], "True", "it can be read");
            let condition = &body["conditions"][1];
            assert_eq!(condition["type"], "CanAct");
            ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap().to_owned())
        };
        assert_eq!(can_act(&snapshot)[0], "True", "no node is known yet");
        snapshot.nodes.insert("n".into(), Node { name: "n".into(), ..Node::default() });
        let message = "spec.cordonBudget.maxConcurrent: 0; never begun: cordon";
        assert_eq!(can_act(&snapshot), ["False", "NeverActs", message]);
        snapshot.policies[0].cordon_budget.max_concurrent = Some(1);
        assert_eq!(can_act(&snapshot)[0], "True");
    }
}
