//! For which nodes a record is opened, and what blocks it.

use std::sync::Arc;

use super::*;

#[test]
fn a_dead_node_gets_a_record_that_says_why() {
    let snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let decision = run(&snapshot, Memory::default(), 1000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!((fence.spec.node_name.as_str(), fence.spec.node_uid.as_str()), ("n0", "uid-n0"));
    assert_eq!((fence.spec.policy.as_str(), fence.spec.steps.len()), ("p", 2));
    assert_eq!(
        fence.spec.cause,
        "spec.when true for 0s; Ready=Unknown (NodeStatusUnknown) for 1m40s, no kubelet Lease"
    );
    assert_eq!(decision.node_reports.len(), 10, "one for every node");
    assert_eq!(decision.node_reports[0].next.as_deref(), Some("cordon"));
    assert_eq!(decision.node_reports[1], NodeReport { node: "n1".into(), ..NodeReport::default() });
}

#[test]
fn nothing_is_opened_where_nothing_may_be_done() {
    type Change = fn(&mut Snapshot);
    let cases: [(&str, Change); 7] = [
        ("Observe", |snapshot| snapshot.policies[0].mode = Mode::Observe),
        ("Paused", |snapshot| snapshot.policies[0].mode = Mode::Paused),
        ("NotLeading", |snapshot| snapshot.epoch = 0),
        ("DryRun", |snapshot| snapshot.dry_run = true),
        ("CacheNotSynced", |snapshot| snapshot.host.synced = false),
        ("KubeletLate", |snapshot| snapshot.host.absence = Some(Absence { since: at(980), until: at(999) })),
        ("KillSwitch", |snapshot| snapshot.stopped = Some("a file".into())),
    ];
    for (reason, change) in cases {
        let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
        change(&mut snapshot);
        let decision = run(&snapshot, Memory::default(), 1000);
        assert_eq!(decision.actions, [], "{reason}");
        assert_eq!(reasons(&decision, "n0"), [reason]);
    }
}

#[test]
fn a_dry_run_says_what_a_run_would_do() {
    let mut policy = policy("p", vec![cordon()]);
    policy.cordon_budget.max_concurrent = Some(1);
    let mut snapshot = snapshot_of(2, vec![policy]);
    snapshot.dry_run = true;
    for second in 1000..1003 {
        let decision = run(&snapshot, Memory::default(), second);
        assert_eq!(decision.actions, []);
        assert_eq!(reasons(&decision, "n0"), ["DryRun"]);
        assert_eq!(reasons(&decision, "n1"), ["DryRun", "MaxConcurrent"], "the first would have the slot");
    }
}

#[test]
fn the_first_policy_by_name_has_the_say() {
    let first = Policy { mode: Mode::Observe, ..policy("a", vec![cordon()]) };
    let snapshot = snapshot_of(1, vec![first, policy("b", vec![cordon()])]);
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!(decision.actions, []);
    let node_report = &decision.node_reports[0];
    assert_eq!((node_report.policy.as_deref(), &node_report.also[..]), (Some("a"), &["b".to_owned()][..]));
}

#[test]
fn an_error_blocks_its_node_and_no_other() {
    let broken = Policy { when: Predicate::Other(Arc::new(Fails)), ..policy("a", vec![cordon()]) };
    let snapshot = snapshot_of(2, vec![broken, policy("b", vec![cordon()])]);
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!(opened(&decision), ["n1"]);
    assert_eq!(reasons(&decision, "n0"), ["PredicateError"]);
    assert_eq!(decision.node_reports[0].errors, [("a".to_owned(), "no such key".to_owned())]);
}

#[test]
fn one_hundred_and_fifty_cordons_need_one_pass() {
    let mut policy = policy("p", vec![cordon()]);
    (policy.cordon_budget.cluster, policy.cordon_budget.zone) =
        (CountOrPercent::Percent(10), CountOrPercent::Percent(100));
    let mut snapshot = snapshot_of(0, vec![policy]);
    snapshot.nodes = (0..1500).map(|number| format!("n{number:04}")).map(|name| (name.clone(), node(&name))).collect();
    snapshot.nodes.values_mut().take(150).for_each(kill);
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1000)).len(), 150);
    snapshot.nodes.values_mut().take(151).for_each(kill);
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1000)).len(), 0, "one too many and no node is touched");
}

#[test]
fn a_well_cluster_sleeps() {
    assert_eq!(run(&snapshot_of(0, vec![policy("p", vec![cordon()])]), Memory::default(), 1000).requeue_at, None);
}

/// What a cycle of its machine, or a cordon, of an earlier record was is known to the new one.
#[test]
fn a_record_begins_with_what_is_known_of_its_node() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![power_cycle()])]);
    snapshot.epoch = 7;
    let node = snapshot.nodes.get_mut("n0").unwrap();
    (node.boot_id, node.system_uuid, node.unschedulable) = ("boot".into(), "uuid".into(), true);
    node.annotations.insert(crate::api::CORDONED_BY.into(), "p".into());
    let cycles = BTreeMap::from([("n0".to_owned(), BTreeMap::from([(wall(500), at(500))]))]);
    let decision = run(&snapshot, Memory::default().with_cycles(&cycles), 1000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    let status = &fence.status;
    assert_eq!((status.since, status.epoch), (Some(wall(1000)), 7));
    assert_eq!((status.boot_id.as_str(), status.system_uuid.as_str()), ("boot", "uuid"));
    assert!(status.own_changes.cordon, "by the policy of this record");
    assert_eq!(status.earlier_cycles, [wall(500)]);
}

/// The first step alone is what a record begins with.
#[test]
fn a_record_is_opened_when_what_its_first_step_needs_is_free() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    snapshot.busy.insert("n0".into());
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!((opened(&decision), reasons(&decision, "n0")), (vec![], vec!["Busy"]));
    snapshot.busy.clear();
    snapshot.policies[0].held_for = Duration::from_secs(30);
    let first = run(&snapshot, Memory::default(), 1000);
    assert_eq!(reasons(&first, "n0"), ["WithinGracePeriod"]);
    let second = run(&snapshot, first.memory, 1029);
    assert_eq!(reasons(&second, "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&run(&snapshot, second.memory, 1030)), ["n0"]);
}

#[test]
fn a_node_that_is_blocked_takes_no_slot() {
    let mut policy = policy("p", vec![cordon()]);
    policy.cordon_budget.max_concurrent = Some(1);
    let mut snapshot = snapshot_of(2, vec![policy]);
    snapshot.nodes.get_mut("n0").unwrap().annotations.insert(crate::api::SKIP_REMEDIATION.into(), "mine".into());
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!((reasons(&decision, "n0"), opened(&decision)), (vec!["RemediationSkipped"], vec!["n1"]));
}

#[test]
fn a_record_without_a_first_step_is_as_old_as_its_opening() {
    let decision = run(&snapshot_of(1, vec![policy("p", Vec::new())]), Memory::default(), 1000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!((fence.status.phase, fence.status.since), (Phase::Pending, Some(wall(1000))));
}
