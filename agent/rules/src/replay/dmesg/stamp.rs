//! The times that `dmesg` writes before a text, one of each format that it was asked for, and the caller.

use std::time::Duration;

use jiff::Timestamp;

use crate::replay::time;

/// No time is longer: names of a day and a month in any script, and `<    0.000012>`.
const BRACKET_BYTES: usize = 64;
const WORD_BYTES: usize = 40;

/// What stands before a text. Of two times in one format the second is text: a line of nothing but times costs no more
/// than another.
#[derive(Default)]
pub(super) struct Stamps<'a> {
    pub(super) since_boot: Option<Duration>,
    /// By a time with a zone.
    pub(super) instant: Option<Timestamp>,
    pub(super) ctime: Option<&'a str>,
    relative: Option<()>,
    delta: Option<()>,
}

/// One of them.
enum Stamp<'a> {
    SinceBoot(Duration),
    Instant(Timestamp),
    Ctime(&'a str),
    /// A minute without a year, or the seconds since the line that had one.
    Relative,
    /// The seconds since the line before.
    Delta,
}

impl<'a> Stamps<'a> {
    /// Those that `line` begins with, and its text.
    pub(super) fn split(line: &'a [u8]) -> (Self, &'a [u8]) {
        let (mut stamps, mut rest) = (Self::default(), line);
        while let Some((stamp, after)) = next(rest, !stamps.are_any())
            && stamps.add(stamp)
        {
            rest = after;
        }
        let text = if stamps.are_any() { without_caller(rest) } else { rest };
        (stamps, text)
    }

    pub(super) fn are_any(&self) -> bool {
        let Self { since_boot, instant, ctime, relative, delta } = self;
        since_boot.is_some() || instant.is_some() || ctime.is_some() || relative.is_some() || delta.is_some()
    }

    /// Whether `stamp` is the first of its format.
    fn add(&mut self, stamp: Stamp<'a>) -> bool {
        match stamp {
            Stamp::SinceBoot(since) => put(&mut self.since_boot, since),
            Stamp::Instant(instant) => put(&mut self.instant, instant),
            Stamp::Ctime(text) => put(&mut self.ctime, text),
            Stamp::Relative => put(&mut self.relative, ()),
            Stamp::Delta => put(&mut self.delta, ()),
        }
    }
}

/// Whether there was room.
fn put<T>(room: &mut Option<T>, value: T) -> bool {
    let is_free = room.is_none();
    room.get_or_insert(value);
    is_free
}

/// The time that `line` begins with, and what follows it. A text may begin with a number in brackets: behind another
/// time one has to be as `dmesg` prints it.
fn next(line: &[u8], is_first: bool) -> Option<(Stamp<'_>, &[u8])> {
    if line.first().is_some_and(u8::is_ascii_digit) {
        let space = memchr::memchr(b' ', &line[..line.len().min(WORD_BYTES)])?;
        return Some((Stamp::Instant(instant(&line[..space])?), &line[space + 1..]));
    }
    let (inner, rest) = bracket(line)?;
    let stamp = Stamp::of(inner).filter(|_| is_first || is_as_printed(inner))?;
    Some((stamp, rest))
}

impl<'a> Stamp<'a> {
    /// What stands in brackets.
    fn of(inner: &'a str) -> Option<Self> {
        // `dmesg -d` adds `<    0.000012>`, which stands alone in the format `delta`.
        let (time, delta) = inner.split_once('<').unwrap_or((inner, ""));
        let time = time.trim_end();
        if let Some(since) = seconds(time) {
            return Some(Self::SinceBoot(since));
        }
        if time::is_ctime(time) {
            return Some(Self::Ctime(time));
        }
        let is_relative = |time: &str| time.strip_prefix('+').is_some_and(|time| seconds(time.trim_start()).is_some());
        if is_relative(time) || is_reltime(time) {
            return Some(Self::Relative);
        }
        let is_delta = || delta.strip_suffix('>').is_some_and(|delta| seconds(delta.trim()).is_some());
        (time.is_empty() && is_delta()).then_some(Self::Delta)
    }
}

