//! Several faults of one subject, what is not looked after any more, and counts of devices.

use std::collections::BTreeMap;

use nodewell_model::{Hardware, Status, SubjectKey};
use tokio::time::{Instant, advance};

use super::{
    super::outbox::{Next, Outbox},
    decides::{outbox, refusal, sent, set, started, taken},
    *,
};
use crate::ReporterSettings;

fn fault(subject: &str, reason: &'static str) -> Condition {
    Condition { reason: Name::fixed(reason), ..broken(subject) }
}

fn healthy(subject: &str) -> Condition {
    condition(Some(subject), ConditionStatus::False)
}

fn set_all(outbox: &mut Outbox, subject: &str, conditions: Vec<Condition>) {
    outbox.set_all(SubjectKey::of(Name::fixed("RaidProblem"), subject.to_owned()), conditions, Instant::now());
}

fn forget(outbox: &mut Outbox, subject: Option<&str>) {
    let wall = "2026-11-21T03:00:00Z".parse().unwrap();
    outbox.forget(&SubjectKey::new(Name::fixed("RaidProblem"), subject.map(str::to_owned)), wall, Instant::now());
}

fn is_quiet(outbox: &mut Outbox) -> bool {
    outbox.is_flushed() && matches!(outbox.next(Instant::now()), Next::Wait(until) if until > Instant::now())
}

async fn next_report(outbox: &mut Outbox) -> Status {
    let report = sent(outbox).await;
    taken(outbox, "a");
    report
}

fn summary(report: &Status) -> Vec<String> {
    let entry = |one: &Condition| format!("{} {}", one.subject.as_deref().unwrap_or("-"), one.status);
    report.conditions.iter().map(entry).collect()
}

#[tokio::test(start_paused = true)]
async fn faults_of_one_subject_travel_together_and_in_one_order() {
    let mut outbox = started().await;
    let faults = || vec![fault("md0", "RaidSlow"), fault("md0", "RaidDegraded")];
    set_all(&mut outbox, "md0", faults());
    let report = next_report(&mut outbox).await;
    assert_eq!(report.conditions, [fault("md0", "RaidDegraded"), fault("md0", "RaidSlow")]);
    let turned = faults().into_iter().rev().collect();
    set_all(&mut outbox, "md0", turned);
    assert!(is_quiet(&mut outbox), "the same set");
    set_all(&mut outbox, "md0", vec![fault("md0", "RaidSlow")]);
    assert_eq!(next_report(&mut outbox).await.conditions, [fault("md0", "RaidSlow")], "the other one is over by it");
}

