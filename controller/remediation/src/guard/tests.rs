//! Each guard, with a world in which it blocks and one in which it does not.

mod budget;
mod dead;
mod ledger;
mod storm;

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{
    api::{
        self, Meta, OUT_OF_SERVICE,
        fence::{DrainReport, Intent, Irreversible, NodeFenceSpec, NodeFenceStatus, Ours, Phase},
        policy::{ControlPlane, StepSpec},
    },
    facts::{CONTROL_PLANE, Effect, LeaseView, Taint, Truth},
    guard::stage::has_begun,
    policy::{Fast, Quota, Rate},
    snapshot::Quorum,
    testing::{at, node, now, set_condition, wall},
};

/// A world in which nothing speaks against anything: ten nodes, `n0` dead, a policy with wide limits.
struct World {
    snapshot: Snapshot,
    policy: Policy,
    fence: Option<NodeFence>,
    history: History,
    weather: Vec<Blocker>,
    unreadable: Option<&'static str>,
    error: Option<&'static str>,
    by_events_alone: bool,
}

impl World {
    fn new() -> Self {
        let mut snapshot = Snapshot { epoch: 1, ..Snapshot::default() };
        snapshot.host.informed = true;
        snapshot.nodes = (0..10).map(|number| format!("n{number}")).map(|name| (name.clone(), node(&name))).collect();
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..wide() };
        let (history, weather) = (History::default(), Vec::new());
        let mut world = Self {
            snapshot,
            policy,
            fence: None,
            history,
            weather,
            unreadable: None,
            error: None,
            by_events_alone: false,
        };
        kill(world.node());
        world
    }

    fn node(&mut self) -> &mut Node {
        self.snapshot.nodes.get_mut("n0").unwrap()
    }

    /// An open record of `n0` in this phase, as the API has it.
    fn open(&mut self, phase: Phase) -> &mut NodeFence {
        let fence = record("n0", phase);
        self.snapshot.fences.insert("n0".into(), fence.clone());
        self.snapshot.cases.entry("n0".into()).or_default().pods = Some((at(999), Vec::new()));
        self.fence.insert(fence)
    }

    fn permits(&mut self) -> Permits {
        self.snapshot.policies = vec![self.policy.clone()];
        let fence = self.snapshot.fences.get_mut("n0").zip(self.fence.as_ref());
        fence.into_iter().for_each(|(stored, fence)| stored.clone_from(fence));
        let (snapshot, now) = (&self.snapshot, now(1000));
        self.history.learn(snapshot, now);
        let weather = [("p".to_owned(), self.weather.clone())].into();
        let scene =
            Scene { snapshot, now, tally: Tally::new(snapshot, now.moment), history: self.history.clone(), weather };
        let uid = self.fence.as_ref().map_or("uid-n0", |fence| &fence.spec.node_uid);
        let subject = Subject {
            name: "n0",
            node: snapshot.nodes.get("n0").filter(|node| node.uid == uid),
            fence: self.fence.as_ref(),
            policy: &self.policy,
            unreadable: self.unreadable,
            error: self.error,
            by_events_alone: self.by_events_alone,
        };
        permits(&scene, &subject)
    }
}

fn wide() -> Policy {
    let default = Policy::default();
    let budget = crate::policy::Budget {
        cluster: Quota::Percent(100),
        dead: Quota::Percent(100),
        zone: Quota::Percent(100),
        topology: Vec::new(),
        at_once: None,
        rate: None,
    };
    Policy { cordon_budget: budget.clone(), budget, steps: vec![StepSpec::default()], ..default }
}

fn record(name: &str, phase: Phase) -> NodeFence {
    NodeFence {
        metadata: Meta {
            name: name.into(),
            uid: format!("fence-{name}"),
            creation_timestamp: Some(wall(900)),
            ..Meta::default()
        },
        spec: NodeFenceSpec {
            node_name: name.into(),
            node_uid: format!("uid-{name}"),
            policy: "p".into(),
            steps: vec![StepSpec { cordon: Some(Default::default()), ..StepSpec::default() }],
            ..NodeFenceSpec::default()
        },
        status: NodeFenceStatus { phase, ..NodeFenceStatus::default() },
    }
}

fn kill(node: &mut Node) {
    set_condition(node, "Ready", Truth::Unknown, "NodeStatusUnknown", at(900));
}

fn reasons(blockers: &[Blocker]) -> Vec<&str> {
    blockers.iter().map(|blocker| blocker.reason.as_str()).collect()
}

#[test]
fn nothing_blocks_a_dead_node_in_a_calm_cluster() {
    assert_eq!(World::new().permits(), Permits::default());
}

