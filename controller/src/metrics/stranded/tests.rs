use std::time::Duration;

use nodewell_remediation::{
    api::{
        Meta,
        fence::{NodeFenceSpec, NodeFenceStatus},
        policy::StepSpec,
    },
    facts::{Condition, ConditionStatus, Effect, LeaseView, Taint},
    snapshot::HostView,
};

use super::*;

/// By both clocks.
const NOW: i64 = 1000;

fn at(second: i64) -> Moment {
    Moment(Duration::from_secs(second.unsigned_abs()))
}

fn dead(name: &str) -> Node {
    let ready = Condition { kind: "Ready".into(), status: ConditionStatus::Unknown, ..Condition::default() };
    Node { name: name.into(), conditions: vec![ready], ..Node::default() }
}

/// As the leader sees it.
fn snapshot(nodes: Vec<Node>, silent: i64) -> Snapshot {
    let lease = |node: &Node| LeaseView {
        resource_version: String::new(),
        holder: node.name.clone(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(NOW - silent),
    };
    Snapshot {
        kubelet_leases: nodes.iter().map(|node| (node.name.clone(), lease(node))).collect(),
        nodes: nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
        host: HostView { synced: true, ..HostView::default() },
        epoch: 3,
        ..Snapshot::default()
    }
}

/// One node, dead for a minute.
fn one() -> Snapshot {
    snapshot(vec![dead("a")], 60)
}

fn report(reasons: &[&str]) -> NodeReport {
    let blockers = reasons.iter().map(|reason| Blocker::new(reason, "")).collect();
    NodeReport { node: "a".into(), policy: Some("p".into()), blockers, ..NodeReport::default() }
}

/// A record in the first of two steps, opened so many seconds ago.
fn fence(phase: Phase, age: i64) -> NodeFence {
    let opened = Some(Timestamp::from_second(NOW - age).unwrap());
    NodeFence {
        metadata: Meta { name: "a".into(), creation_timestamp: opened, ..Meta::default() },
        spec: NodeFenceSpec { steps: vec![StepSpec::default(); 2], ..NodeFenceSpec::default() },
        status: NodeFenceStatus { phase, ..NodeFenceStatus::default() },
    }
}

fn counted(snapshot: &Snapshot, reports: &[NodeReport]) -> Vec<(String, u64)> {
    let now = Now { moment: at(NOW), wall: Timestamp::from_second(NOW).unwrap() };
    counts(snapshot, reports, now).into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect()
}

/// What one node counts by, with a record and blockers.
fn by(fence: Option<NodeFence>, reasons: &[&str]) -> Option<String> {
    let mut snapshot = one();
    let phase = fence.as_ref().map(|fence| fence.status.phase);
    snapshot.fences = fence.into_iter().map(|fence| ("a".to_owned(), fence)).collect();
    counted(&snapshot, &[NodeReport { phase, ..report(reasons) }]).into_iter().next().map(|(reason, _)| reason)
}

#[test]
fn a_dead_node_counts_by_what_blocks_it_until_it_is_released() {
    let mut released = dead("released");
    released.taints.push(Taint { key: OUT_OF_SERVICE.into(), value: String::new(), effect: Effect::NoExecute });
    let all = vec![dead("a"), dead("b"), dead("c"), released];
    let blocked = report(&["Observe", "BudgetZone"]);
    let under_way = NodeReport { node: "b".into(), policy: Some("p".into()), ..NodeReport::default() };
    let expected = [("NoPolicy", 1), ("Observe", 1), ("UnderWay", 1)].map(|(reason, count)| (reason.to_owned(), count));
    assert_eq!(counted(&snapshot(all.clone(), 60), &[blocked.clone(), under_way]), expected);
    assert_eq!(counted(&snapshot(all.clone(), 20), &[]), [], "its Lease is not over");
    let mut without = snapshot(all.clone(), 60);
    without.kubelet_leases.clear();
    assert_eq!(counted(&without, &[report(&["LeaseMissing"])]), [("LeaseMissing".to_owned(), 1)]);
    assert_eq!(counted(&without, &[report(&["NodeReady"])]), []);
    let mut blind = snapshot(all.clone(), 60);
    blind.host.synced = false;
    assert_eq!(counted(&blind, &[]), [], "who sees nothing reports no deaths");
    let mut follower = snapshot(all, 60);
    follower.epoch = 0;
    assert_eq!(counted(&follower, &[blocked]), [], "it would call all of them NoPolicy while the leader fences them");
}

/// Two replicas count one node by one reason, however often an act of it is under way.
#[test]
fn an_act_is_no_reason() {
    let old = || Some(fence(Phase::Failed, 600));
    assert_eq!(by(old(), &[]).as_deref(), Some("UnderWay"));
    assert_eq!(by(old(), &["Busy"]).as_deref(), Some("UnderWay"));
    assert_eq!(by(old(), &["Busy", "DrainFailed"]).as_deref(), Some("DrainFailed"));
}

#[test]
fn a_node_that_has_time_by_its_policy_does_not_count_unless_something_else_blocks_it() {
    for reason in ["WithinGracePeriod", "NewNode", "Dumping"] {
        assert_eq!(by(None, &[reason]), None, "{reason}");
        for order in [[reason, "Observe"], ["Observe", reason]] {
            assert_eq!(by(None, &order).as_deref(), Some("Observe"), "{order:?}");
        }
    }
    assert_eq!(by(Some(fence(Phase::KdumpWait, 600)), &["Dumping"]), None);
}

#[test]
fn a_fence_counts_when_it_takes_longer_than_one_that_goes_well() {
    let none: &[&str] = &[];
    let counts = [(0, None), (179, None), (180, Some("UnderWay")), (600, Some("UnderWay")), (-1, Some("UnderWay"))];
    for (age, expected) in counts {
        for reasons in [none, &["Busy"]] {
            assert_eq!(by(Some(fence(Phase::PoweringOff, age)), reasons).as_deref(), expected, "{age} {reasons:?}");
        }
    }
    let mut failed = fence(Phase::Failed, 60);
    failed.status.failures = 1;
    assert_eq!(by(Some(failed), &[]).as_deref(), Some("UnderWay"), "its first try is over");
    assert_eq!(by(Some(fence(Phase::AwaitGuards, 60)), &["Storm"]).as_deref(), Some("Storm"));
    let mut unknown = fence(Phase::PoweringOff, 60);
    unknown.metadata.creation_timestamp = None;
    assert_eq!(by(Some(unknown), &[]).as_deref(), Some("UnderWay"));
}

#[test]
fn the_times_of_steps_are_the_policys_while_another_step_follows() {
    for phase in [Phase::Draining, Phase::Waiting] {
        let mut fence = fence(phase, 3600);
        assert_eq!(by(Some(fence.clone()), &["Busy"]), None, "{phase:?}");
        assert_eq!(by(Some(fence.clone()), &[]), None, "{phase:?}");
        fence.status.policy_step = 1;
        assert_eq!(by(Some(fence), &[]).as_deref(), Some("UnderWay"), "nothing after it frees the pods: {phase:?}");
    }
}

/// Whatever blocks it: a control-plane node that reboots has no remediation at all, by default.
#[test]
fn a_node_that_announced_its_reboot_counts_after_its_grace_period() {
    let mut snapshot = one();
    let policy = Policy { name: "p".into(), reboot_grace_period: Duration::from_secs(100), ..Policy::default() };
    snapshot.policies = vec![policy];
    let announced = |snapshot: &mut Snapshot, ago: i64, reports: &[NodeReport]| {
        snapshot.shutdowns = [("a".to_owned(), at(NOW - ago))].into();
        counted(snapshot, reports)
    };
    let of_policy = [report(&["ControlPlane", "ShutdownAnnounced"])];
    assert_eq!(announced(&mut snapshot, 99, &of_policy), []);
    assert_eq!(announced(&mut snapshot, 100, &of_policy), [("ControlPlane".to_owned(), 1)]);
    let of_none = [NodeReport { node: "a".into(), ..NodeReport::default() }];
    assert_eq!(announced(&mut snapshot, 599, &of_none), [], "ten minutes by default");
    assert_eq!(announced(&mut snapshot, 600, &of_none), [("NoPolicy".to_owned(), 1)]);
    snapshot.policies[0].reboot_grace_period = Duration::ZERO;
    assert_eq!(announced(&mut snapshot, 0, &of_policy), [("ControlPlane".to_owned(), 1)], "not at all");
}
