//! From a rule's pattern to a compiled regex: checked when it is loaded, compiled at its first hit.

use std::cell::OnceCell;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind},
};

use crate::{
    npd,
    rule::{Format, Rule},
};

/// A compiled pattern may take so much memory. [`SIZE_UNITS_LIMIT`] keeps ordinary ones far below it.
const SIZE_LIMIT_BYTES: usize = 4 << 20;
const DFA_SIZE_LIMIT_BYTES: usize = 256 << 10;
/// Patterns whose estimate is larger are compiled when they are loaded, so that none can fail later.
const SIZE_UNITS_LIMIT: u64 = 2000;

/// The regex that `rule`'s `pattern` stands for.
pub(super) fn pattern_source(rule: &Rule, pattern: &str) -> String {
    match rule.format {
        Format::Native => pattern.to_owned(),
        // Grouped, so that the end of the newest line holds for every branch of `a|b`.
        Format::Npd => {
            // What cannot be translated was a mistake at load; here it would only be said again, by the parser.
            let translated = npd::translate_re2(pattern).unwrap_or_else(|_| pattern.to_owned());
            format!(r"{translated}\z")
        }
    }
}

/// The syntax tree of `source`, by the same flags that [`LazyRegex`] uses.
pub(super) fn parse(source: &str) -> Result<Hir, String> {
    let hir =
        ParserBuilder::new().unicode(false).utf8(false).build().parse(source).map_err(|error| error.to_string())?;
    if units(&hir) > SIZE_UNITS_LIMIT {
        build(source).map_err(|error| error.to_string())?;
    }
    Ok(hir)
}

/// A regex that costs nothing until it is first asked for.
pub(super) struct LazyRegex {
    source: String,
    regex: OnceCell<Option<Regex>>,
}

impl LazyRegex {
    /// Keeps `source`, which [`parse`] has found good.
    pub(super) fn new(source: String) -> Self {
        Self { source, regex: OnceCell::new() }
    }

    /// `None` cannot happen to a source that [`parse`] took; it then matches nothing.
    pub(super) fn get(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| build(&self.source).ok()).as_ref()
    }
}

fn build(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).unicode(false).size_limit(SIZE_LIMIT_BYTES).dfa_size_limit(DFA_SIZE_LIMIT_BYTES).build()
}

/// A rough count of the states that `hir` needs; repetitions are written out by the compiler.
fn units(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Class(Class::Unicode(class)) => 4 * class.ranges().len() as u64 + 1,
        HirKind::Repetition(repetition) => {
            let copies = u64::from(repetition.max.unwrap_or(repetition.min).max(1));
            units(&repetition.sub).saturating_mul(copies)
        }
        HirKind::Capture(capture) => units(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(units).fold(1, u64::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_cannot_be_compiled_is_refused_at_once() {
        for bad in ["(", "a**b{2", r"\p{Nonsense}", r"(?:\w{1000}){1000}", "(?P<a>x)(?P<a>y)"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_parses_also_compiles() {
        for good in [r"(?u)\w+ä", r"\xff+", r"(?i)oops", r"(?:\w{30}){20}", "", r"(?u:\w{3})"] {
            assert!(parse(good).is_ok(), "{good}");
            assert!(LazyRegex::new(good.to_owned()).get().is_some(), "{good}");
        }
    }
}
