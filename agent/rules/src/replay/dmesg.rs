//! What `dmesg` prints (plain, `-r`, `-x`, `-T`, `-e`, `--time-format iso`, several of these at once, `-t`) and serial
//! consoles show; and the lines of a journal of which nothing but `kernel: ` is left before the text.

mod stamp;

use self::stamp::Stamps;
pub(super) use self::stamp::split_seconds;
use super::{ReplayOptions, saved::Saved};

const FACILITIES: [&str; 12] =
    ["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"];
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];

/// Facility and level are not longer, with their blanks and colons.
const DECODED_BYTES: usize = 32;
/// What a journal has before the kernel's messages.
pub(super) const LABEL: &[u8] = b"kernel: ";

/// What stands before the text.
#[derive(Default)]
struct Prefix<'a> {
    /// Of user space, by the facility.
    foreign: bool,
    /// Priority or facility are there: no console, where lines are torn.
    is_decoded: bool,
    stamps: Stamps<'a>,
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
    let Stamps { since_boot, instant, ctime, .. } = prefix.stamps;
    let time = instant.or_else(|| options.calendar.ctime(ctime?));
    let is_shaped = !stamp::is_left_in(text) && !is_of_journal(text);
    Some(Saved { time, since_boot, is_shaped, ..Saved::kernel(line, text) })
}

/// The kernel line in `line` of a log in which most lines have the label. One without it may be the next of a message.
pub(super) fn read_labelled<'a>(line: &'a [u8], options: &ReplayOptions) -> Option<Saved<'a>> {
    let text = line.strip_prefix(LABEL);
    let saved = read(text.unwrap_or(line), options)?;
    let is_known = text.is_some() || line[0].is_ascii_whitespace() || has_prefix(line);
    Some(Saved { line, is_shaped: saved.is_shaped && is_known, ..saved })
}

/// Whether `text` begins as what a journal has of the kernel: its label, which a host may stand before. Among what
/// `dmesg` prints a program may have written it.
fn is_of_journal(text: &[u8]) -> bool {
    let mut words = text.split(|byte| *byte == b' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    first == b"kernel:" || (second == b"kernel:" && !first.ends_with(b":"))
}

/// Whether `line` has a prefix that only `dmesg` writes.
pub(super) fn has_prefix(line: &[u8]) -> bool {
    let (prefix, _) = split(line);
    prefix.stamps.are_any()
}

/// Where within `line`, which has a stamp itself, that of another line begins: `[   12.345678] `, with six digits behind the
/// point.
pub(super) fn second_stamp(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'[', line).find(|at| has_another(line, *at))
}

/// Where the last of those begins.
pub(super) fn last_stamp(line: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'[', line).find(|at| has_another(line, *at))
}

fn has_another(line: &[u8], at: usize) -> bool {
    let is_torn = || {
        let (first, _) = split(&line[..at]);
        first.stamps.are_any() && !first.is_decoded
    };
    at > 0 && stamp::is_of_console(&line[at..]) && !stamp::is_last_in(&line[..at]) && is_torn()
}

fn split(line: &[u8]) -> (Prefix<'_>, &[u8]) {
    let (priority, rest) = priority(without_processor(line));
    let (facility, rest) = decoded(rest);
    let foreign = priority.is_some_and(|priority| priority >> 3 != 0) || facility.is_some_and(|word| word != "kern");
    let is_decoded = priority.is_some() || facility.is_some();
    let (stamps, text) = Stamps::split(rest);
    (Prefix { foreign, is_decoded, stamps }, text)
}