#[tokio::test(start_paused = true)]
async fn what_contradicts_itself_is_never_sent() {
    let mut outbox = started().await;
    let later = Condition { message: "lost two disks".to_owned(), ..fault("md9", "RaidDegraded") };
    set_all(&mut outbox, "md0", vec![healthy("md0"), fault("md0", "RaidDegraded"), later.clone()]);
    let report = next_report(&mut outbox).await;
    assert_eq!(report.conditions, [Condition { subject: Some("md0".to_owned()), ..later }]);
    report.check().unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_message_of_a_healthy_subject_is_no_news() {
    let mut outbox = started().await;
    set(&mut outbox, healthy("md0"));
    assert_eq!(summary(&next_report(&mut outbox).await), ["md0 False"]);
    set(&mut outbox, Condition { message: "31 degrees".to_owned(), ..healthy("md0") });
    assert!(is_quiet(&mut outbox));
    set(&mut outbox, broken("md0"));
    next_report(&mut outbox).await;
    set(&mut outbox, healthy("md0"));
    assert_eq!(summary(&next_report(&mut outbox).await), ["md0 False"]);
}

/// A check without devices says so with each round.
#[tokio::test(start_paused = true)]
async fn a_type_that_stays_well_is_no_news() {
    let mut outbox = started().await;
    let calm = || condition(None, ConditionStatus::False);
    set(&mut outbox, calm());
    assert_eq!(summary(&next_report(&mut outbox).await), ["- False"]);
    set(&mut outbox, Condition { message: "31 degrees".to_owned(), ..calm() });
    assert!(is_quiet(&mut outbox));
    set(&mut outbox, healthy("md0"));
    next_report(&mut outbox).await;
    set(&mut outbox, calm());
    assert!(is_quiet(&mut outbox), "it stands for its subjects, and they were well");
    set(&mut outbox, broken("md0"));
    next_report(&mut outbox).await;
    set(&mut outbox, calm());
    assert_eq!(summary(&next_report(&mut outbox).await), ["- False", "md0 False"]);
    set(&mut outbox, calm());
    assert!(is_quiet(&mut outbox));
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_is_over_and_not_reported_again() {
    let mut outbox = started().await;
    for entry in [broken("md0"), broken("md1"), healthy("md2")] {
        set(&mut outbox, entry);
    }
    next_report(&mut outbox).await;
    forget(&mut outbox, Some("md0"));
    forget(&mut outbox, Some("md2"));
    let report = next_report(&mut outbox).await;
    assert_eq!((report.full, summary(&report)), (false, vec!["md0 False".to_owned()]));
    forget(&mut outbox, Some("md0"));
    assert!(is_quiet(&mut outbox), "once is enough");
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_ended_unsent_is_not_left_behind_by_forgetting() {
    let mut outbox = started().await;
    set(&mut outbox, broken("md0"));
    set(&mut outbox, broken("md1"));
    next_report(&mut outbox).await;
    set(&mut outbox, healthy("md0"));
    forget(&mut outbox, Some("md0"));
    assert_eq!(summary(&next_report(&mut outbox).await), ["md0 False"]);
}

#[tokio::test(start_paused = true)]
async fn with_its_last_subject_a_type_is_not_looked_after_any_more() {
    for last in [Some("md0"), None] {
        let mut outbox = started().await;
        set(&mut outbox, broken("md0"));
        set(&mut outbox, Condition { condition: Name::fixed("FanProblem"), ..healthy("fan0") });
        next_report(&mut outbox).await;
        forget(&mut outbox, last);
        let report = next_report(&mut outbox).await;
        assert!(report.full);
        assert_eq!(report.conditions.iter().map(|one| one.condition.as_str()).collect::<Vec<_>>(), ["FanProblem"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_report_with_conditions_is_made_good_by_a_full_one() {
    let mut outbox = started().await;
    set(&mut outbox, broken("md0"));
    sent(&mut outbox).await;
    assert!(outbox.answered(Err(refusal(409, None)), Instant::now()).is_some());
    let again = sent(&mut outbox).await;
    assert_eq!((again.full, summary(&again)), (true, vec!["md0 True".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_does_not_start_whole_ends_nothing_before_all_is_reported() {
    let settings = ReporterSettings { first_report_is_complete: false, ..ReporterSettings::new("raid") };
    let mut outbox = Outbox::new(settings, Instant::now());
    assert!(!next_report(&mut outbox).await.full, "a sign of life");
    set(&mut outbox, broken("md0"));
    let report = next_report(&mut outbox).await;
    assert_eq!((report.full, summary(&report)), (false, vec!["md0 True".to_owned()]));
    assert!(outbox.is_flushed());
    outbox.all_reported(Instant::now());
    assert!(!outbox.is_flushed());
    let report = next_report(&mut outbox).await;
    assert_eq!((report.full, summary(&report)), (true, vec!["md0 True".to_owned()]));
    assert!(is_quiet(&mut outbox));
}

#[tokio::test(start_paused = true)]
async fn a_count_goes_when_it_changes_and_with_every_full_report() {
    let disks = |failing: u32| {
        let states = BTreeMap::from([("failing".to_owned(), failing)]);
        vec![Hardware { class: "disks".to_owned(), total: 4, states, ..Hardware::default() }]
    };
    let mut outbox = outbox();
    assert_eq!(next_report(&mut outbox).await.hardware, None, "it has never counted");
    outbox.hardware(disks(1), Instant::now());
    assert_eq!(next_report(&mut outbox).await.hardware, Some(disks(1)));
    outbox.hardware(disks(1), Instant::now());
    assert!(is_quiet(&mut outbox), "the same again");
    advance(std::time::Duration::from_secs(10)).await;
    assert_eq!(sent(&mut outbox).await.hardware, None, "a heartbeat has none");
    taken(&mut outbox, "b");
    let full = sent(&mut outbox).await;
    assert_eq!((full.full, full.hardware), (true, Some(disks(1))));
    taken(&mut outbox, "b");
    outbox.hardware(Vec::new(), Instant::now());
    assert_eq!(sent(&mut outbox).await.hardware, Some(Vec::new()), "none are left");
}
