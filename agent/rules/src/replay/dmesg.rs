//! What `dmesg` prints (plain, `-r`, `-x`, `-T`, `-e`, `--time-format iso`, `-t`) and serial consoles show.

use std::time::Duration;

use jiff::Timestamp;

use super::{ReplayOptions, saved::Saved, time};

const FACILITIES: [&str; 12] =
    ["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"];
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];

/// Facility and level are not longer, with their blanks and colons.
const DECODED_BYTES: usize = 32;

/// What stands before the text.
#[derive(Default)]
struct Prefix<'a> {
    /// Of user space, by the facility.
    foreign: bool,
    /// Priority or facility are there: no console, where lines are torn.
    is_decoded: bool,
    stamp: Option<&'a str>,
}

/// The kernel line in `line`. A line without any prefix is one too: `dmesg -t`, or the second line of a message. An empty one is
/// what a wrapping has left.
pub(super) fn read<'a>(line: &'a [u8], options: &ReplayOptions) -> Option<Saved<'a>> {
    if line.is_empty() {
        return None;
    }
    let flush = line.trim_ascii_start();
    let line = if has_prefix(flush) { flush } else { line };
    let (prefix, text) = split(line);
    if prefix.foreign && !options.any_facility {
        return None;
    }
    let stamp = prefix.stamp.unwrap_or_default();
    Some(Saved { time: wall(stamp, options), since_boot: since_boot(stamp), ..Saved::kernel(line, text) })
}

/// Whether `line` has a prefix that only `dmesg` writes.
pub(super) fn has_prefix(line: &[u8]) -> bool {
    let (prefix, _) = split(line);
    prefix.stamp.is_some()
}

/// What a kernel line in a syslog has before its text: `[   12.345678] `.
pub(super) fn split_seconds(text: &[u8]) -> (Option<Duration>, &[u8]) {
    match bracket(text) {
        Some((stamp, rest)) if since_boot(stamp).is_some() => (since_boot(stamp), without_caller(rest)),
        _ => (None, text),
    }
}

/// Where within `line`, which has a stamp itself, another begins: `[   12.345678] `, with six digits behind the point.
pub(super) fn second_stamp(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'[', line).find(|at| has_another(line, *at))
}

/// Where the last of those begins.
pub(super) fn last_stamp(line: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'[', line).find(|at| has_another(line, *at))
}

fn has_another(line: &[u8], at: usize) -> bool {
    let has_micros = |stamp: &str| stamp.split_once('.').is_some_and(|(_, fraction)| fraction.len() == 6);
    let is_stamp = |stamp: &str| since_boot(stamp).is_some() && has_micros(stamp);
    let is_torn = || {
        let (first, _) = split(&line[..at]);
        first.stamp.is_some() && !first.is_decoded
    };
    at > 0 && bracket(&line[at..]).is_some_and(|(stamp, _)| is_stamp(stamp)) && is_torn()
}

fn split(line: &[u8]) -> (Prefix<'_>, &[u8]) {
    let (priority, rest) = priority(line);
    let (facility, rest) = decoded(rest);
    let foreign = priority.is_some_and(|priority| priority >> 3 != 0) || facility.is_some_and(|word| word != "kern");
    let is_decoded = priority.is_some() || facility.is_some();
    let (stamp, rest) = stamped(rest);
    (Prefix { foreign, is_decoded, stamp }, rest)
}

/// `<6>`.
pub(super) fn priority(line: &[u8]) -> (Option<u32>, &[u8]) {
    let parsed = || {
        let rest = line.strip_prefix(b"<")?;
        let end = memchr::memchr(b'>', &rest[..rest.len().min(5)])?;
        Some((std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?, &rest[end + 1..]))
    };
    parsed().map_or((None, line), |(priority, rest)| (Some(priority), rest))
}

/// `kern  :info  : `.
fn decoded(line: &[u8]) -> (Option<&str>, &[u8]) {
    let parsed = || {
        let colon = memchr::memchr_iter(b':', &line[..line.len().min(DECODED_BYTES)]).nth(1)?;
        let (facility, level) = std::str::from_utf8(&line[..colon]).ok()?.split_once(':')?;
        let (facility, level, rest) = (facility.trim_end(), level.trim_end(), &line[colon + 1..]);
        let known = LEVELS.contains(&level) && (FACILITIES.contains(&facility) || facility.starts_with("local"));
        known.then(|| (facility, rest.strip_prefix(b" ").unwrap_or(rest)))
    };
    parsed().map_or((None, line), |(facility, rest)| (Some(facility), rest))
}

fn stamped(line: &[u8]) -> (Option<&str>, &[u8]) {
    if let Some((stamp, rest)) = bracket(line).filter(|(stamp, _)| is_stamp(stamp)) {
        return (Some(stamp), without_caller(rest));
    }
    let space = memchr::memchr(b' ', &line[..line.len().min(40)]).unwrap_or(0);
    let word = std::str::from_utf8(&line[..space]).unwrap_or_default();
    if word.contains(',') && time::rfc3339(word).is_some() {
        return (Some(word), &line[space + 1..]);
    }
    (None, line)
}

