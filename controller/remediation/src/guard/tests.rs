//! Each guard, with a cluster in which it blocks and one in which it does not.

mod budget;
mod dead;
mod handover;
mod storm;

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{
    api::{
        self, Meta, OUT_OF_SERVICE,
        fence::{DrainReport, Intent, Irreversible, NodeFenceSpec, NodeFenceStatus, OwnChanges, Phase},
        policy::{ControlPlane, StepSpec},
    },
    facts::{CONTROL_PLANE, ConditionStatus, Effect, LeaseView, Taint},
    guard::stage::has_begun,
    policy::{Fast, Quota, Rate},
    snapshot::Quorum,
    testing::{at, node, now, set_condition, wall},
};

/// A cluster in which nothing speaks against anything: ten nodes, `n0` dead, a policy with wide limits.
struct Fixture {
    snapshot: Snapshot,
    policy: Policy,
    fence: Option<NodeFence>,
    history: History,
    storms: Vec<Blocker>,
    unreadable: Option<&'static str>,
    error: Option<&'static str>,
    by_events_alone: bool,
}

impl Fixture {
    fn new() -> Self {
        let mut snapshot = Snapshot { epoch: 1, ..Snapshot::default() };
        snapshot.host.synced = true;
        snapshot.nodes = (0..10).map(|number| format!("n{number}")).map(|name| (name.clone(), node(&name))).collect();
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..wide() };
        let (history, storms) = (History::default(), Vec::new());
        let mut fixture = Self {
            snapshot,
            policy,
            fence: None,
            history,
            storms,
            unreadable: None,
            error: None,
            by_events_alone: false,
        };
        kill(fixture.node());
        fixture
    }

    fn node(&mut self) -> &mut Node {
        self.snapshot.nodes.get_mut("n0").unwrap()
    }

    /// An open record of `n0` in this phase, as the API has it.
    fn open(&mut self, phase: Phase) -> &mut NodeFence {
        let fence = record("n0", phase);
        self.snapshot.fences.insert("n0".into(), fence.clone());
        self.snapshot.gathered.entry("n0".into()).or_default().pods = Some((at(999), Vec::new()));
        self.fence.insert(fence)
    }

    fn all_blockers(&mut self) -> GuardBlockers {
        self.snapshot.policies = vec![self.policy.clone()];
        let fence = self.snapshot.fences.get_mut("n0").zip(self.fence.as_ref());
        fence.into_iter().for_each(|(stored, fence)| stored.clone_from(fence));
        let (snapshot, now) = (&self.snapshot, now(1000));
        self.history.learn(snapshot, now);
        let storms = [("p".to_owned(), self.storms.clone())].into();
        let input = EvaluationInput {
            snapshot,
            now,
            tally: Tally::new(snapshot, now.moment),
            history: self.history.clone(),
            storms,
        };
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
        all_blockers(&input, &subject)
    }
}

