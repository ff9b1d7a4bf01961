//! What a policy's own status reports: whether it can be read, how many nodes it is true of, and how many are blocked.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use jiff::Timestamp;
use nodewell_reconcile::{api_error::ApiError, cache::Cache, leader::Term};
use nodewell_remediation::{
    api::{GROUP, VERSION},
    snapshot::Snapshot,
    verdict::Verdict,
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
struct Word {
    problem: Option<String>,
    matched: usize,
    blocked: usize,
}

/// While `term` is ours; a dry run has none, and writes nothing. Never returns.
pub(super) async fn look_after(cluster: &KubeCluster, cache: &Cache, term: Term) -> Infallible {
    let clock = cluster.clock();
    let mut told: BTreeMap<String, Word> = BTreeMap::new();
    loop {
        sleep(APART).await;
        if !term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(clock.moment())) {
            told.clear();
            continue;
        }
        let words = cache.with(|snapshot| snapshot.host.synced.then(|| known(snapshot)));
        let Some(mut words) = words else { continue };
        count(&mut words, &cache.verdicts());
        told.retain(|name, _| words.contains_key(name));
        for (name, word) in words {
            if told.get(&name) == Some(&word) {
                continue;
            }
            match write(cluster, &name, &word).await {
                Ok(()) => drop(told.insert(name, word)),
                Err(error) => {
                    tracing::warn!(policy = name, %error, "the policy's status cannot be written; tried again");
                }
            }
        }
    }
}

fn known(snapshot: &Snapshot) -> BTreeMap<String, Word> {
    let word = |problem: Option<&String>| Word { problem: problem.cloned(), matched: 0, blocked: 0 };
    let readable = snapshot.policies.iter().map(|policy| (policy.name.clone(), word(None)));
    let unreadable = snapshot.unreadable_policies.iter().map(|(name, problem)| (name.clone(), word(Some(problem))));
    readable.chain(unreadable).collect()
}

/// A node counts for each policy that is true of it, and is blocked for the one that decides.
fn count(words: &mut BTreeMap<String, Word>, verdicts: &[Verdict]) {
    for verdict in verdicts {
        for name in verdict.policy.iter().chain(&verdict.also) {
            words.entry(name.clone()).and_modify(|word| word.matched += 1);
        }
        if let Some(name) = verdict.policy.as_ref().filter(|_| !verdict.blockers.is_empty()) {
            words.entry(name.clone()).and_modify(|word| word.blocked += 1);
        }
    }
}

/// node-reaper's policy is a file, and no object that could be written to.
async fn write(cluster: &KubeCluster, name: &str, word: &Word) -> Result<(), ApiError> {
    let path = format!("/apis/{GROUP}/{VERSION}/remediationpolicies/{name}");
    let Some(policy) = cluster.wire().get::<Value>(&path).await? else { return Ok(()) };
    let status = status(&policy["status"], word, Timestamp::now());
    if policy["status"] == status {
        return Ok(());
    }
    let patch = json!({ "status": status });
    match cluster.wire().merge::<Value>(&format!("{path}/status"), &patch).await {
        // It was deleted meanwhile.
        Ok(_) | Err(ApiError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

fn status(before: &Value, word: &Word, now: Timestamp) -> Value {
    let (is, reason) = if word.problem.is_none() { ("True", "Readable") } else { ("False", "Unreadable") };
    let message = word.problem.as_deref().unwrap_or("the policy can be read and is in force");
    let message: String = message.chars().take(MESSAGE).collect();
    let known = before["conditions"].as_array().into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let since = known.filter(|known| known["status"] == is).map(|known| known["lastTransitionTime"].clone());
    let since = since.unwrap_or_else(|| json!(format!("{now:.0}")));
    json!({
        "conditions": [{ "type": "Ready", "status": is, "reason": reason, "message": message, "lastTransitionTime": since }],
        "matched": word.matched,
        "blocked": word.blocked,
    })
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::Blocker;

    use super::*;

    fn verdict(policy: Option<&str>, also: &[&str], blocked: bool) -> Verdict {
        Verdict {
            policy: policy.map(str::to_owned),
            also: also.iter().map(|name| (*name).to_owned()).collect(),
            blockers: blocked.then(|| Blocker::new("Storm", "")).into_iter().collect(),
            ..Verdict::default()
        }
    }

    #[test]
    fn nodes_are_counted_for_each_policy_and_blocked_for_the_first() {
        let snapshot = Snapshot { unreadable_policies: [("c".into(), "line 3".into())].into(), ..Snapshot::default() };
        let mut words = known(&snapshot);
        let empty = Word { problem: None, matched: 0, blocked: 0 };
        words.extend([("a".to_owned(), empty.clone()), ("b".to_owned(), empty)]);
        count(
            &mut words,
            &[verdict(Some("a"), &["b"], true), verdict(Some("a"), &[], false), verdict(None, &[], true)],
        );
        let shown = |name: &str| (words[name].matched, words[name].blocked);
        assert_eq!((shown("a"), shown("b"), shown("c")), ((2, 1), (1, 0), (0, 0)));
        assert_eq!(words["c"].problem.as_deref(), Some("line 3"));
    }

    #[test]
    fn the_condition_keeps_its_time_until_it_turns() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let good = Word { problem: None, matched: 1, blocked: 0 };
        let first = status(&Value::Null, &good, at("2026-01-01T00:00:00Z"));
        assert_eq!((first["conditions"][0]["status"].as_str(), &first["matched"]), (Some("True"), &json!(1)));
        assert_eq!(status(&first, &good, at("2026-01-01T01:00:00Z")), first, "nothing to write");
        let bad = Word { problem: Some("spec.when: line 1".into()), ..good };
        let turned = status(&first, &bad, at("2026-01-01T02:00:00Z"));
        let condition = &turned["conditions"][0];
        assert_eq!(condition["lastTransitionTime"], "2026-01-01T02:00:00Z");
        assert_eq!(
            (condition["status"].as_str(), condition["message"].as_str()),
            (Some("False"), Some("spec.when: line 1"))
        );
    }
}