fn bracket(line: &[u8]) -> Option<(&str, &[u8])> {
    let inner = line.strip_prefix(b"[")?;
    let end = memchr::memchr(b']', &inner[..inner.len().min(48)])?;
    let rest = &inner[end + 1..];
    Some((std::str::from_utf8(&inner[..end]).ok()?.trim(), rest.strip_prefix(b" ").unwrap_or(rest)))
}

/// `[T12]` or `[C0]`: the caller, on kernels that print it.
fn without_caller(rest: &[u8]) -> &[u8] {
    match bracket(rest) {
        Some((caller, text)) if is_caller(caller) => text,
        _ => rest,
    }
}

fn is_caller(word: &str) -> bool {
    let digits = word.strip_prefix(['T', 'C']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_stamp(stamp: &str) -> bool {
    let relative = || stamp.strip_prefix('+').is_some_and(|seconds| since_boot(seconds.trim_start()).is_some());
    since_boot(stamp).is_some() || is_ctime(stamp) || relative() || is_reltime(stamp)
}

/// `Sat Nov 21 02:46:28 2026`.
fn is_ctime(stamp: &str) -> bool {
    stamp.get(4..19).is_some_and(time::is_without_year)
}

/// `Nov21 02:46`, the first line of a minute in `dmesg -e`.
fn is_reltime(stamp: &str) -> bool {
    let spread = || Some(format!("{} {}:00", stamp.get(..3)?, stamp.get(3..)?));
    spread().is_some_and(|spread| time::is_without_year(&spread))
}

fn since_boot(stamp: &str) -> Option<Duration> {
    // `dmesg -d` adds `<    0.000012>`.
    let seconds = stamp.split('<').next()?.trim();
    let (whole, fraction) = seconds.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}

fn wall(stamp: &str, options: &ReplayOptions) -> Option<Timestamp> {
    if is_ctime(stamp) { options.calendar.ctime(stamp) } else { time::rfc3339(stamp) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(line: &str) -> Option<(String, Option<u64>, Option<String>)> {
        let saved = read(line.as_bytes(), &ReplayOptions::default())?;
        let text = String::from_utf8_lossy(&saved.text).into_owned();
        Some((text, saved.since_boot.map(|since| since.as_secs()), saved.time.map(|time| time.to_string())))
    }

    #[test]
    fn every_style_of_dmesg_gives_the_same_text() {
        for line in [
            "[   12.345678] EXT4-fs error",
            "<3>[   12.345678] EXT4-fs error",
            "kern  :err   : [   12.345678] EXT4-fs error",
            "[   12.345678][  T123] EXT4-fs error",
            "[   12.345678 <    0.000012>] EXT4-fs error",
        ] {
            assert_eq!(shown(line), Some(("EXT4-fs error".to_owned(), Some(12), None)), "{line}");
        }
        for line in ["EXT4-fs error", "[Nov21 02:46] EXT4-fs error", "[  +0.000012] EXT4-fs error"] {
            assert_eq!(shown(line).map(|shown| shown.0).as_deref(), Some("EXT4-fs error"), "{line}");
        }
    }

    #[test]
    fn wall_times_are_read() {
        for line in ["[Sat Nov 21 02:46:28 2026] Oops", "2026-11-21T02:46:28,000000+00:00 Oops"] {
            assert_eq!(shown(line), Some(("Oops".to_owned(), None, Some("2026-11-21T02:46:28Z".to_owned()))), "{line}");
        }
    }

    #[test]
    fn what_user_space_wrote_is_not_the_kernels() {
        for line in ["<12>[    1.000000] Oops", "user  :warn  : [    1.000000] Oops"] {
            assert_eq!(shown(line), None, "{line}");
        }
    }

    #[test]
    fn brackets_that_are_no_time_are_text() {
        for line in ["[Hardware Error]: CPU 0", "[", "[]", "[é] x", "[12] x", "[ABC DEF] x"] {
            assert_eq!(shown(line).map(|shown| shown.0).as_deref(), Some(line));
        }
    }

    proptest! {
        /// The parts of a torn line are the same from its start and from its end.
        #[test]
        fn parts_are_the_same_from_both_ends(
            pieces in prop::collection::vec(
                prop::sample::select(&[
                    "[    1.000000] ", "[    1.000000] ", "[   12.345678][  T123] ", "[1.0] ",
                    "[Sat Nov 21 02:46:28 2026] ", "2026-11-21T02:46:28,000000+00:00 ", "<6>", "kern  :info  : ",
                    "[", "]", " ", "x",
                ][..]),
                0..10,
            ),
        ) {
            let line = pieces.concat().into_bytes();
            let (mut front, mut back, mut start, mut end) = (Vec::new(), Vec::new(), 0, line.len());
            while let Some(next) = second_stamp(&line[start..]) {
                start += next;
                front.push(start);
            }
            while let Some(last) = last_stamp(&line[..end]) {
                end = last;
                back.push(last);
            }
            back.reverse();
            prop_assert_eq!(front, back, "{:?}", pieces);
        }
    }
}
