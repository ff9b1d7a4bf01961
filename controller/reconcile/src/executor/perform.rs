//! Performs one action; its end is an outcome that the state machine of a fence understands.

use std::time::Duration;

use nodewell_remediation::{
    action::{Action, Done, Failed, IrreversibleOp, NodeEvent, Op, Outcome, ReversibleOp},
    api::fence::NodeFence,
    facts::Node,
    snapshot::{FenceScope, PowerState},
};
use tokio::time::sleep;

use super::Executor;
use crate::{api_error::ApiError, audit::Audited, cluster::Cluster, lease_deadline::LeaseDeadline, power::Power};

/// Between two reads of one BMC: a reading that was cached is not two readings.
pub(super) const BETWEEN_READS: Duration = Duration::from_secs(1);

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    pub(super) async fn act(&self, action: Action, lease_deadline: LeaseDeadline) -> Vec<NodeEvent> {
        match action {
            Action::Open(fence) => self.open(*fence, &lease_deadline).await,
            Action::Save { fence, why } => self.save(*fence, why, &lease_deadline).await,
            Action::Close { fence, why } => {
                self.close(*fence, why, &lease_deadline).await;
                Vec::new()
            }
            Action::Perform { fence, op } => self.operate(&fence, &op, &lease_deadline).await,
        }
    }

    async fn operate(&self, fence: &NodeFence, op: &Op, lease_deadline: &LeaseDeadline) -> Vec<NodeEvent> {
        let begun = self.clock.moment();
        if let Op::Irreversible(op) = op {
            self.audit(fence, Audited::begins(op, fence));
        }
        let outcome = self.perform(fence, op, lease_deadline).await;
        if let Op::Irreversible(op) = op {
            self.audit(fence, Audited::ends(op, fence, &outcome));
        }
        self.cache.stepped(op, &outcome, self.clock.moment().since(begun));
        tracing::info!(node = fence.spec.node_name, epoch = lease_deadline.epoch, ?op, ?outcome, "operation");
        self.look_at_node(fence, op).await;
        let events = self.save_outcome(fence, op, &outcome, lease_deadline).await;
        if outcome.is_err() {
            sleep(self.settings.rest).await;
        }
        events
    }

    /// What we changed of the Node is there before the next decision, which might do it again otherwise.
    async fn look_at_node(&self, fence: &NodeFence, op: &Op) {
        if changes_node(op)
            && let Ok(node) = self.node(fence).await
        {
            self.cache.apply_node(node);
        }
    }

    pub(super) async fn perform(&self, fence: &NodeFence, op: &Op, lease_deadline: &LeaseDeadline) -> Outcome {
        match op {
            Op::Reversible(op) => self.reversible(fence, op, lease_deadline).await,
            Op::Irreversible(op) => self.irreversible(fence, op, lease_deadline).await,
        }
    }

    /// No await lies between the last look and the act.
    async fn irreversible(&self, fence: &NodeFence, op: &IrreversibleOp, lease_deadline: &LeaseDeadline) -> Outcome {
        let look = || self.recheck(fence, op.intended(), lease_deadline);
        match op {
            IrreversibleOp::PowerOff => self.power_off(fence, &look().await?, lease_deadline).await,
            IrreversibleOp::PowerOn => {
                let scope = FenceScope::of(&fence.status);
                self.power.on(&look().await?, &scope, lease_deadline).await.map(|_| Done::Yes)
            }
            IrreversibleOp::Reap => self.power.reap(&look().await?, lease_deadline).await.map(|()| Done::Yes),
            // It looks right before it marks the Node.
            IrreversibleOp::Release { pods } => self.release(fence, pods, lease_deadline).await,
        }
    }

    async fn reversible(&self, fence: &NodeFence, op: &ReversibleOp, lease_deadline: &LeaseDeadline) -> Outcome {
        let (node, uid) = (&fence.spec.node_name, &fence.spec.node_uid);
        match op {
            ReversibleOp::Taint(taint) => ours(self.write(self.cluster.taint(node, uid, taint)).await),
            ReversibleOp::Untaint(taint) => ours(self.write(self.cluster.untaint(node, uid, taint)).await),
            ReversibleOp::Cordon => self.cordon(fence).await,
            ReversibleOp::Uncordon => self.uncordon(fence).await,
            ReversibleOp::ForgetRelease => {
                let answer = self.write(self.cluster.unmark_release(node, uid)).await;
                answer.map(|()| Done::Yes).map_err(failed)
            }
            ReversibleOp::Drain(rules) => self.drain(fence, rules, lease_deadline.epoch).await,
            ReversibleOp::ReadPower { times } => self.read_times(fence, *times).await,
            ReversibleOp::Methods(names) => self.methods(fence, names, lease_deadline).await,
        }
    }

    /// Many nodes fail at once and each wants this soon: what the watch saw is condition enough, and the answer is the Node.
    pub(super) async fn cordon(&self, fence: &NodeFence) -> Outcome {
        let (name, uid, by) = (&fence.spec.node_name, &fence.spec.node_uid, &fence.spec.policy);
        let seen = self.seen(name).filter(|node| node.uid == *uid && !node.unschedulable);
        let (is_ours, node) = match seen {
            Some(seen) => self.write(self.cluster.cordon_seen(&seen, by)).await.map_err(failed)?,
            None => {
                (self.write(self.cluster.cordon(name, uid, by)).await.map_err(failed)?, self.node(fence).await.ok())
            }
        };
        node.into_iter().filter(|node| node.uid == *uid).for_each(|node| self.cache.apply_node(node));
        ours(Ok(is_ours))
    }

    async fn read_times(&self, fence: &NodeFence, times: u32) -> Outcome {
        let node = self.node(fence).await?;
        let scope = self.scope_of(fence);
        let mut states = Vec::new();
        let began = self.clock.moment();
        for time in 0..times {
            if time > 0 {
                sleep(BETWEEN_READS).await;
            }
            states.push(self.read_power(&node, &scope, began).await);
        }
        // Another caller may have asked in between, and got another answer.
        states.extend(self.was_read_on(&node.name, began).then_some(PowerState::On));
        Ok(Done::Power(states))
    }

    /// The Node that the record was opened for, as it is stored.
    pub(super) async fn node(&self, fence: &NodeFence) -> Result<Node, Failed> {
        let name = &fence.spec.node_name;
        match self.read_node(name).await {
            Ok(Some(node)) if node.uid == fence.spec.node_uid => Ok(node),
            Ok(Some(_)) => Err(Failed::Gone(format!("Node {name} is another one now"))),
            Ok(None) => Err(Failed::Gone(format!("Node {name} was deleted"))),
            Err(error) => Err(Failed::NotBegun(format!("Node {name} could not be read: {error}"))),
        }
    }
}

