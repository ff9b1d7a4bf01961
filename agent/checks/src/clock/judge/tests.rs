//! One clock over time.

use crate::probe::{NoAnswer, RawReading};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::clock::source::Source;

const HOUR: u64 = 3600;

struct Node {
    judge: ClockJudge,
    secs: u64,
    reading: ClockReading,
    boot: &'static str,
}

/// A machine that has been up for an hour, whose clock is not synchronised.
fn node() -> Node {
    let unsynced = ClockError { max_micros: 16_000_000, estimated_micros: 16_000_000, ..ClockError::default() };
    let reading = ClockReading {
        wall_less_boot_millis: 1_000_000,
        sync: SyncStatus::Known(unsynced),
        daemon: TimeDaemon::None,
        source: Some(source("tsc", "tsc hpet")),
    };
    Node { judge: ClockJudge::new(ClockSettings::default()), secs: HOUR, reading, boot: "one" }
}

fn source(current: &str, available: &str) -> Source {
    let available = available.split(' ').map(str::to_owned).collect();
    Source { current: current.to_owned(), available, expects_tsc: false }
}

impl Node {
    fn error(&mut self) -> &mut ClockError {
        let SyncStatus::Known(error) = &mut self.reading.sync else { panic!() };
        error
    }

    fn sync(&mut self, max_micros: i64) {
        *self.error() = ClockError { max_micros, ..ClockError::default() };
    }

    fn answer(&mut self, answer: Answer) -> Findings {
        let wall = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(self.secs.cast_signed());
        let now = Now { wall, boottime: Duration::from_secs(self.secs), boot_id: self.boot.to_owned() };
        let listed = Ok(vec![CLOCK.to_owned()]);
        let findings = self.judge.judge(Round { now, listed, answers: vec![(CLOCK.to_owned(), answer)] });
        self.secs += 60;
        findings
    }

    fn round(&mut self) -> Findings {
        self.answer(Ok(RawReading::of(&self.reading).unwrap()))
    }

    /// The reasons after so many rounds, a minute apart.
    fn after(&mut self, rounds: usize) -> Vec<String> {
        let findings = (0..rounds).map(|_| self.round()).last().unwrap();
        reasons(&findings)
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = ClockJudge::new(self.judge.settings.clone());
        self.judge.load(saved.unwrap());
    }
}

fn reasons(findings: &Findings) -> Vec<String> {
    match &findings.verdicts[0].state {
        State::Faulty(faults) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
        State::Healthy { .. } => Vec::new(),
        State::Unknown { reason, .. } => vec![format!("unknown: {reason}")],
    }
}

const NO_PROBLEM: [&str; 0] = [];

#[test]
fn a_clock_that_was_never_synchronised_is_left_alone_unless_required() {
    assert_eq!(node().after(600), NO_PROBLEM);
    let mut required = node();
    required.judge.settings.required = true;
    assert_eq!(required.after(15), NO_PROBLEM);
    assert_eq!(required.after(2), ["ClockNotSynchronised"]);
}

#[test]
fn a_time_daemon_that_finds_no_source_is_reported_after_a_while() {
    let mut node = node();
    node.reading.daemon = TimeDaemon::Chronyd;
    assert_eq!(node.after(15), NO_PROBLEM, "it may have been started just now");
    assert_eq!(node.after(1), ["ClockNotSynchronised"]);
    node.sync(20_000);
    assert_eq!(node.after(1), NO_PROBLEM);
}

#[test]
fn a_clock_that_was_synchronised_is_missed_when_its_bound_has_grown() {
    let mut node = node();
    node.sync(1_020_000);
    assert_eq!(node.after(60), NO_PROBLEM, "as far as it grows between two polls of timesyncd");
    node.sync(5_000_000);
    assert_eq!(node.after(15), NO_PROBLEM);
    node.restart();
    assert_eq!(node.after(1), ["ClockNotSynchronised"], "the wait outlives a restart");
    node.restart();
    node.sync(1000);
    assert_eq!(node.after(1), NO_PROBLEM);
}

