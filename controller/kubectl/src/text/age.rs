//! Times for people: how long ago, and when by the local clock.

use jiff::{Timestamp, tz::TimeZone};

/// How long before `now` something was, in its largest unit: `42s`, `7m`, `3h`, `12d`. What is yet to come is new.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()).max(0) {
        secs @ ..60 => format!("{secs}s"),
        secs @ 60..3_600 => format!("{}m", secs / 60),
        secs @ 3_600..86_400 => format!("{}h", secs / 3_600),
        secs => format!("{}d", secs / 86_400),
    }
}

/// `time` in `zone`, RFC 3339 to the second.
pub(super) fn local(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit_and_a_local_time_its_offset() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (secs, shown) in [(-5, "0s"), (59, "59s"), (60, "1m"), (3_599, "59m"), (3_600, "1h"), (200_000, "2d")] {
            assert_eq!(age(at(1_000_000), at(1_000_000 + secs)), shown);
        }
        assert_eq!(local(at(0), &TimeZone::fixed(jiff::tz::offset(1))), "1970-01-01T01:00:00+01:00");
    }
}
