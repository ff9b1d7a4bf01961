//! The outbox: no socket, and a clock that only the test moves.

use std::time::Duration;

use nodewell_model::{Status, api::AcceptedView};
use tokio::time::{Instant, advance};

use super::{super::outbox::Next, super::outbox::Outbox, *};
use crate::{ClientError, ReporterSettings};

const TTL: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(20);

pub(super) fn outbox() -> Outbox {
    let settings = ReporterSettings { ttl: TTL, events_limit: 4, ..ReporterSettings::new("raid") };
    Outbox::new(settings, Instant::now())
}

pub(super) fn set(outbox: &mut Outbox, condition: Condition) {
    outbox.set_all(condition.subject_key(), vec![condition], Instant::now());
}

/// What is sent when its time has come.
pub(super) async fn sent(outbox: &mut Outbox) -> Status {
    for _ in 0..4 {
        match outbox.next(Instant::now()) {
            Next::Send(report) => return *report,
            Next::Wait(until) => advance(until - Instant::now()).await,
            Next::Done => panic!("done"),
        }
    }
    panic!("nothing is sent")
}

pub(super) fn taken(outbox: &mut Outbox, instance: &str) {
    let accepted = AcceptedView {
        durable: false,
        instance: instance.to_owned(),
        principal: "root".to_owned(),
        warning: String::new(),
    };
    assert!(outbox.answered(Ok(accepted), Instant::now()).is_none());
}

pub(super) async fn started() -> Outbox {
    let mut outbox = outbox();
    let first = sent(&mut outbox).await;
    assert!(first.full && first.conditions.is_empty());
    taken(&mut outbox, "a");
    outbox
}

pub(super) fn refusal(code: u16, retry_after: Option<Duration>) -> ClientError {
    ClientError::Status { code, error: "no".to_owned(), retry_after }
}

#[tokio::test(start_paused = true)]
async fn the_first_report_is_full_and_has_what_was_reported_in_a_moment() {
    let mut outbox = outbox();
    set(&mut outbox, broken("md0"));
    assert_eq!(outbox.next(Instant::now()), Next::Wait(Instant::now() + MOMENT));
    advance(Duration::from_millis(10)).await;
    set(&mut outbox, broken("md1"));
    outbox.event(event(Severity::Info, 1), Instant::now());
    let first = sent(&mut outbox).await;
    assert!(first.full && !first.last);
    assert_eq!((first.conditions.len(), first.events.len(), first.ttl_secs), (2, 1, Some(30)));
}