/// The seconds since boot in the bracket that `line` begins with, and what follows them and the caller, which is left
/// where a kernel prints no time or a daemon took it off.
pub(in crate::replay) fn split_seconds(line: &[u8]) -> (Option<Duration>, &[u8]) {
    match bracket(line).map(|(inner, rest)| (Stamp::of(inner), rest)) {
        Some((Some(Stamp::SinceBoot(since)), rest)) => (Some(since), without_caller(rest)),
        _ => (None, without_caller(line)),
    }
}

/// Whether `line` begins with the seconds since boot as a console shows them: six digits behind the point, and nothing
/// else.
pub(super) fn is_of_console(line: &[u8]) -> bool {
    let has_micros = |inner: &str| inner.split_once('.').is_some_and(|(_, fraction)| fraction.len() == 6);
    bracket(line).is_some_and(|(inner, _)| has_micros(inner) && seconds(inner).is_some())
}

/// Whether `before` ends with a time that does not count from boot: one that does and follows is of the same line.
pub(super) fn is_last_in(before: &[u8]) -> bool {
    let before = before.strip_suffix(b" ").unwrap_or(before);
    let tail = &before[before.len().saturating_sub(BRACKET_BYTES)..];
    if !tail.ends_with(b"]") {
        let word = memchr::memrchr(b' ', tail).map_or(tail, |space| &tail[space + 1..]);
        return instant(word).is_some();
    }
    let last = memchr::memrchr(b'[', tail).and_then(|open| bracket(&tail[open..]));
    let is_other = |inner| Stamp::of(inner).is_some_and(|stamp| !matches!(stamp, Stamp::SinceBoot(_)));
    last.is_some_and(|(inner, rest)| rest.is_empty() && is_as_printed(inner) && is_other(inner))
}

/// Whether `text` begins with what was to be a time or a caller, and is not read as one.
pub(super) fn is_left_in(text: &[u8]) -> bool {
    let is_one = |inner| has_time_of_day(inner) || is_caller(inner) || Stamp::of(inner).is_some();
    bracket(text.trim_ascii_start()).is_some_and(|(inner, _)| is_one(inner))
}

fn bracket(line: &[u8]) -> Option<(&str, &[u8])> {
    let inner = line.strip_prefix(b"[")?;
    let looked_at = &inner[..inner.len().min(BRACKET_BYTES)];
    #[cfg(test)]
    crate::replay::work::searched(looked_at.len());
    let end = memchr::memchr(b']', looked_at)?;
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

/// `2026-11-21T02:46:28,123456+00:00`; `dmesg` writes the comma.
fn instant(word: &[u8]) -> Option<Timestamp> {
    let word = std::str::from_utf8(word).ok().filter(|word| word.len() <= WORD_BYTES && word.contains(','))?;
    time::rfc3339(word)
}

/// Six digits behind each point.
fn is_as_printed(inner: &str) -> bool {
    let digits = |fraction: &str| fraction.bytes().take_while(u8::is_ascii_digit).count();
    inner.split('.').skip(1).all(|fraction| digits(fraction) == 6)
}

/// `Nov21 02:46`, the first line of a minute in `dmesg -e`.
fn is_reltime(stamp: &str) -> bool {
    let spread = || Some(format!("{} {}:00", stamp.get(..3)?, stamp.get(3..)?));
    spread().is_some_and(|spread| time::is_without_year(&spread))
}

fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}

/// Whether `02:46` or `02:46:28` is in it: no address of a device, of a disk or of a network card.
fn has_time_of_day(inner: &str) -> bool {
    let words = inner.split(|c: char| !c.is_ascii_alphanumeric() && c != ':');
    words.flat_map(|word| word.split('T')).any(is_time_of_day)
}

fn is_time_of_day(word: &str) -> bool {
    let parts: Vec<Option<u8>> = word.split(':').map(two_digits).collect();
    matches!(parts[..], [Some(0..24), Some(0..60)] | [Some(0..24), Some(0..60), Some(0..=60)])
}