#[test]
fn who_has_no_daemon_in_a_container_is_sent_to_its_host() {
    let mut node = node();
    for was_synced in [true, false] {
        node.judge.history.was_synced = was_synced;
        let message = node.judge.lost(TimeDaemon::None).message;
        assert!(message.ends_with(", in a container on its host"), "{message}");
    }
}

#[test]
fn a_new_boot_begins_again() {
    let mut node = node();
    node.sync(1000);
    node.after(1);
    (node.boot, node.secs) = ("two", 30);
    node.sync(16_000_000);
    node.reading.wall_less_boot_millis += 9_000_000;
    let findings = node.round();
    assert_eq!((reasons(&findings).len(), findings.events.len()), (0, 0));
    assert_eq!(node.after(30), NO_PROBLEM);
}

#[test]
fn an_offset_counts_once_it_has_lasted_and_only_while_the_clock_is_synchronised() {
    let mut node = node();
    node.sync(1000);
    node.error().offset_nanos = -120_000_000;
    assert_eq!(node.after(5), NO_PROBLEM);
    assert_eq!(node.after(1), ["ClockOffsetHigh"]);
    node.error().offset_nanos = -60_000_000;
    assert_eq!(node.after(10), ["ClockOffsetHigh"], "not well below yet");
    node.error().offset_nanos = -10_000_000;
    assert_eq!(node.after(6), NO_PROBLEM);
    node.sync(16_000_000);
    node.error().estimated_micros = 16_000_000;
    assert_eq!(node.after(10), NO_PROBLEM, "an unsynchronised clock has no estimate");
}

#[test]
fn a_step_is_reported_once_and_not_at_the_start_of_the_machine() {
    let mut node = node();
    node.round();
    node.restart();
    node.reading.wall_less_boot_millis -= 3_600_000;
    let events = node.round().events;
    assert_eq!((events.len(), events[0].reason.as_str()), (1, "ClockStepped"));
    let message = &events[0].message;
    assert!(message.starts_with("the wall clock stepped 3600.0 s back (limit 1 s); "), "{message}");
    assert!(node.round().events.is_empty());
    (node.boot, node.secs) = ("two", 30);
    node.round();
    node.reading.wall_less_boot_millis += 3_600_000;
    assert!(node.round().events.is_empty(), "time was set for the first time");
}

#[test]
fn a_source_that_is_given_up_is_reported_while_it_lasts() {
    let mut node = node();
    assert_eq!(node.after(1), NO_PROBLEM);
    node.restart();
    node.reading.source = Some(source("hpet", "hpet acpi_pm"));
    assert_eq!(node.after(1), ["ClockSourceUnstable"]);
    node.reading.source = Some(source("tsc", "tsc hpet"));
    assert_eq!(node.after(1), NO_PROBLEM);
}

#[test]
fn what_cannot_be_read_is_unknown() {
    let mut node = node();
    node.reading.sync = SyncStatus::Denied("adjtimex: Operation not permitted".to_owned());
    assert_eq!(node.after(1), ["unknown: PermissionDenied"]);
    let no_answer = NoAnswer::asked(Timestamp::UNIX_EPOCH, "no answer within 10 s");
    assert_eq!(reasons(&node.answer(Err(PollError::NoAnswer(no_answer)))), ["unknown: DeviceNotAnswering"]);
    assert_eq!(reasons(&node.answer(Ok(json!({"sync": 7}).into()))), ["unknown: DeviceUnreadable"]);
    assert_eq!(
        node.judge.judge(Round {
            now: Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::ZERO, boot_id: String::new() },
            listed: Err(PollError::Read(ReadError::Gone { what: String::new() })),
            answers: Vec::new(),
        }),
        Findings::default()
    );
}

proptest! {
    #[test]
    fn no_memory_is_too_bad(text in r#"[{}\[\]":,a-z_0-9]{0,60}"#) {
        let mut node = node();
        node.judge.load(serde_json::from_str(&text).unwrap_or_default());
        prop_assert!(node.after(2).is_empty());
    }
}
