//! A new boot that begins while the power of the old one is being cut: power that comes back by itself, or a person's reboot.
//! Nothing of the old boot runs any more, whatever the BMC reports, and nothing is waited for but the new one.

use super::{interrupt::own_node_of, restore::are_different_boots};
use crate::{
    api::fence::NodeFence,
    facts::{LeaseView, Node, kubelet},
    time::Moment,
};

/// What was seen of a new boot since the act began.
#[derive(Debug, Clone, Copy)]
pub struct NewBoot {
    began: Moment,
    /// When the Lease was first seen to be renewed by it.
    renewed: Option<Moment>,
}

impl NewBoot {
    #[must_use]
    pub fn watched_from(began: Moment) -> Self {
        Self { began, renewed: None }
    }

    /// Whether it is alive: the Node names it, and its kubelet has renewed the Lease twice. Once may have been right before
    /// the power went: a boot that began a moment before the cut, and reported itself after it.
    pub fn is_alive(&mut self, fence: &NodeFence, node: Option<&Node>, lease: Option<&LeaseView>) -> bool {
        let names_another =
            own_node_of(fence, node).is_some_and(|node| are_different_boots(&fence.status.boot_id, &node.boot_id));
        // What is only cut off its storage is off by no boot.
        if !names_another || fence.status.storage_only.is_some() {
            self.renewed = None;
            return false;
        }
        let Some(last) = lease.map(|lease| lease.change_seen_at).filter(|last| *last > self.began) else {
            return false;
        };
        last.since(*self.renewed.get_or_insert(last)) >= kubelet::LEAST_RENEWAL_GAP
    }
}
