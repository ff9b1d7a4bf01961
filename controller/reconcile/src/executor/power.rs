//! Power off: what the agents report is only a claim; two reads are the proof, or another boot of the machine.

use std::time::Duration;

use nodewell_remediation::{
    action::{Done, Failed, Outcome},
    api::fence::{Confirmation, NodeFence},
    facts::Node,
    fence::NewBoot,
    snapshot::{FenceScope, PowerState},
};
use tokio::time::sleep;

use super::{Executor, perform::BETWEEN_READS};
use crate::{cluster::Cluster, lease_deadline::LeaseDeadline, power::Power};

/// Reads that have to return Off, one right after the other.
const PROOF: u32 = 2;
/// Between two looks at what the watch saw of the Node.
const LOOK: Duration = Duration::from_millis(500);

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    /// A machine whose power comes back by itself is not waited for until it is off, nor cut off once more by an agent that
    /// tries for long.
    pub(super) async fn power_off(&self, fence: &NodeFence, node: &Node, lease_deadline: &LeaseDeadline) -> Outcome {
        tokio::select! {
            biased;
            outcome = self.cut_power(fence, node, lease_deadline) => outcome,
            () = self.boots_anew(fence) => Ok(Done::Booted),
        }
    }

    /// Returns when another boot than the one that is to end is alive.
    async fn boots_anew(&self, fence: &NodeFence) {
        let name = &fence.spec.node_name;
        let mut boot = NewBoot::watched_from(self.clock.moment());
        let mut is_alive = || {
            self.cache
                .with(|snapshot| boot.is_alive(fence, snapshot.nodes.get(name), snapshot.kubelet_leases.get(name)))
        };
        while !is_alive() {
            sleep(LOOK).await;
        }
    }

    async fn cut_power(&self, fence: &NodeFence, node: &Node, lease_deadline: &LeaseDeadline) -> Outcome {
        let scope = FenceScope::of(&fence.status);
        let by = self.power.off(node, &scope, lease_deadline).await?;
        let deadline = self.clock.moment().plus(self.settings.off_within);
        let ordered = self.clock.moment();
        let (mut reads, mut since) = (0, ordered);
        loop {
            let asked = self.clock.moment();
            let is_off = self.read_power(node, &scope, ordered).await == PowerState::Off;
            // A reading of On in between breaks the proof, whichever caller asked for it.
            if !is_off || self.was_read_on(&node.name, since) {
                (reads, since) = (0, asked);
            }
            reads += u32::from(is_off && !self.was_read_on(&node.name, since));
            if reads >= PROOF {
                return Ok(Done::Off(self.confirmation(fence, by, lease_deadline.epoch)));
            }
            if self.clock.moment() >= deadline {
                return Err(Failed::Timeout(self.settings.off_within));
            }
            sleep(BETWEEN_READS).await;
        }
    }

    fn confirmation(&self, fence: &NodeFence, by: Vec<String>, epoch: u64) -> Confirmation {
        let boot_id = fence.status.boot_id.clone();
        Confirmation { at: self.clock.wall(), reads: PROOF, by, boot_id, already_off: false, epoch }
    }
}
