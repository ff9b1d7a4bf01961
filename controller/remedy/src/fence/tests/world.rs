//! One machine, its Node, its BMC and its record, with everything that can be told wrong about them.

use std::time::Duration;

use jiff::Timestamp;

use super::parts::{lease, node, plan, pod, policy};
use crate::{
    action::{Done, Failed, Outcome, Step},
    api::{
        CORDONED_BY,
        fence::{Confirmation, DrainReport, NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
        policy::StepSpec,
    },
    facts::{LeaseView, Node, Truth},
    fence::{Case, Next, Permits, Wanted},
    policy::Policy,
    snapshot::{Gathered, PowerReading, PowerState},
    time::{Moment, Now},
};

pub(super) const NODE: &str = "worker-1";

/// The truth, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) fence: NodeFence,
    pub(super) node: Option<Node>,
    pub(super) kubelet: Option<LeaseView>,
    pub(super) gathered: Gathered,
    pub(super) policy: Option<Policy>,
    pub(super) wanted: Wanted,
    pub(super) permits: Permits,
    pub(super) entered: Moment,
    pub(super) epoch: u64,
    pub(super) now: Now,
    /// The machine itself.
    pub(super) powered: bool,
    /// Its kubelet runs and reaches the API server.
    pub(super) alive: bool,
    pub(super) boots: u32,
    pub(super) powered_since: Moment,
    /// Its BMC says Off and turns nothing off.
    pub(super) lies: bool,
    pub(super) claims_off: bool,
    /// What is turned off is its storage: the machine does as it did.
    pub(super) storage: bool,
    /// A person has uncordoned it and cordoned it again, and left our mark.
    pub(super) cordoned_by_hand: bool,
}

impl World {
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
            policy: Some(policy()),
            wanted: Wanted::Yes,
            permits: Permits::default(),
            entered: now.moment,
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
        }
    }

    pub(super) fn case(&self) -> Case<'_> {
        Case {
            fence: &self.fence,
            node: self.node.as_ref(),
            kubelet_lease: self.kubelet.as_ref(),
            agent_lease: None,
            gathered: &self.gathered,
            policy: self.policy.as_ref(),
            wanted: self.wanted,
            permits: &self.permits,
            entered: self.entered,
            epoch: self.epoch,
            now: self.now,
        }
    }

    pub(super) fn next(&self) -> Next {
        super::super::next(&self.case())
    }

    pub(super) fn phase(&self) -> Phase {
        self.fence.status.phase
    }

    /// What is stored is seen at once.
    pub(super) fn store(&mut self, fence: NodeFence) {
        if fence.status.phase != self.fence.status.phase {
            self.entered = self.now.moment;
        }
        self.fence = fence;
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
            self.ready(Truth::Unknown);
        }
        self.look();
    }

    fn heartbeat(&mut self) {
        let (wall, moment, boot) = (self.now.wall, self.now.moment, self.boot_id());
        if let Some(lease) = &mut self.kubelet {
            lease.renewed = Some(wall);
            lease.seen = moment;
        }
        if let Some(node) = &mut self.node {
            node.boot_id = boot;
        }
        self.ready(Truth::True);
    }

    fn ready(&mut self, status: Truth) {
        if let Some(node) = &mut self.node {
            node.conditions[0].status = status;
        }
    }

    pub(super) fn boot_id(&self) -> String {
        format!("boot-{}", self.boots)
    }

    /// Everything that is gathered, truthfully.
    pub(super) fn look(&mut self) {
        let at = self.now.moment;
        self.gathered.power.push(PowerReading { at, state: self.state() });
        let surplus = self.gathered.power.len().saturating_sub(4);
        self.gathered.power.drain(..surplus);
        let pods = if self.fence.status.released > 0 { Vec::new() } else { vec![pod("db-0")] };
        self.gathered.pods = Some((at, pods));
        self.gathered.attachments = Some((at, Vec::new()));
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
    pub(super) fn perform(&mut self, step: &Step) -> Outcome {
        let Some(node) = &mut self.node else { return Err(Failed::Gone(NODE.into())) };
        Ok(match step {
            Step::Taint(taint) if super::super::begin::has(&node.taints, taint) => Done::NotOurs,
            Step::Taint(taint) => {
                node.taints.push(taint.clone());
                Done::Yes
            }
            Step::Untaint(taint) if super::super::begin::has(&node.taints, taint) && !node.taints.contains(taint) => {
                Done::NotOurs
            }
            Step::Untaint(taint) => {
                node.taints.retain(|other| other != taint);
                Done::Yes
            }
            Step::Cordon if node.unschedulable => Done::NotOurs,
            Step::Cordon => {
                node.unschedulable = true;
                node.annotations.insert(CORDONED_BY.into(), "dead".into());
                Done::Yes
            }
            Step::Uncordon if node.annotations.remove(CORDONED_BY).is_none() => Done::NotOurs,
            Step::Uncordon if self.cordoned_by_hand => Done::NotOurs,
            Step::Uncordon => {
                node.unschedulable = false;
                Done::Yes
            }
            Step::Drain(_) => Done::Drain(DrainReport { done: true, blocked: Vec::new(), left: 0 }),
            Step::ReadPower { times } => Done::Power(vec![self.state(); *times as usize]),
            Step::PowerOff => self.turned_off(),
            Step::PowerOn => {
                self.turn(true);
                Done::Yes
            }
            Step::Methods(_) | Step::Reap => Done::Yes,
            Step::Release { pods } => Done::Released(u32::try_from(pods.len()).unwrap()),
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
            passive: false,
            epoch: self.epoch,
        })
    }
}