/// z/VM's console has the number of the processor before a line: `00: [   28.034050] `.
fn without_processor(line: &[u8]) -> &[u8] {
    match line {
        [high, low, b':', b' ', rest @ ..]
            if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() && stamp::is_of_console(rest) =>
        {
            rest
        }
        _ => line,
    }
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
        for line in ["0A: [   12.345678] EXT4-fs error", "00: [   12.345678][  T123] EXT4-fs error"] {
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

    /// Its time is known where one of the formats has it.
    #[test]
    fn several_formats_of_one_time_are_one() {
        let text = || " connection7:0: detected conn error (1021)".to_owned();
        let ctime = "[Tue Jan 13 04:31:07 2026]";
        for before in ["[Jan13 04:31]", "[  +0.010370]", "[<    0.010370>]", "[   12.345678]"] {
            let since = before.contains("12.").then_some(12);
            let expected = Some((text(), since, Some("2026-01-13T04:31:07Z".to_owned())));
            for caller in ["", "[T10489] ", "[  T129] ", "[C0] "] {
                let line = format!("kern  :info  : {before} {ctime} {caller}{}", text());
                assert_eq!(shown(&line), expected, "{line}");
                let line = format!("{ctime} {before} {caller}{}", text());
                assert_eq!(shown(&line), expected, "{line}");
            }
        }
        let iso = format!("[   12.345678] 2026-01-13T04:31:07,000000+00:00 [T1] {}", text());
        assert_eq!(shown(&iso), Some((text(), Some(12), Some("2026-01-13T04:31:07Z".to_owned()))));
    }

    #[test]
    fn names_of_another_language_hide_no_text() {
        for before in ["Ter Set 19", "mar. août  1", "Вт янв 13", "火  1月 13", "Sáb Dez  5", "T3 Th01 13"] {
            let line = format!("[{before} 06:01:41 2017] pciehp 0000:02:05.0:pcie24: slot(6): Link Down event");
            let text = "pciehp 0000:02:05.0:pcie24: slot(6): Link Down event".to_owned();
            assert_eq!(shown(&line), Some((text, None, None)), "{line}");
        }
        let known = Some(("Oops".to_owned(), None, Some("2026-01-13T04:31:07Z".to_owned())));
        assert_eq!(shown("[Ter Jan 13 04:31:07 2026] Oops"), known, "the month is known");
        for line in ["[Ter Set 32 06:01:41 2017] x", "[Ter Set 19 25:01:41 2017] x", "[Ter Set 19 06:01:41 17] x"] {
            assert_eq!(shown(line).map(|shown| shown.0).as_deref(), Some(line));
        }
    }

    #[test]
    fn a_time_in_another_format_begins_no_other_line() {
        let iso = "2026-01-13T04:31:07,123456+00:00 ";
        for before in ["[Tue Jan 13 04:31:07 2026] ", "[Ter Set 19 06:01:41 2017] ", "[Jan13 04:31] ", iso] {
            let line = format!("{before}[   12.345678] x");
            assert_eq!((second_stamp(line.as_bytes()), last_stamp(line.as_bytes())), (None, None), "{line}");
            let torn = format!("[    1.000000] {before}x[   12.345678] y");
            assert_eq!(second_stamp(torn.as_bytes()), torn.find("[   12"), "{torn}");
        }
        // The first line is empty, or ends with a number in brackets.
        for before in ["[    1.000000] ", "[    1.000000] took [1.5]", "[    1.000000] x [T1] "] {
            let line = format!("{before}[   12.345678] x");
            assert_eq!(second_stamp(line.as_bytes()), Some(before.len()), "{line}");
        }
    }

    /// Each looks back at a few bytes only.
    #[test]
    fn a_line_of_brackets_costs_what_it_is_long() {
        for piece in ["[   12.345678] ", "[Ter Set 19 06:01:41 2017] ", "[", "[T1] ", "[   12.345678] x", "[]"] {
            for before in ["", "kern  :info  : ", "[   12.345678] "] {
                let cost = |count: usize| {
                    let line = [before.as_bytes(), &piece.as_bytes().repeat(count)].concat();
                    super::super::work::of(|| {
                        assert!(read(&line, &ReplayOptions::default()).is_some());
                        let (mut start, mut end) = (0, line.len());
                        while let Some(next) = second_stamp(&line[start..]) {
                            start += next;
                        }
                        while let Some(last) = last_stamp(&line[..end]) {
                            end = last;
                        }
                    })
                };
                let (some, twice) = (cost(5_000), cost(10_000));
                assert!(some > 0 && twice < some * 5 / 2, "{before}{piece}: {some}, {twice} for twice as many");
            }
        }
    }

    #[test]
    fn of_a_label_alone_the_text_is_what_follows() {
        let labelled = |line: &'static str| read_labelled(line.as_bytes(), &ReplayOptions::default());
        for (line, text, is_shaped) in [
            ("kernel: Oops", "Oops", true),
            ("kernel:  Oops+0x1", " Oops+0x1", true),
            ("kernel: [   12.345678] Oops", "Oops", true),
            ("[   12.345678] Oops", "Oops", true),
            ("  Oops", "  Oops", true),
            ("Oops", "Oops", false),
            ("app[7]: kernel: Oops", "app[7]: kernel: Oops", false),
            ("kernel: kernel: Oops", "kernel: Oops", false),
            ("kernel: [T1] Oops", "[T1] Oops", false),
            ("kernel:Oops", "kernel:Oops", false),
        ] {
            let saved = labelled(line).unwrap();
            assert_eq!((&*saved.text, saved.is_shaped), (text.as_bytes(), is_shaped), "{line}");
            assert_eq!(saved.line, line.as_bytes());
        }
        assert!(labelled("kernel: ").is_none() && labelled("").is_none());
        assert_eq!(labelled("kernel: [   12.345678] x").unwrap().since_boot.map(|since| since.as_secs()), Some(12));
    }

    /// It may be a program's, but is not passed over without a word.
    #[test]
    fn a_journals_line_among_others_is_none_that_is_understood() {
        for text in ["kernel: Oops", "host kernel: Oops"] {
            for before in ["", "[   12.345678] "] {
                let line = format!("{before}{text}");
                let saved = read(line.as_bytes(), &ReplayOptions::default()).unwrap();
                assert_eq!((&*saved.text, saved.is_shaped), (text.as_bytes(), false), "{line}");
            }
        }
        for line in ["[   12.345678] app[7]: kernel: Oops", "[   12.345678] the whole kernel: Oops", "kernel"] {
            assert!(read(line.as_bytes(), &ReplayOptions::default()).unwrap().is_shaped, "{line}");
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
        for line in [
            "[Hardware Error]: CPU 0",
            "[",
            "[]",
            "[é] x",
            "[12] x",
            "[ABC DEF] x",
            "00: [1.5] x",
            "00: x",
            "00: ",
            "0: [   12.345678] x",
            "0x: [   12.345678] x",
            "00 [   12.345678] x",
        ] {
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
                    "[Nov21 02:46] ", "[T1] ", "00: ", "[", "]", " ", "x",
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
