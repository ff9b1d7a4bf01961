//! Text from outside, made fit to show: bounded, printable, valid UTF-8.

use std::borrow::Cow;

use nodewell_printable::is_hidden;

/// The longest message stored, in bytes.
pub const MESSAGE_LIMIT_BYTES: usize = 1024;
/// The longest subject stored, in bytes.
pub const SUBJECT_LIMIT_BYTES: usize = 256;
/// As much of a subject is shown in a message: a GPU UUID has 40.
const SHOWN_SUBJECT_BYTES: usize = 64;

/// `raw` as a message: invalid UTF-8, control characters and what hides or reorders others replaced, newlines kept, cut
/// at [`MESSAGE_LIMIT_BYTES`] on a character boundary.
#[must_use]
pub fn message(raw: &[u8]) -> String {
    cleaned(raw, MESSAGE_LIMIT_BYTES, true)
}

/// `raw` as a subject: one line, cut at [`SUBJECT_LIMIT_BYTES`].
#[must_use]
pub fn subject(raw: &[u8]) -> String {
    cleaned(raw, SUBJECT_LIMIT_BYTES, false)
}

/// `text` in one line of at most `limit_bytes` bytes: line breaks, other control characters and what is not seen become
/// spaces.
#[must_use]
pub fn line(text: &str, limit_bytes: usize) -> String {
    if !text.contains(is_hidden) {
        return cut(text, limit_bytes).to_owned();
    }
    let parts = text.split(is_hidden).map(str::trim).filter(|part| !part.is_empty());
    cut(&parts.collect::<Vec<_>>().join(" "), limit_bytes).to_owned()
}

/// `message` with what it is about before it, unless it names that by itself, as a line of a log does. Of an empty one
/// that is all there is.
#[must_use]
pub fn about<'m>(subject: Option<&str>, message: &'m str) -> Cow<'m, str> {
    match subject {
        Some(subject) if message.is_empty() => Cow::Owned(shown_subject(subject).to_owned()),
        Some(subject) if !subject.is_empty() && !message.contains(subject) => {
            Cow::Owned(format!("{}: {message}", shown_subject(subject)))
        }
        _ => Cow::Borrowed(message),
    }
}

/// `message` after what it is of; of an empty one that alone.
#[must_use]
pub fn headed(head: &str, message: &str) -> String {
    if message.is_empty() { head.to_owned() } else { format!("{head}: {message}") }
}

/// As much of `subject` as a message has room for.
#[must_use]
pub fn shown_subject(subject: &str) -> &str {
    cut(subject, SHOWN_SUBJECT_BYTES)
}

/// The longest prefix of `text` that has at most `limit_bytes` bytes and ends on a character boundary.
#[must_use]
pub fn cut(text: &str, limit_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(limit_bytes)]
}

/// Whether two messages are the same words with other figures in them: `31 °C`, `32 °C`. Equal ones are, too.
#[must_use]
pub fn differ_in_figures_only(one: &str, other: &str) -> bool {
    without_figures(one).eq(without_figures(other))
}

/// Every figure, with its decimals, is one `0`.
fn without_figures(text: &str) -> impl Iterator<Item = char> {
    let mut rest = text.chars().peekable();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        if !first.is_ascii_digit() {
            return Some(first);
        }
        while rest.next_if(char::is_ascii_digit).is_some() || next_decimal(&mut rest) {}
        Some('0')
    })
}

/// Steps over a point or comma that stands between digits.
fn next_decimal(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut ahead = rest.clone();
    let is_decimal = matches!(ahead.next(), Some('.' | ',')) && ahead.next().is_some_and(|c| c.is_ascii_digit());
    is_decimal && rest.next().is_some()
}

fn cleaned(raw: &[u8], limit_bytes: usize, newlines: bool) -> String {
    // A byte becomes at most three (U+FFFD), so a bounded prefix is enough: a line of 1 MB costs no more than 1 kB.
    let bounded = &raw[..raw.len().min(limit_bytes + 4)];
    // Nearly all of what the kernel prints. Every byte is looked at, many at once: a loop that may end early takes one
    // after another.
    if bounded.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'))
        && let Ok(text) = std::str::from_utf8(bounded)
    {
        return cut(text, limit_bytes).to_owned();
    }
    let mut out = String::with_capacity(bounded.len());
    for c in String::from_utf8_lossy(bounded).chars() {
        let shown = match c {
            '\n' if newlines => '\n',
            '\t' => ' ',
            c if is_hidden(c) => '\u{fffd}',
            c => c,
        };
        if out.len() + shown.len_utf8() > limit_bytes {
            break;
        }
        out.push(shown);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_what_it_is_about_once() {
        assert_eq!(about(Some("/var/lib"), "97 % of the space is used"), "/var/lib: 97 % of the space is used");
        assert_eq!(about(Some("sda1"), "EXT4-fs error (device sda1)"), "EXT4-fs error (device sda1)");
        assert_eq!(about(None, "m"), "m");
        assert_eq!(about(Some(""), "m"), "m");
        assert_eq!(about(Some("md0"), ""), "md0");
        assert_eq!(about(Some(""), ""), "");
        assert_eq!(headed("raid@root", "md0 hangs"), "raid@root: md0 hangs");
        assert_eq!(headed("raid@root", ""), "raid@root");
        assert_eq!(about(Some(&"s".repeat(200)), "m").len(), SHOWN_SUBJECT_BYTES + ": m".len());
    }

    #[test]
    fn control_characters_and_bad_utf8_are_replaced() {
        assert_eq!(message(b"a\x00b\xffc\td\ne%s"), "a\u{fffd}b\u{fffd}c d\ne%s");
        assert_eq!(subject(b"sd\na"), "sd\u{fffd}a");
        for hidden in ["\u{202e}", "\u{200b}", "\u{2028}", "\u{2066}", "\u{feff}"] {
            assert_eq!(message(format!("a{hidden}b").as_bytes()), "a\u{fffd}b", "{hidden:?}");
            assert_eq!(line(&format!("a{hidden}b"), 10), "a b", "{hidden:?}");
        }
    }

    #[test]
    fn a_message_is_cut_on_a_character_boundary() {
        let long = "ä".repeat(MESSAGE_LIMIT_BYTES);
        let cut_message = message(long.as_bytes());
        assert_eq!(cut_message.len(), MESSAGE_LIMIT_BYTES);
        let odd = format!("x{long}");
        assert_eq!(message(odd.as_bytes()).len(), MESSAGE_LIMIT_BYTES - 1);
    }

    #[test]
    fn figures_are_told_apart_from_text() {
        for (one, other, alike) in [
            ("31 °C, 17 % worn", "42 °C, 9 % worn", true),
            ("9.5 errors an hour", "10 errors an hour", true),
            ("1,024 sectors", "7 sectors", true),
            ("same", "same", true),
            ("31 °C", "hot", false),
            ("spare 3 %", "spare 3", false),
            ("sda failed", "sdb failed", false),
            ("1. first", "1 first", false),
            ("error 5", "error 5.", false),
        ] {
            assert_eq!(differ_in_figures_only(one, other), alike, "{one} / {other}");
        }
    }

    #[test]
    fn a_line_has_no_line_break_and_ends_at_its_limit() {
        assert_eq!(line("a  b ", 99), "a  b ");
        assert_eq!(line("a\r\n\n\tb \n", 99), "a b");
        assert_eq!(line("a\nä", 3), "a ");
    }

    #[test]
    fn cut_never_splits_a_character() {
        assert_eq!(cut("aäb", 2), "a");
        assert_eq!(cut("ab", 9), "ab");
    }
}
