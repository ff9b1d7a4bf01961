//! Lines of `/var/log/syslog` and its like: `Nov 21 02:31:05 host program[pid]: text`, or with an RFC 3339 time or a date and
//! a time without a zone; and records of auditd's log, which only rules on such a file read.

use std::{borrow::Cow, time::Duration};

use jiff::Timestamp;

use super::{
    ReplayOptions, dmesg,
    saved::{Fields, Saved},
    time::{self, Calendar},
};
use crate::{detector::Known, json_log, timestamp::audit_time};

/// What such a line still shows of a record.
const KNOWN: [&str; 6] = ["SYSLOG_IDENTIFIER", "SYSLOG_PID", "_PID", "_SYSTEMD_UNIT", "_TRANSPORT", "UNIT"];
/// Programs whose unit is not called as they are.
const UNITS: [(&str, &str); 9] = [
    ("dbus-broker-launch", "dbus-broker"),
    ("dbus-daemon", "dbus"),
    ("dockerd", "docker"),
    ("hyperkube", "kubelet"),
    ("k0s", "k0scontroller"),
    ("kubelet-wrapper", "kubelet"),
    ("kubenswrapper", "kubelet"),
    ("rke2", "rke2-server"),
    ("rsyslogd", "rsyslog"),
];

/// The record in `line`. A line of another shape may still be of a log file that a rule reads.
pub(super) fn read<'a>(line: &'a [u8], options: &ReplayOptions) -> Saved<'a> {
    let unshaped = || Saved { kernel: false, known: Known::Only(&[]), is_shaped: false, ..Saved::kernel(line, line) };
    shaped(line, options).or_else(|| audited(line)).unwrap_or_else(unshaped)
}

/// All of it is its text.
fn audited(line: &[u8]) -> Option<Saved<'_>> {
    let time = audit_time(line)?;
    Some(Saved { kernel: false, time: Some(time), known: Known::Only(&[]), ..Saved::kernel(line, line) })
}

fn shaped<'a>(line: &'a [u8], options: &ReplayOptions) -> Option<Saved<'a>> {
    let (time, since_boot, rest) = match timed(line, Some(&options.calendar)) {
        Some((time, rest)) => (time, None, rest),
        None => seconds(line).map(|(since, rest)| (None, Some(since), rest))?,
    };
    let rest = after_host(rest)?;
    let colon = memchr::memchr(b':', &rest[..rest.len().min(256)])?;
    let (tag, text) = (std::str::from_utf8(&rest[..colon]).ok()?, &rest[colon + 1..]);
    let text = text.strip_prefix(b" ").unwrap_or(text);
    // Any program may call itself so; its facility is another one.
    let is_foreign = dmesg::priority(line).0.is_some_and(|priority| priority >> 3 != 0) && !options.any_facility;
    let kernel = tag == "kernel" && !is_foreign;
    // rsyslog 5 writes a second colon before what has no priority.
    let text = if kernel { text.strip_prefix(b": ").unwrap_or(text) } else { text };
    let (own, text) = if kernel { dmesg::split_seconds(text) } else { (None, text) };
    let written = if kernel { None } else { json_log::text_of(text) };
    Some(Saved {
        kernel,
        time,
        since_boot: own.or(since_boot),
        fields: Fields::Read(fields(tag, text, kernel)),
        known: Known::Only(&KNOWN),
        ..Saved::kernel(line, written.map_or(Cow::Borrowed(text), Cow::Owned))
    })
}

/// The program and what follows it. Where logs are kept without their host, or people cut it out, that comes first. What
/// begins with a colon, too, stands for the host (`:HOSTNAME:`).
fn after_host(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii_start();
    let (first, after) = rest.split_at(memchr::memchr(b' ', rest)?);
    Some(if is_program(first) { rest } else { after.trim_ascii_start() })
}

fn is_program(word: &[u8]) -> bool {
    word.ends_with(b":") && !word.starts_with(b":")
}

