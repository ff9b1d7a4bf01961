//! The walk over a log: each entry once, whatever becomes of the log.

use super::fake::{ECC, ENTRY, FAILS, FakeBmc, HIGHEST, INFO, MENDED, NEW_YEAR, RESERVE, record};
use crate::bmc::{
    commands::{CommandError, FIRST, LAST},
    walk::{Limits, LogCursor, LogReading, read_log},
};

/// A log that is read look by look.
struct Walker {
    bmc: FakeBmc,
    cursor: Option<LogCursor>,
    entries: usize,
}

impl Walker {
    fn new(bmc: FakeBmc) -> Self {
        Self { bmc, cursor: None, entries: 64 }
    }

    /// After its first looks, which found these.
    fn after(bmc: FakeBmc) -> Self {
        let mut walker = Self::new(bmc);
        for _ in 0..3 {
            assert_eq!(walker.news(), [0; 0], "history is no news");
        }
        walker
    }

    fn look(&mut self) -> Result<LogReading, CommandError> {
        let limits = Limits { entries: self.entries, is_over: &|| false };
        let reading = read_log(&mut self.bmc, self.cursor.clone(), &limits)?;
        // As it is saved.
        let saved = serde_json::to_string(&reading.cursor).unwrap();
        self.cursor = Some(serde_json::from_str(&saved).unwrap());
        Ok(reading)
    }

    /// The ids of what one look brings as news.
    fn news(&mut self) -> Vec<u16> {
        ids(&self.look().unwrap())
    }
}

fn ids(reading: &LogReading) -> Vec<u16> {
    let news = reading.records.iter().filter(|record| record.is_news);
    news.map(|record| u16::from_le_bytes([record.record[0], record.record[1]])).collect()
}

#[test]
fn what_is_written_after_the_first_look_is_news_once() {
    let mut walker = Walker::after(FakeBmc::new(&[ECC, FAILS]));
    assert_eq!(walker.news(), [0; 0]);
    walker.bmc.add(MENDED);
    walker.bmc.add(ECC);
    assert_eq!(walker.news(), [3, 4]);
    assert_eq!(walker.news(), [0; 0]);
}

#[test]
fn the_first_entry_of_an_empty_log_is_news() {
    let mut walker = Walker::after(FakeBmc::new(&[]));
    assert_eq!(walker.news(), [0; 0]);
    walker.bmc.add(ECC);
    assert_eq!((walker.news(), walker.news()), (vec![1], vec![]));
}

#[test]
fn ten_thousand_entries_are_read_in_looks_of_a_bounded_size_and_each_once() {
    let mut walker = Walker::new(FakeBmc::new(&[ECC; 10_000]));
    let (mut read, mut news, mut looks) = (0, Vec::new(), 0);
    while read < 10_001 {
        let reading = walker.look().unwrap();
        assert!(reading.records.len() <= 64 && walker.bmc.asked.len() <= 64 + 3);
        walker.bmc.asked.clear();
        if looks == 0 {
            walker.bmc.add(FAILS);
        }
        (read, looks) = (read + reading.records.len(), looks + 1);
        news.extend(ids(&reading));
    }
    assert_eq!((read, news, looks), (10_001, vec![10_001], 157));
    assert_eq!(walker.look().unwrap().records.len(), 0);
}

#[test]
fn time_that_is_over_ends_a_look_and_nothing_is_lost() {
    let mut bmc = FakeBmc::new(&[]);
    let over = Limits { entries: 64, is_over: &|| true };
    let mut cursor = None;
    for _ in 0..3 {
        cursor = Some(read_log(&mut bmc, cursor, &over).unwrap().cursor);
    }
    bmc.add(ECC);
    let second = read_log(&mut bmc, cursor, &over).unwrap();
    assert_eq!((second.records.len(), second.is_whole), (0, false));
    let mut walker = Walker { bmc, cursor: Some(second.cursor), entries: 64 };
    assert_eq!(walker.news(), [1]);
}

#[test]
fn a_bmc_that_starts_at_the_first_look_repeats_nothing() {
    for empty_looks in [1, 2] {
        let mut walker = Walker::new(FakeBmc::new(&[]));
        walker.bmc.erased = 0;
        for _ in 0..empty_looks {
            assert_eq!(walker.news(), [0; 0]);
            walker.bmc.erased = NEW_YEAR;
        }
        walker.bmc.records = vec![record(1, NEW_YEAR, ECC), record(2, NEW_YEAR, FAILS)];
        assert_eq!(walker.news(), [0; 0], "{empty_looks}");
        walker.bmc.add(MENDED);
        assert_eq!(walker.news(), [3], "{empty_looks}");
    }
}

