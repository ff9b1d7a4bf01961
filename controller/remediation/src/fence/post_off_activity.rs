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

/// The longest delay between a renewal and the moment at which this controller sees it.
const OBSERVATION_DELAY: Duration = Duration::from_secs(15);
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
        let renewed = lease
            .filter(|lease| lease.change_seen_at > post_off_activity.since && lease.renewed != status.lease_renewed);
        post_off_activity.renewed = post_off_activity.renewed.or(renewed.map(|lease| lease.change_seen_at));
        Some(post_off_activity)
    }

    /// The boot that was confirmed to have ended is alive: it renews its Lease, and writes its Node or is Ready.
    ///
    /// A renewal alone may come from a new boot, whose id the Node shows a little later. So one more thing is asked for:
    /// the Node was written since the confirmation and still shows the old boot id, or the renewals have gone on for
    /// [`BOOT_REPORTED`], in which a new boot would have reported its id.
    #[must_use]
    pub(super) fn is_proven(&self, input: &FenceInput<'_>, node: &Node) -> bool {
        let now = input.now.moment;
        let was_written = self.was_written(node);
        let same = node.boot_id == self.boot_id && (node.is_ready() || was_written);
        let Some((lease, first)) = input.kubelet_lease.zip(self.renewed).filter(|_| same) else { return false };
        let alive = lease.stale_for(now) < kubelet::ALIVE_WITHIN;
        alive && self.is_no_late_renewal(lease, first) && (was_written || now.since(first) >= BOOT_REPORTED)
    }

    /// This renewal was not made before the power was cut and only seen late: it was seen [`OBSERVATION_DELAY`] after the
    /// confirmation, or it is the second of two, of which at most one can be that old.
    fn is_no_late_renewal(&self, lease: &LeaseView, first: Moment) -> bool {
        lease.change_seen_at >= self.since.plus(OBSERVATION_DELAY)
            || lease.change_seen_at.since(first) >= kubelet::LEAST_RENEWAL_GAP
    }

    fn was_written(&self, node: &Node) -> bool {
        // The node lifecycle controller also reports that it is not Ready.
        let turned = node.is_ready() && node.condition("Ready").is_some_and(|ready| ready.change_seen_at > self.since);
        turned || heartbeat(node) != self.heartbeat
    }
}

/// The kubelet has renewed its Lease since the power was about to be cut, and the renewal is not overdue: some boot is
/// alive. Which one is known within seconds. A new leader sees that at once, from the record.
#[must_use]
pub(super) fn is_suspected(input: &FenceInput<'_>) -> bool {
    let status = &input.fence.status;
    let speaks = |lease: &LeaseView| {
        lease.renewed != status.lease_renewed && lease.stale_for(input.now.moment) < kubelet::OVERDUE_AFTER
    };
    status.storage_only.is_none() && input.kubelet_lease.is_some_and(speaks)
}

fn heartbeat(node: &Node) -> Option<Timestamp> {
    node.condition("Ready")?.heartbeat
}
