//! Times for people: how long ago, and when by the local clock.

use jiff::{Timestamp, tz::TimeZone};

/// How long before `now` something was, in its largest unit: `42s`, `7m`, `3h`, `12d`. What is yet to come is new.
#[must_use]
pub fn age(then: Timestamp, now: Timestamp) -> String {
    let secs = now.as_second().saturating_sub(then.as_second()).max(0);
    match secs {
        ..60 => format!("{secs}s"),
        60..3_600 => format!("{}m", secs / 60),
        3_600..86_400 => format!("{}h", secs / 3_600),
        _ => format!("{}d", secs / 86_400),
    }
}

/// `time` in `zone`, RFC 3339 to the second.
#[must_use]
pub fn local(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_age_has_one_unit() {
        for (secs, shown) in
            [(0, "0s"), (59, "59s"), (60, "1m"), (3_599, "59m"), (3_600, "1h"), (86_399, "23h"), (200_000, "2d")]
        {
            assert_eq!(age(at(1_000_000), at(1_000_000 + secs)), shown);
        }
    }

    #[test]
    fn what_comes_from_the_future_is_new() {
        assert_eq!(age(at(100), at(0)), "0s");
    }

    #[test]
    fn a_local_time_has_its_offset() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(local(at(0), &zone), "1970-01-01T01:00:00+01:00");
    }
}
