//! More than the agent holds of one daemon, or than one body holds: nothing that is wrong is lost, and nothing is
//! refused that has a shorter report.

use std::{collections::BTreeSet, time::Duration};

use nodewell_ledger::{Ledger, Limits, Now};
use nodewell_model::{ConditionSpec, Status, view::ConditionView};
use tokio::time::Instant;

use super::{
    super::outbox::{Next, Outbox},
    decides::{outbox, set, taken},
    *,
};
use crate::ClientError;

/// An agent, and what it refused.
struct World {
    ledger: Ledger,
    refused: Vec<Status>,
    reports: Vec<Status>,
}

impl World {
    fn new(reported_subjects: usize) -> Self {
        let spec = ConditionSpec {
            condition: Name::fixed("RaidProblem"),
            healthy_reason: Name::fixed("AllIsWell"),
            healthy_message: String::new(),
        };
        let limits = Limits { reported_subjects, ..Limits::default() };
        let ledger = Ledger::new(vec![spec], now()).with_limits(limits);
        Self { ledger, refused: Vec::new(), reports: Vec::new() }
    }

    /// Sends until nothing is left to report, and through some heartbeats.
    fn hear(&mut self, outbox: &mut Outbox) {
        let mut now = Instant::now();
        for _ in 0..40 {
            match outbox.next(now) {
                Next::Send(report) => self.take(*report, outbox),
                Next::Wait(until) => now = until,
                Next::Done => unreachable!("no test sends a last report here"),
            }
        }
    }

    fn take(&mut self, report: Status, outbox: &mut Outbox) {
        report.check().unwrap();
        assert!(serde_json::to_vec(&report).unwrap().len() < 64 * 1024);
        self.reports.push(report.clone());
        match self.ledger.report(vec![report.clone()], &root(), now()) {
            Ok(()) => taken(outbox, "a"),
            Err(_) => {
                self.refused.push(report);
                let refusal = ClientError::Status { code: 409, error: "no".to_owned(), retry_after: None };
                assert!(outbox.answered(Err(refusal), Instant::now()).is_some(), "the owner hears of it");
            }
        }
    }

    fn view(&mut self) -> ConditionView {
        self.ledger.conditions().remove(0)
    }

    fn broken(&mut self) -> BTreeSet<String> {
        self.view().problems.into_iter().filter_map(|problem| problem.subject).collect()
    }
}

fn now() -> Now {
    Now { wall: "2026-11-21T03:00:00Z".parse().unwrap(), boottime: Duration::from_secs(60) }
}

fn subject(n: usize) -> String {
    format!("md{n:04}")
}

fn report_range(outbox: &mut Outbox, numbers: std::ops::Range<usize>, status: ConditionStatus) {
    for n in numbers {
        set(outbox, condition(Some(&subject(n)), status));
    }
}

fn subjects(numbers: std::ops::Range<usize>) -> BTreeSet<String> {
    numbers.map(subject).collect()
}