/// What follows the time: for files whose rules do not define where the message begins.
pub(super) fn after_time(line: &[u8]) -> &[u8] {
    timed(line, None).map_or(line, |(_, rest)| rest)
}

/// Whether `line` begins with a time, or as a record of auditd's log.
pub(super) fn has_time(line: &[u8]) -> bool {
    let bare = dmesg::priority(line).1;
    let is_timed = match zoneless(bare).map(|(_, _, rest)| rest).or_else(|| after_foreign_month(bare)) {
        // Many programs write such a time into logs of their own.
        Some(rest) => is_by_program(rest),
        None => timed(line, None).is_some(),
    };
    is_timed || audit_time(line).is_some()
}

/// Whether `line` begins with the seconds since boot, a host and a program, as `journalctl -o short-monotonic` has it, or
/// without a host with the kernel's name: `dmesg` has neither.
pub(super) fn has_seconds(line: &[u8]) -> bool {
    seconds(line).is_some_and(|(_, rest)| is_by_program(rest) || first_word(rest) == b"kernel:")
}

/// Whether `line` begins with the seconds since boot and a program with its process: a journal without hosts has such
/// lines, and so has `dmesg` where a program writes to the kernel's log.
pub(super) fn has_seconds_and_process(line: &[u8]) -> bool {
    seconds(line).is_some_and(|(_, rest)| has_process(first_word(rest)))
}

/// The seconds and what follows them, if that is a program, which a host may stand before.
fn seconds(line: &[u8]) -> Option<(Duration, &[u8])> {
    let (since, rest) = dmesg::split_seconds(line);
    let first = first_word(rest);
    let is_journal = || is_by_program(rest) || first == b"kernel:" || has_process(first);
    since.filter(|_| is_journal()).map(|since| (since, rest))
}

/// Whether `rest` begins with a host and the kernel or a program with its process.
fn is_by_program(rest: &[u8]) -> bool {
    let tag = rest.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    !is_program(first_word(rest)) && (tag == b"kernel:" || has_process(tag))
}

fn first_word(rest: &[u8]) -> &[u8] {
    rest.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// `program[12]:`.
fn has_process(tag: &[u8]) -> bool {
    tag.ends_with(b"]:") && tag.contains(&b'[')
}

/// The time and what follows it. The time is unknown without a calendar, or where the calendar has no year.
fn timed<'a>(line: &'a [u8], calendar: Option<&Calendar>) -> Option<(Option<Timestamp>, &'a [u8])> {
    let (_, line) = dmesg::priority(line);
    let classic = line.get(..15).and_then(|stamp| std::str::from_utf8(stamp).ok());
    if let Some(stamp) = classic.filter(|stamp| time::is_without_year(stamp)) {
        let time = calendar.and_then(|calendar| calendar.without_year(stamp));
        return Some((time, without_fraction(&line[15..]).strip_prefix(b" ")?));
    }
    if let Some((date, clock, rest)) = zoneless(line) {
        return Some((calendar.and_then(|calendar| calendar.civil(date, clock)), rest));
    }
    let space = memchr::memchr(b' ', &line[..line.len().min(40)])?;
    let (word, rest) = (std::str::from_utf8(&line[..space]).ok()?, &line[space + 1..]);
    if let Some(time) = time::rfc3339(word).or_else(|| time::unix(word)) {
        return Some((Some(time), rest));
    }
    if let Some(rest) = after_foreign_month(line) {
        return Some((None, rest));
    }
    // `Sat 2026-11-21 02:31:05 CET `
    let mut words = rest.splitn(4, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(words.next()?).ok();
    let (date, clock, zone) = (text()?, text()?, text()?);
    let utc = Calendar::default();
    let time = time::is_weekday(word).then(|| if zone == "UTC" { Some(&utc) } else { calendar })?;
    let time = time.map_or(Some(None), |calendar| calendar.civil(date, clock).map(Some))?;
    Some((time, words.next()?))
}

/// `2026-11-21 02:31:05.123 `: the date, the time of day and what follows them.
fn zoneless(line: &[u8]) -> Option<(&str, &str, &[u8])> {
    let (date, rest) = line.split_at_checked(10)?;
    let rest = rest.strip_prefix(b" ")?;
    let space = memchr::memchr(b' ', &rest[..rest.len().min(20)])?;
    let (date, clock) = (std::str::from_utf8(date).ok()?, std::str::from_utf8(&rest[..space]).ok()?);
    time::is_civil(date, clock).then_some((date, clock, &rest[space + 1..]))
}

/// What follows `6月 04 19:30:33 `, as `journalctl` writes it where the language is not English.
fn after_foreign_month(line: &[u8]) -> Option<&[u8]> {
    let (month, rest) = word(line)?;
    let (day, rest) = word(rest.strip_prefix(b" ").unwrap_or(rest))?;
    let (clock, rest) = word(rest)?;
    time::is_in_foreign_month(month, day, clock).then_some(rest)
}

/// A short word and what follows its blank.
fn word(line: &[u8]) -> Option<(&str, &[u8])> {
    let space = memchr::memchr(b' ', &line[..line.len().min(32)])?;
    Some((std::str::from_utf8(&line[..space]).ok()?, &line[space + 1..]))
}

/// Microseconds, as `short-precise` writes them.
fn without_fraction(rest: &[u8]) -> &[u8] {
    let Some(digits) = rest.strip_prefix(b".") else { return rest };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit());
    end.map_or(rest, |end| &digits[end..])
}

