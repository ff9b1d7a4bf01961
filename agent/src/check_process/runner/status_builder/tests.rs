//! What is reported, and what stays, when a run begins with the saved state of an earlier one.

use nodewell_client::Client;
use nodewell_hardware::{NoAnswer, PollError};

use super::*;
use crate::check_process::check_kind::CheckKind;
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
    let mut status_builder = StatusBuilder::new(&link);
    assert!(!link.is_retained_on_stop());
    status_builder.load(CheckKind::Disk, vec![reported()]);
    assert!(link.is_retained_on_stop());
}

#[tokio::test]
async fn what_was_not_looked_at_stays_reported() {
    let link = link();
    let mut status_builder = StatusBuilder::new(&link);
    status_builder.load(CheckKind::Disk, vec![reported()]);
    for rest in [Rest::Some, Rest::All(silent())] {
        status_builder.report(CheckKind::Disk, Findings::default(), &rest).await;
        assert!(status_builder.reported(CheckKind::Disk).contains(&reported()), "{rest:?}");
        assert!(link.is_retained_on_stop());
    }
    status_builder.report(CheckKind::Disk, Findings::default(), &Rest::None).await;
    assert_eq!(status_builder.reported(CheckKind::Disk), []);
    assert!(!link.is_retained_on_stop());
}
