//! Which loads are comparable, and what of them makes a disk slow.

use nodewell_model::Severity;

use super::*;

#[test]
fn one_delayed_of_four_is_named_after_most_of_half_an_hour() {
    let mut machine = Machine::new(4);
    machine.give(1, DELAYED);
    assert_eq!(machine.windows(4), NONE);
    let findings = machine.looks(SAMPLES);
    assert_eq!(slow(&findings), ["sdb"]);
    let State::Faulty(faults) = &findings.verdicts[0].state else { panic!() };
    assert_eq!((faults[0].severity, findings.verdicts[0].condition.as_str()), (Severity::Warn, "DiskLatencyHigh"));
    let is_healthy = |state: &State| matches!(state, State::Healthy { .. });
    assert_eq!(findings.verdicts.iter().filter(|verdict| is_healthy(&verdict.state)).count(), 3);
    let expected = "a write takes 320 ms, of 3 siblings under a like load 8.0 ms (limit 4 times); ";
    assert!(faults[0].message.starts_with(expected), "{}", faults[0].message);
    assert!(faults[0].message.ends_with("(SEAGATE ST4000NM0025, serial number ZC1)"), "{}", faults[0].message);
    assert_eq!((compared(&findings), findings.hardware[0].states["slow"]), (4, 1));
}

#[test]
fn reads_are_compared_as_writes_are() {
    let mut machine = Machine::new(3);
    machine.give_all(Work { is_read: true, ..USUAL });
    machine.give(2, Work { is_read: true, ..DELAYED });
    let findings = machine.looks(6 * SAMPLES);
    let State::Faulty(faults) = &findings.verdicts[0].state else { panic!() };
    assert!(faults[0].message.starts_with("a read takes 320 ms, of 2 siblings"), "{}", faults[0].message);
}

#[test]
fn where_all_have_it_none_is_slow() {
    for work in [DELAYED, Work { queue: 40, millis_each: 320, ..USUAL }, USUAL] {
        let mut machine = Machine::new(4);
        machine.give_all(work);
        let findings = machine.looks(9 * SAMPLES);
        assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 4), "{work:?}");
    }
    let mut machine = Machine::new(4);
    machine.give_all(IDLE);
    let findings = machine.looks(9 * SAMPLES);
    assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 0));
}

/// Two of a few share what makes them slow; two of many may each have it.
#[test]
fn where_many_have_it_none_is_named() {
    for (disks, expected) in [(3, vec![]), (6, vec![]), (15, vec![]), (16, vec!["sda", "sdb"])] {
        let mut machine = Machine::new(disks);
        machine.give(0, DELAYED);
        machine.give(1, DELAYED);
        assert_eq!(machine.windows(9), expected, "{disks}");
    }
}

#[test]
fn a_disk_with_more_to_do_is_slow_by_that() {
    // 40 at a time: each waits for the others, and the disk is busy for none of them for longer.
    let usual = Work { operations: 3000, ..USUAL };
    let overloaded = Work { operations: 4200, millis_each: 320, queue: 40, ..usual };
    // Busy for four times as long with each, and given more of them, or larger ones: it is filled, or rebuilt.
    let few = Work { operations: 1000, ..USUAL };
    let more = Work { operations: 1600, millis_each: 100, queue: 3, ..USUAL };
    let larger = Work { operations: 1000, sectors_each: 12, millis_each: 100, queue: 3, ..USUAL };
    for is_rotational in [true, false] {
        for (usual, suspect) in [(usual, overloaded), (few, more), (few, larger)] {
            let mut machine = Machine::of(is_rotational);
            machine.give_all(usual);
            machine.give(0, suspect);
            let findings = machine.looks(9 * SAMPLES);
            assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 4), "{suspect:?}");
        }
    }
}

/// Requests one by one, so that the disk is busy for as long as each takes.
#[test]
fn a_disk_is_slow_by_the_factor_and_above_its_floor() {
    for (is_rotational, usual, own, is_slow) in [
        (true, 20, 80, true),
        (true, 20, 79, false),
        (true, 5, 50, true),
        (true, 5, 49, false),
        (false, 6, 24, true),
        (false, 6, 23, false),
        (false, 2, 20, true),
        (false, 2, 19, false),
    ] {
        let mut machine = Machine::of(is_rotational);
        let work = |millis_each: u64| Work { millis_each, operations: 40_000 / millis_each.max(20), ..USUAL };
        machine.give_all(work(usual));
        let operations = if is_rotational { 500 } else { 2000 };
        machine.give(3, Work { operations, ..work(own) });
        let named = !machine.windows(6).is_empty();
        assert_eq!(named, is_slow, "{own} ms beside {usual} ms, rotational: {is_rotational}");
    }
}

/// A queue does the rest: requests take ten times as long, and the disk is busy for 2.5 times as long with each.
#[test]
fn half_the_speed_is_not_slow() {
    let usual = Work { operations: 1000, millis_each: 10, ..USUAL };
    for (queue, expected) in [(4, false), (3, true)] {
        let mut machine = Machine::of(false);
        machine.give_all(usual);
        machine.give(3, Work { millis_each: 100, queue, ..usual });
        assert_eq!(!machine.windows(6).is_empty(), expected, "{queue}");
    }
}