fn wide() -> Policy {
    let default = Policy::default();
    let budget = crate::policy::Budget {
        cluster: Quota::Percent(100),
        dead: Quota::Percent(100),
        zone: Quota::Percent(100),
        topology: Vec::new(),
        max_concurrent: None,
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
    set_condition(node, "Ready", ConditionStatus::Unknown, "NodeStatusUnknown", at(900));
}

fn reasons(blockers: &[Blocker]) -> Vec<&str> {
    blockers.iter().map(|blocker| blocker.reason.as_str()).collect()
}

#[test]
fn nothing_blocks_a_dead_node_in_a_calm_cluster() {
    assert_eq!(Fixture::new().all_blockers(), GuardBlockers::default());
}

/// What a change of the cluster makes the guards answer to isolate, drain and power.
#[test]
fn each_guard_blocks_with_its_own_reason() {
    type Change = fn(&mut Fixture);
    let all = [true; 3];
    let disruptive = [false, true, true];
    let power = [false, false, true];
    let cases: [(&str, [bool; 3], Change); 34] = [
        ("NotLeading", all, |fixture| fixture.snapshot.epoch = 0),
        ("DryRun", all, |fixture| fixture.snapshot.dry_run = true),
        ("KillSwitch", all, |fixture| fixture.snapshot.stopped = Some("/etc/nodewell/pause".into())),
        ("CacheNotSynced", all, |fixture| fixture.snapshot.host.synced = false),
        ("Observe", all, |fixture| fixture.policy.mode = Mode::Observe),
        ("Paused", all, |fixture| fixture.policy.mode = Mode::Paused),
        ("PolicyUnreadable", all, |fixture| fixture.unreadable = Some("line 3")),
        ("PredicateError", all, |fixture| fixture.error = Some("no such key")),
        ("RemediationSkipped", all, |fixture| {
            drop(fixture.node().annotations.insert(api::SKIP_REMEDIATION.into(), "tea".into()))
        }),
        ("RemediationSkipped", all, |fixture| {
            drop(fixture.open(Phase::Pending).metadata.annotations.insert(api::SKIP_REMEDIATION.into(), "tea".into()));
        }),
        ("Aborted", all, |fixture| fixture.open(Phase::Pending).spec.abort = true),
        ("NodeGone", all, |fixture| fixture.open(Phase::Pending).spec.node_uid = "another".into()),
        ("OwnHost", all, |fixture| fixture.snapshot.host.node = Some("n0".into())),
        ("Autoscaler", all, |fixture| taint(fixture, "ToBeDeletedByClusterAutoscaler")),
        ("Autoscaler", all, |fixture| taint(fixture, "karpenter.sh/disrupted")),
        ("Autoscaler", all, |fixture| fixture.node().deleting = true),
        ("ClaimedByPeer", all, |fixture| label(fixture, "remediation.medik8s.io/exclude-from-remediation", "true")),
        ("ClaimedByPeer", all, |fixture| annotate(fixture, "cluster.x-k8s.io/skip-remediation")),
        ("ClaimedByPeer", all, |fixture| annotate(fixture, "cluster.x-k8s.io/paused")),
        ("ClaimedByPeer", all, |fixture| annotate(fixture, "weave.works/kured-reboot-in-progress")),
        ("ClaimedByPeer", all, |fixture| {
            drop(fixture.snapshot.peer_leases.held.insert("n0".into(), "held by nhc".into()))
        }),
        ("ClaimedByPeer", all, |fixture| fixture.snapshot.peer_leases.unreadable = Some("forbidden".into())),
        ("NewNode", all, |fixture| fixture.node().created = wall(800)),
        ("NewNode", all, |fixture| fixture.node().created = wall(5000)),
        ("Storm", all, |fixture| fixture.storms = vec![Blocker::new(reason::STORM, "")]),
        ("ControlPlane", all, |fixture| label(fixture, CONTROL_PLANE[0], "")),
        ("ControlPlane", all, |fixture| {
            control_plane(fixture, Quorum::Members { healthy: 3, total: 3 });
            let other = fixture.snapshot.nodes.get_mut("n1").unwrap();
            other.labels.insert(CONTROL_PLANE[0].into(), String::new());
            kill(other);
        }),
        ("EtcdUnknown", disruptive, |fixture| control_plane(fixture, Quorum::Unknown)),
        ("EtcdQuorum", disruptive, |fixture| control_plane(fixture, Quorum::Members { healthy: 2, total: 3 })),
        ("EtcdQuorum", disruptive, |fixture| control_plane(fixture, Quorum::Members { healthy: 0, total: 0 })),
        ("PodRate", disruptive, |fixture| {
            fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
            fixture.history.charge_pods("p", "n5", 10, at(990));
        }),
        ("PodsUnknown", disruptive, |fixture| {
            fixture.open(Phase::Waiting);
            fixture.snapshot.gathered.clear();
        }),
        ("PowerCycleLimit", power, |fixture| fixture.open(Phase::Waiting).status.cycles = vec![wall(100), wall(500)]),
        ("NodeReady", power, |fixture| set_condition(fixture.node(), "Ready", ConditionStatus::True, "", at(0))),
    ];
    for (reason, levels, change) in cases {
        let mut fixture = Fixture::new();
        change(&mut fixture);
        let guard_blockers = fixture.all_blockers();
        let blocked = [&guard_blockers.isolate, &guard_blockers.drain, &guard_blockers.power]
            .map(|blockers| reasons(blockers).contains(&reason));
        assert_eq!(blocked, levels, "{reason}: {guard_blockers:?}");
        assert_eq!(guard_blockers.power.len(), 1, "{reason} alone: {guard_blockers:?}");
    }
}

fn taint(fixture: &mut Fixture, key: &str) {
    fixture.node().taints.push(Taint { key: key.into(), value: String::new(), effect: Effect::NoSchedule });
}

fn label(fixture: &mut Fixture, key: &str, value: &str) {
    fixture.node().labels.insert(key.into(), value.into());
}

fn annotate(fixture: &mut Fixture, key: &str) {
    fixture.node().annotations.insert(key.into(), String::new());
}

fn control_plane(fixture: &mut Fixture, etcd: Quorum) {
    label(fixture, CONTROL_PLANE[0], "");
    fixture.policy.control_plane = ControlPlane::OneAtATime;
    fixture.snapshot.etcd = etcd;
}

#[test]
fn all_guards_are_listed_not_only_the_first() {
    let mut fixture = Fixture::new();
    fixture.snapshot.dry_run = true;
    fixture.snapshot.stopped = Some("a file".into());
    fixture.policy.mode = Mode::Observe;
    fixture.policy.budget.cluster = Quota::Count(0);
    label(&mut fixture, CONTROL_PLANE[1], "");
    annotate(&mut fixture, api::SKIP_REMEDIATION);
    let power = fixture.all_blockers().power;
    assert_eq!(
        reasons(&power),
        ["DryRun", "KillSwitch", "Observe", "RemediationSkipped", "ControlPlane", "BudgetCluster"]
    );
}

#[test]
fn a_quorum_that_survives_lets_one_go() {
    let mut fixture = Fixture::new();
    control_plane(&mut fixture, Quorum::Members { healthy: 3, total: 3 });
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn a_dead_member_of_three_may_go_where_it_is_known_to_be_the_dead_one() {
    let two_of_three = |members: &[(&str, bool)], addresses: &[&str]| {
        let mut fixture = Fixture::new();
        control_plane(&mut fixture, Quorum::Members { healthy: 2, total: 3 });
        fixture.snapshot.etcd_members = members.iter().map(|(at, healthy)| ((*at).to_owned(), *healthy)).collect();
        fixture.node().addresses = addresses.iter().map(|at| (*at).to_owned()).collect();
        reasons(&fixture.all_blockers().power).into_iter().map(str::to_owned).collect::<Vec<_>>()
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
    let mut fixture = Fixture::new();
    fixture.storms = vec![Blocker::new(reason::STORM, "")];
    fixture.policy.budget.cluster = Quota::Count(0);
    fixture.policy.mode = Mode::Paused;
    for phase in [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::AwaitReady] {
        fixture.open(phase);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{phase:?}");
    }
    for phase in [Phase::Pending, Phase::Isolating, Phase::Waiting, Phase::AwaitGuards, Phase::Failed] {
        fixture.open(phase);
        assert_eq!(reasons(&fixture.all_blockers().power), ["Storm", "BudgetCluster"], "{phase:?}");
    }
    fixture.open(Phase::OffConfirmed);
    fixture.snapshot.stopped = Some("a file".into());
    assert_eq!(reasons(&fixture.all_blockers().power), ["KillSwitch"]);
}

#[test]
fn a_ready_node_is_powered_only_after_a_whole_drain() {
    let mut fixture = Fixture::new();
    set_condition(fixture.node(), "Ready", ConditionStatus::True, "", at(0));
    for (done, blocked) in [(false, true), (true, false)] {
        fixture.open(Phase::Waiting).status.drain = Some(DrainReport { done, refused_evictions: Vec::new(), left: 0 });
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"NodeReady"), blocked);
    }
}

#[test]
fn a_ready_node_whose_kubelet_is_silent_is_not_alive() {
    for (fast, stale, blocked) in [(true, 14, true), (true, 15, false), (false, 39, true), (false, 40, false)] {
        let mut fixture = Fixture::new();
        set_condition(fixture.node(), "Ready", ConditionStatus::True, "", at(0));
        let seen = at(1000 - stale);
        let lease = LeaseView {
            resource_version: String::new(),
            holder: String::new(),
            renewed: None,
            duration: Duration::from_secs(10),
            seen,
        };
        fixture.snapshot.kubelet_leases.insert("n0".into(), lease);
        fixture.policy.fast = fast.then_some(Fast { silent_for: Duration::from_secs(15), unreachable_from: 2 });
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"NodeReady"), blocked, "{fast} {stale}");
    }
}