/// What a change of the world makes the guards answer to isolate, drain and power.
#[test]
fn each_guard_blocks_with_its_own_reason() {
    type Change = fn(&mut World);
    let all = [true; 3];
    let harsh = [false, true, true];
    let power = [false, false, true];
    let cases: [(&str, [bool; 3], Change); 34] = [
        ("NotLeading", all, |world| world.snapshot.epoch = 0),
        ("DryRun", all, |world| world.snapshot.dry_run = true),
        ("KillSwitch", all, |world| world.snapshot.stopped = Some("/etc/nodewell/pause".into())),
        ("NotInformed", all, |world| world.snapshot.host.informed = false),
        ("Observe", all, |world| world.policy.mode = Mode::Observe),
        ("Paused", all, |world| world.policy.mode = Mode::Paused),
        ("PolicyUnreadable", all, |world| world.unreadable = Some("line 3")),
        ("PredicateError", all, |world| world.error = Some("no such key")),
        ("RemediationSkipped", all, |world| {
            drop(world.node().annotations.insert(api::SKIP_REMEDIATION.into(), "tea".into()))
        }),
        ("RemediationSkipped", all, |world| {
            drop(world.open(Phase::Pending).metadata.annotations.insert(api::SKIP_REMEDIATION.into(), "tea".into()));
        }),
        ("Aborted", all, |world| world.open(Phase::Pending).spec.abort = true),
        ("NodeGone", all, |world| world.open(Phase::Pending).spec.node_uid = "another".into()),
        ("OwnHost", all, |world| world.snapshot.host.node = Some("n0".into())),
        ("Autoscaler", all, |world| taint(world, "ToBeDeletedByClusterAutoscaler")),
        ("Autoscaler", all, |world| taint(world, "karpenter.sh/disrupted")),
        ("Autoscaler", all, |world| world.node().deleting = true),
        ("ClaimedByPeer", all, |world| label(world, "remediation.medik8s.io/exclude-from-remediation", "true")),
        ("ClaimedByPeer", all, |world| annotate(world, "cluster.x-k8s.io/skip-remediation")),
        ("ClaimedByPeer", all, |world| annotate(world, "cluster.x-k8s.io/paused")),
        ("ClaimedByPeer", all, |world| annotate(world, "weave.works/kured-reboot-in-progress")),
        ("ClaimedByPeer", all, |world| drop(world.snapshot.claims.held.insert("n0".into(), "held by nhc".into()))),
        ("ClaimedByPeer", all, |world| world.snapshot.claims.unreadable = Some("forbidden".into())),
        ("NewNode", all, |world| world.node().created = wall(800)),
        ("NewNode", all, |world| world.node().created = wall(5000)),
        ("Storm", all, |world| world.weather = vec![Blocker::new(reason::STORM, "")]),
        ("ControlPlane", all, |world| label(world, CONTROL_PLANE[0], "")),
        ("ControlPlane", all, |world| {
            control_plane(world, Quorum::Members { healthy: 3, total: 3 });
            let other = world.snapshot.nodes.get_mut("n1").unwrap();
            other.labels.insert(CONTROL_PLANE[0].into(), String::new());
            kill(other);
        }),
        ("EtcdUnknown", harsh, |world| control_plane(world, Quorum::Unknown)),
        ("EtcdQuorum", harsh, |world| control_plane(world, Quorum::Members { healthy: 2, total: 3 })),
        ("EtcdQuorum", harsh, |world| control_plane(world, Quorum::Members { healthy: 0, total: 0 })),
        ("PodRate", harsh, |world| {
            world.policy.pods = Rate { count: 10, within: Duration::from_secs(60) };
            world.history.give_pods("p", "n5", 10, at(990));
        }),
        ("PodsUnknown", harsh, |world| {
            world.open(Phase::Waiting);
            world.snapshot.cases.clear();
        }),
        ("RestartLimit", power, |world| world.open(Phase::Waiting).status.cycles = vec![wall(100), wall(500)]),
        ("NodeReady", power, |world| set_condition(world.node(), "Ready", Truth::True, "", at(0))),
    ];
    for (word, grades, change) in cases {
        let mut world = World::new();
        change(&mut world);
        let permits = world.permits();
        let said = [&permits.isolate, &permits.drain, &permits.power].map(|blockers| reasons(blockers).contains(&word));
        assert_eq!(said, grades, "{word}: {permits:?}");
        assert_eq!(permits.power.len(), 1, "{word} alone: {permits:?}");
    }
}

fn taint(world: &mut World, key: &str) {
    world.node().taints.push(Taint { key: key.into(), value: String::new(), effect: Effect::NoSchedule });
}

fn label(world: &mut World, key: &str, value: &str) {
    world.node().labels.insert(key.into(), value.into());
}