/// And a BMC need not give the last one by its name.
#[test]
fn an_entry_that_leads_to_the_first_one_or_to_none_is_the_last() {
    for after_last in [LAST, FIRST, 9] {
        let mut walker = Walker::new(FakeBmc::new(&[ECC, FAILS]));
        walker.bmc.after_last = after_last;
        walker.bmc.answers(ENTRY, &[0xcc]);
        assert_eq!(walker.news(), [0; 0], "{after_last}");
        assert!(walker.look().unwrap().is_whole, "{after_last}");
        walker.bmc.add(MENDED);
        assert_eq!(walker.news(), [3], "{after_last}");
        for _ in 0..300 {
            assert!(walker.look().unwrap().is_whole, "{after_last}");
        }
        walker.bmc.add(ECC);
        assert_eq!(walker.news(), [4], "{after_last}");
    }
}

#[test]
fn a_log_that_was_cleared_is_all_news_though_its_ids_are_the_old_ones() {
    for looks_in_between in [false, true] {
        let mut walker = Walker::after(FakeBmc::new(&[ECC, FAILS, ECC]));
        walker.bmc.clear();
        if looks_in_between {
            assert!(walker.look().unwrap().is_cleared);
        }
        // The clock was set back: the time of an entry decides nothing.
        walker.bmc.records = vec![record(1, 5, ECC), record(2, 5, ECC), record(3, 5, MENDED), record(4, 5, ECC)];
        let reading = walker.look().unwrap();
        assert_eq!((ids(&reading), reading.is_cleared), (vec![1, 2, 3, 4], !looks_in_between));
        assert_eq!(walker.news(), [0; 0]);
    }
}

#[test]
fn a_log_that_is_found_empty_and_filled_was_cleared_though_no_time_shows_it() {
    let mut walker = Walker::after(FakeBmc::new(&[ECC, FAILS]));
    walker.bmc.records.clear();
    assert!(!walker.look().unwrap().is_cleared);
    walker.bmc.records = vec![record(0, NEW_YEAR, MENDED), record(1, NEW_YEAR, ECC)];
    let reading = walker.look().unwrap();
    assert_eq!((ids(&reading), reading.is_cleared), (vec![0, 1], true));
    assert_eq!(walker.news(), [0; 0], "an id of 0 is an id");
}

#[test]
fn a_bmc_that_starts_and_has_not_read_its_log_yet_repeats_nothing() {
    let mut walker = Walker::after(FakeBmc::new(&[ECC, FAILS]));
    let records = std::mem::take(&mut walker.bmc.records);
    assert_eq!(walker.news(), [0; 0]);
    walker.bmc.records = records;
    walker.bmc.add(MENDED);
    assert_eq!(walker.news(), [3]);
}

#[test]
fn where_single_entries_were_deleted_the_rest_is_not_read_again() {
    let mut walker = Walker::after(FakeBmc::new(&[ECC; 20]));
    walker.bmc.records.truncate(15);
    walker.bmc.erased += 60;
    walker.bmc.records.push(record(21, NEW_YEAR, MENDED));
    assert_eq!(walker.news(), [21]);
}

/// Without a time of erasure that shows more, another log is history.
#[test]
fn ids_that_were_given_out_once_more_repeat_nothing() {
    for erased in [NEW_YEAR, NEW_YEAR - 1, 0, 17, u32::MAX] {
        let mut walker = Walker::after(FakeBmc::new(&[ECC, FAILS, ECC]));
        walker.bmc.records.iter_mut().for_each(|record| record[0] += 40);
        walker.bmc.erased = erased;
        let reading = walker.look().unwrap();
        assert_eq!((ids(&reading), reading.is_cleared), (vec![], false), "{erased:#x}");
        walker.bmc.add(ECC);
        assert_eq!(walker.news(), [44], "{erased:#x}");
    }
}

#[test]
fn ids_wrap_and_the_oldest_entries_are_overwritten() {
    let mut walker = Walker::after(FakeBmc::new(&[]));
    walker.bmc.records = vec![record(HIGHEST - 1, NEW_YEAR, ECC)];
    assert_eq!(walker.news(), [HIGHEST - 1]);
    walker.bmc.add(ECC);
    walker.bmc.add(ECC);
    walker.bmc.records.remove(0);
    // The one that was read last is gone: what is new of it nothing shows.
    assert_eq!(walker.news(), [0; 0]);
    walker.bmc.add(ECC);
    walker.bmc.records.remove(0);
    assert_eq!(walker.news(), [2]);
}

