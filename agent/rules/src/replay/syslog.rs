//! Lines of `/var/log/syslog` and its like: `Nov 21 02:31:05 host program[pid]: text`, or with an RFC 3339 time.

use jiff::Timestamp;

use super::{
    dmesg,
    saved::{Fields, Saved},
    time::{self, Calendar},
};
use crate::detector::Known;

/// What such a line still shows of a record.
const KNOWN: [&str; 4] = ["SYSLOG_IDENTIFIER", "SYSLOG_PID", "_PID", "_TRANSPORT"];

/// The record in `line`. A line of another shape may still be of a log file that a rule reads.
pub(super) fn read<'a>(line: &'a [u8], calendar: &Calendar) -> Saved<'a> {
    let unshaped = || Saved { kernel: false, known: Known::Only(&[]), ..Saved::kernel(line, line) };
    shaped(line, calendar).unwrap_or_else(unshaped)
}

fn shaped<'a>(line: &'a [u8], calendar: &Calendar) -> Option<Saved<'a>> {
    let (time, rest) = timed(line, Some(calendar))?;
    let rest = &rest[memchr::memchr(b' ', rest)? + 1..];
    let colon = memchr::memchr(b':', &rest[..rest.len().min(256)])?;
    let (tag, text) = (std::str::from_utf8(&rest[..colon]).ok()?, &rest[colon + 1..]);
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let kernel = tag == "kernel";
    let (since_boot, text) = if kernel { dmesg::split_seconds(text) } else { (None, text) };
    let known = Known::Only(&KNOWN);
    Some(Saved { kernel, time, since_boot, fields: fields(tag), known, ..Saved::kernel(line, text) })
}

/// What follows the time: for files whose rules do not define where the message begins.
pub(super) fn after_time(line: &[u8]) -> &[u8] {
    timed(line, None).map_or(line, |(_, rest)| rest)
}

/// Whether `line` begins with a time.
pub(super) fn has_time(line: &[u8]) -> bool {
    timed(line, None).is_some()
}

/// The time and what follows it. The time is unknown without a calendar, or where the calendar has no year.
fn timed<'a>(line: &'a [u8], calendar: Option<&Calendar>) -> Option<(Option<Timestamp>, &'a [u8])> {
    let line = without_priority(line);
    let classic = line.get(..15).and_then(|stamp| std::str::from_utf8(stamp).ok());
    if let Some(stamp) = classic.filter(|stamp| time::is_without_year(stamp)) {
        let time = calendar.and_then(|calendar| calendar.without_year(stamp));
        return Some((time, line[15..].strip_prefix(b" ")?));
    }
    let space = memchr::memchr(b' ', &line[..line.len().min(40)])?;
    let time = time::rfc3339(std::str::from_utf8(&line[..space]).ok()?)?;
    Some((Some(time), &line[space + 1..]))
}

fn without_priority(line: &[u8]) -> &[u8] {
    let end = line.iter().take(5).position(|byte| *byte == b'>').filter(|_| line.starts_with(b"<"));
    end.map_or(line, |end| &line[end + 1..])
}

fn fields(tag: &str) -> Fields {
    let (program, pid) = tag.split_once('[').map_or((tag, None), |(name, rest)| (name, rest.strip_suffix(']')));
    let mut fields = vec![("SYSLOG_IDENTIFIER".to_owned(), program.as_bytes().to_vec())];
    for name in ["_PID", "SYSLOG_PID"] {
        fields.extend(pid.map(|pid| (name.to_owned(), pid.as_bytes().to_vec())));
    }
    let transport = if program == "kernel" { "kernel" } else { "syslog" };
    fields.push(("_TRANSPORT".to_owned(), transport.as_bytes().to_vec()));
    fields
}

#[cfg(test)]
mod tests {
    use nodewell_model::RecordFields;

    use super::*;

    fn calendar() -> Calendar {
        Calendar { now: "2026-12-01T00:00:00Z".parse().ok(), ..Calendar::default() }
    }

    #[test]
    fn kernel_lines_lose_host_program_and_seconds() {
        for line in [
            "Nov 21 02:31:05 host kernel: [   12.345678] EXT4-fs error",
            "Nov 21 02:31:05 host kernel: EXT4-fs error",
            "2026-11-21T02:31:05.000000+00:00 host kernel: EXT4-fs error",
            "<3>Nov 21 02:31:05 host kernel: EXT4-fs error",
        ] {
            let saved = shaped(line.as_bytes(), &calendar()).unwrap();
            assert_eq!((saved.kernel, &*saved.text), (true, &b"EXT4-fs error"[..]), "{line}");
            assert_eq!(saved.time.map(|time| time.to_string()).as_deref(), Some("2026-11-21T02:31:05Z"));
        }
    }

    #[test]
    fn a_program_is_a_field() {
        let saved = shaped(b"Nov 21 02:31:05 host systemd[1]: Started x", &calendar()).unwrap();
        assert_eq!((saved.kernel, &*saved.text), (false, &b"Started x"[..]));
        assert_eq!(saved.fields.field("SYSLOG_IDENTIFIER").as_deref(), Some(&b"systemd"[..]));
        assert_eq!(saved.fields.field("_PID").as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn other_lines_are_not_the_kernels() {
        for line in [
            "",
            "kernel: x",
            "Nov 21 02:31:05",
            "Nov 21 02:31:05 host",
            "Nov 99 02:31:05 host kernel: x",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert!(!read(line.as_bytes(), &calendar()).kernel, "{line}");
        }
    }
}
