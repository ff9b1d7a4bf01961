//! How a verdict begins and ends, and what neither begins nor ends it.

use serde_json::json;

use super::*;
use crate::{
    probe::{NoAnswer, ReadError},
    slow_disks::{
        compare::{Figures, Outcome},
        watched::Watched,
    },
};

/// Four disks, of which the second is slow.
fn found() -> Machine {
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    assert_eq!(machine.windows(5), ["sdb"]);
    machine
}

#[test]
fn it_takes_most_windows_to_begin_and_to_end() {
    let mut machine = Machine::new(4);
    for _ in 0..9 {
        machine.give(1, DELAYED);
        assert_eq!(machine.windows(1), NONE, "every other window");
        machine.give(1, USUAL);
        assert_eq!(machine.windows(1), NONE);
    }
    let mut machine = found();
    for _ in 0..9 {
        machine.give(1, USUAL);
        assert_eq!(machine.windows(1), ["sdb"], "every other window");
        machine.give(1, DELAYED);
        assert_eq!(machine.windows(1), ["sdb"]);
    }
    assert_eq!(machine.windows(6), ["sdb"]);
    machine.give(1, USUAL);
    assert_eq!(machine.windows(4), ["sdb"]);
    assert_eq!(machine.windows(1), NONE);
}

#[test]
fn by_default_it_takes_an_hour_of_load() {
    let mut machine = Machine::with((0..4).map(device).collect(), SlowDisksSettings::default());
    machine.give(1, DELAYED);
    assert_eq!(machine.windows(11), NONE);
    assert_eq!(machine.windows(1), ["sdb"]);
}

/// Else the condition would be Unknown after each restart, until there is load.
#[test]
fn a_disk_with_siblings_is_healthy_from_the_first_look_on() {
    let findings = Machine::new(3).look();
    assert!(findings.verdicts.iter().all(|verdict| matches!(verdict.state, State::Healthy { .. })), "{findings:?}");
    assert_eq!(findings.verdicts.len(), 3);
    assert_eq!(Machine::new(2).look(), Findings::default());
}

/// 2.5 times what its siblings take is half-way between them and the limit.
#[test]
fn what_is_neither_slow_nor_like_the_others_changes_nothing() {
    let mut machine = found();
    let (usual, between) = (Work { millis_each: 40, ..USUAL }, Work { millis_each: 100, operations: 500, ..USUAL });
    machine.give_all(usual);
    machine.give(1, between);
    assert_eq!(machine.windows(9), ["sdb"]);
    machine.give(1, Work { millis_each: 99, ..between });
    assert_eq!(machine.windows(5), NONE);
}

#[test]
fn idleness_ends_nothing_and_a_like_load_does() {
    let mut machine = found();
    for work in [IDLE, Work { operations: 200, ..USUAL }] {
        machine.give(1, work);
        assert_eq!(machine.windows(20), ["sdb"], "{work:?} is too little to show it well");
    }
    machine.give_all(IDLE);
    assert_eq!(machine.windows(20), ["sdb"]);
    machine.give_all(USUAL);
    assert_eq!(machine.windows(4), ["sdb"]);
    assert_eq!(machine.windows(1), NONE);
}

/// It is a verdict against siblings: as slow as they are is like them.
#[test]
fn it_ends_where_all_are_as_slow() {
    let mut machine = found();
    machine.give_all(DELAYED);
    let findings = machine.looks(5 * SAMPLES);
    assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 4));
}

#[test]
fn windows_of_some_hours_ago_do_not_add_up() {
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    assert_eq!(machine.windows(4), NONE);
    machine.give_all(IDLE);
    machine.windows(6 * 12);
    machine.give_all(USUAL);
    machine.give(1, DELAYED);
    assert_eq!(machine.windows(4), NONE);
    assert_eq!(machine.windows(1), ["sdb"]);
}

/// But with long intervals nothing would.
#[test]
fn windows_of_five_hours_add_up() {
    let settings = SlowDisksSettings { interval: Duration::from_hours(1), ..settings() };
    let figures = Figures { is_read: true, await_micros: 90_000, siblings_micros: 9000, siblings: 2 };
    let mut watched = Watched::default();
    for window in 1..=5 {
        assert_eq!(watched.slow, None, "{window}");
        watched.observe(Outcome::Slow(figures.clone()), window * 5 * 3600, &settings);
    }
    assert_eq!(watched.slow, Some(figures));
}

#[test]
fn another_disk_in_its_place_is_another_disk() {
    let mut machine = found();
    machine.disks[1].0 = Device { serial: "ZC77".to_owned(), sequence: Some(77), ..device(1) };
    assert_eq!(slow(&machine.looks(1)), NONE);
    assert_eq!(machine.windows(4), NONE, "and it is judged by itself");
    assert_eq!(machine.windows(2), ["sdb"]);
}

#[test]
fn a_disk_that_is_gone_is_forgotten_and_one_that_blinks_is_not() {
    let mut machine = found();
    let (gone, work) = machine.disks.remove(1);
    assert_eq!(slow(&machine.looks(2)), ["sdb"]);
    machine.disks.push((Device { name: "sdq".to_owned(), subject: "sdq".to_owned(), ..gone }, work));
    assert_eq!(slow(&machine.looks(1)), ["sdq"], "by its serial number");
    machine.disks.pop();
    assert_eq!(slow(&machine.looks(2)), ["sdq"]);
    let findings = machine.looks(1);
    assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 3));
    machine.disks.clear();
    assert_eq!(machine.looks(1), Findings::default());
}

