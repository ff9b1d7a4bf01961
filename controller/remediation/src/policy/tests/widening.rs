//! I16: an error in a policy never allows more than the policy without it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A loose policy: every limit is wider than its default.
fn loose() -> Value {
    json!({
        "metadata": {"name": "p"},
        "spec": {
            "when": "true", "trustEvents": true, "for": "0s", "healthyDelay": "1s", "mode": "Enforce",
            "controlPlane": "OneAtATime",
            "steps": [{"cordon": {}}, {"drain": {"timeout": "5m"}}, {"reboot": {}}],
            "nodeStartupGracePeriod": "0s",
            "cordonBudget": {"maxUnavailable": 500, "maxDead": 500, "maxUnavailablePerZone": 500},
            "budget": {"maxUnavailable": 500, "maxDead": 500, "maxUnavailablePerZone": 500, "maxConcurrent": 50,
                       "rate": {"count": 500, "window": "1h"}},
            "storm": {"unhealthy": "90%", "rate": {"count": 900, "window": "1m"}, "cooldown": "0s", "reachable": "0%"},
            "powerCycles": {"count": 20, "window": "24h", "offUntil": "HealthyBoot"},
            "pods": {"count": 5000, "window": "10m"},
            "fast": {"silentFor": "10s", "unreachableFrom": 2},
        }
    })
}

/// What a policy allows in a cluster of 100, each the more the wider.
fn width(policy: &Policy) -> Vec<i64> {
    let count = |quota: CountOrPercent| i64::try_from(quota.of(100)).unwrap();
    let secs = |span: Duration| i64::try_from(span.as_secs()).unwrap();
    let budget = |budget: &Budget| {
        let max_concurrent = budget.max_concurrent.map_or(i64::MAX, i64::from);
        vec![
            count(budget.cluster),
            count(budget.dead),
            count(budget.zone),
            max_concurrent,
            budget.rate.map_or(i64::MAX, |rate| i64::from(rate.count)),
        ]
    };
    let mut width = vec![
        i64::from(policy.mode == Mode::Enforce),
        i64::from(policy.trust_events),
        i64::from(policy.control_plane == ControlPlane::OneAtATime),
        -secs(policy.held_for),
        -secs(policy.healthy_delay),
        -secs(policy.node_startup_grace_period),
        -secs(policy.reboot_grace_period),
        count(policy.storm.unhealthy),
        i64::from(policy.storm.rate.count),
        -secs(policy.storm.cooldown),
        -count(policy.storm.reachable),
        i64::from(policy.power_cycles.count),
        i64::from(policy.off_until == OffUntil::HealthyBoot),
        i64::from(policy.pods.count),
        i64::from(policy.fast.is_some()),
        i64::try_from(policy.steps.len()).unwrap(),
    ];
    width.extend(budget(&policy.cordon_budget).into_iter().chain(budget(&policy.budget)));
    width
}

/// Every value in it, as a JSON pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, below)| {
            found.push(format!("{at}/{key}"));
            pointers(below, &format!("{at}/{key}"), found);
        }),
        Value::Array(list) => list.iter().enumerate().for_each(|(at_index, below)| {
            found.push(format!("{at}/{at_index}"));
            pointers(below, &format!("{at}/{at_index}"), found);
        }),
        _ => {}
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => drop(map.remove(key)),
        Some(Value::Array(list)) => drop(list.remove(key.parse().unwrap())),
        _ => {}
    }
}

fn read(value: &Value) -> Option<Policy> {
    let policy: RemediationPolicy = serde_json::from_value(value.clone()).ok()?;
    Policy::compile(&policy).ok()
}

fn is_no_wider(mutated: &Value) -> bool {
    let baseline = width(&read(&loose()).unwrap());
    read(mutated).is_none_or(|policy| width(&policy).iter().zip(&baseline).all(|(now, before)| now <= before))
}

#[test]
fn a_field_that_is_removed_allows_no_more() {
    let mut found = Vec::new();
    pointers(&loose()["spec"], "/spec", &mut found);
    assert!(found.len() > 30);
    for pointer in found {
        let mut mutated = loose();
        remove(&mut mutated, &pointer);
        assert!(is_no_wider(&mutated), "without {pointer}");
    }
}

proptest! {
    #[test]
    fn a_field_that_is_spoilt_allows_no_more(pick in 0_usize..1000, junk in prop_oneof![
        Just(json!(null)), Just(json!([])), Just(json!({})), Just(json!(-1)), Just(json!(1.5)), Just(json!(true)),
        "[a-z%]{0,6}".prop_map(Value::String), "[0-9]{1,3}x".prop_map(Value::String),
    ]) {
        let mut found = Vec::new();
        pointers(&loose()["spec"], "/spec", &mut found);
        // The predicate and names are free text; they are no limits.
        found.retain(|pointer| !pointer.ends_with("/when"));
        let mut mutated = loose();
        *mutated.pointer_mut(&found[pick % found.len()]).unwrap() = junk;
        prop_assert!(is_no_wider(&mutated), "{}", mutated);
    }
}