/// Scattered requests beside such that follow each other: no counter shows which they are.
#[test]
fn seeks_alone_make_no_slow_disk() {
    let mut machine = Machine::new(4);
    machine.give_all(Work { operations: 3000, millis_each: 1, ..USUAL });
    machine.give(0, Work { operations: 3000, millis_each: 120, queue: 8, ..USUAL });
    assert_eq!(machine.windows(9), NONE);
    // Three times as long for each is beyond all seeks.
    let slow = Work { operations: 1000, millis_each: 360, queue: 8, ..USUAL };
    machine.give(0, slow);
    assert_eq!(machine.windows(6), ["sda"]);
    // With 2 MiB in each it is not: they take as long to pass.
    let mut machine = Machine::new(4);
    machine.give_all(Work { operations: 3000, millis_each: 1, sectors_each: 4096, ..USUAL });
    machine.give(0, Work { sectors_each: 4096, ..slow });
    assert_eq!(machine.windows(9), NONE);
}

#[test]
fn a_disk_that_wakes_up_now_and_then_is_not_slow() {
    let mut machine = Machine::new(4);
    machine.give(0, Work { operations: 60, millis_each: 200, ..USUAL });
    assert_eq!(machine.windows(9), NONE, "12 s of 60");
    machine.give(0, Work { operations: 60, millis_each: 300, ..USUAL });
    assert_eq!(machine.windows(6), ["sda"], "18 s of 60");
}

#[test]
fn what_a_few_requests_took_is_no_sample() {
    for operations in [4, 9] {
        let mut machine = Machine::new(4);
        machine.give(0, Work { operations, millis_each: 4000, ..USUAL });
        let findings = machine.looks(9 * SAMPLES);
        assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 3), "{operations}");
    }
    let mut machine = Machine::new(4);
    machine.give(0, Work { operations: 10, millis_each: 4000, ..USUAL });
    assert_eq!(machine.windows(6), ["sda"]);
}

#[test]
fn only_the_like_is_compared() {
    let unlike = [
        Work { sectors_each: 17, ..DELAYED },
        Work { sectors_each: 3, ..DELAYED },
        Work { sectors_each: 2048, ..DELAYED },
        Work { is_read: true, ..DELAYED },
        Work { flushes: 11, ..DELAYED },
        Work { discards: 11, ..DELAYED },
    ];
    for suspect in unlike {
        let mut machine = Machine::new(4);
        machine.give(0, suspect);
        let findings = machine.looks(9 * SAMPLES);
        assert_eq!((slow(&findings), compared(&findings)), (Vec::new(), 3), "{suspect:?}");
    }
    let like = [
        Work { sectors_each: 16, ..DELAYED },
        Work { sectors_each: 4, ..DELAYED },
        Work { flushes: 9, discards: 9, ..DELAYED },
    ];
    for suspect in like {
        let mut machine = Machine::new(4);
        machine.give(0, suspect);
        assert_eq!(machine.windows(6), ["sda"], "{suspect:?}");
    }
}

#[test]
fn models_are_never_compared_with_each_other() {
    let others: [fn(&mut Model); 5] = [
        |model| model.name = "SEAGATE ST4000NM0035".to_owned(),
        |model| model.is_rotational = false,
        |model| model.size_class = 33,
        |model| model.scheduler = "none".to_owned(),
        |model| model.write_cache = "write through".to_owned(),
    ];
    for other in others {
        let mut devices: Vec<Device> = (0..4).map(device).collect();
        devices[..2].iter_mut().for_each(|device| other(&mut device.model));
        let mut machine = Machine::with(devices, settings());
        machine.give(0, DELAYED);
        assert_eq!(machine.looks(9 * SAMPLES), Findings::default(), "two of a kind are not enough");
    }
}

/// Two paths to each disk, or two namespaces on it.
#[test]
fn paths_to_one_disk_count_once() {
    let path = |number: usize, disks: usize| Device { serial: format!("ZC{}", number % disks), ..device(number) };
    let paths = |disks: usize| (0..2 * disks).map(|number| path(number, disks)).collect::<Vec<_>>();
    let mut machine = Machine::with(paths(2), settings());
    machine.give(0, DELAYED);
    assert_eq!(machine.looks(9 * SAMPLES), Findings::default(), "four devices, and two disks");
    let mut machine = Machine::with(paths(3), settings());
    machine.give(1, DELAYED);
    machine.give(4, DELAYED);
    let findings = machine.looks(6 * SAMPLES);
    assert_eq!((slow(&findings), compared(&findings)), (vec!["sdb".to_owned()], 3));
}

#[test]
fn a_thousand_disks_are_compared() {
    let settings = SlowDisksSettings { windows: 1, ..SlowDisksSettings::default() };
    let mut machine = Machine::with((0..1000).map(device).collect(), settings);
    machine.give(700, DELAYED);
    let findings = machine.looks(SAMPLES);
    assert_eq!((slow(&findings), compared(&findings)), (vec![device(700).name], 1000));
}
