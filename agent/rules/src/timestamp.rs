//! Where a line of a log file has its time, and how it is read: syslog's without a year, RFC 3339's with everything, auditd's
//! in the middle of a record. Pure.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime, Time},
    tz::{Offset, TimeZone},
};

/// Where a file's line has its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimestampFormat {
    /// `Nov 21 02:31:05 host …`, no year (RFC 3164).
    Syslog,
    /// `2026-11-21T02:31:05.123456+01:00 host …` (RFC 5424, rsyslog's default).
    Rfc3339,
    /// `type=AVC msg=audit(1795228265.123:456): …`, of auditd's log. The whole record is the message.
    Audit,
    /// The line has none: the time of reading counts.
    None,
    /// Node Problem Detector's: a regex whose last capture is the time, in a Go layout.
    Go { pattern: String, layout: String },
}

/// As `timestamp` of a `[[source]]` names them.
pub(crate) static NAMED: [(&str, TimestampFormat); 4] = [
    ("syslog", TimestampFormat::Syslog),
    ("rfc3339", TimestampFormat::Rfc3339),
    ("audit", TimestampFormat::Audit),
    ("none", TimestampFormat::None),
];

impl TimestampFormat {
    /// Its name; that of none for Go's layouts, which are not converted.
    pub(crate) fn name(&self) -> &'static str {
        NAMED.iter().find(|(_, named)| named == self).map_or("none", |(name, _)| *name)
    }

    /// The time of `line`, which was read at `now`; by `zone` where it names none. The agent has the parsers of Go's layouts.
    #[must_use]
    pub fn read(&self, line: &[u8], now: Timestamp, zone: &TimeZone) -> Option<Stamped> {
        match self {
            Self::Syslog => syslog(line, now, zone),
            Self::Rfc3339 => rfc3339(line, zone),
            Self::Audit => Some(Stamped { time: audit_time(line)?, length: 0 }),
            Self::None | Self::Go { .. } => None,
        }
    }
}

/// A time that was found, and how many bytes of the line it and its padding take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    pub time: Timestamp,
    pub length: usize,
}

/// How far a line may be ahead of our clock: writers in another time zone, clocks that are being set.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);
/// Leap days are at most eight years apart.
const YEARS_BACK: i16 = 8;

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Reads `Nov 21 02:31:05 ` (RFC 3164), also with a fraction, in `zone`. The year is the latest that does not put the
/// line more than a day after `now`: a December line that is read in January is last year's.
fn syslog(line: &[u8], now: Timestamp, zone: &TimeZone) -> Option<Stamped> {
    let mut words = Cursor::new(line);
    let month = words.take(3)?;
    let month = (1_i8..).zip(MONTHS).find_map(|(number, name)| (name.as_slice() == month).then_some(number))?;
    words.spaces()?;
    let day = i8::try_from(words.digits(1, 2)?).ok()?;
    words.spaces()?;
    let time = words.time()?;
    words.end()?;
    let latest = now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
    let this_year = now.to_zoned(zone.clone()).year();
    let time = (this_year - YEARS_BACK..=this_year + 1).rev().find_map(|year| {
        let date = Date::new(year, month, day).ok()?;
        in_zone(DateTime::from_parts(date, time), zone).filter(|time| *time <= latest)
    })?;
    Some(Stamped { time, length: words.at })
}

/// Reads `2026-11-21T02:31:05.123456+01:00 `, with `T` or a space, `Z`, `+01:00`, `+0100` or nothing (then in `zone`).
fn rfc3339(line: &[u8], zone: &TimeZone) -> Option<Stamped> {
    let mut words = Cursor::new(line);
    let year = i16::try_from(words.digits(4, 4)?).ok()?;
    words.byte(b"-")?;
    let month = i8::try_from(words.digits(2, 2)?).ok()?;
    words.byte(b"-")?;
    let day = i8::try_from(words.digits(2, 2)?).ok()?;
    words.byte(b"Tt ")?;
    let civil = DateTime::from_parts(Date::new(year, month, day).ok()?, words.time()?);
    let time = match words.offset()? {
        Some(offset) => offset.to_timestamp(civil).ok()?,
        None => in_zone(civil, zone)?,
    };
    words.end()?;
    Some(Stamped { time, length: words.at })
}

/// The time of a record of auditd's log, which may begin with `node=NAME `. What a user or a program chose stands behind it.
pub(crate) fn audit_time(line: &[u8]) -> Option<Timestamp> {
    const BEFORE: &[u8] = b" msg=audit(";
    if !line.starts_with(b"type=") && !line.starts_with(b"node=") {
        return None;
    }
    let rest = &line[memchr::memmem::find(line, BEFORE)? + BEFORE.len()..];
    let time = std::str::from_utf8(&rest[..memchr::memchr(b':', rest)?]).ok()?;
    let (seconds, millis) = time.split_once('.').filter(|(_, millis)| millis.len() == 3)?;
    let are_digits = [seconds, millis].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let nanos = millis.parse::<i32>().ok().filter(|_| are_digits)? * 1_000_000;
    Timestamp::new(seconds.parse().ok()?, nanos).ok()
}

