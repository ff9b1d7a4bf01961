//! Events open nothing alone: any client that may write Events may write them about any Node.

use super::*;
use crate::{facts::LeaseView, snapshot::EventsSeen};

/// Who reports a condition, and whether that is the node itself.
const KUBELET: bool = true;
const ANYBODY: bool = false;

fn events(count: u64) -> EventsSeen {
    EventsSeen { count, last: at(990), age_when_seen: Duration::ZERO, reporters: ["kubelet".to_owned()].into() }
}

/// Ten nodes that are well, an Event `DiskFell` about `n0`, and this predicate.
fn reported_by(when: &str) -> Snapshot {
    let mut policy = policy("p", vec![cordon(), power_cycle()]);
    policy.when = Predicate::Cel(cel::Expression::compile(when).unwrap());
    let mut snapshot = snapshot_of(0, vec![policy]);
    snapshot.events.insert("n0".into(), [("DiskFell".to_owned(), events(3))].into());
    snapshot
}

fn condition(snapshot: &mut Snapshot, kind: &str, status: ConditionStatus, is_own_report: bool) {
    let node = snapshot.nodes.get_mut("n0").unwrap();
    set_condition(node, kind, status, "Reported", at(900));
    node.conditions.iter_mut().filter(|known| known.kind == kind).for_each(|known| known.is_own_report = is_own_report);
    node.resource_version.push('x');
}

fn lease(snapshot: &mut Snapshot, seen: u64) {
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n0".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(seen),
    };
    snapshot.kubelet_leases.insert("n0".into(), lease);
}

/// What blocks `n0`; nothing if a record was opened.
fn blocked(snapshot: &Snapshot) -> Option<Vec<String>> {
    let decision = run(snapshot, Memory::default(), 1000);
    let blockers: Vec<String> = reasons(&decision, "n0").into_iter().map(str::to_owned).collect();
    (opened(&decision) != ["n0"]).then_some(blockers)
}

fn not_trusted() -> Option<Vec<String>> {
    Some(vec!["EventsNotTrusted".to_owned()])
}

const ALONE: &str = "'DiskFell' in events";
const BESIDE: &str = "'DiskFell' in events && conditions.?DiskUnhealthy.?status.orValue('') == 'True'";
const EITHER: &str = "'DiskFell' in events || conditions.?DiskUnhealthy.?status.orValue('') == 'True'";

#[test]
fn an_event_alone_opens_nothing_and_says_what_is_missing() {
    let snapshot = reported_by(ALONE);
    assert_eq!(blocked(&snapshot), not_trusted());
    let decision = run(&snapshot, Memory::default(), 1000);
    let message = &decision.node_reports[0].blockers[0].message;
    assert!(message.contains("policy p is true by Events alone") && message.contains("spec.trustEvents"), "{message}");
    assert_eq!(
        blocked(&{
            let mut snapshot = reported_by(ALONE);
            snapshot.policies[0].trust_events = true;
            snapshot
        }),
        None
    );
}

#[test]
fn beside_an_event_the_node_itself_has_to_report_what_is_asked_for() {
    for (when, own, expected) in [
        (BESIDE, Some(KUBELET), None),
        (BESIDE, Some(ANYBODY), not_trusted()),
        (BESIDE, None, Some(Vec::new())),
        (EITHER, Some(KUBELET), None),
        (EITHER, Some(ANYBODY), not_trusted()),
        (EITHER, None, not_trusted()),
        // The node is ill, but not of what the predicate asks for.
        (ALONE, Some(KUBELET), not_trusted()),
        ("'DiskFell' in events && conditions.DiskUnhealthy.reason != 'Odd'", Some(KUBELET), not_trusted()),
        ("'DiskFell' in events && conditions.DiskUnhealthy.age > 5", Some(KUBELET), not_trusted()),
        // Many Events push out others, so that one that is missing proves nothing either.
        ("!('AllIsWell' in events)", Some(KUBELET), not_trusted()),
        ("!('AllIsWell' in events) && conditions.DiskUnhealthy.status == 'True'", Some(KUBELET), None),
    ] {
        let mut snapshot = reported_by(when);
        own.into_iter().for_each(|own| condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::True, own));
        assert_eq!(blocked(&snapshot), expected, "{when} {own:?}");
    }
}