/// A release taints it too.
fn changes_node(op: &Op) -> bool {
    match op {
        Op::Reversible(op) => match op {
            ReversibleOp::Taint(_)
            | ReversibleOp::Untaint(_)
            | ReversibleOp::Uncordon
            | ReversibleOp::ForgetRelease
            | ReversibleOp::Methods(_) => true,
            // A cordon brings the Node with its answer.
            ReversibleOp::Cordon | ReversibleOp::Drain(_) | ReversibleOp::ReadPower { .. } => false,
        },
        Op::Irreversible(op) => match op {
            IrreversibleOp::Release { .. } => true,
            IrreversibleOp::PowerOff | IrreversibleOp::PowerOn | IrreversibleOp::Reap => false,
        },
    }
}

pub(super) fn ours(answer: Result<bool, ApiError>) -> Outcome {
    answer.map(|ours| if ours { Done::Yes } else { Done::NotOurs }).map_err(failed)
}

pub(super) fn failed(error: ApiError) -> Failed {
    match error {
        ApiError::NotFound => Failed::Gone("the Node is not there any more, or is another one".into()),
        ApiError::NoAnswer(_) => Failed::InDoubt(error.to_string()),
        ApiError::Conflict(_) | ApiError::EvictionRefused { .. } | ApiError::Refused { .. } => {
            Failed::Refused(error.to_string())
        }
    }
}
