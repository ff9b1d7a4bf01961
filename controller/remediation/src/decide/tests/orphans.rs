//! Marks of ours without a record.

use super::*;
use crate::{
    api::{CORDONED_BY, OUT_OF_SERVICE, OUT_OF_SERVICE_BY, REMEDIATION_TAINT, STORAGE_RELEASED, policy::TaintStep},
    facts::{Effect, LeaseView, Taint},
};

fn taint(key: &str, value: &str) -> Taint {
    Taint { key: key.into(), value: value.into(), effect: Effect::NoExecute }
}

fn renew(snapshot: &mut Snapshot, second: u64) {
    let duration = Duration::from_secs(40);
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n0".into(),
        renewed: None,
        duration,
        change_seen_at: at(second),
    };
    snapshot.kubelet_leases.insert("n0".into(), lease);
}

/// One node in service again that still bears everything of ours, under a policy that wants 5 minutes of health.
fn marked(cordoned_by: &str) -> Snapshot {
    let mut snapshot = snapshot_of(0, vec![policy("p", vec![cordon(), power_cycle()])]);
    let node = snapshot.nodes.get_mut("n0").unwrap();
    node.unschedulable = true;
    node.annotations.insert(CORDONED_BY.into(), cordoned_by.into());
    node.taints = vec![taint(REMEDIATION_TAINT, ""), taint(OUT_OF_SERVICE, OUT_OF_SERVICE_BY), taint("other", "")];
    snapshot
}

/// What is decided at `last` after a decision 300 s before.
fn after_a_while(snapshot: &mut Snapshot, last: u64) -> Decision {
    renew(snapshot, last - 300);
    let first = run(snapshot, Memory::default(), last - 300);
    assert!(opened(&first).is_empty());
    renew(snapshot, last);
    run(snapshot, first.memory, last)
}

