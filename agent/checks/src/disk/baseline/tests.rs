use proptest::prelude::*;

use super::*;

const ROUND: Duration = Duration::from_secs(300);

fn moment(passed: Duration) -> ReadTime {
    ReadTime { wall: Timestamp::UNIX_EPOCH, boottime: Duration::ZERO, passed }
}

fn grown(baseline: &mut Baseline, value: u64) -> u64 {
    baseline.counted(Counter::MediaErrors, value, moment(ROUND)).grown
}

#[test]
fn what_was_there_at_first_sight_is_not_growth() {
    let mut baseline = Baseline::default();
    assert_eq!([3, 3, 4, 4].map(|value| grown(&mut baseline, value)), [0, 0, 1, 1]);
}

#[test]
fn a_single_low_reading_is_a_slip() {
    let mut baseline = Baseline::default();
    assert_eq!([500, 0, 500, 0, 500].map(|value| grown(&mut baseline, value)), [0; 5]);
}

#[test]
fn a_counter_that_goes_back_for_good_has_a_new_baseline() {
    let mut baseline = Baseline::default();
    assert_eq!([5, 8, 5, 5, 5].map(|value| grown(&mut baseline, value)), [0, 3, 3, 0, 0]);
    // Mended, then new ones.
    assert_eq!([0, 0, 2].map(|value| grown(&mut baseline, value)), [0, 0, 2]);
}

#[test]
fn a_step_that_cannot_be_is_no_growth() {
    let mut baseline = Baseline::default();
    assert_eq!([0, u64::MAX, 1 << 31, 1].map(|value| grown(&mut baseline, value)), [0, 0, 0, 1]);
}

#[test]
fn a_week_of_quiet_reading_ends_it_and_time_without_reading_does_not() {
    let mut baseline = Baseline::default();
    let mut counted = |value, passed| baseline.counted(Counter::MediaErrors, value, moment(passed)).grown;
    counted(0, Duration::ZERO);
    assert_eq!(counted(9, ROUND), 9);
    let day = Duration::from_secs(24 * 3600);
    for _ in 0..6 {
        assert_eq!(counted(9, day), 9);
    }
    assert_eq!(counted(9, day - Duration::from_secs(1)), 9);
    assert_eq!(counted(9, Duration::ZERO), 9);
    assert_eq!(counted(9, Duration::from_secs(1)), 0);
    // What stands now is the baseline.
    assert_eq!(counted(10, ROUND), 1);
}

#[test]
fn a_sign_counts_from_the_second_look_and_is_over_with_the_first_without_it() {
    let mut baseline = Baseline::default();
    let mut looks = 0;
    let mut look = |is_there| {
        looks += 1;
        let moment = ReadTime { boottime: looks * ROUND, ..moment(ROUND) };
        baseline.lasts(Sign::PoolFull, is_there, moment)
    };
    let seen = [true, false, true, true, false, true];
    assert_eq!(seen.map(&mut look), [false, false, false, true, false, false]);
    baseline.lasts(Sign::PoolFull, false, moment(ROUND));
    assert!(baseline.signs.is_empty(), "nothing is saved of what is not there");
}

proptest! {
    #[test]
    fn growth_is_never_more_than_the_count(values in proptest::collection::vec(any::<u64>(), 1..50)) {
        let mut baseline = Baseline::default();
        for value in values {
            let growth = baseline.counted(Counter::MediaErrors, value, moment(ROUND));
            prop_assert!(growth.base.checked_add(growth.grown).is_some());
        }
    }
}
