//! For which nodes a record is opened, and what blocks it.

use std::sync::Arc;

use super::*;
use crate::{
    api::{
        CORDONED_BY, REMEDIATION_TAINT,
        fence::{NodeFenceStatus, OwnChanges},
    },
    facts::{Effect, Taint},
};

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

/// What the status of `n0`'s record was to be, and what is saved a second later onto the record that its creation left,
/// after `change`.
fn after_creation(change: fn(&mut NodeFence)) -> (NodeFenceStatus, NodeFence) {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let node = snapshot.nodes.get_mut("n0").unwrap();
    node.unschedulable = true;
    node.annotations.insert(CORDONED_BY.into(), "p".into());
    node.taints = vec![Taint { key: REMEDIATION_TAINT.into(), value: String::new(), effect: Effect::NoSchedule }];
    let cycles = BTreeMap::from([("n0".to_owned(), BTreeMap::from([(wall(500), at(500))]))]);
    let first = decide(&snapshot, Memory::default().with_cycles(&cycles), now(1000));
    store(&mut snapshot, &first, 1000);
    let fence = snapshot.fences.get_mut("n0").unwrap();
    let intended = std::mem::take(&mut fence.status);
    change(fence);
    let second = decide(&snapshot, first.memory, now(1001));
    let [Action::Save { fence, .. }] = &second.actions[..] else { panic!("{:?}", second.actions) };
    (intended, (**fence).clone())
}

/// Its leader ended, or was not answered, before it wrote the status.
#[test]
fn a_record_whose_status_was_never_written_begins_with_what_is_known_of_its_node() {
    let (intended, saved) = after_creation(|_| {});
    assert!(intended.own_changes.cordon && intended.own_changes.taints.len() == 1, "{intended:?}");
    assert_eq!((saved.status.phase, saved.metadata.uid.as_str()), (Phase::Isolating, "fence-n0"));
    assert_eq!(saved.status.own_changes, intended.own_changes);
    assert_eq!(saved.status.earlier_cycles, [wall(500)]);
    let (intended, by_hand) = after_creation(|fence| fence.spec.policy.clear());
    let own = &by_hand.status.own_changes;
    assert!(
        !own.cordon && own.taints == intended.own_changes.taints,
        "the cordon is of a policy, the taint is ours: {own:?}"
    );
    assert_eq!(by_hand.status.earlier_cycles, [wall(500)]);
}

/// It was taken back, or is another's.
#[test]
fn what_a_status_that_was_written_does_not_have_is_not_added() {
    let (_, saved) = after_creation(|fence| fence.status.epoch = 1);
    assert_eq!(saved.status.own_changes, OwnChanges::default());
    assert_eq!(saved.status.earlier_cycles, []);
}

/// It was opened for another Node of its name, whose marks these are not.
#[test]
fn a_record_of_another_node_takes_up_no_marks_of_this_one() {
    let (_, saved) = after_creation(|fence| fence.spec.node_uid = "uid-before".into());
    assert_eq!((saved.status.phase, saved.status.own_changes), (Phase::Closed, OwnChanges::default()));
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
