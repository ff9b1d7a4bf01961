use proptest::prelude::*;

use super::*;

const HOUR: Window = Window { length: Duration::from_secs(3600), start: Start::Unknown };
const SINCE_BOOT: Window = Window { length: Duration::from_secs(3600), start: Start::AtBoot };

fn at(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn an_old_count_is_no_growth() {
    let mut growth = Growth::default();
    assert_eq!(growth.observe(4711, at(86_400), SINCE_BOOT), 0);
    assert_eq!(growth.observe(4713, at(86_460), SINCE_BOOT), 2);
    assert_eq!((growth.within(), growth.readings()), (2, 1));
}

#[test]
fn a_first_count_soon_after_boot_is_all_growth() {
    let mut growth = Growth::default();
    assert_eq!(growth.observe(3, at(600), SINCE_BOOT), 3);
    assert_eq!(Growth::default().observe(3, at(600), HOUR), 0);
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let mut growth = Growth::from_zero();
    growth.observe(5, at(1_000), HOUR);
    growth.observe(7, at(4_000), HOUR);
    assert_eq!(growth.within(), 7);
    growth.observe(7, at(4_601), HOUR);
    assert_eq!(growth.within(), 2);
    growth.observe(7, at(7_601), HOUR);
    assert_eq!(growth.within(), 0);
}

#[test]
fn a_counter_that_goes_back_is_counted_from_there() {
    let mut growth = Growth::from_zero();
    growth.observe(100, at(10_000), HOUR);
    assert_eq!(growth.observe(1, at(10_060), HOUR), 0);
    assert_eq!(growth.observe(4, at(10_120), HOUR), 3);
    assert_eq!(growth.within(), 103);
}

#[test]
fn a_clock_that_starts_again_forgets_what_lies_ahead() {
    let mut growth = Growth::from_zero();
    growth.observe(100, at(10_000), HOUR);
    growth.observe(100, at(50), HOUR);
    assert_eq!(growth.within(), 0);
}

#[test]
fn rounding_keeps_the_first_digit() {
    let pairs = [(0, 0), (1, 1), (4, 2), (9, 5), (10, 10), (1_532, 1_000), (4_999, 2_000), (9_999, 5_000)];
    for (count, expected) in pairs {
        assert_eq!(rounded(count), expected, "{count}");
    }
    assert_eq!(rounded(u64::MAX), 10_000_000_000_000_000_000);
}

proptest! {
    /// Never more than all growth, never less than what surely lies within the window; few steps, whatever comes.
    #[test]
    fn it_counts_what_lies_within(readings in prop::collection::vec((0_u64..2_000, 0_u64..50), 1..200)) {
        let mut growth = Growth::from_zero();
        let (mut count, mut now, mut log) = (0, 100_000, Vec::new());
        for (pause, more) in readings {
            now += pause;
            count += more;
            growth.observe(count, at(now), HOUR);
            log.push((now, more));
            let since = |secs: u64| log.iter().filter(|(time, _)| *time >= now - secs).map(|(_, more)| more).sum::<u64>();
            prop_assert!(growth.within() >= since(3_600));
            // A part more, because a part leaves as one.
            prop_assert!(growth.within() <= since(3_600 + 300));
            prop_assert!(growth.steps.len() <= PARTS as usize + 2);
        }
    }

    #[test]
    fn it_survives_any_counter_and_clock(readings in prop::collection::vec((any::<u64>(), any::<u64>()), 1..50)) {
        let mut growth = Growth::default();
        for (count, now) in readings {
            growth.observe(count, at(now), SINCE_BOOT);
            growth.within();
        }
    }
}
