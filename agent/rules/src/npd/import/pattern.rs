//! A pattern of Node Problem Detector's as a native rule has it, and a line that it finds.
//!
//! What it finds is the same: RE2's syntax is translated, and that a match ends with the line is written out. Blanks
//! around a line count for nothing there: so they may stand between the line's ends and `^` or the match. A pattern that
//! itself ends in something that may be a blank finds, beyond that, a line that ends in blanks.

use nodewell_printable::is_hidden;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::{npd::translate_re2, pattern, rule::Format};

/// The pattern for a native rule that sees so many lines.
///
/// # Errors
/// Why a native rule cannot have it.
pub(super) fn native(written: &str, lines: usize) -> Result<String, String> {
    let translated = translate_re2(written)?;
    let text = bound(&escaped(bare(&translated)), lines);
    let hir = pattern::parse(Format::Native, &text)?;
    if pattern::matches_everything(&hir) {
        return Err("a native rule may not match every line".to_owned());
    }
    Ok(text)
}

/// A translated pattern without the flag that it begins with: what is native is compiled with it.
pub(super) fn bare(translated: &str) -> &str {
    translated.strip_prefix("(?-u)").unwrap_or(translated)
}

/// What cannot be seen is written as an escape.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        c if is_hidden(c) => format!(r"\x{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// With the line's ends written out. Between several lines a newline is no blank.
fn bound(text: &str, lines: usize) -> String {
    let (start, blanks) = if lines > 1 { ("^", r"[\t\f\r ]*") } else { (r"^\s*", r"\s*") };
    let text = match text.strip_prefix('^') {
        Some(rest) => format!("{start}{rest}"),
        None => text.to_owned(),
    };
    // With flags of its own `$` may be the end of any line of a text.
    let end = if text.contains("(?") { r"\z" } else { "$" };
    match (ends_in(&text, ".*"), ends_in(&text, "$")) {
        (true, _) => format!("{text}{end}"),
        (_, true) => format!("{}{blanks}{end}", &text[..text.len() - 1]),
        _ => format!("{text}{blanks}{end}"),
    }
}

/// Whether it ends in these signs and they are not escaped.
fn ends_in(text: &str, signs: &str) -> bool {
    let Some(before) = text.strip_suffix(signs) else { return false };
    before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0
}

/// A line, or several, that `native` finds; `None` if none was found. One in which all is seen comes first; what is
/// hidden in another is an escape in the file.
pub(super) fn sample(native: &str) -> Option<String> {
    let (source, hir) = pattern::compiled(Format::Native, native).ok()?;
    let regex = pattern::build(&source).ok()?;
    let made = (0..VARIANTS).filter_map(|variant| {
        let mut bytes = Vec::new();
        write(&hir, variant, &mut bytes)?;
        String::from_utf8(bytes).ok()
    });
    let is_fit = |text: &String| !text.trim().is_empty() && !text.ends_with('\n') && text.len() <= LIMIT_BYTES;
    let found: Vec<String> = made.filter(is_fit).filter(|text| regex.is_match(text.as_bytes())).collect();
    let is_seen = |text: &&String| !text.contains(|sign: char| is_hidden(sign) && sign != '\n');
    found.iter().find(is_seen).or(found.first()).cloned()
}

/// So many ways are tried: other branches, and one repetition more.
const VARIANTS: usize = 12;
const LIMIT_BYTES: usize = 1024;

/// The shortest text that the tree describes, by its first branches and the plainest characters; what looks around
/// itself is passed over, and the text tried.
fn write(hir: &Hir, variant: usize, out: &mut Vec<u8>) -> Option<()> {
    if out.len() > LIMIT_BYTES {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend(&*literal.0),
        HirKind::Class(class) => out.extend(plainest(class, variant / 2)?.to_string().into_bytes()),
        HirKind::Capture(capture) => write(&capture.sub, variant, out)?,
        HirKind::Repetition(repetition) => {
            let more = u32::try_from(variant % 2).unwrap_or_default();
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.saturating_add(more).min(most) {
                write(&repetition.sub, variant, out)?;
            }
        }
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, variant, out))?,
        HirKind::Alternation(branches) => write(branches.get(variant / 2 % branches.len())?, variant, out)?,
    }
    Some(())
}

/// A character of the class that is good to read: the first of those after `from`.
fn plainest(class: &Class, from: usize) -> Option<char> {
    const PLAIN: &str = "1aAx0-_/.: ,";
    let holds = |c: char| match class {
        Class::Bytes(class) => u8::try_from(c).is_ok_and(|b| class.iter().any(|r| (r.start()..=r.end()).contains(&b))),
        Class::Unicode(class) => class.iter().any(|range| (range.start()..=range.end()).contains(&c)),
    };
    let plain = PLAIN.chars().cycle().skip(from).take(PLAIN.len()).chain('!'..='~').find(|c| holds(*c));
    plain.or_else(|| match class {
        Class::Bytes(_) => None,
        Class::Unicode(class) => class.iter().next().map(|range| range.start()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_line_is_written_out() {
        for (written, lines, expected) in [
            ("EXT4-fs error .*", 1, "EXT4-fs error .*$"),
            (r"event severity: fatal$", 1, r"event severity: fatal\s*$"),
            (r"costs \$", 1, r"costs \$\s*$"),
            (r"a.\*", 1, r"a.\*\s*$"),
            (r"a\\.*", 1, r"a\\.*$"),
            ("^oops", 1, r"^\s*oops\s*$"),
            ("(?m)^a$", 1, r"(?m)^a\s*\z"),
            ("a|b", 1, r"a|b\s*$"),
            (r"a\nb", 4, r"a\nb[\t\f\r ]*$"),
            (r"^a\nb", 4, r"^a\nb[\t\f\r ]*$"),
            (r"\Q.*\E", 1, r"\.\*\s*$"),
            ("a\u{202e}", 1, r"a(?u:\x{202e})\s*\z"),
            ("[\u{200b}\u{2028}]", 1, r"(?u:[\x{200b}\x{2028}])\s*\z"),
        ] {
            assert_eq!(native(written, lines).as_deref(), Ok(expected), "{written}");
        }
        for refused in [".*", "", "a(?=b)", "(a"] {
            assert!(native(refused, 1).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_line_is_made_of_the_pattern() {
        for (written, expected) in [
            (
                r"Killed process \d+ (.+) total-vm:\d+kB, anon-rss:\d+kB.*",
                "Killed process 1 1 total-vm:1kB, anon-rss:1kB",
            ),
            (r"^(foo|bar): [^0-9]{2}$", "foo: aa"),
            (r"(?i)é+", "É"),
            (r"\bdown\b.+", "down-"),
            (r"a\nb", "a\nb"),
            ("a(\u{202e}|b)", "ab"),
            ("a\u{202e}b", "a\u{202e}b"),
        ] {
            assert_eq!(sample(&native(written, 1).unwrap()).as_deref(), Some(expected), "{written}");
        }
        assert_eq!(sample(&native(r"x\by", 1).unwrap()), None, "there is none");
    }
}
