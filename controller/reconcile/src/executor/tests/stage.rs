//! A node that fell silent a minute ago, and a record that means one act, right before it.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    action::{IrreversibleOp, Op, Outcome},
    api::{
        Meta,
        fence::{Confirmation, IntendedOp, Intent, NodeFence, NodeFenceSpec, NodeFenceStatus},
    },
    decide::Handover,
    facts::{Condition, ConditionStatus, LeaseView, Node, Pod, PodRef},
    snapshot::PowerState,
    time::Moment,
};
use tokio::{sync::watch, time::sleep};

use super::double::{Double, Truth};
use crate::{
    cache::{Cache, Decided, Limits},
    clock::Clock,
    cluster::LeaseKind,
    executor::{Executor, Settings},
    lease_deadline::LeaseDeadline,
};

/// The present term, and how long it lasts.
pub(super) const EPOCH: u64 = 7;
const TERM: Duration = Duration::from_secs(600);
/// How long the kubelet has been silent.
const SILENT: Duration = Duration::from_secs(60);

pub(super) struct Stage {
    pub(super) double: Double,
    pub(super) cache: Cache,
    pub(super) clock: Clock,
    pub(super) fence: NodeFence,
    /// How much is left of the term.
    pub(super) term: Duration,
}

/// What happens at a call, by its name and how often it was made before.
pub(super) type At = fn(&str, usize, &mut Truth);

pub(super) fn pod(number: usize) -> Pod {
    let name = format!("db-{number}");
    Pod {
        at: PodRef { namespace: "shop".into(), uid: format!("uid-{name}"), name },
        node: "n".into(),
        ..Pod::default()
    }
}

pub(super) fn node() -> Node {
    let unknown = Condition { kind: "Ready".into(), status: ConditionStatus::Unknown, ..Condition::default() };
    Node {
        name: "n".into(),
        uid: "n-uid".into(),
        resource_version: "5".into(),
        boot_id: "old".into(),
        conditions: vec![unknown],
        ..Node::default()
    }
}

pub(super) fn lease() -> LeaseView {
    LeaseView {
        resource_version: "3".into(),
        holder: "n".into(),
        renewed: Some(Timestamp::UNIX_EPOCH),
        duration: Duration::from_secs(40),
        change_seen_at: Moment::default(),
    }
}

/// What the API server gives to the record.
pub(super) fn stored() -> Meta {
    Meta { name: "n".into(), uid: "f".into(), resource_version: "9".into(), ..Meta::default() }
}

/// As it is stored when the act is about to begin.
fn record(op: IntendedOp, at: Timestamp, pods: usize) -> NodeFence {
    let pods = u32::try_from(pods).expect("a few");
    let off =
        Confirmation { at, reads: 2, by: vec!["ipmi".into()], boot_id: "old".into(), already_off: false, epoch: EPOCH };
    NodeFence {
        metadata: stored(),
        spec: NodeFenceSpec { node_name: "n".into(), node_uid: "n-uid".into(), ..NodeFenceSpec::default() },
        status: NodeFenceStatus {
            intent: Some(Intent { op, epoch: EPOCH, at, pods }),
            boot_id: "old".into(),
            lease_renewed: lease().renewed,
            off: (op != IntendedOp::PowerOff).then_some(off),
            ..NodeFenceStatus::default()
        },
    }
}

impl Stage {
    /// Nothing forbids it, and its BMC reports Off.
    pub(super) async fn of(op: IntendedOp) -> Self {
        Self::with_pods(op, 3, |_, _, _| {}).await
    }

    pub(super) async fn at(op: IntendedOp, happens: At) -> Self {
        Self::with_pods(op, 3, happens).await
    }

    pub(super) async fn with_pods(op: IntendedOp, pods: usize, happens: At) -> Self {
        let clock = Clock::counted(Timestamp::constant(1_800_000_000, 0));
        let cache = Cache::new(clock, Limits::default());
        cache.apply_lease(LeaseKind::Kubelet, "n", lease());
        cache.apply_node(node());
        sleep(SILENT).await;
        let fence = record(op, clock.wall(), pods);
        cache.apply_fence(fence.clone());
        let truth = Truth {
            node: Some(node()),
            fence: Some(fence.clone()),
            lease: Some(lease()),
            pods: (0..pods).map(pod).collect(),
            power: [PowerState::Off].into(),
            ..Truth::default()
        };
        let stage = Self { double: Double::new(truth, Box::new(happens)), cache, clock, fence, term: TERM };
        stage.decided(Moment::default());
        stage.wrote_handover();
        stage
    }

    /// What is begun is of this decision, and the Lease does not have it yet.
    pub(super) fn decided_anew(&self) {
        self.decided(self.clock.moment());
    }

    fn decided(&self, at: Moment) {
        self.cache.leave(Decided { at, handover: Handover::default(), pods: BTreeMap::new() });
    }

    pub(super) fn wrote_handover(&self) {
        self.cache.decided_at().into_iter().for_each(|at| self.cache.wrote_handover(at));
    }

    /// The record as a decision opens it.
    pub(super) fn to_open(&self) -> NodeFence {
        NodeFence { metadata: Meta { name: "n".into(), ..Meta::default() }, ..self.fence.clone() }
    }

    /// The record as another one, in the store and in the decision.
    pub(super) fn rewrite(&mut self, change: impl FnOnce(&mut NodeFence)) {
        change(&mut self.fence);
        self.double.truth.borrow_mut().fence = Some(self.fence.clone());
        self.cache.with(|snapshot| snapshot.fences.insert("n".into(), self.fence.clone()));
    }

    pub(super) fn bmc(&self, reports: impl IntoIterator<Item = PowerState>) {
        self.double.truth.borrow_mut().power = reports.into_iter().collect();
    }

    /// The act of the record, of all pods.
    pub(super) async fn perform(&self) -> Outcome {
        let op = match self.fence.status.intent.as_ref().map(|intent| intent.op) {
            Some(IntendedOp::PowerOff) | None => IrreversibleOp::PowerOff,
            Some(IntendedOp::PowerOn) => IrreversibleOp::PowerOn,
            Some(IntendedOp::Reap) => IrreversibleOp::Reap,
            Some(IntendedOp::Release) => IrreversibleOp::Release { pods: self.pods() },
        };
        self.perform_op(&op).await
    }

    pub(super) fn pods(&self) -> Vec<PodRef> {
        self.double.truth.borrow().pods.iter().map(|pod| pod.at.clone()).collect()
    }

    pub(super) async fn perform_op(&self, op: &IrreversibleOp) -> Outcome {
        let executor = Executor::new(&self.double, &self.double, &self.cache, self.clock, Settings::default());
        let (_open, until) = watch::channel(self.clock.moment().plus(self.term));
        executor.perform(&self.fence, &Op::from(op.clone()), &LeaseDeadline::new(EPOCH, until)).await
    }

    /// Calls by their names alone.
    pub(super) fn names(&self) -> Vec<String> {
        let calls = self.double.calls();
        calls.iter().filter_map(|(_, call)| call.split(' ').next().map(str::to_owned)).collect()
    }

    pub(super) fn times(&self, name: &str) -> Vec<Duration> {
        let calls = self.double.calls();
        calls.iter().filter(|(_, call)| call.split(' ').next() == Some(name)).map(|(at, _)| *at).collect()
    }

    /// Calls that cannot be taken back.
    pub(super) fn acts(&self) -> Vec<String> {
        let is_act = |call: &&String| ["off", "on", "reap", "mark", "delete"].contains(&call.as_str());
        self.names().iter().filter(is_act).cloned().collect()
    }
}