#[test]
fn a_reservation_and_a_number_of_bytes_are_given_where_they_are_wanted() {
    let mut bmc = FakeBmc::new(&[ECC, FAILS]);
    (bmc.wants_reservation, bmc.most_bytes) = (true, 16);
    let mut walker = Walker::after(bmc);
    walker.bmc.add(MENDED);
    assert_eq!(walker.news(), [3]);
    assert!(walker.bmc.asked.contains(&RESERVE));
    // Another program takes it away again and again.
    (0..3).for_each(|_| walker.bmc.answers(ENTRY, &[0xc5]));
    let refused = walker.look().unwrap_err();
    assert_eq!(refused.to_string(), "the BMC refuses Get SEL Entry with completion code c5h (reservation lost)");
}

#[test]
fn a_bmc_that_refuses_loses_nothing() {
    for (command, code) in [(INFO, 0xc0), (INFO, 0x81), (INFO, 0xff), (ENTRY, 0xc0), (ENTRY, 0xc3), (ENTRY, 0xd5)] {
        let mut walker = Walker::after(FakeBmc::new(&[ECC]));
        walker.bmc.add(FAILS);
        walker.bmc.answers(command, &[code]);
        assert!(matches!(walker.look(), Err(CommandError::Refused { code: refused, .. }) if refused == code));
        assert_eq!(walker.news(), [2], "{code:x}");
    }
    // In the middle: what was read counts, the rest is the next look's.
    let mut walker = Walker::after(FakeBmc::new(&[]));
    walker.bmc.records = (1..5).map(|id| record(id, NEW_YEAR, ECC)).collect();
    walker.entries = 2;
    assert_eq!(walker.news(), [1, 2]);
    (walker.entries, walker.bmc.asked) = (64, Vec::new());
    // Its answer to the entry that was read last, then a refusal.
    walker.bmc.answers(ENTRY, &[&[0_u8, 3, 0][..], &record(2, NEW_YEAR, ECC)].concat());
    walker.bmc.answers(ENTRY, &[&[0_u8, 4, 0][..], &record(3, NEW_YEAR, ECC)].concat());
    walker.bmc.answers(ENTRY, &[0xc0]);
    assert_eq!((walker.news(), walker.news()), (vec![3], vec![4]));
}

#[test]
fn garbage_is_no_entry() {
    let mut walker = Walker::after(FakeBmc::new(&[]));
    walker.bmc.records = (1..4).map(|id| record(id, NEW_YEAR, ECC)).collect();
    // Cut, and another one than was asked for.
    let answer = |next: u8, record: &[u8]| [&[0, next, 0][..], record].concat();
    walker.bmc.answers(ENTRY, &answer(2, &record(1, NEW_YEAR, ECC)[..9]));
    walker.bmc.answers(ENTRY, &answer(3, &record(77, NEW_YEAR, ECC)));
    assert_eq!(walker.news(), [3]);
    for answer in [&[][..], &[0], &[0, 1], &[0, 0x51, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        walker.bmc.answers(INFO, answer);
        assert!(matches!(walker.look(), Err(CommandError::Short { .. })), "{answer:?}");
    }
    walker.bmc.script.push_back((INFO, Err("no answer within 5 s".to_owned())));
    assert_eq!(walker.look().unwrap_err().to_string(), "no answer within 5 s");
}

#[test]
fn a_log_without_an_end_is_an_error() {
    let circle = |next: u8, id: u16| [&[0, next, 0][..], &record(id, NEW_YEAR, ECC)].concat();
    for (first, second) in [(2, 1), (2, 2)] {
        let mut walker = Walker::after(FakeBmc::new(&[]));
        walker.bmc.records = (1..4).map(|id| record(id, NEW_YEAR, ECC)).collect();
        walker.bmc.answers(ENTRY, &circle(first, 1));
        walker.bmc.answers(ENTRY, &circle(second, 2));
        walker.bmc.answers(ENTRY, &circle(2, 1));
        assert_eq!(walker.look().unwrap_err(), CommandError::Endless, "{first} {second}");
    }
    // A circle that is longer than a look.
    let mut walker = Walker::after(FakeBmc::new(&[]));
    walker.bmc.records = vec![record(1, NEW_YEAR, ECC)];
    walker.entries = 4;
    let error = (1..100_u8).step_by(4).find_map(|id| {
        // From the second look on it begins with the entry that was read last.
        (id.max(2) - 1..id + 4).for_each(|id| walker.bmc.answers(ENTRY, &circle(id + 1, u16::from(id))));
        let error = walker.look().err();
        walker.bmc.script.clear();
        error
    });
    assert_eq!(error, Some(CommandError::Endless));
}