fn in_zone(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    Some(zone.to_zoned(civil).ok()?.timestamp())
}

/// Goes through a line from its beginning.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let taken = self.line.get(self.at..self.at + bytes)?;
        self.at += bytes;
        Some(taken)
    }

    /// One of these bytes.
    fn byte(&mut self, any_of: &[u8]) -> Option<u8> {
        let byte = self.peek().filter(|byte| any_of.contains(byte))?;
        self.at += 1;
        Some(byte)
    }

    /// At least one space.
    fn spaces(&mut self) -> Option<()> {
        self.byte(b" ")?;
        while self.byte(b" ").is_some() {}
        Some(())
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let (mut value, from) = (0, self.at);
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit).filter(|_| self.at - from < most) {
            value = value * 10 + u32::from(digit - b'0');
            self.at += 1;
        }
        (self.at - from >= least).then_some(value)
    }

    /// `02:31:05`, a fraction if there is one. A leap second is the one before.
    fn time(&mut self) -> Option<Time> {
        let hour = self.two()?;
        self.byte(b":")?;
        let minute = self.two()?;
        self.byte(b":")?;
        let second = self.two()?.min(59);
        let nanos = if self.byte(b".,").is_some() { self.fraction()? } else { 0 };
        Time::new(hour, minute, second, nanos).ok()
    }

    fn two(&mut self) -> Option<i8> {
        i8::try_from(self.digits(2, 2)?).ok()
    }

    /// One to nine digits, as nanoseconds.
    fn fraction(&mut self) -> Option<i32> {
        let from = self.at;
        let value = i32::try_from(self.digits(1, 9)?).ok()?;
        let missing = u32::try_from(9 - (self.at - from)).ok()?;
        Some(value * 10_i32.pow(missing))
    }

    /// `Some(None)` if there is none.
    fn offset(&mut self) -> Option<Option<Offset>> {
        if self.byte(b"Zz").is_some() {
            return Some(Some(Offset::UTC));
        }
        let Some(sign) = self.byte(b"+-") else { return Some(None) };
        let hours = i32::try_from(self.digits(2, 2)?).ok()?;
        let _ = self.byte(b":");
        let minutes = i32::try_from(self.digits(2, 2)?).ok().filter(|minutes| *minutes < 60)?;
        let seconds = (hours * 60 + minutes) * 60;
        Some(Some(Offset::from_seconds(if sign == b'-' { -seconds } else { seconds }).ok()?))
    }

    /// The end of the line or the padding behind the time; a colon may stand before it (some routers').
    fn end(&mut self) -> Option<()> {
        let _ = self.byte(b":");
        if self.peek().is_none() { Some(()) } else { self.spaces() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn berlin() -> TimeZone {
        TimeZone::fixed(Offset::from_hours(1).unwrap())
    }

    #[test]
    fn each_that_has_a_name_is_known_by_it() {
        for (name, format) in &NAMED {
            assert_eq!(format.name(), *name);
        }
        let go = TimestampFormat::Go { pattern: String::new(), layout: String::new() };
        assert_eq!(go.name(), "none");
    }

    #[test]
    fn syslog_times_get_the_year_that_makes_sense() {
        let cases = [
            // line, read at, meant
            ("Nov 21 02:31:05 node1 kernel: x", "2026-11-21T01:31:06Z", "2026-11-21T01:31:05Z"),
            ("Nov  1 02:31:05 node1 kernel: x", "2026-11-21T01:31:06Z", "2026-11-01T01:31:05Z"),
            ("Nov 1 02:31:05.123456 node1 x", "2026-11-21T01:31:06Z", "2026-11-01T01:31:05.123456Z"),
            ("Dec 31 23:59:59 node1 x", "2027-01-01T10:00:00Z", "2026-12-31T22:59:59Z"),
            // The reader's clock is a little behind the writer's.
            ("Jan  1 00:00:01 node1 x", "2026-12-31T22:59:50Z", "2026-12-31T23:00:01Z"),
            // More than a day ahead can only be last year's.
            ("Nov 23 02:31:05 node1 x", "2026-11-21T01:31:06Z", "2025-11-23T01:31:05Z"),
            ("Feb 29 00:00:00 node1 x", "2027-03-01T00:00:00Z", "2024-02-28T23:00:00Z"),
            ("Jun 30 23:59:60 node1 x", "2026-11-21T01:31:06Z", "2026-06-30T22:59:59Z"),
        ];
        for (line, now, meant) in cases {
            let stamped = syslog(line.as_bytes(), at(now), &berlin()).map(|stamped| stamped.time);
            assert_eq!(stamped, Some(at(meant)), "{line} at {now}");
        }
    }

    #[test]
    fn what_follows_the_time_begins_behind_its_space() {
        let line = b"Nov 21 02:31:05 node1 kernel: x";
        let stamped = syslog(line, at("2026-11-21T01:31:06Z"), &berlin()).unwrap();
        assert_eq!(&line[stamped.length..], b"node1 kernel: x");
    }

    #[test]
    fn rfc3339_times_in_all_their_variants() {
        let cases = [
            ("2026-11-21T02:31:05Z x", "2026-11-21T02:31:05Z"),
            ("2026-11-21T02:31:05.123456+01:00 x", "2026-11-21T01:31:05.123456Z"),
            ("2026-11-21T02:31:05.123456789-0330 x", "2026-11-21T06:01:05.123456789Z"),
            ("2026-11-21 02:31:05,5+00:00 x", "2026-11-21T02:31:05.5Z"),
            ("2026-11-21 02:31:05 x", "2026-11-21T01:31:05Z"),
            ("2026-11-21T02:31:05Z", "2026-11-21T02:31:05Z"),
        ];
        for (line, meant) in cases {
            assert_eq!(rfc3339(line.as_bytes(), &berlin()).map(|s| s.time), Some(at(meant)), "{line}");
        }
    }

    #[test]
    fn a_record_of_auditd_has_its_time_before_all_that_others_chose() {
        let expected = Some(at("2026-11-21T02:31:05.123Z"));
        for line in [
            "type=ANOM_ABEND msg=audit(1795228265.123:456): auid=4294967295 comm=\"kubelet\" sig=11 res=1",
            "node=worker-7 type=ANOM_ABEND msg=audit(1795228265.123:456): sig=11",
            "type=USER_AUTH msg=audit(1795228265.123:456): pid=1 acct=\" msg=audit(1.000:1):\"",
            "type=EOE msg=audit(1795228265.123:456):",
        ] {
            assert_eq!(audit_time(line.as_bytes()), expected, "{line}");
        }
        for line in [
            "",
            "type=",
            "type=EOE",
            "type=EOE msg=audit(",
            "type=EOE msg=audit(1795228265.123",
            "type=EOE msg=audit(1795228265:456):",
            "type=EOE msg=audit(1795228265.12:456):",
            "type=EOE msg=audit(+795228265.123:456):",
            "type=EOE msg=audit(1795228265.+23:456):",
            "type=EOE msg=audit(99999999999999999999.123:456):",
            "audit: type=1400 audit(1795228265.123:456): apparmor=\"DENIED\"",
            " type=EOE msg=audit(1795228265.123:456):",
        ] {
            assert_eq!(audit_time(line.as_bytes()), None, "{line}");
        }
        assert_eq!(audit_time(b"type=\xff msg=audit(\xff.123:4):"), None);
        let record = b"type=EOE msg=audit(1795228265.123:456):";
        let read = TimestampFormat::Audit.read(record, Timestamp::MAX, &berlin());
        assert_eq!(
            read.map(|stamped| (Some(stamped.time), stamped.length)),
            Some((expected, 0)),
            "it is all the message"
        );
    }

    #[test]
    fn other_lines_have_no_time() {
        let now = at("2026-11-21T01:31:06Z");
        for line in
            ["", "Nov", "nov 21 02:31:05 x", "Nov 32 02:31:05 x", "Nov 21 24:31:05 x", "Nov 21 02:31:05x", "\0\0"]
        {
            assert_eq!(syslog(line.as_bytes(), now, &berlin()), None, "{line}");
        }
        for line in
            ["", "2026-13-21T02:31:05Z", "2026-11-21T02:31Z", "2026-11-21T02:31:05.Z", "2026-11-21T02:31:05+99:99"]
        {
            assert_eq!(rfc3339(line.as_bytes(), &berlin()), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_it_panic(line in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
            let _ = (syslog(&line, Timestamp::MIN, &berlin()), rfc3339(&line, &berlin()));
        }

        #[test]
        fn no_near_time_makes_it_panic(line in "[JFMASOND][a-z]{2} {1,2}[0-9]{1,3} [0-9:.]{0,12} x|[0-9-]{8,12}[T ][0-9:.,]{0,20}[Z+-][0-9:]{0,6}") {
            let _ = (syslog(line.as_bytes(), Timestamp::MAX, &berlin()), rfc3339(line.as_bytes(), &berlin()));
        }
    }
}
