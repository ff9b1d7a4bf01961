//! Signs of life of a boot that was confirmed to have ended. If it lives on, its BMC lied, or is another machine's.
//!
//! Every time is one of this controller's own clock and of what it saw itself: another leader's clock, and the order in
//! which the record was written again, prove nothing here.

use std::time::Duration;

use jiff::Timestamp;

use super::FenceInput;
use crate::{
    api::fence::NodeFence,
    facts::{LeaseView, Node, kubelet},
    time::Moment,
};

/// A renewal may be seen this much later than it was made.
const LATE: Duration = Duration::from_secs(15);
/// Two renewals of one kubelet are hardly nearer to each other ([`kubelet::RENEWS`]).
const IN_TURN: Duration = Duration::from_secs(8);
/// A kubelet that starts reports its boot id within this of its first renewal: it writes its status at once, and again
/// every 10 s until that succeeds.
const BOOT_REPORTED: Duration = Duration::from_secs(15);

/// What was seen of a node since its record reported Off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostOffActivity {
    /// The boot that was confirmed to have ended.
    boot_id: String,
    /// When this controller first saw that confirmation.
    since: Moment,
    /// `lastHeartbeatTime` of Ready at that time.
    heartbeat: Option<Timestamp>,
    /// When the kubelet's Lease was first seen to move after it.
    renewed: Option<Moment>,
}

impl PostOffActivity {
    /// What is known now, from what was known before; nothing while no boot of the whole machine was confirmed to have
    /// ended.
    #[must_use]
    pub fn observe(
        before: Option<&Self>,
        fence: &NodeFence,
        node: Option<&Node>,
        lease: Option<&LeaseView>,
        now: Moment,
    ) -> Option<Self> {
        let status = &fence.status;
        // Its pods were let go as those of a boot that had ended, whatever its BMC reports by now.
        let ended = status.off.as_ref().map_or(&status.released_boot, |off| &off.boot_id);
        let ended = Some(ended).filter(|boot| status.storage_only.is_none() && !boot.is_empty())?;
        let mut post_off_activity = before.filter(|before| before.boot_id == *ended).cloned().unwrap_or_else(|| Self {
            boot_id: ended.clone(),
            since: now,
            heartbeat: node.and_then(heartbeat),
            renewed: None,
        });
        let renewed =
            lease.filter(|lease| lease.seen > post_off_activity.since && lease.renewed != status.lease_renewed);
        post_off_activity.renewed = post_off_activity.renewed.or(renewed.map(|lease| lease.seen));
        Some(post_off_activity)
    }

    /// The boot that ended writes its Node, or is Ready, and renews its Lease. A new boot renews, too, and may do so
    /// before the Node names it: so either the Node was written since, or such a boot would have named itself by now.
    #[must_use]
    pub(super) fn is_proven(&self, input: &FenceInput<'_>, node: &Node) -> bool {
        let now = input.now.moment;
        let was_written = self.was_written(node);
        let same = node.boot_id == self.boot_id && (node.is_ready() || was_written);
        let Some((lease, first)) = input.kubelet_lease.zip(self.renewed).filter(|_| same) else { return false };
        let alive = lease.stale_for(now) < kubelet::LIVES;
        alive && self.is_no_late_renewal(lease, first) && (was_written || now.since(first) >= BOOT_REPORTED)
    }

    /// One that is seen so much later was not made before the power went, and of two in turn not both were.
    fn is_no_late_renewal(&self, lease: &LeaseView, first: Moment) -> bool {
        lease.seen >= self.since.plus(LATE) || lease.seen.since(first) >= IN_TURN
    }

    fn was_written(&self, node: &Node) -> bool {
        // The node lifecycle controller also reports that it is not Ready.
        let turned = node.is_ready() && node.condition("Ready").is_some_and(|ready| ready.seen > self.since);
        turned || heartbeat(node) != self.heartbeat
    }
}

/// Its kubelet has renewed its Lease since its power was about to be cut, and in time: some boot lives, and it is known
/// within seconds which. A new leader sees that at once.
#[must_use]
pub(super) fn is_suspected(input: &FenceInput<'_>) -> bool {
    let status = &input.fence.status;
    let speaks =
        |lease: &LeaseView| lease.renewed != status.lease_renewed && lease.stale_for(input.now.moment) < kubelet::LATE;
    status.storage_only.is_none() && input.kubelet_lease.is_some_and(speaks)
}

fn heartbeat(node: &Node) -> Option<Timestamp> {
    node.condition("Ready")?.heartbeat
}
