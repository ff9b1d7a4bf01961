//! Which slots an heir takes, and what a record reports of it.

use std::sync::Arc;

use super::{
    supersedes::{apply, closed, cordons, exhausted, frees, isolated, takes_over},
    *,
};
use crate::facts::{Effect, Taint};

/// Takes over one node at a time.
fn one_at_a_time() -> Policy {
    let mut heir = frees("z");
    heir.cordon_budget.max_concurrent = Some(1);
    heir
}

#[test]
fn a_first_policy_that_only_observes_or_is_paused_is_no_heir() {
    for mode in [Mode::Observe, Mode::Paused] {
        let (snapshot, memory) = isolated(1, cordons("b"), vec![Policy { mode, ..frees("a") }]);
        let decision = decide(&snapshot, memory, now(1001));
        assert_eq!((closed(&decision, "n0"), reasons(&decision, "n0")), (None, vec!["OnlyIsolates"]));
    }
}

#[test]
fn each_policy_that_could_not_judge_it_is_reported_once() {
    let (mut snapshot, memory) = isolated(1, cordons("a"), vec![cordons("m")]);
    for policy in &mut snapshot.policies {
        policy.when = Predicate::Other(Arc::new(Fails));
    }
    let decision = decide(&snapshot, memory, now(1001));
    let error = |name: &str| (name.to_owned(), "no such key".to_owned());
    assert_eq!(decision.node_reports[0].errors, [error("a"), error("m")]);
}

#[test]
fn that_it_only_isolates_comes_before_what_blocks_the_record() {
    let (mut snapshot, memory) = isolated(1, cordons("a"), Vec::new());
    assert_eq!(reasons(&exhausted(&mut snapshot, memory), "n0"), ["OnlyIsolates", "StepsExhausted"]);
}

#[test]
fn an_heir_that_is_blocked_takes_no_slot_and_one_of_a_dry_run_does() {
    let (mut snapshot, memory) = isolated(2, cordons("a"), vec![one_at_a_time()]);
    let mut dry = snapshot.clone();
    dry.dry_run = true;
    let decision = decide(&dry, memory.clone(), now(1001));
    assert_eq!(reasons(&decision, "n0"), ["DryRun"]);
    assert_eq!(reasons(&decision, "n1"), ["DryRun", "MaxConcurrent"]);
    assert_eq!(decision.node_reports[0].next.as_deref(), Some("give way to z"));
    let annotations = &mut snapshot.nodes.get_mut("n0").unwrap().annotations;
    annotations.insert("kured.dev/kured-reboot-in-progress".into(), String::new());
    let decision = decide(&snapshot, memory, now(1001));
    assert_eq!((closed(&decision, "n0"), closed(&decision, "n1")), (None, Some(takes_over("z").as_str())));
}

#[test]
fn the_slot_of_a_record_that_gave_way_is_its_nodes_until_the_next_one_is_open() {
    let (mut snapshot, mut memory) = isolated(2, cordons("a"), vec![one_at_a_time()]);
    for second in 1001..1006 {
        let decision = decide(&snapshot, memory, now(second));
        assert_eq!(closed(&decision, "n1"), None, "{second}");
        apply(&mut snapshot, &decision, second);
        memory = decision.memory;
    }
    assert_eq!(snapshot.fences["n0"].spec.policy, "z");
    assert_eq!(snapshot.fences["n1"].spec.policy, "a");
}

#[test]
fn while_the_closing_record_is_written_no_other_has_its_slot() {
    let (mut snapshot, memory) = isolated(2, cordons("a"), vec![one_at_a_time()]);
    let first = decide(&snapshot, memory, now(1001));
    snapshot.busy.insert("n0".into());
    assert_eq!(closed(&decide(&snapshot, first.memory, now(1002)), "n1"), None);
}

/// What was granted and never begun is not granted for ever, and uses no rate up.
#[test]
fn an_heir_that_is_blocked_later_gives_its_slot_back_and_has_begun_nothing() {
    let mut heir = frees("z");
    heir.cordon_budget.rate = Some(Rate { count: 1, window: Duration::from_secs(60) });
    let (mut snapshot, memory) = isolated(2, cordons("a"), vec![heir]);
    let first = decide(&snapshot, memory, now(1001));
    assert_eq!((closed(&first, "n0").is_some(), closed(&first, "n1")), (true, None));
    // Its closing was not stored.
    snapshot.stopped = Some("a person".into());
    let stopped = decide(&snapshot, first.memory, now(1002));
    snapshot.stopped = None;
    let last = decide(&snapshot, stopped.memory, now(1080));
    assert_eq!((closed(&last, "n0").is_some(), closed(&last, "n1")), (true, None), "one a minute");
}

