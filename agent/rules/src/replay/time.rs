//! Times as saved logs write them.

use std::time::Duration;

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    fmt::strtime,
    tz::TimeZone,
};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What a time without a year or a zone is measured by.
#[derive(Debug, Clone)]
pub struct Calendar {
    /// The zone of the machine that wrote the log.
    pub zone: TimeZone,
    /// No line is from later than a day after this. Without it, a time without a year stays unknown.
    pub now: Option<Timestamp>,
}

impl Default for Calendar {
    fn default() -> Self {
        Self { zone: TimeZone::UTC, now: None }
    }
}

impl Calendar {
    /// `Nov 21 02:31:05` as the newest such time that is not in the future.
    pub(super) fn without_year(&self, text: &str) -> Option<Timestamp> {
        let (month, day, time) = month_day_time(text)?;
        let latest = self.now?.checked_add(jiff::SignedDuration::from_hours(24)).ok()?;
        let this_year = latest.to_zoned(self.zone.clone()).year();
        // February 29 may be up to eight years back.
        (0..=8).filter_map(|back| Date::new(this_year - back, month, day).ok()).find_map(|date| {
            let moment = self.instant(date.to_datetime(time))?;
            (moment <= latest).then_some(moment)
        })
    }

    /// `Sat Nov 21 02:46:28 2026`, as `dmesg -T` writes it.
    pub(super) fn ctime(&self, text: &str) -> Option<Timestamp> {
        self.instant(strtime::parse("%a %b %e %H:%M:%S %Y", text).ok()?.to_datetime().ok()?)
    }

    /// `2026-11-21` and `02:31:05.123456`.
    pub(super) fn civil(&self, date: &str, clock: &str) -> Option<Timestamp> {
        let (date, clock): (Date, jiff::civil::Time) = (date.parse().ok()?, clock.parse().ok()?);
        self.instant(date.to_datetime(clock))
    }

    fn instant(&self, civil: DateTime) -> Option<Timestamp> {
        self.zone.to_ambiguous_timestamp(civil).compatible().ok()
    }
}

/// `2026-11-21T02:31:05.123456+01:00` in its spellings; `dmesg` writes a comma before the fraction.
pub(super) fn rfc3339(text: &str) -> Option<Timestamp> {
    text.replacen(',', ".", 1).parse().ok()
}

/// `1795228265.123456`, as `journalctl -o short-unix` writes it.
pub(super) fn unix(text: &str) -> Option<Timestamp> {
    let (seconds, micros) = text.split_once('.').filter(|(seconds, micros)| seconds.len() >= 9 && micros.len() == 6)?;
    let micros: i32 = micros.parse().ok()?;
    Timestamp::new(seconds.parse().ok()?, micros * 1000).ok()
}

/// What a line that counts from boot is given, as if that had been when 1970 began. A sum of times is the same, and
/// several times the work for every line that is looked at.
pub(super) fn since_1970(since: Duration) -> Option<Timestamp> {
    let (seconds, nanos) = (i64::try_from(since.as_secs()).ok()?, i32::try_from(since.subsec_nanos()).ok()?);
    Timestamp::new(seconds, nanos).ok()
}

/// The first word of `Sat 2026-11-21 02:31:05 CET`.
pub(super) fn is_weekday(word: &str) -> bool {
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&word)
}

/// Whether `text` begins like `Nov 21 02:31:05`.
pub(super) fn is_without_year(text: &str) -> bool {
    month_day_time(text).is_some()
}

fn month_day_time(text: &str) -> Option<(i8, i8, jiff::civil::Time)> {
    let month = MONTHS.iter().position(|month| text.get(..3) == Some(month))?;
    let day = text.get(4..6)?.trim_start().parse().ok().filter(|day| (1..=31).contains(day))?;
    let (hour, minute, second) = (part(text, 7)?, part(text, 10)?, part(text, 13)?);
    let time = jiff::civil::Time::new(hour, minute, second.min(59), 0).ok()?;
    (text.get(6..7)? == " ").then_some((i8::try_from(month + 1).ok()?, day, time))
}

fn part(text: &str, at: usize) -> Option<i8> {
    text.get(at..at + 2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar() -> Calendar {
        Calendar { zone: TimeZone::UTC, now: "2027-01-02T00:00:00Z".parse().ok() }
    }

    #[test]
    fn a_december_line_read_in_january_is_of_the_year_before() {
        let shown = |text: &str| calendar().without_year(text).map(|time| time.to_string());
        assert_eq!(shown("Dec 31 23:59:60").as_deref(), Some("2026-12-31T23:59:59Z"));
        assert_eq!(shown("Jan  2 10:00:00").as_deref(), Some("2027-01-02T10:00:00Z"));
        assert_eq!(shown("Feb 29 10:00:00").as_deref(), Some("2024-02-29T10:00:00Z"));
        assert_eq!(shown("Feb 30 10:00:00"), None);
        assert_eq!(Calendar::default().without_year("Jan  2 10:00:00"), None);
    }

    #[test]
    fn times_since_boot_are_those_of_a_sum() {
        let largest = Timestamp::MAX.as_second().unsigned_abs();
        for seconds in [0, 1, 253_000_000_000, largest, largest + 1, u64::MAX] {
            for since in [0, 1, 999_999_999].map(|nanos| Duration::new(seconds, nanos)) {
                assert_eq!(since_1970(since), Timestamp::UNIX_EPOCH.checked_add(since).ok(), "{since:?}");
            }
        }
    }

    #[test]
    fn other_spellings_are_read() {
        let expected: Timestamp = "2026-11-21T02:46:28Z".parse().unwrap();
        assert_eq!(calendar().ctime("Sat Nov 21 02:46:28 2026"), Some(expected));
        assert_eq!(rfc3339("2026-11-21T03:46:28,000000+01:00"), Some(expected));
        assert_eq!(rfc3339("2026-11-21T03:46:28+0100"), Some(expected));
        assert_eq!(rfc3339("Nov"), None);
    }
}