#[test]
fn old_power_cycles_and_pods_are_forgotten() {
    let mut fixture = Fixture::new();
    fixture.policy.power_cycles = Rate { count: 2, window: Duration::from_secs(400) };
    fixture.open(Phase::Waiting).status.cycles = vec![wall(100), wall(900)];
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    fixture.history.charge_pods("p", "n5", 10, at(900));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

/// 8 of 10 went; this node has 5, and the list of them fails.
#[test]
fn pods_that_could_not_be_listed_are_not_none() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    fixture.history.charge_pods("p", "n5", 8, at(990));
    fixture.open(Phase::OffConfirmed);
    let pods = |fixture: &mut Fixture, pods| fixture.snapshot.gathered.get_mut("n0").unwrap().pods = pods;
    pods(&mut fixture, Some((at(999), vec![crate::facts::Pod::default(); 5])));
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"]);
    pods(&mut fixture, None);
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodsUnknown"]);
    pods(&mut fixture, Some((at(999), vec![crate::facts::Pod::default(); 2])));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn a_node_with_more_pods_than_the_rate_goes_when_no_others_went() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    fixture.open(Phase::OffConfirmed);
    fixture.snapshot.gathered.get_mut("n0").unwrap().pods = Some((at(999), vec![crate::facts::Pod::default(); 50]));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
    fixture.history.charge_pods("p", "n5", 1, at(990));
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"]);
}

