//! Since when each record is in its phase, by this controller's own clock: what its timers count from.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Pass;
use crate::{
    api::fence::{NodeFence, Phase},
    guard::history::moment,
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// When this controller first saw a record in its present phase and step, and its drain begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhaseEntry {
    uid: String,
    phase: Phase,
    policy_step: usize,
    drain_begun_at: Option<Timestamp>,
    at: Moment,
}

impl PhaseEntry {
    fn of(fence: &NodeFence, at: Moment) -> Self {
        Self {
            uid: fence.metadata.uid.clone(),
            phase: fence.status.phase,
            policy_step: fence.status.policy_step,
            drain_begun_at: fence.status.drain_begun_at,
            at,
        }
    }
}

/// When records entered their phases, by their own status.
pub(super) fn reconstructed(snapshot: &Snapshot, now: Now) -> BTreeMap<String, PhaseEntry> {
    let entered = |fence: &NodeFence| {
        let since = fence.status.drain_begun_at.filter(|_| fence.status.phase == Phase::Draining);
        let since = since.or(fence.status.since);
        PhaseEntry::of(fence, since.map_or(now.moment, |since| moment(since, now)))
    };
    snapshot.fences.iter().map(|(name, fence)| (name.clone(), entered(fence))).collect()
}

/// Its timers count from here; another record of the name, another phase or step, or a drain that is begun restarts them.
pub(super) fn enter(pass: &mut Pass<'_>, name: &str, fence: &NodeFence) -> Moment {
    let now = pass.input.now.moment;
    let seen = PhaseEntry::of(fence, now);
    match pass.memory.entered.get(name) {
        Some(known) if (PhaseEntry { at: now, ..known.clone() }) == seen => known.at,
        Some(_) | None => {
            pass.memory.entered.insert(name.to_owned(), seen);
            now
        }
    }
}