fn two_digits(part: &str) -> Option<u8> {
    part.parse().ok().filter(|_| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many times `line` begins with, and its text.
    fn split(line: &str) -> (usize, String) {
        let (Stamps { since_boot, instant, ctime, relative, delta }, text) = Stamps::split(line.as_bytes());
        let are_there = [since_boot.is_some(), instant.is_some(), ctime.is_some(), relative.is_some(), delta.is_some()];
        let count = are_there.into_iter().filter(|is_there| *is_there).count();
        (count, String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn each_format_is_taken_off_once_and_the_caller_behind_all() {
        for before in [
            "[Jan13 04:31] [Tue Jan 13 04:31:07 2026] ",
            "[Jan13 04:31] [Tue Jan 13 04:31:07 2026] [  T129] ",
            "[  +0.010370] [Tue Jan 13 04:31:07 2026] [C0] ",
            "[   12.345678] [<    0.000012>] [T1] ",
            "[<    0.000012>] [   12.345678] ",
            "2026-01-13T04:31:07,123456+00:00 [   12.345678] [T1] ",
            "[   12.345678 <    0.000012>] 2026-01-13T04:31:07,123456+00:00 ",
            "[Tue Jan 13 04:31:07 2026 <    0.000012>] [   12.345678] ",
        ] {
            assert_eq!(split(&format!("{before} connection7:0: x")), (2, " connection7:0: x".to_owned()), "{before}");
        }
        let all = "[   12.345678] [Jan13 04:31] [Tue Jan 13 04:31:07 2026] [<    0.000012>] \
                   2026-01-13T04:31:07,123456+00:00 [T1] x";
        assert_eq!(split(all), (5, "x".to_owned()));
    }

    #[test]
    fn a_text_that_begins_with_a_bracket_is_left() {
        for text in [
            "[drm] x",
            "[12] x",
            "[1.5] x",
            "[+1.5] x",
            "[<1.5>] x",
            "[Hardware Error]: CPU 0",
            "[Warning] No config partition found",
            "[ABC 12:34:56] x",
            "[a 1 13 04:31:07 2026] x",
            "[13 14 15 04:31:07 2026] x",
            "[Ter Set 13 04:31 2026] x",
            "[   12.345679] x",
            "[T] x",
            "[T1x] x",
            "2026-01-13 x",
            "2026-01-13T04:31:07.123456+00:00 x",
            "[]",
            "[",
        ] {
            assert_eq!(split(&format!("[   12.345678] {text}")), (1, text.to_owned()));
        }
        for line in ["[T1] x", "[C0] x", "[drm] [   12.345678] x", " [   12.345678] x"] {
            assert_eq!(split(line), (0, line.to_owned()), "behind no time");
        }
    }

    #[test]
    fn a_caller_is_left_where_the_time_was_taken_off() {
        let split = |line: &'static str| split_seconds(line.as_bytes());
        let since = Some(Duration::from_millis(12_500));
        for line in ["[ T1772] x", "[    C0] x", "[T1] x"] {
            assert_eq!(split(line), (None, &b"x"[..]), "{line}");
        }
        for line in ["[   12.5] x", "[   12.5][  T17] x", "[   12.5] [T17] x", "[   12.5 <    0.000012>] x"] {
            assert_eq!(split(line), (since, &b"x"[..]), "{line}");
        }
        for line in ["[drm] x", "[T] x", "[T1x] x", "[Tainted] x", "[1772] x", " [T1] x", "x [T1] y", "[T1", ""] {
            assert_eq!(split(line), (None, line.as_bytes()), "{line}");
        }
        assert_eq!(split("[ T1][ T2] x"), (None, &b"[ T2] x"[..]), "one alone");
    }

    #[test]
    fn of_a_line_of_nothing_but_times_one_of_each_format_is_read() {
        let line = "[   12.345678] [Ter Set 19 06:01:41 2017] ".repeat(10_000);
        let (count, text) = split(&line);
        assert_eq!((count, &*text), (2, &line[42..]));
        assert!(is_left_in(text.as_bytes()));
    }

    #[test]
    fn what_was_to_be_a_time_is_no_address() {
        for text in [
            "[2026-01-13 04:31:07] x",
            "[2026-01-13T04:31:07.5Z] x",
            " [Set19 06:01] x",
            "[04:31] x",
            "[13.01. 04:31:60] x",
            "[   12.345678] x",
            "[T10489] x",
        ] {
            assert!(is_left_in(text.as_bytes()), "{text}");
        }
        for text in [
            "[8086:1234] x",
            "[0000:00:1f.2] x",
            "[00:11:22:33:44:55] x",
            "[0:0:0:0] x",
            "[c0:04:31:07] x",
            "[24:00] x",
            "[10:60] x",
            "[drm] 04:31:07",
            "04:31:07 x",
            "",
        ] {
            assert!(!is_left_in(text.as_bytes()), "{text}");
        }
    }
}
