//! One machine, its Node, its BMC and its record, with everything that can be reported wrong about them.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use super::parts::{lease, node, plan, pod, policy, reading};
use crate::{
    action::{Action, Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::{
        CORDONED_BY, OUT_OF_SERVICE, STORAGE_RELEASED,
        fence::{Blocker, Confirmation, DrainReport, NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
        policy::StepSpec,
    },
    facts::{Attachment, ConditionStatus, LeaseView, Node, Pod},
    fence::{FenceInput, GuardBlockers, Next, PredicateState, out_of_service, post_off_activity::PostOffActivity},
    policy::Policy,
    snapshot::{Gathered, PowerState},
    time::{Moment, Now},
};

pub(super) const NODE: &str = "worker-1";

/// The truth, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Fixture {
    pub(super) fence: NodeFence,
    pub(super) node: Option<Node>,
    pub(super) kubelet: Option<LeaseView>,
    pub(super) gathered: Gathered,
    /// What records before this one denied.
    pub(super) denied_before: BTreeSet<String>,
    /// The node's pods, if the controller lists them again each round.
    pub(super) listed: Option<Vec<Pod>>,
    /// A drain has left no pod, and none has come since.
    pub(super) emptied: bool,
    pub(super) policy: Option<Policy>,
    pub(super) predicate: PredicateState,
    pub(super) guard_blockers: GuardBlockers,
    pub(super) superseded_by: Option<&'static str>,
    pub(super) entered: Moment,
    pub(super) post_off_activity: Option<PostOffActivity>,
    pub(super) epoch: u64,
    pub(super) now: Now,
    /// The machine itself.
    pub(super) powered: bool,
    /// Its kubelet runs and reaches the API server.
    pub(super) alive: bool,
    pub(super) boots: u32,
    pub(super) powered_since: Moment,
    /// Its BMC reports Off and turns nothing off.
    pub(super) lies: bool,
    pub(super) claims_off: bool,
    /// What is turned off is its storage: the machine does as it did.
    pub(super) storage: bool,
    /// A person has uncordoned it and cordoned it again, and left our mark.
    pub(super) cordoned_by_hand: bool,
    /// Volumes that are attached.
    pub(super) attached: Vec<Attachment>,
}

impl Fixture {
    pub(super) fn new(steps: Vec<StepSpec>) -> Self {
        let now =
            Now { moment: Moment(Duration::from_secs(1000)), wall: Timestamp::from_second(1_800_000_000).unwrap() };
        let spec = NodeFenceSpec {
            node_name: NODE.into(),
            node_uid: "uid-1".into(),
            policy: "dead".into(),
            cause: String::new(),
            steps,
            abort: false,
        };
        Self {
            fence: NodeFence { metadata: Default::default(), spec, status: NodeFenceStatus::default() },
            node: Some(node(now)),
            kubelet: Some(lease(now)),
            gathered: Gathered { methods: Some(Ok(plan())), ..Gathered::default() },
            denied_before: BTreeSet::new(),
            listed: None,
            emptied: false,
            policy: Some(policy()),
            predicate: PredicateState::Yes,
            guard_blockers: GuardBlockers::default(),
            superseded_by: None,
            entered: now.moment,
            post_off_activity: None,
            epoch: 7,
            now,
            powered: true,
            alive: true,
            boots: 1,
            powered_since: now.moment,
            lies: false,
            claims_off: false,
            storage: false,
            cordoned_by_hand: false,
            attached: Vec::new(),
        }
    }

    pub(super) fn input(&self) -> FenceInput<'_> {
        FenceInput {
            fence: &self.fence,
            node: self.node.as_ref(),
            kubelet_lease: self.kubelet.as_ref(),
            agent_lease: None,
            gathered: &self.gathered,
            denied_before: Some(&self.denied_before),
            policy: self.policy.as_ref(),
            predicate: self.predicate,
            guard_blockers: &self.guard_blockers,
            superseded_by: self.superseded_by,
            entered: self.entered,
            post_off_activity: self.post_off_activity.as_ref(),
            epoch: self.epoch,
            now: self.now,
        }
    }

    pub(super) fn next(&self) -> Next {
        super::super::next(&self.input())
    }

    /// Its phase and what blocks it, whether that is written already or only waited for.
    pub(super) fn blocked(&self) -> (Phase, Vec<Blocker>) {
        match self.next() {
            Next::Act(Action::Save { fence, .. }) => (fence.status.phase, fence.status.blocked_by),
            Next::Wait { blockers, .. } => (self.phase(), blockers),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.fence.status.phase
    }

    /// What is stored is seen at once.
    pub(super) fn store(&mut self, fence: NodeFence) {
        let marks = |fence: &NodeFence| (fence.status.phase, fence.status.policy_step, fence.status.drain_begun_at);
        if marks(&fence) != marks(&self.fence) {
            self.entered = self.now.moment;
        }
        self.fence = fence;
        self.watch();
    }

    fn watch(&mut self) {
        let (node, lease) = (self.node.as_ref(), self.kubelet.as_ref());
        self.post_off_activity =
            PostOffActivity::observe(self.post_off_activity.as_ref(), &self.fence, node, lease, self.now.moment);
    }

    pub(super) fn pass(&mut self, span: Duration) {
        self.now.moment = self.now.moment.plus(span);
        self.now.wall += span;
        let booted = self.now.moment.since(self.powered_since) >= Duration::from_secs(30);
        if (self.powered || self.storage) && self.alive && booted {
            self.heartbeat();
        }
        let stale = self.kubelet.as_ref().is_none_or(|lease| lease.stale_for(self.now.moment).as_secs() > 40);
        if stale {
            self.ready(ConditionStatus::Unknown);
        }
        self.look();
        self.watch();
    }

    fn heartbeat(&mut self) {
        let (wall, moment, boot) = (self.now.wall, self.now.moment, self.boot_id());
        if let Some(lease) = &mut self.kubelet {
            lease.renewed = Some(wall);
            lease.change_seen_at = moment;
        }
        if let Some(node) = &mut self.node {
            node.boot_id = boot;
        }
        self.ready(ConditionStatus::True);
    }

    fn ready(&mut self, status: ConditionStatus) {
        let now = self.now.moment;
        let ready = self.node.as_mut().map(|node| &mut node.conditions[0]);
        if let Some(ready) = ready.filter(|ready| ready.status != status) {
            ready.status = status;
            ready.change_seen_at = now;
        }
    }

    pub(super) fn boot_id(&self) -> String {
        format!("boot-{}", self.boots)
    }

    /// Everything that is gathered, truthfully.
    pub(super) fn look(&mut self) {
        let at = self.now.moment;
        self.gathered.power.push(reading(at, self.state()));
        let surplus = self.gathered.power.len().saturating_sub(4);
        self.gathered.power.drain(..surplus);
        let is_empty = self.emptied || self.fence.status.released > 0;
        let pods = if is_empty { Vec::new() } else { vec![pod("db-0")] };
        self.gathered.pods = Some((at, pods));
        self.gathered.attachments = Some((at, self.attached.clone()));
    }

    pub(super) fn state(&self) -> PowerState {
        if self.powered && !self.claims_off { PowerState::On } else { PowerState::Off }
    }

    pub(super) fn turn(&mut self, on: bool) {
        if on && !self.powered && !self.storage {
            self.boot();
        }
        self.powered = on;
        self.claims_off = false;
    }

    pub(super) fn boot(&mut self) {
        self.boots += 1;
        self.powered_since = self.now.moment;
        self.alive = true;
    }

    /// Does it, and it works.
    pub(super) fn perform(&mut self, op: &Op) -> Outcome {
        let Some(node) = &mut self.node else { return Err(Failed::Gone(NODE.into())) };
        Ok(match op {
            Op::Reversible(ReversibleOp::Taint(taint)) if super::super::begin::has(&node.taints, taint) => {
                Done::NotOurs
            }
            Op::Reversible(ReversibleOp::Taint(taint)) => {
                node.taints.push(taint.clone());
                Done::Yes
            }
            Op::Reversible(ReversibleOp::Untaint(taint))
                if super::super::begin::has(&node.taints, taint) && !node.taints.contains(taint) =>
            {
                Done::NotOurs
            }
            Op::Reversible(ReversibleOp::Untaint(taint)) => {
                node.taints.retain(|other| other != taint);
                Done::Yes
            }
            Op::Reversible(ReversibleOp::Cordon) if node.unschedulable => Done::NotOurs,
            Op::Reversible(ReversibleOp::Cordon) => {
                node.unschedulable = true;
                node.annotations.insert(CORDONED_BY.into(), "dead".into());
                Done::Yes
            }
            Op::Reversible(ReversibleOp::Uncordon) if node.annotations.remove(CORDONED_BY).is_none() => Done::NotOurs,
            Op::Reversible(ReversibleOp::Uncordon) if self.cordoned_by_hand => Done::NotOurs,
            Op::Reversible(ReversibleOp::Uncordon) => {
                node.unschedulable = false;
                Done::Yes
            }
            Op::Reversible(ReversibleOp::Drain(_)) => {
                self.emptied = true;
                Done::Drain(DrainReport { done: true, refused_evictions: Vec::new(), left: 0 })
            }
            Op::Reversible(ReversibleOp::ReadPower { times }) => Done::Power(vec![self.state(); *times as usize]),
            Op::Irreversible(IrreversibleOp::PowerOff) => self.turned_off(),
            Op::Irreversible(IrreversibleOp::PowerOn) => {
                self.turn(true);
                Done::Yes
            }
            Op::Reversible(ReversibleOp::Methods(_)) | Op::Irreversible(IrreversibleOp::Reap) => Done::Yes,
            Op::Reversible(ReversibleOp::ForgetRelease) => {
                node.annotations.remove(STORAGE_RELEASED);
                Done::Yes
            }
            Op::Irreversible(IrreversibleOp::Release { pods }) => {
                if self.storage {
                    node.annotations.insert(STORAGE_RELEASED.into(), node.boot_id.clone());
                } else if node.taint(OUT_OF_SERVICE).is_none() {
                    node.taints.push(out_of_service());
                }
                Done::Released(u32::try_from(pods.len()).unwrap())
            }
        })
    }

    fn turned_off(&mut self) -> Done {
        if self.lies {
            self.claims_off = true;
        } else {
            self.turn(false);
        }
        Done::Off(Confirmation {
            at: self.now.wall,
            reads: 2,
            by: vec!["ipmi".into()],
            boot_id: String::new(),
            already_off: false,
            epoch: self.epoch,
        })
    }
}
