//! Lines of `/var/log/syslog` and its like: `Nov 21 02:31:05 host program[pid]: text`, or with an RFC 3339 time or a date and
//! a time without a zone; and records of auditd's log, which only rules on such a file read.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    ReplayOptions, dmesg,
    saved::{Fields, Saved},
    time::{self, Calendar},
};
use crate::{detector::Known, timestamp::audit_time};

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
    let known = Known::Only(&KNOWN);
    Some(Saved {
        kernel,
        time,
        since_boot: own.or(since_boot),
        fields: Fields::Read(fields(tag, text, kernel)),
        known,
        ..Saved::kernel(line, text)
    })
}

/// The program and what follows it. Where logs are kept without their host, or people cut it out, that comes first. What
/// begins with a colon, too, stands for the host (`:HOSTNAME:`).
fn after_host(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii_start();
    let (first, after) = rest.split_at(memchr::memchr(b' ', rest)?);
    let is_program = first.ends_with(b":") && !first.starts_with(b":");
    Some(if is_program { rest } else { after.trim_ascii_start() })
}

/// What follows the time: for files whose rules do not define where the message begins.
pub(super) fn after_time(line: &[u8]) -> &[u8] {
    timed(line, None).map_or(line, |(_, rest)| rest)
}

/// Whether `line` begins with a time, or as a record of auditd's log.
pub(super) fn has_time(line: &[u8]) -> bool {
    let is_timed = match zoneless(dmesg::priority(line).1) {
        // Many programs write such a time into logs of their own.
        Some((_, _, rest)) => is_by_program(rest),
        None => timed(line, None).is_some(),
    };
    is_timed || audit_time(line).is_some()
}

/// Whether `line` begins with the seconds since boot, a host and a program, as `journalctl -o short-monotonic` writes it.
pub(super) fn has_seconds(line: &[u8]) -> bool {
    seconds(line).is_some()
}

/// The seconds and what follows them, if that is a host and a program: `dmesg` has neither.
fn seconds(line: &[u8]) -> Option<(Duration, &[u8])> {
    let (since, rest) = dmesg::split_seconds(line);
    since.filter(|_| is_by_program(rest)).map(|since| (since, rest))
}

