//! The walk over the records of sensors: each name once, whatever the repository is.

use std::cell::Cell;

use super::fake::{FakeBmc, SDR, SDR_INFO, SDR_RESERVE};
use crate::bmc::{
    commands::CommandError,
    repository::{RepositoryCursor, read_names},
    sensor_record::tests::{ascii, record},
    walk::Limits,
};

/// A repository that is read look by look.
struct Walker {
    bmc: FakeBmc,
    cursor: RepositoryCursor,
    records: usize,
}

/// Sensors `T1`, `T2` …, each kind of record in turn.
fn walker(sensors: u8) -> Walker {
    let mut bmc = FakeBmc::new(&[]);
    let named = |n: u8| record(1 + n % 3, &[(7, n)], &ascii(&format!("T{n}")));
    bmc.sdr = (1..=sensors).map(|n| (u16::from(n), named(n))).collect();
    Walker { bmc, cursor: RepositoryCursor::default(), records: 64 }
}

fn expected(numbers: std::ops::RangeInclusive<u8>) -> Vec<String> {
    numbers.map(|n| format!("T{n}")).collect()
}

impl Walker {
    fn look(&mut self) -> Result<Vec<String>, CommandError> {
        self.look_until(&|| false)
    }

    fn look_until(&mut self, is_over: &dyn Fn() -> bool) -> Result<Vec<String>, CommandError> {
        self.bmc.asked.clear();
        let limits = Limits { entries: self.records, is_over };
        let reading = read_names(&mut self.bmc, self.cursor.clone(), &limits)?;
        // As it is saved.
        let saved = serde_json::to_string(&reading.cursor).unwrap();
        self.cursor = serde_json::from_str(&saved).unwrap();
        Ok(reading.names.into_iter().map(|name| name.name).collect())
    }

    /// The head of the record with this number in place of its own answer, as if that one came next.
    fn answers_head(&mut self, number: usize, next: u16) {
        let answer = [&[0_u8][..], &next.to_le_bytes(), &self.bmc.sdr[number].1[..8]].concat();
        self.bmc.answers(SDR, &answer);
    }

    /// All that comes until the walk is over.
    fn looks(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..500 {
            names.extend(self.look().unwrap());
            if !self.cursor.is_unfinished() {
                return names;
            }
        }
        panic!("no end");
    }
}

#[test]
fn each_name_is_read_once() {
    let mut walker = walker(10);
    assert!(walker.cursor.is_unfinished());
    assert_eq!((walker.look(), walker.cursor.is_unfinished()), (Ok(expected(1..=10)), false));
    assert_eq!((walker.look(), walker.bmc.asked), (Ok(vec![]), vec![SDR_INFO]));
}

#[test]
fn many_are_read_in_looks_of_a_bounded_size() {
    let mut walker = walker(200);
    let mut names = Vec::new();
    for read in [64, 64, 64, 8] {
        let found = walker.look().unwrap();
        assert_eq!(found.len(), read);
        assert!(walker.bmc.asked.len() <= 2 + 3 * 64, "{}", walker.bmc.asked.len());
        names.extend(found);
    }
    assert_eq!((names, walker.cursor.is_unfinished()), (expected(1..=200), false));
}

#[test]
fn a_repository_that_was_changed_is_read_again() {
    let mut walker = walker(4);
    walker.looks();
    walker.bmc.sdr.remove(1);
    walker.bmc.sdr_changed += 1;
    assert_eq!(walker.look().unwrap(), ["T1", "T3", "T4"]);
    // Also where that happens on the way.
    walker.bmc.sdr_changed += 1;
    walker.records = 2;
    assert_eq!(walker.look().unwrap(), ["T1", "T3"]);
    walker.bmc.sdr_changed += 1;
    assert_eq!(walker.looks(), ["T1", "T3", "T4"]);
}

#[test]
fn a_bmc_that_gives_few_bytes_at_once_is_asked_for_few() {
    let mut walker = walker(3);
    let long = "as long as it may be, and a bit";
    walker.bmc.sdr.push((9, record(1, &[], &ascii(long))));
    for most_bytes in [0, 16, 12, 8] {
        (walker.bmc.most_bytes, walker.bmc.sdr_changed) = (most_bytes, 100 + u32::from(most_bytes));
        assert_eq!(walker.looks(), ["T1", "T2", "T3", long], "{most_bytes}");
    }
    (walker.bmc.most_bytes, walker.bmc.sdr_changed) = (7, 1);
    let refused = walker.look().unwrap_err();
    assert_eq!(refused.to_string(), "the BMC refuses Get SDR with completion code cah (cannot return so many bytes)");
}