#[tokio::test(start_paused = true)]
async fn news_go_alone_and_the_same_again_is_no_news() {
    let mut outbox = started().await;
    set(&mut outbox, broken("md0"));
    let report = sent(&mut outbox).await;
    assert_eq!((report.full, report.conditions), (false, vec![broken("md0")]));
    taken(&mut outbox, "a");
    assert!(!outbox.set_all(broken("md0").subject_key(), vec![broken("md0")], Instant::now()));
    let beat = Duration::from_secs(5);
    assert_eq!(outbox.next(Instant::now()), Next::Wait(Instant::now() + beat), "a new agent has to hear of it soon");
    assert!(outbox.set_all(broken("md1").subject_key(), vec![broken("md1")], Instant::now()));
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_goes_every_third_of_the_ttl() {
    let mut outbox = started().await;
    let before = Instant::now();
    let heartbeat = sent(&mut outbox).await;
    assert_eq!(Instant::now() - before, TTL / 3);
    assert!(!heartbeat.full && heartbeat.conditions.is_empty() && heartbeat.events.is_empty());
}

/// One that the agent answers a while after the owner's moment is followed by the next moment all the same.
#[tokio::test(start_paused = true)]
async fn heartbeats_go_when_their_owner_says_so_and_late_without_it() {
    let settings = ReporterSettings { ttl: TTL, owner_beats: true, ..ReporterSettings::new("raid") };
    let mut outbox = Outbox::new(settings, Instant::now());
    sent(&mut outbox).await;
    taken(&mut outbox, "a");
    assert_eq!(outbox.next(Instant::now()), Next::Wait(Instant::now() + TTL * 2 / 3), "without its owner");
    advance(TTL / 3).await;
    let before = Instant::now();
    assert!(outbox.beat_now(before));
    let heartbeat = sent(&mut outbox).await;
    assert!(Instant::now() == before && !heartbeat.full && heartbeat.conditions.is_empty());
    advance(TTL / 10).await;
    taken(&mut outbox, "a");
    assert_eq!(outbox.next(Instant::now()), Next::Wait(Instant::now() + TTL * 2 / 3), "one is enough");
    assert!(!outbox.beat_now(Instant::now()), "the agent has just heard of it");
    advance(TTL / 3).await;
    assert!(outbox.beat_now(Instant::now()));
}

#[tokio::test(start_paused = true)]
async fn an_owners_heartbeat_that_is_lost_comes_again_and_a_long_silence_stays_one() {
    let settings = ReporterSettings { ttl: TTL, owner_beats: true, ..ReporterSettings::new("raid") };
    let mut outbox = Outbox::new(settings, Instant::now());
    sent(&mut outbox).await;
    taken(&mut outbox, "a");
    advance(TTL / 3).await;
    outbox.beat_now(Instant::now());
    let heartbeat = sent(&mut outbox).await;
    outbox.answered(Err(ClientError::Broken { message: "gone".to_owned() }), Instant::now());
    outbox.beat_now(Instant::now());
    assert!(matches!(outbox.next(Instant::now()), Next::Wait(_)), "a pause is a pause");
    assert_eq!(sent(&mut outbox).await, heartbeat);
    advance(TTL).await;
    taken(&mut outbox, "a");
    assert!(sent(&mut outbox).await.full, "the agent may have given it up");
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_notices_another_agent_gives_no_sign_of_life_sooner() {
    let settings = ReporterSettings { ttl: TTL, notices_restarts: true, ..ReporterSettings::new("raid") };
    let mut outbox = Outbox::new(settings, Instant::now());
    set(&mut outbox, broken("md0"));
    sent(&mut outbox).await;
    taken(&mut outbox, "a");
    assert_eq!(outbox.next(Instant::now()), Next::Wait(Instant::now() + TTL / 3));
    outbox.send_heartbeat_now();
    assert!(!sent(&mut outbox).await.full);
    taken(&mut outbox, "b");
    let full = sent(&mut outbox).await;
    assert_eq!((full.full, full.conditions), (true, vec![broken("md0")]));
    outbox.answered(Err(refusal(409, None)), Instant::now());
    let beat = Duration::from_secs(5);
    assert_eq!(outbox.next(Instant::now()), Next::Wait(Instant::now() + beat), "what was not taken comes soon");
}

#[tokio::test(start_paused = true)]
async fn a_failure_repeats_the_same_report_later_and_later() {
    let mut outbox = started().await;
    outbox.event(event(Severity::Info, 1), Instant::now());
    let first = sent(&mut outbox).await;
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let broken = ClientError::Broken { message: "gone".to_owned() };
        assert!(outbox.answered(Err(broken), Instant::now()).is_none());
        let before = Instant::now();
        assert_eq!(sent(&mut outbox).await, first, "the same id, the same content");
        pauses.push(Instant::now() - before);
    }
    assert!(pauses[0] <= Duration::from_millis(50) && pauses[5] > Duration::from_millis(500), "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= Duration::from_secs(5)), "{pauses:?}");
    taken(&mut outbox, "a");
    assert!(outbox.is_flushed());
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for() {
    let mut outbox = started().await;
    outbox.event(event(Severity::Info, 1), Instant::now());
    sent(&mut outbox).await;
    outbox.answered(Err(refusal(429, Some(Duration::from_secs(7)))), Instant::now());
    let before = Instant::now();
    sent(&mut outbox).await;
    assert!(Instant::now() - before >= Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_refused_report_is_given_back_and_not_sent_again() {
    let mut outbox = started().await;
    outbox.event(event(Severity::Info, 1), Instant::now());
    let report = sent(&mut outbox).await;
    let lost = outbox.answered(Err(refusal(403, None)), Instant::now()).unwrap();
    assert_eq!(lost.report, report);
    assert!(outbox.is_flushed());
    assert!(sent(&mut outbox).await.events.is_empty(), "a heartbeat");
}

#[tokio::test(start_paused = true)]
async fn a_refused_full_report_comes_again_with_the_heartbeat() {
    let mut outbox = outbox();
    set(&mut outbox, broken("md0"));
    sent(&mut outbox).await;
    assert!(outbox.answered(Err(refusal(409, None)), Instant::now()).is_some());
    let again = sent(&mut outbox).await;
    assert_eq!((again.full, again.conditions.len()), (true, 1));
}

#[tokio::test(start_paused = true)]
async fn another_instance_gets_everything_that_still_holds() {
    let mut outbox = started().await;
    for entry in [broken("md0"), broken("md1"), condition(Some("md0"), ConditionStatus::False)] {
        set(&mut outbox, entry);
    }
    sent(&mut outbox).await;
    taken(&mut outbox, "a");
    outbox.event(event(Severity::Info, 1), Instant::now());
    sent(&mut outbox).await;
    taken(&mut outbox, "b");
    let full = sent(&mut outbox).await;
    assert_eq!((full.full, full.conditions), (true, vec![broken("md1")]));
    taken(&mut outbox, "b");
    assert!(outbox.is_flushed());
}

#[tokio::test(start_paused = true)]
async fn a_full_report_names_types_that_are_well() {
    let mut outbox = started().await;
    set(&mut outbox, broken("md0"));
    set(&mut outbox, condition(None, ConditionStatus::False));
    let report = sent(&mut outbox).await;
    let over = [None, Some("md0")].map(|subject| condition(subject, ConditionStatus::False));
    assert_eq!(report.conditions, over, "what came before it is over");
    taken(&mut outbox, "b");
    let full = sent(&mut outbox).await;
    assert_eq!((full.full, full.conditions), (true, vec![condition(None, ConditionStatus::False)]));
}

#[tokio::test(start_paused = true)]
async fn after_a_long_silence_everything_is_reported_again() {
    let mut outbox = started().await;
    set(&mut outbox, broken("md0"));
    sent(&mut outbox).await;
    advance(TTL * 2).await;
    taken(&mut outbox, "a");
    assert!(sent(&mut outbox).await.full);
}

#[tokio::test(start_paused = true)]
async fn of_too_many_events_the_oldest_of_the_mildest_go() {
    let mut outbox = started().await;
    let severities =
        [Severity::Error, Severity::Info, Severity::Warn, Severity::Info, Severity::Critical, Severity::Warn];
    for (n, severity) in (0..).zip(severities) {
        outbox.event(event(severity, n), Instant::now());
    }
    let left: Vec<String> = sent(&mut outbox).await.events.into_iter().map(|event| event.message).collect();
    assert_eq!((left.join(" ").as_str(), outbox.dropped()), ("0 2 4 5", 2));
}

#[tokio::test(start_paused = true)]
async fn a_last_report_has_the_events_that_wait() {
    let mut outbox = started().await;
    set(&mut outbox, broken("md0"));
    outbox.event(event(Severity::Info, 1), Instant::now());
    outbox.finish();
    let Next::Send(last_report) = outbox.next(Instant::now()) else { panic!("it does not wait") };
    assert!(last_report.last && last_report.conditions.is_empty() && last_report.events.len() == 1);
    taken(&mut outbox, "a");
    assert_eq!(outbox.next(Instant::now()), Next::Done);
}

#[tokio::test(start_paused = true)]
async fn more_than_a_body_holds_goes_in_several() {
    let settings = ReporterSettings { events_limit: 1000, ..ReporterSettings::new("raid") };
    let mut outbox = Outbox::new(settings, Instant::now());
    for n in 0..256 {
        let long = Condition { message: "m".repeat(1000), ..broken(&format!("md{n}")) };
        set(&mut outbox, long);
        outbox.event(event(Severity::Info, n), Instant::now());
    }
    let mut events = 0;
    let mut subjects = std::collections::BTreeSet::new();
    while !outbox.is_flushed() {
        let report = sent(&mut outbox).await;
        assert!(serde_json::to_vec(&report).unwrap().len() < 64 * 1024 && report.events.len() <= 64);
        events += report.events.len();
        subjects.extend(report.conditions.into_iter().map(|condition| condition.subject));
        taken(&mut outbox, "a");
    }
    assert_eq!((events, subjects.len()), (256, 256));
}
