//! What is known of a pattern before it is used: whether it is valid, bounded, and what it may match.

mod compiled;

use std::borrow::Cow;

pub(crate) use compiled::{build, compiled, syntax};

use regex_syntax::{
    Parser, ParserBuilder,
    hir::{Class, Hir, HirKind, Look},
};

use crate::{npd, rule::Format};

/// The longest pattern, in bytes.
const LENGTH_LIMIT_BYTES: usize = 16 * 1024;

/// Parses a pattern with the flags that the detector compiles it with: bytes, ASCII classes unless `(?u)`. What is taken
/// here the detector takes too.
///
/// # Errors
/// One line: what is wrong, and at which character.
pub fn parse(format: Format, pattern: &str) -> Result<Hir, String> {
    if format == Format::Native
        && let Ok((_, hir)) = compiled(format, pattern)
    {
        return Ok(hir);
    }
    let written = translated(format, pattern)?;
    let hir = parser().parse(&written).map_err(|error| match format {
        Format::Native => error_message(pattern, &error),
        // The characters of the translation are not the writer's.
        Format::Npd => kind(&error),
    })?;
    compiled(format, pattern)?;
    Ok(hir)
}

/// Whether the pattern is found in every text, because it asks for nothing.
#[must_use]
pub fn matches_everything(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty => true,
        // A text has one start and one end; `^$` is the exception below.
        HirKind::Look(look) => matches!(look, Look::Start | Look::End | Look::StartLF | Look::EndLF),
        HirKind::Literal(_) | HirKind::Class(_) => false,
        HirKind::Repetition(repetition) => repetition.min == 0 || matches_everything(&repetition.sub),
        HirKind::Capture(capture) => matches_everything(&capture.sub),
        HirKind::Concat(parts) => parts.iter().all(matches_everything) && !is_bound_at_both_ends(hir),
        HirKind::Alternation(branches) => branches.iter().any(matches_everything),
    }
}

/// `^a*$` asks for something although each of its parts does not. `^.*$` passes as well, and is the writer's loss.
fn is_bound_at_both_ends(hir: &Hir) -> bool {
    hir.properties().look_set_prefix().contains_anchor() && hir.properties().look_set_suffix().contains_anchor()
}

/// Whether a match of the pattern may hold a newline, so that it can span records.
#[must_use]
pub fn may_match_newline(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Bytes(class)) => class.iter().any(|r| (r.start()..=r.end()).contains(&b'\n')),
        HirKind::Class(Class::Unicode(class)) => class.iter().any(|r| (r.start()..=r.end()).contains(&'\n')),
        HirKind::Repetition(repetition) => may_match_newline(&repetition.sub),
        HirKind::Capture(capture) => may_match_newline(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(may_match_newline),
    }
}

/// Whether every match of the pattern sets the capture group `name`.
#[must_use]
pub fn always_captures(hir: &Hir, name: &str) -> bool {
    match hir.kind() {
        HirKind::Capture(capture) => capture.name.as_deref() == Some(name) || always_captures(&capture.sub, name),
        HirKind::Repetition(repetition) => repetition.min > 0 && always_captures(&repetition.sub, name),
        HirKind::Concat(parts) => parts.iter().any(|part| always_captures(part, name)),
        HirKind::Alternation(branches) => branches.iter().all(|branch| always_captures(branch, name)),
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => false,
    }
}

/// Whether the pattern has a capture group of this name at all.
#[must_use]
pub fn captures(hir: &Hir, name: &str) -> bool {
    match hir.kind() {
        HirKind::Capture(capture) => capture.name.as_deref() == Some(name) || captures(&capture.sub, name),
        HirKind::Repetition(repetition) => captures(&repetition.sub, name),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(|part| captures(part, name)),
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => false,
    }
}

/// The pattern in the `regex` crate's syntax.
fn translated(format: Format, pattern: &str) -> Result<Cow<'_, str>, String> {
    if pattern.len() > LENGTH_LIMIT_BYTES {
        return Err(format!("a pattern has at most {LENGTH_LIMIT_BYTES} bytes; this one has {}", pattern.len()));
    }
    match format {
        Format::Native => Ok(Cow::Borrowed(pattern)),
        Format::Npd => npd::translate_re2(pattern).map(Cow::Owned),
    }
}

fn parser() -> Parser {
    ParserBuilder::new().unicode(false).utf8(false).build()
}

/// The error with the character it is at; the crate's own text spans several lines.
fn error_message(pattern: &str, error: &regex_syntax::Error) -> String {
    let offset = match error {
        regex_syntax::Error::Parse(error) => error.span().start.offset,
        regex_syntax::Error::Translate(error) => error.span().start.offset,
        _ => return kind(error),
    };
    let character = pattern.get(..offset).map_or(0, |before| before.chars().count()) + 1;
    format!("{} at character {character}", kind(error))
}

fn kind(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        other => other.to_string().replace('\n', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(pattern: &str) -> Hir {
        parse(Format::Native, pattern).unwrap()
    }

    #[test]
    fn an_invalid_pattern_is_told_with_its_character() {
        for (pattern, error_message) in [
            ("abc(def", "unclosed group at character 4"),
            ("ä(", "unclosed group at character 2"),
            ("a**(", "unclosed group at character 4"),
            ("[z-a]", "invalid character class range, the start must be <= the end at character 2"),
            ("(a{1000}){1000}", "the pattern is too large once its repetitions are unrolled; use smaller counts"),
        ] {
            assert_eq!(parse(Format::Native, pattern).unwrap_err(), error_message, "{pattern}");
        }
        assert!(parse(Format::Native, &"(".repeat(10_000)).is_err());
        assert!(parse(Format::Native, &"a".repeat(100_000)).unwrap_err().contains("16384 bytes"));
    }

    #[test]
    fn a_pattern_that_asks_for_nothing_is_recognised() {
        for (pattern, everything) in [
            ("", true),
            (".*", true),
            ("^", true),
            ("(a|)", true),
            ("a*", true),
            ("^$", false),
            ("^a*$", false),
            ("a", false),
            (".", false),
            (r"\b", false),
            ("x|.*", true),
        ] {
            assert_eq!(matches_everything(&native(pattern)), everything, "{pattern}");
        }
    }

    #[test]
    fn only_patterns_that_can_cross_a_line_may_match_a_newline() {
        for (pattern, crosses) in
            [("a.*b", false), (r"a\nb", true), ("(?s)a.b", true), ("[^x]", true), (r"a\sb", true), (r"[\S ]+", false)]
        {
            assert_eq!(may_match_newline(&native(pattern)), crosses, "{pattern}");
        }
    }

    #[test]
    fn a_capture_counts_only_if_every_match_sets_it() {
        for (pattern, always) in [
            ("a(?P<subject>b)", true),
            ("(a(?P<subject>b)|c)", false),
            ("(?P<subject>b)?", false),
            ("(?P<subject>b)+", true),
            ("(?P<pid>b)", false),
        ] {
            assert_eq!(always_captures(&native(pattern), "subject"), always, "{pattern}");
        }
        assert!(captures(&native("(a|(?P<subject>b))"), "subject"));
    }
}
