//! What is reported, and what stays, when a run begins with the saved state of an earlier one.

use nodewell_checks::{disk, probe::NoAnswer};
use nodewell_client::Client;

use super::*;
use crate::check_process::status_line::StatusLine;

/// No agent listens there.
fn link() -> Link {
    Link::new(Client::new("/nonexistent/nodewell.sock"), "disk", StatusLine::new(""))
}

fn reported() -> ReportedCondition {
    ReportedCondition {
        condition: Name::fixed("DiskUnhealthy"),
        subject: "nvme0".to_owned(),
        reason: Name::fixed("NvmeSpareLow"),
        since: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn silent() -> PollError {
    PollError::NoAnswer(NoAnswer::asked(reported().since, "no answer within 20 s"))
}

#[tokio::test]
async fn a_stop_before_the_first_round_withdraws_nothing() {
    let link = link();
    let mut condition_reporter = ConditionReporter::new(&link);
    assert!(!link.is_retained_on_stop());
    condition_reporter.load(&disk::CHECK, vec![reported()]);
    assert!(link.is_retained_on_stop());
}

#[tokio::test]
async fn what_was_not_looked_at_stays_reported() {
    let link = link();
    let mut condition_reporter = ConditionReporter::new(&link);
    condition_reporter.load(&disk::CHECK, vec![reported()]);
    for unreached in [Unreached::Rest, Unreached::Everything(silent())] {
        condition_reporter.report(&disk::CHECK, Findings::default(), &unreached).await;
        assert!(condition_reporter.reported(&disk::CHECK).contains(&reported()), "{unreached:?}");
        assert!(link.is_retained_on_stop());
    }
    condition_reporter.report(&disk::CHECK, Findings::default(), &Unreached::Nothing).await;
    assert_eq!(condition_reporter.reported(&disk::CHECK), []);
    assert!(!link.is_retained_on_stop());
}
