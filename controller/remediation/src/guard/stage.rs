//! How far a record (`NodeFence`) is: how disruptive its acts are, and which have begun and are not to be stopped half way.

use crate::api::{
    fence::{DrainReport, NodeFence, NodeFenceStatus, Phase},
    policy::StepSpec,
};

/// How disruptive an act is; guards differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DisruptionLevel {
    /// Taint and cordon.
    Isolate,
    Drain,
    /// Reboot, power cycle, reap (the provider deletes the machine).
    Power,
}

pub(crate) fn disruption_level(step: &StepSpec) -> DisruptionLevel {
    if step.taint.is_some() || step.cordon.is_some() {
        DisruptionLevel::Isolate
    } else if step.drain.is_some() {
        DisruptionLevel::Drain
    } else {
        DisruptionLevel::Power
    }
}

/// How far a power act (power cycle or reap) is, as far as the phase alone shows it.
#[derive(PartialEq, Eq)]
enum PowerProgress {
    None,
    /// Its act is about to begin, or has failed: the node is under remediation.
    Near,
    /// The machine may be off, or is being deleted.
    UnderWay,
}

fn power_progress(phase: Phase) -> PowerProgress {
    match phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::AwaitGuards => {
            PowerProgress::None
        }
        Phase::Recovering | Phase::Closed => PowerProgress::None,
        Phase::KdumpWait | Phase::Quarantined | Phase::Failed => PowerProgress::Near,
        Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn => PowerProgress::UnderWay,
        Phase::AwaitReady | Phase::Reaping | Phase::InDoubt => PowerProgress::UnderWay,
    }
}

/// An act of this level has begun for certain, and has not ended.
pub(crate) fn is_under_way(fence: &NodeFence, level: DisruptionLevel) -> bool {
    let status = &fence.status;
    match level {
        DisruptionLevel::Isolate => has_begun(fence, DisruptionLevel::Isolate),
        DisruptionLevel::Drain => is_drain_under_way(status) || is_under_way(fence, DisruptionLevel::Power),
        DisruptionLevel::Power => {
            status.intent.is_some() || status.off.is_some() || power_progress(status.phase) == PowerProgress::UnderWay
        }
    }
}

/// By the phase alone it may wait still, with not one pod evicted.
fn is_drain_under_way(status: &NodeFenceStatus) -> bool {
    status.phase == Phase::Draining && status.drain_begun_at.is_some()
}

/// A drain that left pods is over, and nothing is done before it is begun again: a slot for it would keep out nodes that can
/// be drained. No power was ordered since.
pub(crate) fn waits_to_drain_again(fence: &NodeFence) -> bool {
    let status = &fence.status;
    let waits = matches!(status.phase, Phase::Waiting | Phase::AwaitGuards | Phase::Pending | Phase::Isolating);
    // Where a step waits for it, what the drain's own options left counts too.
    let is_enough =
        |report: &DrainReport| if status.phase == Phase::AwaitGuards { report.emptied() } else { report.done };
    let is_left = status.drain.as_ref().map_or(status.drain_rounds > 0, |report| !is_enough(report));
    waits && is_left && status.intent.is_none() && status.cycles.is_empty()
}

/// The record remediates the node by an act of this level, under way or ended: the node is not given back yet.
pub(crate) fn has_begun(fence: &NodeFence, level: DisruptionLevel) -> bool {
    let status = &fence.status;
    if status.phase == Phase::Closed {
        return false;
    }
    let power = is_under_way(fence, DisruptionLevel::Power)
        || !status.cycles.is_empty()
        || power_progress(status.phase) != PowerProgress::None;
    let is_drained = status.drain.is_some() && !waits_to_drain_again(fence);
    let drain = power || is_drain_under_way(status) || is_drained;
    match level {
        DisruptionLevel::Isolate => {
            let own = &status.own_changes;
            drain || own.cordon || !own.taints.is_empty() || status.phase != Phase::Pending
        }
        // One budget is for both.
        DisruptionLevel::Drain | DisruptionLevel::Power => drain,
    }
}

/// One of them has the pods of a dead node run elsewhere: a power cycle releases them once Off is confirmed, a reap deletes
/// their machine. A `reboot` releases none.
pub(crate) fn frees_pods(steps: &[StepSpec]) -> bool {
    steps.iter().any(|step| step.power_cycle.is_some() || step.reap.is_some())
}

/// Its first step is a disruptive one already, so that opening the record begins to remediate the node.
pub(crate) fn begins_disruptively(steps: &[StepSpec]) -> bool {
    steps.first().is_none_or(|step| disruption_level(step) != DisruptionLevel::Isolate)
}