#[tokio::test(start_paused = true)]
async fn more_doubts_than_fit_are_one_entry_for_their_type() {
    let (mut world, mut outbox) = (World::new(256), outbox());
    report_range(&mut outbox, 0..3, ConditionStatus::True);
    report_range(&mut outbox, 3..600, ConditionStatus::Unknown);
    world.hear(&mut outbox);
    assert!(world.refused.is_empty());
    let first = &world.reports[0];
    assert!(first.full && first.conditions.len() == 4, "{first:?}");
    assert_eq!(first.conditions.last().unwrap().message, "597 are unknown, such as md0003: lost a disk");
    let view = world.view();
    assert!(view.problems.len() == 3 && view.problems.iter().all(|problem| problem.unconfirmed_since.is_none()));
    // Each by its own name again, once there are few: the entry for all of them is over.
    report_range(&mut outbox, 0..599, ConditionStatus::False);
    world.hear(&mut outbox);
    assert_eq!(world.view().status, ConditionStatus::Unknown);
    let last = world.reports.iter().rev().find(|report| report.full).unwrap();
    let wrong: Vec<_> = last.conditions.iter().filter(|one| one.status != ConditionStatus::False).collect();
    assert!(wrong.len() == 1 && wrong[0].subject == Some(subject(599)), "{wrong:?}");
    report_range(&mut outbox, 599..600, ConditionStatus::False);
    world.hear(&mut outbox);
    assert_eq!(world.view().status, ConditionStatus::False);
    assert!(world.refused.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_wrong_stays_wrong_and_is_unconfirmed_while_all_are_in_doubt() {
    let (mut world, mut outbox) = (World::new(256), outbox());
    report_range(&mut outbox, 0..200, ConditionStatus::True);
    world.hear(&mut outbox);
    // Some are in doubt by their own names before there are too many; those with a fault count as before.
    report_range(&mut outbox, 150..250, ConditionStatus::Unknown);
    world.hear(&mut outbox);
    report_range(&mut outbox, 100..600, ConditionStatus::Unknown);
    world.hear(&mut outbox);
    report_range(&mut outbox, 600..650, ConditionStatus::True);
    world.hear(&mut outbox);
    assert!(world.refused.is_empty(), "{:?}", world.refused);
    let view = world.view();
    let doubted = view.problems.iter().filter(|problem| problem.unconfirmed_since.is_some());
    assert_eq!(doubted.filter_map(|problem| problem.subject.clone()).collect::<BTreeSet<_>>(), subjects(100..200));
    assert_eq!(view.problems.len(), 250);
    report_range(&mut outbox, 100..600, ConditionStatus::False);
    world.hear(&mut outbox);
    assert_eq!(world.broken(), subjects(0..100).union(&subjects(600..650)).cloned().collect());
    assert!(world.view().problems.iter().all(|problem| problem.unconfirmed_since.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_does_not_hold_all_that_is_wrong_ends_nothing() {
    let (mut world, mut outbox) = (World::new(1_000), outbox());
    report_range(&mut outbox, 0..400, ConditionStatus::True);
    world.hear(&mut outbox);
    assert!(world.reports.iter().all(|report| !report.full), "none of them is all");
    assert_eq!(world.broken(), subjects(0..400));
    // It reports this once, and not with each heartbeat.
    assert_eq!(world.reports.iter().filter(|report| !report.conditions.is_empty()).count(), 2);
    report_range(&mut outbox, 200..400, ConditionStatus::False);
    world.hear(&mut outbox);
    assert!(world.reports.iter().any(|report| report.full), "it fits by now");
    assert_eq!(world.broken(), subjects(0..200));
}

#[tokio::test(start_paused = true)]
async fn faults_go_before_doubts_and_what_is_refused_is_returned() {
    let (mut world, mut outbox) = (World::new(256), outbox());
    report_range(&mut outbox, 0..300, ConditionStatus::Unknown);
    report_range(&mut outbox, 300..600, ConditionStatus::True);
    world.hear(&mut outbox);
    assert_eq!(world.broken().len(), 256, "as many as it holds");
    assert!(world.broken().is_subset(&subjects(300..600)));
    assert!(!world.refused.is_empty() && world.reports.iter().all(|report| !report.full));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_holds_less_gets_less() {
    let (mut world, mut outbox) = (World::new(40), outbox());
    report_range(&mut outbox, 0..30, ConditionStatus::True);
    report_range(&mut outbox, 30..130, ConditionStatus::Unknown);
    world.hear(&mut outbox);
    assert_eq!(world.broken(), subjects(0..30));
    assert!(world.reports.last().is_some_and(|report| report.conditions.is_empty()), "and then there is peace");
}

#[tokio::test(start_paused = true)]
async fn long_messages_are_too_much_before_there_are_many() {
    let (mut world, mut outbox) = (World::new(256), outbox());
    for n in 0..250 {
        let long = format!("{}{}", "s".repeat(200), subject(n));
        let status = if n < 10 { ConditionStatus::True } else { ConditionStatus::Unknown };
        set(&mut outbox, Condition { message: "m".repeat(900), ..condition(Some(&long), status) });
    }
    world.hear(&mut outbox);
    assert!(world.refused.is_empty() && world.reports[0].full, "{:?}", world.reports.len());
    assert_eq!((world.broken().len(), world.reports[0].conditions.len()), (10, 11));
}