#[test]
fn a_reservation_that_is_lost_is_taken_once_more() {
    let mut walker = walker(3);
    // Between the head of the first record and its string.
    walker.answers_head(0, 2);
    walker.bmc.answers(SDR, &[0xc5]);
    assert_eq!(walker.looks(), expected(1..=3));
    assert_eq!(walker.bmc.asked.iter().filter(|number| **number == SDR_RESERVE).count(), 2);
    walker.bmc.sdr_changed += 1;
    (0..3).for_each(|_| walker.bmc.answers(SDR, &[0xc5]));
    assert!(matches!(walker.look(), Err(CommandError::Refused { code: 0xc5, .. })));
    assert_eq!(walker.looks(), expected(1..=3), "and nothing was lost");
    // A BMC that knows no reservations, and gives parts all the same.
    walker.bmc.sdr_changed += 1;
    walker.bmc.answers(SDR_RESERVE, &[0xc1]);
    walker.answers_head(0, 0xffff);
    walker.bmc.answers(SDR, &[0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xc2, b'T', b'1']);
    assert_eq!(walker.looks(), ["T1"]);
}

#[test]
fn a_repository_without_an_end_has_one() {
    for (after_last, records) in [(1, 64), (2, 64), (1, 2), (3, 1)] {
        let mut walker = walker(5);
        (walker.bmc.after_last, walker.records) = (after_last, records);
        let names = walker.looks();
        assert!(names.starts_with(&expected(1..=5)) && names.len() < 20, "{after_last}, {records}: {names:?}");
    }
    // A record that leads to one that is not there.
    let mut walker = walker(2);
    walker.bmc.sdr[0].1[3] = 0xc0;
    walker.answers_head(0, 7);
    assert_eq!((walker.look(), walker.cursor.is_unfinished()), (Ok(vec![]), false));
}

#[test]
fn lengths_that_are_none_read_nothing_more() {
    let mut walker = walker(3);
    // It says that it has 260 bytes; it says that it has none; its string is cut off.
    walker.bmc.sdr[0].1[4] = 255;
    walker.bmc.sdr[1].1[4] = 0;
    walker.bmc.sdr[2].1.truncate(17);
    assert_eq!(walker.looks(), ["T1"]);
    assert!(walker.bmc.asked.len() <= 2 + 3 + 1 + 2, "{:?}", walker.bmc.asked);
    // A head that came in part.
    walker.bmc.sdr_changed += 1;
    walker.bmc.answers(SDR, &[0, 2, 0, 1, 0, 0x51]);
    assert_eq!(walker.looks(), [""; 0], "what follows is known");
    for (number, answer) in [(SDR, vec![0, 2]), (SDR_INFO, vec![0; 9]), (SDR_RESERVE, vec![0]), (SDR, vec![])] {
        walker.bmc.sdr_changed += 1;
        walker.bmc.answers(number, &answer);
        assert!(matches!(walker.look(), Err(CommandError::Short { .. })), "{number:x} {answer:?}");
        walker.bmc.script.clear();
    }
}

#[test]
fn a_record_that_is_refused_in_part_hides_no_other() {
    let mut walker = walker(3);
    walker.answers_head(0, 2);
    walker.bmc.answers(SDR, &[0xc9]);
    assert_eq!(walker.looks(), ["T2", "T3"]);
}

#[test]
fn a_bmc_that_is_silent_loses_nothing() {
    for at in 1..12 {
        let mut walker = walker(4);
        walker.bmc.silent_at = Some(at);
        let first = walker.look();
        assert_eq!(first.is_err(), at <= 4, "{at}: {first:?}");
        walker.bmc.silent_at = None;
        let mut names = first.unwrap_or_default();
        names.extend(walker.looks());
        assert_eq!(names, expected(1..=4), "{at}");
    }
}

#[test]
fn time_that_is_over_ends_a_look_and_nothing_is_lost() {
    for steps in 6_u32..40 {
        let mut walker = walker(9);
        let mut names = Vec::new();
        while walker.cursor.is_unfinished() {
            let left = Cell::new(steps);
            names.extend(walker.look_until(&|| left.replace(left.get().saturating_sub(1)) == 0).unwrap());
        }
        assert_eq!(names, expected(1..=9), "{steps}");
    }
    // Without any time at all nothing is an error either.
    let mut walker = walker(9);
    assert_eq!((walker.look_until(&|| true), walker.cursor.is_unfinished()), (Ok(vec![]), true));
}

#[test]
fn a_bmc_without_a_repository_names_nothing() {
    let mut walker = walker(0);
    assert_eq!((walker.look(), walker.cursor.is_unfinished()), (Ok(vec![]), false));
    walker.bmc.sdr.push((1, record(1, &[], &ascii("T1"))));
    walker.bmc.sdr_changed += 1;
    assert_eq!(walker.looks(), ["T1"], "an update of its firmware");
}