#[test]
fn marks_without_a_record_get_one_again_when_the_node_was_well_for_long_enough() {
    let decision = after_a_while(&mut marked("p"), 2000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!((fence.spec.policy.as_str(), fence.spec.steps.len(), fence.spec.abort), ("p", 2, false));
    assert!(fence.status.own_changes.cordon);
    let keys: Vec<&str> = fence.status.own_changes.taints.iter().map(|taint| taint.key.as_str()).collect();
    assert_eq!(keys, [REMEDIATION_TAINT, OUT_OF_SERVICE]);
}

/// A cordon that a person sets later would look like ours.
#[test]
fn the_mark_that_a_person_left_when_they_uncordoned_is_one_too() {
    let mut snapshot = marked("p");
    let node = snapshot.nodes.get_mut("n0").unwrap();
    (node.unschedulable, node.taints) = (false, Vec::new());
    let decision = after_a_while(&mut snapshot, 2000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!(
        (fence.spec.policy.as_str(), fence.status.own_changes.cordon),
        ("p", false),
        "the mark alone is no cordon"
    );
}

#[test]
fn marks_of_a_policy_that_is_gone_are_only_taken_back() {
    let decision = after_a_while(&mut marked("gone"), 2000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!((fence.spec.policy.as_str(), fence.spec.steps.len(), fence.spec.abort), ("gone", 0, true));
    assert!(fence.status.own_changes.cordon);
}

#[test]
fn a_silent_node_keeps_its_marks() {
    let mut snapshot = marked("p");
    renew(&mut snapshot, 1700);
    let first = run(&snapshot, Memory::default(), 1700);
    assert!(run(&snapshot, first.memory, 2000).actions.is_empty(), "its Lease is as old as the first look");
}

#[test]
fn no_other_clients_marks_are_taken_up() {
    let mut snapshot = marked("p");
    let node = snapshot.nodes.get_mut("n0").unwrap();
    node.annotations.clear();
    node.taints = vec![taint(OUT_OF_SERVICE, "another"), taint("other", "")];
    assert!(after_a_while(&mut snapshot, 2000).actions.is_empty());
}

#[test]
fn marks_are_taken_up_by_a_leader_that_may_act_only() {
    let stops: [fn(&mut Snapshot); 4] = [
        |snapshot| snapshot.epoch = 0,
        |snapshot| snapshot.dry_run = true,
        |snapshot| snapshot.stopped = Some("a person".into()),
        |snapshot| snapshot.host.synced = false,
    ];
    for stop in stops {
        let mut snapshot = marked("p");
        stop(&mut snapshot);
        assert!(after_a_while(&mut snapshot, 2000).actions.is_empty());
    }
}

/// A taint does not name its policy: it may be of the one that cannot be read.
#[test]
fn a_taint_stays_while_any_policy_cannot_be_read() {
    let mut snapshot = marked("p");
    let node = snapshot.nodes.get_mut("n0").unwrap();
    node.unschedulable = false;
    node.annotations.clear();
    assert_eq!(opened(&after_a_while(&mut snapshot.clone(), 2000)), ["n0"]);
    snapshot.unreadable_policies.insert("q".into(), "spec.steps: a typo".into());
    assert!(opened(&after_a_while(&mut snapshot, 2000)).is_empty());
}

/// Whose steps set them; without any such policy they are only taken back.
#[test]
fn taints_are_of_the_first_policy_whose_steps_set_them() {
    let taints = |key: Option<&str>| {
        let step = TaintStep { key: key.map(str::to_owned), ..TaintStep::default() };
        StepSpec { taint: Some(step), ..StepSpec::default() }
    };
    let remediation = taint(REMEDIATION_TAINT, "");
    let out_of_service = taint(OUT_OF_SERVICE, OUT_OF_SERVICE_BY);
    for (taint, steps, is_owner) in [
        (&remediation, vec![taints(None)], true),
        (&remediation, vec![taints(Some(REMEDIATION_TAINT))], true),
        (&remediation, vec![taints(Some("other"))], false),
        (&remediation, vec![cordon()], false),
        (&remediation, vec![power_cycle()], false),
        (&out_of_service, vec![cordon(), power_cycle()], true),
        (&out_of_service, vec![taints(None)], false),
        (&out_of_service, vec![cordon()], false),
    ] {
        for is_selected in [true, false] {
            let mut one = policy("p", steps.clone());
            if !is_selected {
                one.selector.match_labels.insert("gpu".into(), "yes".into());
            }
            let mut snapshot = snapshot_of(0, vec![one]);
            snapshot.nodes.get_mut("n0").unwrap().taints = vec![taint.clone()];
            let decision = after_a_while(&mut snapshot, 2000);
            let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
            let expected = if is_owner && is_selected { "p" } else { "" };
            assert_eq!((fence.spec.policy.as_str(), fence.spec.abort), (expected, expected.is_empty()), "{taint:?}");
        }
    }
}

#[test]
fn a_record_for_what_was_left_begins_with_what_is_known_of_its_node() {
    let mut snapshot = marked("p");
    snapshot.epoch = 7;
    let node = snapshot.nodes.get_mut("n0").unwrap();
    (node.boot_id, node.system_uuid) = ("boot".into(), "uuid".into());
    let decision = after_a_while(&mut snapshot, 2000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!((fence.metadata.name.as_str(), fence.spec.node_uid.as_str()), ("n0", "uid-n0"));
    let status = &fence.status;
    assert_eq!((status.since, status.epoch), (Some(wall(2000)), 7));
    assert_eq!((status.boot_id.as_str(), status.system_uuid.as_str()), ("boot", "uuid"));
}

/// Two of its renewals.
#[test]
fn a_node_whose_lease_is_twenty_seconds_old_is_silent() {
    for (age, is_opened) in [(19, true), (20, false)] {
        let mut snapshot = marked("p");
        renew(&mut snapshot, 1700);
        let first = run(&snapshot, Memory::default(), 1700);
        renew(&mut snapshot, 2000);
        let decision = run(&snapshot, first.memory, 2000 + age);
        assert_eq!(!opened(&decision).is_empty(), is_opened, "{age}");
    }
}

/// What is to be done with them is that policy's matter, and not known while it fails.
#[test]
fn marks_of_a_node_that_a_policy_is_true_of_or_cannot_judge_stay() {
    let is_true = Predicate::Cel(cel::Expression::compile("node.ready").unwrap());
    for when in [is_true, Predicate::Other(std::sync::Arc::new(Fails))] {
        let mut snapshot = marked("p");
        snapshot.policies.push(Policy { when, mode: Mode::Observe, ..policy("q", vec![cordon()]) });
        assert_eq!(opened(&after_a_while(&mut snapshot, 2000)), [""; 0]);
    }
}

/// They count for its limit.
#[test]
fn a_record_for_what_was_left_has_the_cycles_of_the_ones_before() {
    let mut snapshot = marked("p");
    renew(&mut snapshot, 1700);
    let cycles = BTreeMap::from([("n0".to_owned(), BTreeMap::from([(wall(500), at(500))]))]);
    let first = run(&snapshot, Memory::default().with_cycles(&cycles), 1700);
    renew(&mut snapshot, 2000);
    let decision = run(&snapshot, first.memory, 2000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!(fence.status.earlier_cycles, [wall(500)]);
}

/// Nothing else of the record that was deleted shows that its storage is cut.
#[test]
fn a_cut_storage_is_taken_up_and_read_again() {
    let mut snapshot = marked("p");
    let node = snapshot.nodes.get_mut("n0").unwrap();
    (node.unschedulable, node.taints) = (false, Vec::new());
    node.annotations = [(STORAGE_RELEASED.to_owned(), "boot-1".to_owned())].into();
    let decision = after_a_while(&mut snapshot, 2000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert!(fence.spec.abort && fence.spec.steps.is_empty(), "no policy sets this annotation");
    store(&mut snapshot, &decision, 2000);
    let gather = run(&snapshot, decision.memory, 2001).gather;
    let request = gather["n0"];
    assert!(request.methods && request.pods && request.power.is_some(), "{request:?}");
    // Its record shows it from then on, also where another client takes the annotation away.
    snapshot.nodes.get_mut("n0").unwrap().annotations.clear();
    snapshot.fences.get_mut("n0").unwrap().status.storage_only = Some("san".into());
    let request = run(&snapshot, Memory::default(), 2002).gather["n0"];
    assert!(request.methods && request.pods && request.power.is_some(), "{request:?}");
}