/// Its own taint goes before the record closes: the heir would want the node no more, and the taint would be set again.
#[test]
fn a_policy_that_is_true_by_the_records_own_taint_is_no_heir() {
    let taint = Taint { key: "example.com/ill".into(), value: String::new(), effect: Effect::NoSchedule };
    let tainted = "node.taints.exists(taint, taint.key == 'example.com/ill')";
    let heir = |when: &str| Policy { when: Predicate::Cel(cel::Expression::compile(when).unwrap()), ..frees("z") };
    for (when, is_heir) in [(tainted.to_owned(), false), (format!("!node.ready || {tainted}"), true)] {
        let (mut snapshot, memory) = isolated(1, cordons("a"), vec![heir(&when)]);
        snapshot.nodes.get_mut("n0").unwrap().taints = vec![taint.clone()];
        snapshot.fences.get_mut("n0").unwrap().status.own_changes.taints = vec![taint.clone()];
        let decision = decide(&snapshot, memory.clone(), now(1001));
        assert_eq!(
            (decision.actions.len(), reasons(&decision, "n0").is_empty()),
            (usize::from(is_heir), is_heir),
            "{when}"
        );
        // Another client's stays.
        snapshot.fences.get_mut("n0").unwrap().status.own_changes.taints.clear();
        assert!(closed(&decide(&snapshot, memory, now(1001)), "n0").is_some(), "{when}");
    }
}

/// The heir is the record's own policy, which has got a power cycle; another node dies meanwhile.
#[test]
fn the_slot_is_kept_for_an_heir_that_is_the_records_own_policy_too() {
    let (mut snapshot, mut memory) = isolated(2, cordons("a"), Vec::new());
    snapshot.fences.remove("n0");
    snapshot.nodes.get_mut("n0").unwrap().annotations.clear();
    let mut own = frees("a");
    own.cordon_budget.max_concurrent = Some(1);
    snapshot.policies = vec![own];
    let dead = std::mem::replace(snapshot.nodes.get_mut("n0").unwrap(), node("n0"));
    for second in 1101..1104 {
        let decision = decide(&snapshot, memory, now(second));
        assert!(!opened(&decision).contains(&"n0"), "{second}: {:?}", decision.actions);
        apply(&mut snapshot, &decision, second);
        memory = decision.memory;
        snapshot.nodes.insert("n0".into(), dead.clone());
    }
    assert_eq!(snapshot.fences["n1"].spec.steps.len(), 2);
}

/// A policy that comes before it by name, and is true by the record's own taint alone, does not stand in its way.
#[test]
fn an_heir_is_looked_for_among_those_that_are_true_without_the_records_own_taint() {
    let taint = Taint { key: "example.com/ill".into(), value: String::new(), effect: Effect::NoSchedule };
    let when = cel::Expression::compile("node.taints.exists(taint, taint.key == 'example.com/ill')").unwrap();
    let by_taint = Policy { when: Predicate::Cel(when), mode: Mode::Observe, ..frees("m") };
    let (mut snapshot, memory) = isolated(1, cordons("a"), vec![by_taint, frees("z")]);
    snapshot.nodes.get_mut("n0").unwrap().taints = vec![taint.clone()];
    assert_eq!(
        reasons(&decide(&snapshot, memory.clone(), now(1001)), "n0"),
        ["OnlyIsolates"],
        "another client's taint"
    );
    snapshot.fences.get_mut("n0").unwrap().status.own_changes.taints = vec![taint];
    let decision = decide(&snapshot, memory, now(1001));
    assert_eq!((reasons(&decision, "n0"), decision.actions.len()), (vec![], 1));
}

#[test]
fn nor_is_it_where_the_records_own_policy_is_true_no_more() {
    let taint = Taint { key: "example.com/ill".into(), value: String::new(), effect: Effect::NoSchedule };
    let when = cel::Expression::compile("node.taints.exists(taint, taint.key == 'example.com/ill')").unwrap();
    let (mut snapshot, memory) = isolated(1, cordons("a"), vec![Policy { when: Predicate::Cel(when), ..frees("z") }]);
    snapshot.policies[0].when = Predicate::Never;
    snapshot.nodes.get_mut("n0").unwrap().taints = vec![taint.clone()];
    snapshot.fences.get_mut("n0").unwrap().status.own_changes.taints = vec![taint];
    assert_eq!(reasons(&decide(&snapshot, memory, now(1001)), "n0"), ["OnlyIsolates"]);
}