#[test]
fn a_power_off_whose_record_was_deleted_counts() {
    let mut fixture = Fixture::new();
    fixture.policy.power_cycles = Rate { count: 1, window: Duration::from_secs(400) };
    let intended = Intent { act: Irreversible::PowerOff, epoch: 1, at: wall(900), pods: 0 };
    fixture.open(Phase::PoweringOff).status.intent = Some(intended);
    fixture.all_blockers();
    assert_eq!(fixture.history.cycles_of("n0"), [], "its own record says it");
    fixture.fence = None;
    fixture.snapshot.fences.clear();
    assert_eq!(reasons(&fixture.all_blockers().power), ["PowerCycleLimit"]);
}

#[test]
fn power_cycles_of_closed_records_are_remembered() {
    let mut fixture = Fixture::new();
    let status = &mut fixture.open(Phase::Waiting).status;
    (status.earlier_cycles, status.cycles) = (vec![wall(500)], vec![wall(900)]);
    fixture.all_blockers();
    fixture.fence = None;
    fixture.snapshot.fences.clear();
    assert_eq!(reasons(&fixture.all_blockers().power), ["PowerCycleLimit"]);
}

#[test]
fn every_message_has_its_numbers() {
    let mut fixture = Fixture::new();
    fixture.policy.budget.cluster = Quota::Percent(20);
    kill(fixture.snapshot.nodes.get_mut("n1").unwrap());
    kill(fixture.snapshot.nodes.get_mut("n2").unwrap());
    let power = fixture.all_blockers().power;
    assert_eq!(power.len(), 1);
    assert_eq!(
        power[0].message,
        "with this node 3 of 10 nodes would be out of service (limit 2 living by budget.maxUnavailable, 10 dead by budget.maxDead); bring nodes back first"
    );
}

/// Whatever a record says: where a more disruptive stage has begun a milder one has, and in a closed record none has.
#[test]
fn stages_are_ordered() {
    for phase in [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Failed, Phase::InDoubt, Phase::Closed] {
        let fence = record("n0", phase);
        assert!(!has_begun(&fence, DisruptionLevel::Power) || has_begun(&fence, DisruptionLevel::Isolate), "{phase:?}");
    }
    let mut closed = record("n0", Phase::Closed);
    closed.status.drain = Some(DrainReport::default());
    assert!(!has_begun(&closed, DisruptionLevel::Isolate));
}

/// The API server's clock says when a record was created, a leader's own when it cut power.
#[test]
fn a_cycle_of_this_record_counts_whatever_the_clocks_say() {
    for cut in [wall(300), wall(1500)] {
        let mut fence = record("n0", Phase::Waiting);
        fence.metadata.creation_timestamp = Some(wall(900));
        fence.status.earlier_cycles = vec![cut];
        assert!(!has_begun(&fence, DisruptionLevel::Power), "those before it have not");
        fence.status.cycles = vec![cut];
        assert!(has_begun(&fence, DisruptionLevel::Power));
    }
}
