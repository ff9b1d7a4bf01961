//! How far back a start looks.

use super::*;

const HOUR: Duration = Duration::from_secs(3600);
/// The agent's start in these tests, in seconds.
const STARTED: i64 = 100_000;

fn started(rules: Vec<Rule>) -> Detector {
    detector(rules).with_start(Timestamp::from_second(STARTED).unwrap(), HOUR)
}

/// How many findings a record of so long before the start gives.
fn found_before_start(detector: &mut Detector, text: &str, secs_before: i64) -> usize {
    let mut out = Vec::new();
    detector.push(&record(text.as_bytes(), STARTED - secs_before), &mut out);
    out.len()
}

fn looking_back(rule: Rule, lookback: Option<Duration>) -> Rule {
    Rule { lookback, ..rule }
}

#[test]
fn an_npd_rule_sees_nothing_from_before_its_lookback() {
    let minute = Some(Duration::from_secs(60));
    for (lookback, secs_before, found) in [
        (None, 1, 0),
        (None, 0, 1),
        (None, -5, 1),
        (minute, 60, 1),
        (minute, 61, 0),
        (Some(2 * HOUR), 7200, 1),
        (Some(Duration::MAX), STARTED * 2, 1),
    ] {
        for rule in [npd("R", "Zebra", 1), lasting(npd("R", "Zebra", 1), "Sick")] {
            let mut detector = started(vec![looking_back(rule, lookback)]);
            assert_eq!(found_before_start(&mut detector, "Zebra", secs_before), found, "{lookback:?} {secs_before}");
        }
    }
}

#[test]
fn an_npd_rule_counts_reverts_and_clears_nothing_that_it_must_not_see() {
    let mut storm = lasting(counting(npd("R", "storm", 1), 2, 1000, &["calm"]), "Sick");
    storm.clears.patterns = vec!["sun".to_owned()];
    let mut detector = started(vec![storm]);
    let found = [("storm", 9), ("sun", 8), ("storm", 0), ("calm", 7), ("storm", -1), ("sun", -2)]
        .map(|(text, secs_before)| found_before_start(&mut detector, text, secs_before));
    assert_eq!(found, [0, 0, 0, 0, 1, 1]);
}

#[test]
fn an_npd_rule_passes_over_the_first_records_of_a_boot() {
    let delayed = Rule { boot_delay: Some(Duration::from_secs(60)), ..npd("R", "Zebra", 1) };
    let push = |detector: &mut Detector, since_boot: Option<u64>, test: bool| {
        let mut out = Vec::new();
        let since_boot = since_boot.map(Duration::from_secs);
        detector.push(&Record { since_boot, test, ..record(b"Zebra", STARTED) }, &mut out);
        out.len()
    };
    let mut live = started(vec![delayed.clone()]);
    let found = [Some(59), Some(60), None].map(|since_boot| push(&mut live, since_boot, false));
    assert_eq!((found, push(&mut live, Some(1), true)), ([0, 1, 1], 1));
    assert_eq!(push(&mut detector(vec![delayed]), Some(1), false), 1, "without a start nothing is too early");
}

#[test]
fn a_native_event_is_history_after_the_default_lookback_and_a_lasting_problem_never() {
    let mut detector = started(vec![rule("R", "Zebra"), lasting(rule("R", "Zebra"), "Sick")]);
    let found = [3600, 3601].map(|secs_before| found_before_start(&mut detector, "Zebra", secs_before));
    assert_eq!(found, [2, 1]);
}

#[test]
fn a_rule_of_the_same_reason_that_looks_further_back_tells_what_is_history_for_another() {
    let further = looking_back(npd("R", "Zebra", 1), Some(2 * HOUR));
    let mut detector = started(vec![rule("R", "Zebra"), further]);
    let found = [0, 3601, 7201].map(|secs_before| found_before_start(&mut detector, "Zebra", secs_before));
    assert_eq!(found, [1, 1, 0]);
}

#[test]
fn a_test_record_is_never_too_old() {
    for rule in [rule("R", "Zebra"), npd("R", "Zebra", 1)] {
        let mut out = Vec::new();
        started(vec![rule]).push(&Record { test: true, ..record(b"Zebra", 0) }, &mut out);
        assert_eq!(out.len(), 1);
    }
}

#[test]
fn without_a_start_nothing_is_too_old() {
    assert_eq!(messages(vec![npd("R", "Zebra", 1), rule("S", "Zebra")], &["Zebra"])[0].len(), 2);
}

#[test]
fn a_reader_looks_back_as_far_as_its_furthest_rule() {
    let far = Rule { reader: 1, ..looking_back(npd("R", "x", 1), Some(10 * HOUR)) };
    let near = Rule { reader: 1, ..npd("R", "x", 1) };
    let set = set_of(vec![rule("R", "x"), near.clone(), far]);
    let looks = |reader| set.longest_lookback(reader, HOUR);
    assert_eq!([looks(0), looks(1), looks(2)], [HOUR, 10 * HOUR, Duration::ZERO]);
    assert_eq!(set_of(vec![near]).longest_lookback(1, HOUR), Duration::ZERO);
}

#[test]
fn once_caught_up_a_clock_that_steps_back_deafens_no_rule() {
    let mut detector = started(vec![npd("R", "Zebra", 1)]);
    assert_eq!(found_before_start(&mut detector, "Zebra", 3600), 0);
    detector.caught_up();
    assert_eq!(found_before_start(&mut detector, "Zebra", 3600), 1);
}
