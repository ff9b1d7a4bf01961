//! What is reported, and what stays, when a run begins with the saved state of an earlier one.

use nodewell_client::Client;
use nodewell_hardware::{NoAnswer, PollError};

use super::*;
use crate::check_process::check_kind::CheckKind;
use crate::check_process::words::Words;

/// No agent listens there.
fn link() -> Link {
    Link::new(Client::new("/nonexistent/nodewell.sock"), "disk", Words::new(""))
}

fn said() -> Said {
    Said {
        condition: Name::fixed("DiskUnhealthy"),
        subject: "nvme0".to_owned(),
        reason: Name::fixed("NvmeSpareLow"),
        since: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn silent() -> PollError {
    PollError::NoAnswer(NoAnswer::asked(said().since, "no answer within 20 s"))
}

#[tokio::test]
async fn a_stop_before_the_first_round_withdraws_nothing() {
    let link = link();
    let mut status_builder = StatusBuilder::new(&link);
    assert!(!link.is_held());
    status_builder.resume(CheckKind::Disk, vec![said()]);
    assert!(link.is_held());
}

#[tokio::test]
async fn what_was_not_looked_at_is_remembered() {
    let link = link();
    let mut status_builder = StatusBuilder::new(&link);
    status_builder.resume(CheckKind::Disk, vec![said()]);
    for rest in [Rest::Some, Rest::All(silent())] {
        status_builder.tell(CheckKind::Disk, Findings::default(), &rest).await;
        assert!(status_builder.said(CheckKind::Disk).contains(&said()), "{rest:?}");
        assert!(link.is_held());
    }
    status_builder.tell(CheckKind::Disk, Findings::default(), &Rest::None).await;
    assert_eq!(status_builder.said(CheckKind::Disk), []);
    assert!(!link.is_held());
}