fn annotate(world: &mut World, key: &str) {
    world.node().annotations.insert(key.into(), String::new());
}

fn control_plane(world: &mut World, etcd: Quorum) {
    label(world, CONTROL_PLANE[0], "");
    world.policy.control_plane = ControlPlane::OneAtATime;
    world.snapshot.etcd = etcd;
}

#[test]
fn all_guards_are_listed_not_only_the_first() {
    let mut world = World::new();
    world.snapshot.dry_run = true;
    world.snapshot.stopped = Some("a file".into());
    world.policy.mode = Mode::Observe;
    world.policy.budget.cluster = Quota::Count(0);
    label(&mut world, CONTROL_PLANE[1], "");
    annotate(&mut world, api::SKIP_REMEDIATION);
    let power = world.permits().power;
    assert_eq!(
        reasons(&power),
        ["DryRun", "KillSwitch", "Observe", "RemediationSkipped", "ControlPlane", "BudgetCluster"]
    );
}

#[test]
fn a_quorum_that_survives_lets_one_go() {
    let mut world = World::new();
    control_plane(&mut world, Quorum::Members { healthy: 3, total: 3 });
    assert_eq!(world.permits(), Permits::default());
}

#[test]
fn a_dead_member_of_three_may_go_where_it_is_known_to_be_the_dead_one() {
    let two_of_three = |members: &[(&str, bool)], addresses: &[&str]| {
        let mut world = World::new();
        control_plane(&mut world, Quorum::Members { healthy: 2, total: 3 });
        world.snapshot.etcd_members = members.iter().map(|(at, healthy)| ((*at).to_owned(), *healthy)).collect();
        world.node().addresses = addresses.iter().map(|at| (*at).to_owned()).collect();
        reasons(&world.permits().power).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let members = [("10.0.0.1", true), ("10.0.0.2", true), ("10.0.0.3", false)];
    assert_eq!(two_of_three(&members, &["10.0.0.3", "cp-3"]), Vec::<String>::new());
    for (members, addresses, why) in [
        (&members[..], &["10.0.0.1"][..], "its own member is healthy"),
        (&members[..], &["10.0.0.9"][..], "no member is known to stand there"),
        (&members[..], &[][..], "it has no address"),
        (&members[..], &["10.0.0.3", "10.0.0.1"][..], "a healthy one stands there too"),
        (&[][..], &["10.0.0.3"][..], "where members stand is not known"),
    ] {
        assert_eq!(two_of_three(members, addresses), ["EtcdQuorum"], "{why}");
    }
}

#[test]
fn an_act_that_has_begun_is_not_stopped_by_budgets_and_storms() {
    let mut world = World::new();
    world.weather = vec![Blocker::new(reason::STORM, "")];
    world.policy.budget.cluster = Quota::Count(0);
    world.policy.mode = Mode::Paused;
    for phase in [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::AwaitReady] {
        world.open(phase);
        assert_eq!(world.permits(), Permits::default(), "{phase:?}");
    }
    for phase in [Phase::Pending, Phase::Isolating, Phase::Waiting, Phase::Guarded, Phase::Failed] {
        world.open(phase);
        assert_eq!(reasons(&world.permits().power), ["Storm", "BudgetCluster"], "{phase:?}");
    }
    world.open(Phase::OffConfirmed);
    world.snapshot.stopped = Some("a file".into());
    assert_eq!(reasons(&world.permits().power), ["KillSwitch"]);
}

#[test]
fn a_ready_node_is_powered_only_after_a_whole_drain() {
    let mut world = World::new();
    set_condition(world.node(), "Ready", Truth::True, "", at(0));
    for (done, blocked) in [(false, true), (true, false)] {
        world.open(Phase::Waiting).status.drain = Some(DrainReport { done, refused_evictions: Vec::new(), left: 0 });
        assert_eq!(reasons(&world.permits().power).contains(&"NodeReady"), blocked);
    }
}

#[test]
fn a_ready_node_whose_kubelet_is_silent_is_not_alive() {
    for (fast, stale, blocked) in [(true, 14, true), (true, 15, false), (false, 39, true), (false, 40, false)] {
        let mut world = World::new();
        set_condition(world.node(), "Ready", Truth::True, "", at(0));
        let seen = at(1000 - stale);
        let lease = LeaseView {
            resource_version: String::new(),
            holder: String::new(),
            renewed: None,
            duration: Duration::from_secs(10),
            seen,
        };
        world.snapshot.kubelet_leases.insert("n0".into(), lease);
        world.policy.fast = fast.then_some(Fast { silent_for: Duration::from_secs(15), unreachable_from: 2 });
        assert_eq!(reasons(&world.permits().power).contains(&"NodeReady"), blocked, "{fast} {stale}");
    }
}

#[test]
fn old_restarts_and_pods_are_forgotten() {
    let mut world = World::new();
    world.policy.restarts = Rate { count: 2, within: Duration::from_secs(400) };
    world.open(Phase::Waiting).status.cycles = vec![wall(100), wall(900)];
    world.policy.pods = Rate { count: 10, within: Duration::from_secs(60) };
    world.history.give_pods("p", "n5", 10, at(900));
    assert_eq!(world.permits(), Permits::default());
}

/// 8 of 10 went; this node has 5, and the list of them fails.
#[test]
fn pods_that_could_not_be_listed_are_not_none() {
    let mut world = World::new();
    world.policy.pods = Rate { count: 10, within: Duration::from_secs(60) };
    world.history.give_pods("p", "n5", 8, at(990));
    world.open(Phase::OffConfirmed);
    let pods = |world: &mut World, pods| world.snapshot.cases.get_mut("n0").unwrap().pods = pods;
    pods(&mut world, Some((at(999), vec![crate::facts::Pod::default(); 5])));
    assert_eq!(reasons(&world.permits().power), ["PodRate"]);
    pods(&mut world, None);
    assert_eq!(reasons(&world.permits().power), ["PodsUnknown"]);
    pods(&mut world, Some((at(999), vec![crate::facts::Pod::default(); 2])));
    assert_eq!(world.permits(), Permits::default());
}

#[test]
fn a_node_with_more_pods_than_the_rate_goes_when_no_others_went() {
    let mut world = World::new();
    world.policy.pods = Rate { count: 10, within: Duration::from_secs(60) };
    world.open(Phase::OffConfirmed);
    world.snapshot.cases.get_mut("n0").unwrap().pods = Some((at(999), vec![crate::facts::Pod::default(); 50]));
    assert_eq!(world.permits(), Permits::default());
    world.history.give_pods("p", "n5", 1, at(990));
    assert_eq!(reasons(&world.permits().power), ["PodRate"]);
}

#[test]
fn a_power_off_whose_record_was_deleted_counts() {
    let mut world = World::new();
    world.policy.restarts = Rate { count: 1, within: Duration::from_secs(400) };
    let meant = Intent { act: Irreversible::PowerOff, epoch: 1, at: wall(900), pods: 0 };
    world.open(Phase::PoweringOff).status.intent = Some(meant);
    world.permits();
    assert_eq!(world.history.cycles_of("n0"), [], "its own record says it");
    world.fence = None;
    world.snapshot.fences.clear();
    assert_eq!(reasons(&world.permits().power), ["RestartLimit"]);
}

#[test]
fn restarts_of_closed_records_are_remembered() {
    let mut world = World::new();
    let status = &mut world.open(Phase::Waiting).status;
    (status.earlier_cycles, status.cycles) = (vec![wall(500)], vec![wall(900)]);
    world.permits();
    world.fence = None;
    world.snapshot.fences.clear();
    assert_eq!(reasons(&world.permits().power), ["RestartLimit"]);
}

#[test]
fn every_message_has_its_numbers() {
    let mut world = World::new();
    world.policy.budget.cluster = Quota::Percent(20);
    kill(world.snapshot.nodes.get_mut("n1").unwrap());
    kill(world.snapshot.nodes.get_mut("n2").unwrap());
    let power = world.permits().power;
    assert_eq!(power.len(), 1);
    assert_eq!(
        power[0].message,
        "with this node 3 nodes would be out of service, at most 2 of 10 may be, and 10 dead ones, of the cluster (budget.maxUnavailable, budget.maxDead)"
    );
}

/// Whatever a record says: a harsher stage is in hand wherever a milder one is, and closed is out of hand.
#[test]
fn stages_are_ordered() {
    for phase in [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Failed, Phase::InDoubt, Phase::Closed] {
        let fence = record("n0", phase);
        assert!(!has_begun(&fence, Grade::Power) || has_begun(&fence, Grade::Isolate), "{phase:?}");
    }
    let mut closed = record("n0", Phase::Closed);
    closed.status.drain = Some(DrainReport::default());
    assert!(!has_begun(&closed, Grade::Isolate));
}

/// The API server's clock says when a record was created, a leader's own when it cut power.
#[test]
fn a_cycle_of_this_record_has_a_node_in_hand_whatever_the_clocks_say() {
    for cut in [wall(300), wall(1500)] {
        let mut fence = record("n0", Phase::Waiting);
        fence.metadata.creation_timestamp = Some(wall(900));
        fence.status.earlier_cycles = vec![cut];
        assert!(!has_begun(&fence, Grade::Power), "those before it have not");
        fence.status.cycles = vec![cut];
        assert!(has_begun(&fence, Grade::Power));
    }
}
