//! How far a record is: what it remediates, and what has begun and is not to be stopped half way.

use crate::api::{
    fence::{NodeFence, Phase},
    policy::StepSpec,
};

/// How harsh an act is; guards differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    /// Taint and cordon.
    Isolate,
    Drain,
    /// Reboot, power cycle, reap.
    Power,
}

pub(crate) fn grade(step: &StepSpec) -> Grade {
    if step.taint.is_some() || step.cordon.is_some() {
        Grade::Isolate
    } else if step.drain.is_some() {
        Grade::Drain
    } else {
        Grade::Power
    }
}

/// What a phase alone shows of power.
#[derive(PartialEq, Eq)]
enum Reach {
    None,
    /// Its act is about to begin, or has failed: the node is under remediation.
    Near,
    /// It may be off, or about to be gone.
    Power,
}

fn reach(phase: Phase) -> Reach {
    match phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::AwaitGuards => Reach::None,
        Phase::Recovering | Phase::Closed => Reach::None,
        Phase::KdumpWait | Phase::Quarantined | Phase::Failed => Reach::Near,
        Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn => Reach::Power,
        Phase::AwaitReady | Phase::Reaping | Phase::InDoubt => Reach::Power,
    }
}

/// An act of this grade has begun for certain, and has not ended.
pub(crate) fn is_under_way(fence: &NodeFence, grade: Grade) -> bool {
    let status = &fence.status;
    match grade {
        Grade::Isolate => has_begun(fence, Grade::Isolate),
        Grade::Drain => status.phase == Phase::Draining || is_under_way(fence, Grade::Power),
        Grade::Power => status.intent.is_some() || status.off.is_some() || reach(status.phase) == Reach::Power,
    }
}

/// The record remediates a node by an act of this grade, under way or ended: it is not back yet.
pub(crate) fn has_begun(fence: &NodeFence, grade: Grade) -> bool {
    let status = &fence.status;
    if status.phase == Phase::Closed {
        return false;
    }
    let power = is_under_way(fence, Grade::Power) || !status.cycles.is_empty() || reach(status.phase) != Reach::None;
    let drain = power || status.phase == Phase::Draining || status.drain.is_some();
    match grade {
        Grade::Isolate => {
            let ours = &status.ours;
            drain || ours.cordon || !ours.taints.is_empty() || status.phase != Phase::Pending
        }
        // One budget is for both.
        Grade::Drain | Grade::Power => drain,
    }
}

/// Its first step is a harsh one already, so that opening the record begins to remediate the node.
pub(crate) fn begins_harshly(steps: &[StepSpec]) -> bool {
    steps.first().is_none_or(|step| grade(step) != Grade::Isolate)
}
