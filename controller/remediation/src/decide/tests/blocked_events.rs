//! What is reported of nodes that are blocked before they have a record.

use std::sync::Arc;

use super::*;
use crate::action::NodeEvent;

fn reported(decision: &Decision) -> Vec<(&str, &str)> {
    decision.events.iter().map(|event| (event.node.as_str(), event.event.message.as_str())).collect()
}

/// Two dead nodes and a slot for one cordon.
fn narrow() -> Snapshot {
    let mut policy = policy("p", vec![cordon()]);
    policy.cordon_budget.max_concurrent = Some(1);
    snapshot_of(2, vec![policy])
}

#[test]
fn a_blocker_is_reported_once_with_its_inputs() {
    let snapshot = narrow();
    let first = run(&snapshot, Memory::default(), 1000);
    let [NodeEvent { node, uid, event }] = &first.events[..] else { panic!("{:?}", first.events) };
    assert_eq!((node.as_str(), uid.as_str(), event.reason.as_str()), ("n1", "uid-n1", "Blocked"));
    assert!(event.warning && event.message.starts_with("cordon by policy p is blocked by MaxConcurrent: "));
    assert!(event.message.contains("; spec.when true for 0s; ") && !event.message.contains('\n'), "{}", event.message);
    let mut memory = first.memory;
    for second in 1001..2500 {
        let next = run(&snapshot, memory, second);
        assert_eq!(reported(&next), [], "{second}");
        memory = next.memory;
    }
}

#[test]
fn other_reasons_are_news_but_not_before_ten_minutes() {
    let mut snapshot = narrow();
    let first = run(&snapshot, Memory::default(), 1000);
    snapshot.policies[0].mode = Mode::Observe;
    let early = run(&snapshot, first.memory, 1300);
    assert!(reported(&early).iter().all(|(node, _)| *node != "n1"), "{:?}", early.events);
    let late = run(&snapshot, early.memory, 1600);
    let [(node, message)] = reported(&late)[..] else { panic!("{:?}", late.events) };
    assert!(node == "n1" && message.contains("by Observe: "), "{message}");
}

#[test]
fn what_blocked_a_node_ten_minutes_ago_is_news_again() {
    let (blocked, calm) = (narrow(), snapshot_of(1, narrow().policies));
    for (second, is_news) in [(1599, false), (1600, true)] {
        let first = run(&blocked, Memory::default(), 1000);
        let between = run(&calm, first.memory, 1001);
        let again = run(&blocked, between.memory, second);
        assert_eq!(reported(&again).iter().any(|(node, _)| *node == "n1"), is_news, "{second}");
    }
}

#[test]
fn a_policy_that_observes_warns_of_nothing() {
    let snapshot = snapshot_of(1, vec![Policy { mode: Mode::Observe, ..policy("p", vec![cordon()]) }]);
    let decision = run(&snapshot, Memory::default(), 1000);
    assert!(!decision.events[0].event.warning, "{:?}", decision.events);
}

#[test]
fn nothing_is_reported_in_a_dry_run_without_the_lead_or_of_time_alone() {
    type Change = fn(&mut Snapshot);
    let changes: [Change; 4] = [
        |snapshot| snapshot.dry_run = true,
        |snapshot| snapshot.epoch = 0,
        |snapshot| snapshot.host.synced = false,
        |snapshot| {
            snapshot.policies[0].held_for = Duration::from_secs(60);
            snapshot.policies[0].cordon_budget.max_concurrent = None;
        },
    ];
    for change in changes {
        let mut snapshot = narrow();
        change(&mut snapshot);
        assert_eq!(reported(&run(&snapshot, Memory::default(), 1000)), []);
    }
}

#[test]
fn a_storm_is_no_flood_of_events() {
    let mut snapshot = snapshot_of(0, vec![policy("p", vec![cordon()])]);
    snapshot.policies[0].storm.unhealthy = CountOrPercent::Percent(30);
    snapshot.nodes = (0..5000).map(|number| format!("n{number:04}")).map(|name| (name.clone(), node(&name))).collect();
    snapshot.nodes.values_mut().take(2000).for_each(kill);
    let (mut memory, mut nodes) = (Memory::default(), std::collections::BTreeSet::new());
    for second in (1000..1240).step_by(10) {
        let decision = run(&snapshot, memory, second);
        nodes.extend(decision.events.iter().map(|event| event.node.clone()));
        assert!(decision.events.len() <= 60);
        memory = decision.memory;
    }
    assert_eq!(nodes.len(), 240, "60 a minute, each node once");
}

#[test]
fn a_predicate_that_fails_is_reported_too() {
    let broken = Policy { when: Predicate::Other(Arc::new(Fails)), ..policy("a", vec![cordon()]) };
    let decision = run(&snapshot_of(1, vec![broken]), Memory::default(), 1000);
    assert_eq!(reported(&decision), [("n0", "remediation is blocked by PredicateError: policy a: no such key")]);
}
