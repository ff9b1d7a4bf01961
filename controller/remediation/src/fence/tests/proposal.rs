//! What a saved record has beside its phase: the names that the node-fencing proposal has for it.

use super::course::{at, dead, run};
use crate::api::fence::{Phase, ProposalStatus, ProposalStep};

#[test]
fn a_saved_record_has_the_step_the_status_and_the_jobs_of_the_proposal() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::AwaitGuards));
    fixture.fence.status.failures = 1;
    for (phase, step, status, has_jobs) in [
        (Phase::PoweringOff, ProposalStep::PowerManagement, ProposalStatus::Running, true),
        (Phase::OffConfirmed, ProposalStep::PowerManagement, ProposalStatus::Done, false),
        (Phase::AwaitReady, ProposalStep::Recovery, ProposalStatus::Running, false),
    ] {
        run(&mut fixture, 400, at(phase));
        let saved = &fixture.fence.status;
        assert_eq!((saved.step, saved.status), (Some(step), Some(status)), "{phase:?}");
        assert_eq!(saved.retries, saved.failures, "{phase:?}");
        assert_eq!(!saved.jobs.is_empty(), has_jobs, "{phase:?}: {:?}", saved.jobs);
    }
}