/// Else it would be slow for ever: nothing could show that it is over.
#[test]
fn a_disk_without_siblings_is_not_slow() {
    let mut machine = found();
    let siblings = machine.disks.split_off(2);
    assert_eq!(slow(&machine.looks(2)), ["sdb"]);
    machine.disks.extend(siblings);
    assert_eq!(slow(&machine.looks(1)), ["sdb"]);
    machine.disks.truncate(2);
    assert_eq!(slow(&machine.looks(2)), ["sdb"]);
    assert_eq!(machine.looks(1), Findings::default());
}

/// Times wrap at 32 bits, and a device that came back counts from zero.
#[test]
fn a_counter_that_goes_back_costs_a_sample() {
    let resets: [fn(&mut Device); 3] = [
        |device| device.counters = Counters::default(),
        |device| device.counters.writes.millis %= 7,
        |device| device.sequence = device.sequence.map(|sequence| sequence + 100),
    ];
    for reset in resets {
        let mut machine = Machine::new(4);
        machine.give(1, DELAYED);
        for window in 1..=5 {
            machine.looks(SAMPLES - 2);
            reset(&mut machine.disks[1].0);
            let findings = machine.looks(2);
            assert_eq!(slow(&findings).is_empty(), window < 5, "{window}");
        }
    }
}

#[test]
fn a_device_that_comes_back_again_and_again_has_no_sample() {
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    for sequence in 100..100 + 9 * SAMPLES as u64 {
        machine.disks[1].0.sequence = Some(sequence);
        machine.looks(1);
    }
    let findings = machine.looks(1);
    assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 3));
}

#[test]
fn only_looks_in_time_make_a_window() {
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    for _ in 0..9 {
        machine.looks(SAMPLES - 1);
        machine.pass(INTERVAL * 4);
        assert_eq!(slow(&machine.look()), NONE, "the window begins again");
    }
    // Asked out of turn: nothing is lost, nothing is counted twice.
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    for look in 1..=5 * SAMPLES {
        machine.pass(INTERVAL);
        let in_time = slow(&machine.look());
        machine.at += Duration::from_secs(1);
        assert_eq!(slow(&machine.look()), in_time);
        assert_eq!(in_time.is_empty(), look < 5 * SAMPLES, "{look}");
    }
    // A suspended machine's clocks go on, and the one that requests are measured by does not.
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    for _ in 0..5 * SAMPLES {
        machine.now.boottime += Duration::from_secs(600);
        machine.pass(INTERVAL);
        machine.look();
    }
    assert_eq!(slow(&machine.look()), ["sdb"]);
}

#[test]
fn a_restart_keeps_what_was_found_and_another_boot_does_not() {
    let mut machine = found();
    machine.restart();
    assert_eq!(slow(&machine.look()), ["sdb"]);
    assert_eq!(machine.judge.save(), None, "nothing is written again");
    let mut half = Machine::new(4);
    half.give(1, DELAYED);
    half.windows(3);
    half.restart();
    assert_eq!(half.windows(1), NONE);
    assert_eq!(half.windows(1), ["sdb"], "its windows were saved, too");
    machine.now.boot_id = "two".to_owned();
    let findings = machine.looks(1);
    assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 0));
    for saved in [json!(null), json!({"disks": 7}), json!({"disks": {"x": {"windows": 1}}})] {
        machine.judge.load(saved);
    }
    assert_eq!(machine.windows(2), NONE);
}

#[test]
fn what_is_saved_has_this_form() {
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    machine.windows(1);
    let expected = json!({
        "moment": {"wall": "1970-01-01T00:05:00Z", "boottime_secs": 1300, "boot_id": "one"},
        "disks": {
            "SEAGATE ST4000NM0025, serial number ZC1":
                {"subject": "sdb", "slow": null, "windows": [{"boottime_secs": 1300, "is_slow": true}]},
        },
    });
    assert_eq!(machine.judge.save().unwrap().to_string(), expected.to_string());
}

#[test]
fn what_cannot_be_read_is_unknown_and_is_there_again_after_it() {
    let mut machine = found();
    let silent = || PollError::NoAnswer(NoAnswer::asked(Timestamp::UNIX_EPOCH, "no answer within 20 s"));
    let failed = || PollError::Read(ReadError::Failed { message: "/proc/diskstats: too many open files".to_owned() });
    for (error, expected) in [(silent(), "DeviceNotAnswering"), (failed(), "DeviceUnreadable")] {
        machine.pass(INTERVAL);
        let round = Round { now: machine.now.clone(), listed: Err(error), answers: Vec::new() };
        let findings = machine.judge.judge(round);
        let State::Unknown { reason, .. } = &findings.verdicts[0].state else { panic!("{findings:?}") };
        assert_eq!((reason.to_string().as_str(), findings.verdicts[0].subject.as_str()), (expected, "sdb"));
        assert_eq!(slow(&machine.looks(1)), ["sdb"]);
    }
    let garbage = RawReading::from(json!({"devices": 7}));
    let (now, listed) = (machine.now.clone(), Ok(vec![ALL.to_owned()]));
    let findings = machine.judge.judge(Round { now, listed, answers: vec![(ALL.to_owned(), Ok(garbage))] });
    assert!(matches!(findings.verdicts[0].state, State::Unknown { .. }));
    let gone = || Err(PollError::Read(ReadError::Gone { what: "a disk".to_owned() }));
    for expected in [1, 1, 0] {
        let round = Round { now: machine.now.clone(), listed: gone(), answers: Vec::new() };
        assert_eq!(slow(&machine.judge.judge(round)).len(), expected);
    }
}
