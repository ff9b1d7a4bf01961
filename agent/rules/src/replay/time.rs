//! Times as saved logs write them.

use std::time::Duration;

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Of a short name of a day or a month in any language.
const NAME_CHARS: usize = 8;

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

    /// `Sat Nov 21 02:46:28 2026`, as `dmesg -T` writes it; unknown where the month is another language's.
    pub(super) fn ctime(&self, text: &str) -> Option<Timestamp> {
        let Ctime { month, day, time, year } = Ctime::of(text)?;
        self.instant(Date::new(year, month?, day).ok()?.to_datetime(time))
    }

    /// `2026-11-21` and `02:31:05.123456`.
    pub(super) fn civil(&self, date: &str, clock: &str) -> Option<Timestamp> {
        let (date, clock): (Date, Time) = (date.parse().ok()?, clock.parse().ok()?);
        self.instant(date.to_datetime(clock))
    }

    fn instant(&self, civil: DateTime) -> Option<Timestamp> {
        self.zone.to_ambiguous_timestamp(civil).compatible().ok()
    }
}

/// A date and a time as C's `ctime` and `date` order them.
struct Ctime {
    /// `None`: another language's.
    month: Option<i8>,
    day: i8,
    time: Time,
    year: i16,
}

impl Ctime {
    fn of(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().take(6).collect();
        let [weekday, month, day, time, year] = words[..] else { return None };
        if !has_shape(year, "0000") || !is_name(weekday) || !is_name(month) {
            return None;
        }
        let (day, time) = (day_of(day)?, time_of_day(time)?);
        Some(Self { month: month_of(month), day, time, year: year.parse().ok()? })
    }
}

/// A day of a month, in one digit or two.
fn day_of(text: &str) -> Option<i8> {
    let is_plain = has_shape(text, "0") || has_shape(text, "00");
    text.parse().ok().filter(|day| is_plain && (1..=31).contains(day))
}

/// A short name of a day or a month: `Ter`, `août`, `févr.`, `火`, `1月`.
fn is_name(word: &str) -> bool {
    let may_be_in = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || c == '.';
    word.chars().any(char::is_alphabetic) && word.chars().all(may_be_in) && word.chars().count() <= NAME_CHARS
}

fn month_of(name: &str) -> Option<i8> {
    let month = MONTHS.iter().position(|month| *month == name)?;
    i8::try_from(month + 1).ok()
}

/// `02:46:28`.
fn time_of_day(text: &str) -> Option<Time> {
    let is_plain = has_shape(text, "00:00:00");
    Time::new(part(text, 0)?, part(text, 3)?, part(text, 6)?.min(59), 0).ok().filter(|_| is_plain)
}

/// Whether `text` has digits where `shape` has them, and else the same.
fn has_shape(text: &str, shape: &str) -> bool {
    let agrees = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(agrees)
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

/// Whether `text` is a time as `dmesg -T` writes it, with names in any language.
pub(super) fn is_ctime(text: &str) -> bool {
    text.get(4..19).is_some_and(is_without_year) || Ctime::of(text).is_some()
}

/// Whether these are `2026-11-21` and `02:31:05`, which may have a fraction.
pub(super) fn is_civil(date: &str, clock: &str) -> bool {
    has_shape(date, "0000-00-00") && date.parse::<Date>().is_ok() && is_clock(clock)
}

/// `02:46:28`, which may have a fraction.
fn is_clock(text: &str) -> bool {
    let (time, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_fraction && time_of_day(time).is_some()
}

/// Whether these are a month's short name that is not English, a day and a time of day, which may have a fraction.
pub(super) fn is_in_foreign_month(month: &str, day: &str, clock: &str) -> bool {
    is_name(month) && month_of(month).is_none() && day_of(day).is_some() && is_clock(clock)
}

/// Whether `text` begins like `Nov 21 02:31:05`.
pub(super) fn is_without_year(text: &str) -> bool {
    month_day_time(text).is_some()
}

fn month_day_time(text: &str) -> Option<(i8, i8, Time)> {
    let month = month_of(text.get(..3)?)?;
    let day = text.get(4..6)?.trim_start().parse().ok().filter(|day| (1..=31).contains(day))?;
    let (hour, minute, second) = (part(text, 7)?, part(text, 10)?, part(text, 13)?);
    let time = Time::new(hour, minute, second.min(59), 0).ok()?;
    (text.get(6..7)? == " ").then_some((month, day, time))
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
    fn a_month_of_another_language_is_a_time_that_is_unknown() {
        for text in ["Ter Set 19 06:01:41 2017", "mar. août  1 06:01:41 2017", "火  1月 13 06:01:41 2017"] {
            assert!(is_ctime(text) && calendar().ctime(text).is_none(), "{text}");
        }
        for text in [
            "",
            "Ter Set 19 06:01:41",
            "Ter Set 19 06:01:41 2017 x",
            "Ter Set 19 06:01 2017",
            "Ter Set 0 06:01:41 2017",
            "Ter Set +9 06:01:41 2017",
            "Ter Set 19 06-01-41 2017",
            "Ter Set 19 06:61:41 2017",
            "Ter 9 19 06:01:41 2017",
            "[Ter Set 19 06:01:41 2017",
            "Department Set 19 06:01:41 2017",
        ] {
            assert!(!is_ctime(text), "{text}");
        }
    }

    #[test]
    fn a_date_and_a_time_are_as_they_are_written_in_full() {
        for clock in ["02:46:28", "02:46:28.5", "02:46:28.123456789", "23:59:60"] {
            assert!(is_civil("2026-11-21", clock) && calendar().civil("2026-11-21", clock).is_some(), "{clock}");
        }
        for (date, clock) in [
            ("2026-11-21", "02:46"),
            ("2026-11-21", "02:46:28,123"),
            ("2026-11-21", "02:46:28."),
            ("2026-11-21", "02:46:28.1234567891"),
            ("2026-11-21", "02:46:28Z"),
            ("2026-11-21", "24:00:00"),
            ("2026-11-31", "02:46:28"),
            ("2026/11/21", "02:46:28"),
            ("26-11-21", "02:46:28"),
            ("+2026-11-21", "02:46:28"),
        ] {
            assert!(!is_civil(date, clock), "{date} {clock}");
        }
    }

    #[test]
    fn other_spellings_are_read() {
        let expected: Timestamp = "2026-11-21T02:46:28Z".parse().unwrap();
        assert_eq!(calendar().ctime("Sat Nov 21 02:46:28 2026"), Some(expected));
        assert_eq!(calendar().ctime("Sáb. Nov 21 02:46:28 2026"), Some(expected));
        assert_eq!(rfc3339("2026-11-21T03:46:28,000000+01:00"), Some(expected));
        assert_eq!(rfc3339("2026-11-21T03:46:28+0100"), Some(expected));
        assert_eq!(rfc3339("Nov"), None);
    }
}
