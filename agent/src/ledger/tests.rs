//! What is shown before any monitor has reported.

use nodewell_ledger::{OnStale, Sender};
use nodewell_model::{Condition, ConditionStatus, Name, Status, view::DaemonState};

use super::*;

const CONDITION: &str = "DiskUnhealthy";

fn catalogue() -> Vec<ConditionSpec> {
    let (condition, healthy_reason) = (Name::fixed(CONDITION), Name::fixed("DisksAreHealthy"));
    vec![ConditionSpec { condition, healthy_reason, healthy_message: "no disk has a known fault".to_owned() }]
}

fn monitor(state: DaemonState) -> DaemonReport {
    DaemonReport {
        name: "kernel-monitor".into(),
        state,
        reason: None,
        message: String::new(),
        watches: vec![Name::fixed(CONDITION)],
        ttl: None,
        records: 0,
        lost: 0,
    }
}

/// The kernel's monitor and a check process watch one condition, which is healthy.
fn left_by_an_earlier_run() -> Vec<Row> {
    let mut ledger = Ledger::new(catalogue(), clock::now()).with_boot_id(clock::boot_id());
    ledger.daemon(monitor(DaemonState::Running), clock::now()).unwrap();
    let healthy = Condition {
        condition: Name::fixed(CONDITION),
        status: ConditionStatus::False,
        transition: jiff::Timestamp::now(),
        reason: Name::fixed("DisksAreHealthy"),
        message: String::new(),
        subject: None,
        severity: None,
        action: None,
    };
    let report = Status { source: "disk".to_owned(), conditions: vec![healthy], ..Status::default() };
    let sender = Sender { principal: "root".into(), on_stale: OnStale::Keep, may_use_reserve: true };
    ledger.report(vec![report], &sender, clock::now()).unwrap();
    ledger.all_rows()
}

#[tokio::test]
async fn nothing_is_healthy_by_half_of_those_that_watch_it() {
    let rows = left_by_an_earlier_run();
    for (expected, status) in [(vec![monitor(DaemonState::Starting)], "Unknown"), (Vec::new(), "False")] {
        let (shared_state, _commands) = SharedState::new("n1");
        let store = shared_state.store().clone();
        let persistence = Persistence::new(store, Vec::new(), false);
        let task = LedgerTask::new("n1", catalogue(), shared_state.clone(), persistence);
        let mut task = task.resumed(expected, Some(rows.clone()));
        task.publish();
        assert_eq!(shared_state.view().conditions[0].status.as_str(), status);
    }
}