/// Whether `rest` begins with a host and the kernel or a program with its process.
fn is_by_program(rest: &[u8]) -> bool {
    let tag = rest.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    tag == b"kernel:" || (tag.ends_with(b"]:") && tag.contains(&b'['))
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
mod tests {
    use nodewell_model::RecordFields;

    use super::*;

    fn options() -> ReplayOptions {
        let calendar = Calendar { now: "2026-12-01T00:00:00Z".parse().ok(), ..Calendar::default() };
        ReplayOptions { calendar, ..ReplayOptions::default() }
    }

    #[test]
    fn kernel_lines_lose_host_program_and_seconds() {
        for line in [
            "Nov 21 02:31:05 host kernel: [   12.345678] EXT4-fs error",
            "Nov 21 02:31:05 host kernel: EXT4-fs error",
            "2026-11-21T02:31:05.000000+00:00 host kernel: EXT4-fs error",
            "<3>Nov 21 02:31:05 host kernel: EXT4-fs error",
            "Nov 21 02:31:05 kernel: EXT4-fs error",
            "Nov 21 02:31:05 host  kernel: EXT4-fs error",
            "Nov 21 02:31:05 :HOSTNAME: kernel: EXT4-fs error",
            "Nov 21 02:31:05 host kernel: : EXT4-fs error",
        ] {
            let saved = shaped(line.as_bytes(), &options()).unwrap();
            assert_eq!((saved.kernel, &*saved.text), (true, &b"EXT4-fs error"[..]), "{line}");
            assert_eq!(saved.time.map(|time| time.to_string()).as_deref(), Some("2026-11-21T02:31:05Z"));
        }
    }

    #[test]
    fn a_program_is_a_field() {
        let saved = shaped(b"Nov 21 02:31:05 host systemd[1]: Started x", &options()).unwrap();
        assert_eq!((saved.kernel, &*saved.text), (false, &b"Started x"[..]));
        assert_eq!(saved.fields.field("SYSLOG_IDENTIFIER").as_deref(), Some(&b"systemd"[..]));
        assert_eq!(saved.fields.field("_PID").as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn a_programs_lines_are_its_units() {
        let unit = |tag: &str| {
            let line = format!("Nov 21 02:31:05 host {tag}: text");
            let saved = shaped(line.as_bytes(), &options()).unwrap();
            saved.fields.field("_SYSTEMD_UNIT").map(|unit| String::from_utf8_lossy(&unit).into_owned())
        };
        for (tag, expected) in [
            ("kubelet[812]", "kubelet.service"),
            ("dockerd[9]", "docker.service"),
            ("microk8s.daemon-kubelite[7]", "snap.microk8s.daemon-kubelite.service"),
            ("etcd.service[3]", "etcd.service"),
        ] {
            assert_eq!(unit(tag).as_deref(), Some(expected));
        }
        let without_host = shaped(b"Nov 21 02:31:05 kubelet[812]: text", &options()).unwrap();
        assert_eq!(without_host.fields.field("_SYSTEMD_UNIT").as_deref(), Some(&b"kubelet.service"[..]));
        for tag in ["systemd[1]", "systemd[812]", "kernel", "(sd-pam)[4]", "sudo[5]"] {
            assert_eq!(unit(tag), None, "{tag}");
        }
    }

    #[test]
    fn every_time_of_journalctl_is_read() {
        let lines = [
            "Nov 21 02:31:05.123456 host kernel: EXT4-fs error",
            "2026-11-21T02:31:05+0000 host kernel: EXT4-fs error",
            "2026-11-21T02:31:05.123456+00:00 host kernel: EXT4-fs error",
            "Sat 2026-11-21 02:31:05 UTC host kernel: EXT4-fs error",
            "Sat 2026-11-21 02:31:05.123456 CET host kernel: EXT4-fs error",
            "1795228265.123456 host kernel: EXT4-fs error",
            "2026-11-21 02:31:05 host kernel: EXT4-fs error",
            "2026-11-21 02:31:05.123 host kernel: [   12.345678] EXT4-fs error",
            "<3>2026-11-21 02:31:05.123456789 host kernel: EXT4-fs error",
        ];
        for line in lines {
            let saved = shaped(line.as_bytes(), &options()).unwrap();
            assert_eq!((saved.kernel, &*saved.text), (true, &b"EXT4-fs error"[..]), "{line}");
            assert_eq!(saved.time.map(Timestamp::as_second), Some(1_795_228_265), "{line}");
        }
        for line in
            ["[   12.345678] host kernel: EXT4-fs error", "[   12.345678 <    0.000012>] host kernel: EXT4-fs error"]
        {
            let saved = shaped(line.as_bytes(), &options()).unwrap();
            assert_eq!(
                (saved.since_boot.map(|since| since.as_secs()), &*saved.text),
                (Some(12), &b"EXT4-fs error"[..])
            );
        }
        let of_dmesg =
            ["[   12.345678] systemd[1]: Started x", "[   12.345678] usb 1-1: new device", "[   12.345678] x"];
        assert!(of_dmesg.iter().all(|line| !has_seconds(line.as_bytes())));
    }

    /// Its own log may have times of the same form.
    #[test]
    fn a_date_without_a_zone_is_syslogs_before_a_host_and_a_program() {
        for line in ["2026-11-21 02:31:05 host kernel: x", "2026-11-21 02:31:05.123 host systemd-time[499]: x"] {
            assert!(has_time(line.as_bytes()), "{line}");
        }
        for line in [
            "2026-11-21 02:31:05 INFO app: x",
            "2026-11-21 02:31:05,123 INFO app[1]: x",
            "2026-11-21 02:31:05.123 [main] INFO app: x",
            "2026-11-21 02:31:05 [12]: x",
            "2026-11-21 02:31:05",
            "2026-11-21 02:31 host app[1]: x",
            "2026/11/21 02:31:05 host app[1]: x",
        ] {
            assert!(!has_time(line.as_bytes()), "{line}");
        }
        // Once the form is known, a line needs no process.
        let saved = shaped(b"2026-11-21 02:31:05 host sudo: x", &options()).unwrap();
        assert_eq!((&*saved.text, saved.time.is_some()), (&b"x"[..], true));
    }

    /// A description may be any unit's.
    #[test]
    fn a_unit_is_known_by_its_name_alone() {
        let unit = |text: &str| {
            let line = format!("Nov 21 02:31:05 host systemd[1]: {text}");
            let saved = shaped(line.as_bytes(), &options()).unwrap();
            saved.fields.field("UNIT").map(|unit| String::from_utf8_lossy(&unit).into_owned())
        };
        for text in [
            "Started kubelet.service - kubelet: The Kubernetes Node Agent.",
            "Failed to start kubelet.service - kubelet.",
            "Stopped kubelet.service.",
            "kubelet.service: Failed with result 'exit-code'.",
        ] {
            assert_eq!(unit(text).as_deref(), Some("kubelet.service"), "{text}");
        }
        for text in ["Started kubelet: The Kubernetes Node Agent.", "Reached target Basic System.", "", ".service"] {
            assert_eq!(unit(text), None, "{text}");
        }
        let other = shaped(b"Nov 21 02:31:05 host app[9]: Started kubelet.service", &options()).unwrap();
        assert!(other.fields.field("UNIT").is_none());
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
            assert!(!read(line.as_bytes(), &options()).kernel, "{line}");
        }
    }
}
