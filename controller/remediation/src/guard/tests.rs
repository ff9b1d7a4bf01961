//! Each guard, with a cluster in which it blocks and one in which it does not.

mod begun;
mod budget;
mod customers;
mod dead;
mod each_guard;
mod handover;
mod late;
mod never;
mod quorum;
mod rates;
mod ready;
mod storm;
mod windows;

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{
    api::{
        Meta,
        fence::{NodeFenceSpec, NodeFenceStatus, Phase},
        policy::{ControlPlane, StepSpec},
    },
    facts::{CONTROL_PLANE, ConditionStatus, Effect, LeaseView, Taint},
    policy::{CountOrPercent, Rate},
    snapshot::{Absence, Quorum},
    testing::{at, node, now, set_condition, wall},
    time::Moment,
};

impl History {
    /// A release of one record, as often as it is charged.
    pub(crate) fn charge_pods(&mut self, policy: &str, node: &str, pods: usize, now: Moment) {
        let mut fence = record(node, Phase::PodsReleased);
        fence.spec.policy = policy.to_owned();
        self.charge_release(&fence, None, pods, Duration::MAX, now);
    }
}

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
        cluster: CountOrPercent::Percent(100),
        dead: CountOrPercent::Percent(100),
        zone: CountOrPercent::Percent(100),
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

fn label(fixture: &mut Fixture, key: &str, value: &str) {
    fixture.node().labels.insert(key.into(), value.into());
}

fn control_plane(fixture: &mut Fixture, etcd: Quorum) {
    label(fixture, CONTROL_PLANE[0], "");
    fixture.policy.control_plane = ControlPlane::OneAtATime;
    fixture.snapshot.etcd = etcd;
}
