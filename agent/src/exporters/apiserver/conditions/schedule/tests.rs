//! The schedule on made-up time.

use nodewell_model::{Severity, view::ProblemView};

use super::*;
use ConditionStatus::{False, True, Unknown};

const TIMING: ScheduleTiming = ScheduleTiming {
    heartbeat: Duration::from_secs(300),
    min_change_interval: Duration::from_secs(10),
    clear_hold: Duration::from_secs(30),
};

const fn at(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn view(name: &str, status: ConditionStatus, reason: &str, transition: i64) -> ConditionView {
    ConditionView {
        condition: Name::new(name).unwrap(),
        status,
        reason: Name::new(reason).unwrap(),
        message: format!("{reason} it is"),
        transition: Timestamp::from_second(transition).unwrap(),
        problems: Vec::new(),
    }
}

fn disk(status: ConditionStatus, reason: &str, transition: i64) -> Vec<ConditionView> {
    vec![view("DiskUnhealthy", status, reason, transition)]
}

/// Sends whatever is due at `now` and returns in short what the disk condition then is; `None` if nothing was due.
fn step(schedule: &mut Schedule, now: u64) -> Option<String> {
    if schedule.due()? > at(now) {
        return None;
    }
    let wanted = schedule.wanted_conditions(at(now));
    schedule.applied(&wanted, at(now), 0.0);
    Some(wanted.get("DiskUnhealthy").map_or("gone".into(), |content| format!("{}/{}", content.status, content.reason)))
}

fn healthy_at_zero() -> Schedule {
    let mut schedule = Schedule::new(TIMING);
    schedule.want(&disk(False, "DiskIsFine", 1), at(0));
    assert_eq!(step(&mut schedule, 0).unwrap(), "False/DiskIsFine");
    schedule
}

/// It was True and has become healthy, as the server knows at 100.
fn flapping() -> Schedule {
    let mut schedule = healthy_at_zero();
    schedule.want(&disk(True, "IOError", 1), at(1));
    step(&mut schedule, 1);
    schedule.want(&disk(False, "DiskIsFine", 90), at(90));
    assert_eq!(step(&mut schedule, 90).unwrap(), "False/DiskIsFine");
    schedule
}

#[test]
fn nothing_is_due_before_there_is_a_condition() {
    assert_eq!(Schedule::new(TIMING).due(), None);
}

#[test]
fn the_first_change_goes_out_at_once() {
    let mut schedule = healthy_at_zero();
    schedule.want(&disk(True, "IOError", 2), at(1));
    assert!(schedule.is_urgent(at(1)));
    assert_eq!(step(&mut schedule, 1).unwrap(), "True/IOError");
    assert_eq!(step(&mut schedule, 2), None);
}

#[test]
fn later_changes_wait_and_the_latest_wins() {
    let mut schedule = healthy_at_zero();
    schedule.want(&disk(True, "IOError", 2), at(1));
    step(&mut schedule, 1);
    schedule.want(&disk(True, "AtaError", 2), at(2));
    schedule.want(&disk(True, "NVMeTimeout", 2), at(3));
    assert_eq!(schedule.due(), Some(at(11)));
    assert_eq!(step(&mut schedule, 10), None);
    assert_eq!(step(&mut schedule, 11).unwrap(), "True/NVMeTimeout");
}

/// Its Event goes at once, too.
#[test]
fn the_first_clearing_waits_for_no_more_than_the_interval() {
    let mut schedule = healthy_at_zero();
    schedule.want(&disk(True, "IOError", 2), at(1));
    step(&mut schedule, 1);
    schedule.want(&disk(False, "DiskIsFine", 3), at(3));
    assert_eq!(step(&mut schedule, 10), None);
    assert_eq!(step(&mut schedule, 11).unwrap(), "False/DiskIsFine");
}

#[test]
fn the_clearing_of_what_came_back_is_held() {
    let mut schedule = flapping();
    schedule.want(&disk(True, "IOError", 2), at(101));
    step(&mut schedule, 101);
    schedule.want(&disk(False, "DiskIsFine", 120), at(120));
    assert_eq!(step(&mut schedule, 149), None);
    assert_eq!(step(&mut schedule, 150).unwrap(), "False/DiskIsFine");
    schedule.want(&disk(True, "IOError", 200), at(200));
    step(&mut schedule, 200);
    schedule.want(&disk(False, "DiskIsFine", 749), at(749));
    // A heartbeat is due.
    assert_eq!(step(&mut schedule, 778).unwrap(), "True/IOError", "ten minutes have not gone by since it was well");
    assert_eq!(step(&mut schedule, 779).unwrap(), "False/DiskIsFine");
    schedule.want(&disk(True, "IOError", 800), at(800));
    step(&mut schedule, 800);
    schedule.want(&disk(False, "DiskIsFine", 1379), at(1379));
    assert_eq!(step(&mut schedule, 1379).unwrap(), "False/DiskIsFine", "they have");
}

#[test]
fn a_problem_that_returns_within_the_hold_was_never_away() {
    let mut schedule = flapping();
    schedule.want(&disk(True, "IOError", 2), at(101));
    step(&mut schedule, 101);
    schedule.want(&disk(False, "DiskIsFine", 20), at(120));
    schedule.want(&disk(True, "IOError", 40), at(140));
    assert_eq!(step(&mut schedule, 200), None);
    let wanted = schedule.wanted_conditions(at(200));
    assert_eq!(wanted["DiskUnhealthy"].transition, Timestamp::from_second(2).unwrap(), "the transition time stays");
}

#[test]
fn the_hold_starts_again_with_every_clearing() {
    let mut schedule = flapping();
    schedule.want(&disk(True, "IOError", 2), at(101));
    step(&mut schedule, 101);
    for start in [110, 120, 130] {
        schedule.want(&disk(False, "DiskIsFine", 2), at(start));
        schedule.want(&disk(True, "IOError", 2), at(start + 5));
    }
    schedule.want(&disk(False, "DiskIsFine", 2), at(140));
    assert_eq!(schedule.due(), Some(at(170)));
}

#[test]
fn a_blind_monitor_is_reported_after_one_interval_and_its_return_at_once() {
    let mut schedule = healthy_at_zero();
    schedule.want(&disk(Unknown, "MonitorStale", 5), at(5));
    assert_eq!(step(&mut schedule, 14), None);
    assert_eq!(step(&mut schedule, 15).unwrap(), "Unknown/MonitorStale");
    schedule.want(&disk(False, "DiskIsFine", 40), at(40));
    assert_eq!(step(&mut schedule, 40).unwrap(), "False/DiskIsFine");
}

#[test]
fn one_apply_carries_all_but_those_not_due_have_the_servers_content() {
    let mut schedule = Schedule::new(TIMING);
    let two = |disk: ConditionStatus, kernel: ConditionStatus| {
        vec![view("DiskUnhealthy", disk, "D", 1), view("KernelUnhealthy", kernel, "K", 1)]
    };
    schedule.want(&two(False, False), at(0));
    step(&mut schedule, 0);
    schedule.want(&two(True, False), at(1));
    step(&mut schedule, 1);
    schedule.want(&two(False, True), at(5));
    let wanted = schedule.wanted_conditions(at(5));
    assert_eq!((wanted["DiskUnhealthy"].status, wanted["KernelUnhealthy"].status), (True, True));
}

#[test]
fn a_dropped_condition_leaves_the_set_at_once() {
    let mut schedule = healthy_at_zero();
    schedule.want(&[], at(3));
    assert!(schedule.is_urgent(at(3)));
    assert_eq!(step(&mut schedule, 3).unwrap(), "gone");
    assert_eq!(step(&mut schedule, 4), None);
}

#[test]
fn a_condition_dropped_while_the_request_was_under_way_is_still_removed() {
    let mut schedule = Schedule::new(TIMING);
    schedule.want(&disk(True, "IOError", 1), at(0));
    let wanted = schedule.wanted_conditions(at(0));
    schedule.want(&[], at(1));
    schedule.applied(&wanted, at(1), 0.0);
    assert!(schedule.is_urgent(at(1)));
}

#[test]
fn a_heartbeat_follows_the_last_success_and_jitter_only_lengthens_it() {
    let mut schedule = healthy_at_zero();
    assert_eq!(schedule.due(), Some(at(300)));
    assert!(!schedule.is_urgent(at(300)));
    let wanted = schedule.wanted_conditions(at(300));
    schedule.applied(&wanted, at(300), 1.0);
    assert_eq!(schedule.due(), Some(at(630)));
}

#[test]
fn a_heartbeat_does_not_count_as_a_change() {
    let mut schedule = healthy_at_zero();
    step(&mut schedule, 300);
    schedule.want(&disk(True, "IOError", 301), at(301));
    assert_eq!(step(&mut schedule, 301).unwrap(), "True/IOError");
}

#[test]
fn a_change_that_failed_stays_due() {
    let mut schedule = healthy_at_zero();
    schedule.want(&disk(True, "IOError", 2), at(1));
    assert!(schedule.is_urgent(at(1)));
    assert!(schedule.is_urgent(at(60)));
    assert_eq!(step(&mut schedule, 60).unwrap(), "True/IOError");
}

#[test]
fn other_figures_of_the_same_problems_wait_for_the_heartbeat() {
    let hot = |celsius: u32, problems: &[&str]| {
        let message = format!("{celsius} degrees");
        let problems = problems.iter().map(|id| problem(id)).collect();
        vec![ConditionView { message, problems, ..view("DiskUnhealthy", True, "Hot", 2) }]
    };
    let mut schedule = healthy_at_zero();
    schedule.want(&hot(81, &["a"]), at(1));
    step(&mut schedule, 1);
    for secs in 12..300 {
        schedule.want(&hot(70 + secs, &["a"]), at(secs.into()));
        assert_eq!(step(&mut schedule, secs.into()), None);
    }
    assert_eq!(step(&mut schedule, 301).unwrap(), "True/Hot");
    let wanted = schedule.wanted_conditions(at(302));
    assert_eq!(
        (wanted["DiskUnhealthy"].message.as_str(), wanted["DiskUnhealthy"].transition.as_second()),
        ("369 degrees", 2)
    );
    schedule.want(&hot(99, &["b"]), at(303));
    assert!(schedule.is_urgent(at(303)), "the same message about another disk");
}

fn problem(id: &str) -> ProblemView {
    let time = Timestamp::from_second(1).unwrap();
    ProblemView {
        id: id.to_owned(),
        reason: Name::fixed("Hot"),
        subject: None,
        severity: Severity::Warn,
        since: time,
        last_seen: time,
        count: 1,
        message: String::new(),
        source: "disk".to_owned(),
        action: None,
        unconfirmed_since: None,
        test: false,
        muted_until: None,
        false_positive: None,
    }
}

#[test]
fn a_message_is_cut_on_a_character_boundary() {
    let mut long = view("DiskUnhealthy", True, "IOError", 1);
    long.message = format!("x{}", "ä".repeat(300));
    assert_eq!(ConditionContent::of(&long).message.len(), NODE_MESSAGE_LIMIT_BYTES - 1);
}

#[test]
fn a_resync_pulls_the_heartbeat_forward_and_never_back() {
    let mut schedule = healthy_at_zero();
    schedule.confirm_by(at(40));
    schedule.confirm_by(at(50));
    assert_eq!(schedule.due(), Some(at(40)));
    assert!(!schedule.is_urgent(at(40)));
    assert_eq!(step(&mut schedule, 40).unwrap(), "False/DiskIsFine");
    assert_eq!(schedule.due(), Some(at(340)));
}

#[test]
fn a_server_with_nothing_of_ours_receives_everything_at_once_even_what_was_held() {
    let mut schedule = flapping();
    schedule.want(&disk(True, "IOError", 2), at(101));
    step(&mut schedule, 101);
    schedule.want(&disk(False, "DiskIsFine", 3), at(103));
    assert_eq!(step(&mut schedule, 104), None, "clearing is held");
    schedule.start_over();
    assert!(schedule.is_urgent(at(104)));
    assert_eq!(step(&mut schedule, 104).unwrap(), "False/DiskIsFine");
    schedule.want(&disk(True, "IOError", 105), at(105));
    assert_eq!(step(&mut schedule, 105).unwrap(), "True/IOError", "the first publication is no change");
}
