//! The names that the node-fencing proposal (https://github.com/kubernetes/community/pull/1416) has for the phases of a
//! record.

use crate::api::fence::{NodeFenceStatus, Phase, ProposalStatus, ProposalStep};

/// Writes `step`, `status`, `retries` and `jobs` from what is known more finely.
pub(super) fn stamp(status: &mut NodeFenceStatus) {
    let (step, proposed) = names(status.phase);
    status.step = Some(step);
    status.status = Some(proposed);
    status.retries = status.failures;
    if status.intent.is_none() {
        status.jobs.clear();
    }
}

/// A phase as the proposal's step and status.
pub(super) fn names(phase: Phase) -> (ProposalStep, ProposalStatus) {
    use {ProposalStatus as Status, ProposalStep as Step};
    match phase {
        Phase::Pending => (Step::Isolation, Status::New),
        Phase::Isolating | Phase::Draining | Phase::Waiting => (Step::Isolation, Status::Running),
        Phase::AwaitGuards => (Step::PowerManagement, Status::New),
        Phase::KdumpWait | Phase::PoweringOff | Phase::InDoubt | Phase::Reaping => {
            (Step::PowerManagement, Status::Running)
        }
        Phase::OffConfirmed | Phase::PodsReleased => (Step::PowerManagement, Status::Done),
        Phase::Failed | Phase::Quarantined => (Step::PowerManagement, Status::Error),
        Phase::PoweringOn => (Step::Recovery, Status::New),
        Phase::AwaitReady | Phase::Recovering => (Step::Recovery, Status::Running),
        Phase::Closed => (Step::Recovery, Status::Done),
    }
}