fn fields(tag: &str, text: &[u8], kernel: bool) -> Vec<(String, Vec<u8>)> {
    let (program, pid) = tag.split_once('[').map_or((tag, None), |(name, rest)| (name, rest.strip_suffix(']')));
    let mut fields = vec![("SYSLOG_IDENTIFIER".to_owned(), program.as_bytes().to_vec())];
    for name in ["_PID", "SYSLOG_PID"] {
        fields.extend(pid.map(|pid| (name.to_owned(), pid.as_bytes().to_vec())));
    }
    if tag == "systemd[1]" {
        fields.extend(unit(text).map(|unit| ("UNIT".to_owned(), unit.to_vec())));
    } else if !kernel {
        fields.extend(likely_unit(program).map(|unit| ("_SYSTEMD_UNIT".to_owned(), unit.into_bytes())));
    }
    let transport = if kernel { "kernel" } else { "syslog" };
    fields.push(("_TRANSPORT".to_owned(), transport.as_bytes().to_vec()));
    fields
}

/// The unit whose lines a program's are, most likely: a text shows none, and journald is not there to vouch for it.
/// `journalctl -o with-unit` shows it in the program's place; a snap's services are called `SNAP.SERVICE`.
fn likely_unit(program: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    if program.is_empty() || !program.chars().all(is_name) || matches!(program, "systemd" | "kernel" | "sudo") {
        return None;
    }
    if program.ends_with(".service") {
        return Some(program.to_owned());
    }
    if program.contains('.') {
        return Some(format!("snap.{program}.service"));
    }
    let other = UNITS.iter().find(|(known, _)| *known == program).map(|(_, unit)| *unit);
    Some(format!("{}.service", other.unwrap_or(program)))
}

/// The unit that a line of the system's manager names: `Started a.service - A.`, `a.service: Failed with result …`. Older
/// ones write a description alone, of which the unit is not known.
fn unit(text: &[u8]) -> Option<&[u8]> {
    const KINDS: [&[u8]; 9] =
        [b"service", b"socket", b"mount", b"timer", b"target", b"slice", b"scope", b"path", b"swap"];
    let words = text.split(|byte| *byte == b' ').take(4).map(|word| {
        let end = word.iter().rposition(|byte| !matches!(byte, b':' | b'.')).map_or(0, |last| last + 1);
        &word[..end]
    });
    let mut words = words;
    words.find(|word| {
        let dot = memchr::memrchr(b'.', word).filter(|dot| *dot > 0);
        dot.is_some_and(|dot| KINDS.contains(&&word[dot + 1..]))
    })
}

#[cfg(test)]
mod tests;
