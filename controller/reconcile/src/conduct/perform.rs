//! One action, done; each step's end is an outcome that the automaton understands.

use std::time::Duration;

use nodewell_remedy::{
    action::{Action, Done, Failed, Outcome, Step, Tell},
    api::fence::NodeFence,
    facts::Node,
};
use tokio::time::sleep;

use super::Conductor;
use crate::{cluster::Cluster, failure::Failure, lifeline::Lifeline, power::Power};

/// Between two reads of one BMC: a word that was cached is not two words.
pub(super) const BETWEEN_READS: Duration = Duration::from_secs(1);

impl<C: Cluster, P: Power> Conductor<'_, C, P> {
    pub(super) async fn act(&self, action: Action, life: Lifeline) -> Vec<Tell> {
        match action {
            Action::Open(fence) => self.open(*fence, &life).await,
            Action::Save { fence, why } => self.save(*fence, why).await,
            Action::Close { fence, why } => self.close(*fence, why).await,
            Action::Step { fence, step } => self.step(&fence, &step, &life).await,
        }
    }

    async fn step(&self, fence: &NodeFence, step: &Step, life: &Lifeline) -> Vec<Tell> {
        let begun = self.clock.moment();
        let outcome = self.perform(fence, step, life).await;
        self.world.stepped(step, &outcome, self.clock.moment().since(begun));
        tracing::info!(node = fence.spec.node_name, epoch = life.epoch, ?step, ?outcome, "step");
        self.look_at_node(fence, step).await;
        let words = self.keep(fence, step, &outcome, life).await;
        if outcome.is_err() {
            sleep(self.settings.rest).await;
        }
        words
    }

    /// What we changed of the Node is there before the next decision, which might do it again otherwise.
    async fn look_at_node(&self, fence: &NodeFence, step: &Step) {
        let changes = matches!(step, Step::Taint(_) | Step::Untaint(_) | Step::Uncordon | Step::Methods(_));
        if changes && let Ok(node) = self.node(fence).await {
            self.world.apply_node(node);
        }
    }

    async fn perform(&self, fence: &NodeFence, step: &Step, life: &Lifeline) -> Outcome {
        if let Some(act) = step.irreversible() {
            let node = self.recheck(fence, act, life).await?;
            // No await between the last check and the act.
            return self.irreversible(fence, step, &node, life).await;
        }
        self.reversible(fence, step, life).await
    }

    async fn irreversible(&self, fence: &NodeFence, step: &Step, node: &Node, life: &Lifeline) -> Outcome {
        match step {
            Step::PowerOff => self.power_off(fence, node, life).await,
            Step::PowerOn => self.power.on(node, life).await.map(|_| Done::Yes),
            Step::Release { pods } => self.release(fence, node, pods, life).await,
            _ => self.power.reap(node, life).await.map(|()| Done::Yes),
        }
    }

    async fn reversible(&self, fence: &NodeFence, step: &Step, life: &Lifeline) -> Outcome {
        let (node, uid) = (&fence.spec.node_name, &fence.spec.node_uid);
        match step {
            Step::Taint(taint) => ours(self.write(self.cluster.taint(node, uid, taint)).await),
            Step::Untaint(taint) => ours(self.write(self.cluster.untaint(node, uid, taint)).await),
            Step::Cordon => self.cordon(fence).await,
            Step::Uncordon => self.uncordon(fence).await,
            Step::Drain(rules) => self.drain(fence, rules, life.epoch).await,
            Step::ReadPower { times } => self.read_times(&self.node(fence).await?, *times).await,
            Step::Methods(names) => self.methods(fence, names, life).await,
            _ => Err(Failed::NotBegun("it cannot be taken back and was not checked".into())),
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
        node.into_iter().filter(|node| node.uid == *uid).for_each(|node| self.world.apply_node(node));
        ours(Ok(is_ours))
    }

    async fn read_times(&self, node: &Node, times: u32) -> Outcome {
        let mut states = Vec::new();
        for time in 0..times {
            if time > 0 {
                sleep(BETWEEN_READS).await;
            }
            states.push(self.read_power(node).await);
        }
        Ok(Done::Power(states))
    }

    /// The Node that the record was opened for, as it is stored.
    pub(super) async fn node(&self, fence: &NodeFence) -> Result<Node, Failed> {
        let name = &fence.spec.node_name;
        match self.cluster.node(name).await {
            Ok(Some(node)) if node.uid == fence.spec.node_uid => Ok(node),
            Ok(Some(_)) => Err(Failed::Gone(format!("Node {name} is another one now"))),
            Ok(None) => Err(Failed::Gone(format!("Node {name} was deleted"))),
            Err(failure) => Err(Failed::NotBegun(format!("Node {name} could not be read: {failure}"))),
        }
    }
}

pub(super) fn ours(answer: Result<bool, Failure>) -> Outcome {
    answer.map(|ours| if ours { Done::Yes } else { Done::NotOurs }).map_err(failed)
}

pub(super) fn failed(failure: Failure) -> Failed {
    match failure {
        Failure::NotFound => Failed::Gone("the Node is not there any more, or is another one".into()),
        Failure::NoAnswer(_) => Failed::InDoubt(failure.to_string()),
        _ => Failed::Refused(failure.to_string()),
    }
}