/// A node that reports that it is well does not vouch for an Event, whatever else it reports with it.
#[test]
fn what_a_node_reports_of_its_health_is_no_report_of_a_fault() {
    let mut snapshot = reported_by("'DiskFell' in events && conditions.DiskUnhealthy.reason == 'Reported'");
    condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::False, KUBELET);
    assert_eq!(blocked(&snapshot), not_trusted());
    condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::True, KUBELET);
    assert_eq!(blocked(&snapshot), None);
}

#[test]
fn a_predicate_that_asks_for_no_events_needs_no_voucher() {
    let mut snapshot = reported_by("conditions.?DiskUnhealthy.?status.orValue('') == 'True'");
    condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::True, ANYBODY);
    assert_eq!(blocked(&snapshot), None);
}

/// kube-controller-manager writes Ready for a kubelet that is silent: no other client can be silent for it.
#[test]
fn silence_is_a_nodes_own_report() {
    for (when, ready, renewed, expected) in [
        ("'DiskFell' in events && !node.ready", ConditionStatus::Unknown, Some(900), None),
        ("'DiskFell' in events && !node.ready", ConditionStatus::Unknown, Some(961), not_trusted()),
        ("'DiskFell' in events && !node.ready", ConditionStatus::Unknown, None, not_trusted()),
        ("'DiskFell' in events || !node.ready", ConditionStatus::Unknown, Some(900), None),
        ("'DiskFell' in events && lease.age >= 15", ConditionStatus::True, Some(980), None),
        // Not overdue yet.
        ("'DiskFell' in events && lease.age >= 12", ConditionStatus::True, Some(988), not_trusted()),
        ("'DiskFell' in events && lease.age >= 13", ConditionStatus::True, Some(987), None),
        ("'DiskFell' in events && lease.age >= 5", ConditionStatus::True, Some(990), not_trusted()),
        ("'DiskFell' in events && lease.age < 50", ConditionStatus::True, Some(980), not_trusted()),
    ] {
        let mut snapshot = reported_by(when);
        condition(&mut snapshot, "Ready", ready, ANYBODY);
        renewed.into_iter().for_each(|at| lease(&mut snapshot, at));
        assert_eq!(blocked(&snapshot), expected, "{when} {ready} {renewed:?}");
    }
}

/// The condition that opened a record is gone and Events are left: nothing more disruptive is begun, and nothing taken
/// back.
#[test]
fn a_record_is_not_driven_on_by_events_alone() {
    let mut snapshot = reported_by(EITHER);
    condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::True, KUBELET);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    snapshot.fences.get_mut("n0").unwrap().status.policy_step = 1;
    kill(snapshot.nodes.get_mut("n0").unwrap());
    let acts = |snapshot: &Snapshot| run(snapshot, first.memory.clone(), 1001).actions.len();
    assert_eq!(acts(&snapshot), 1, "power off");
    condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::False, KUBELET);
    assert_eq!(acts(&snapshot), 0);
    assert!(reasons(&run(&snapshot, first.memory.clone(), 1001), "n0").contains(&"EventsNotTrusted"));
}

/// `spec.for` counts what is believed: an Event of long ago does not make a condition of now an old one.
#[test]
fn the_time_of_events_alone_does_not_count() {
    let mut snapshot = reported_by(EITHER);
    snapshot.policies[0].held_for = Duration::from_secs(60);
    let first = run(&snapshot, Memory::default(), 1000);
    condition(&mut snapshot, "DiskUnhealthy", ConditionStatus::True, KUBELET);
    let second = run(&snapshot, first.memory, 1100);
    assert_eq!(reasons(&second, "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&run(&snapshot, second.memory, 1160)), ["n0"]);
}

#[test]
fn events_take_the_say_from_no_other_policy() {
    let mut snapshot = reported_by(ALONE);
    snapshot.policies.push(policy("q", vec![cordon()]));
    assert_eq!(blocked(&snapshot), not_trusted());
    kill(snapshot.nodes.get_mut("n0").unwrap());
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!(opened(&decision), ["n0"]);
    let node_report = &decision.node_reports[0];
    assert_eq!((node_report.policy.as_deref(), node_report.also.as_slice()), (Some("q"), &["p".to_owned()][..]));
}
