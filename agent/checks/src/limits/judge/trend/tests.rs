//! Days that grow, days that move.

use proptest::prelude::*;

use super::*;

fn trend(values: impl IntoIterator<Item = u64>) -> Option<Trend> {
    let mut day = Day::default();
    for (hour, value) in (100..).zip(values) {
        day.take(hour, value);
    }
    day.trend()
}

#[test]
fn there_is_no_trend_before_there_was_nearly_a_day() {
    // The last hour is not over.
    assert_eq!(trend((0..20).map(|n| n * 10)), None);
    assert!(trend((0..21).map(|n| n * 10)).is_some());
}

#[test]
fn the_least_of_an_hour_counts() {
    let mut day = Day::default();
    for hour in 0..24 {
        for value in [900, 7, 500] {
            day.take(hour, value);
        }
    }
    day.take(24, 1);
    let trend = day.trend().unwrap();
    assert_eq!((trend.per_day, trend.from, trend.rising), (0.0, 7.0, 0.0));
}

#[test]
fn steady_growth_is_seen_through_one_odd_hour() {
    let values = (0..25).map(|n| if n == 12 { 50_000 } else { 1000 + n * 10 });
    let trend = trend(values).unwrap();
    assert!((trend.per_day - 240.0).abs() < 1.0, "{trend:?}");
    assert!(trend.rising > 0.9 && trend.goes_on);
}

#[test]
fn a_day_that_goes_up_and_down_does_not_rise() {
    for start in 0..24 {
        let wave = |n: u64| {
            let phase = (start + n) % 24;
            1000 + 100 * if phase < 12 { phase } else { 24 - phase }
        };
        let trend = trend((0..25).map(wave)).unwrap();
        assert!(trend.rising < 0.75, "{start}: {trend:?}");
    }
}

#[test]
fn a_node_that_has_filled_up_goes_on_no_more() {
    let trend = trend((0..25).map(|n| 1000 + 100 * n.min(10))).unwrap();
    assert!(!trend.goes_on);
}

#[test]
fn hours_without_a_reading_count_by_their_time() {
    let mut day = Day::default();
    for hour in (0..26).filter(|hour| !(5..8).contains(hour)) {
        day.take(hour, u64::try_from(hour).unwrap() * 10);
    }
    assert!((day.trend().unwrap().per_day - 240.0).abs() < 1.0);
    // A day later nothing of it is left.
    day.take(60, 0);
    day.take(61, 0);
    assert_eq!(day.trend(), None);
}

proptest! {
    #[test]
    fn no_readings_break_it(readings in prop::collection::vec((any::<i64>(), any::<u64>()), 0..80)) {
        let mut day = Day::default();
        for (hour, value) in readings {
            day.take(hour, value);
            prop_assert!(day.samples.len() <= HOURS + 1);
            let _ = day.trend();
        }
    }

    /// Whatever it is added to: the slope is the same.
    #[test]
    fn a_slope_is_found_whatever_the_level(level in 0_u64..1 << 40, step in 0_u64..1 << 20) {
        let found = trend((0..25).map(|n| level + n * step)).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "below 2^45")]
        let expected = (step * 24) as f64;
        prop_assert!((found.per_day - expected).abs() <= expected / 1000.0);
    }
}
