//! What a pattern becomes for the detector, and the one judgement of its size: what passes here compiles later.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{kind, parser, translated};
use crate::rule::Format;

/// Far above any real rule, far below what a typing error like `(a{1000}){1000}` asks for: heavier patterns are not
/// even tried.
const WEIGHT_LIMIT: usize = 20_000;
/// A compiled pattern may take so much memory.
const SIZE_LIMIT_BYTES: usize = 4 << 20;
const DFA_SIZE_LIMIT_BYTES: usize = 256 << 10;
/// Lighter patterns stay below [`SIZE_LIMIT_BYTES`] whatever they are made of: no state takes more than 2 KiB (a class of
/// every other byte takes 1). Heavier ones are compiled once to see.
const WEIGHT_SURE_TO_FIT: usize = 2000;

/// The regex that `pattern` stands for and its syntax tree, by the flags that [`build`] uses; it is sure to compile.
///
/// # Errors
/// One line: what is wrong.
pub(crate) fn compiled(format: Format, pattern: &str) -> Result<(String, Hir), String> {
    let source = source(format, pattern)?;
    let hir = parser().parse(&source).map_err(|error| kind(&error))?;
    match weight(&hir) {
        ..=WEIGHT_SURE_TO_FIT => {}
        ..=WEIGHT_LIMIT if build(&source).is_ok() => {}
        _ => return Err("the pattern is too large once its repetitions are unrolled; use smaller counts".to_owned()),
    }
    Ok((source, hir))
}

/// The syntax tree of what [`compiled`] took; it is there then.
pub(crate) fn syntax(source: &str) -> Option<Hir> {
    parser().parse(source).ok()
}

/// Compiles what [`compiled`] took; it cannot fail then.
pub(crate) fn build(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).unicode(false).size_limit(SIZE_LIMIT_BYTES).dfa_size_limit(DFA_SIZE_LIMIT_BYTES).build()
}

fn source(format: Format, pattern: &str) -> Result<String, String> {
    let translated = translated(format, pattern)?;
    Ok(match format {
        Format::Native => translated.into_owned(),
        // As there, the end of the newest line binds the last branch of `a|b` alone.
        Format::Npd => format!(r"{translated}\z"),
    })
}

/// About how many states the pattern compiles to; repetitions are written out by the compiler.
fn weight(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(_)) => 1,
        // Each range becomes a few UTF-8 sequences.
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(4),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            weight(&repetition.sub).saturating_add(1).saturating_mul(times as usize)
        }
        HirKind::Capture(capture) => weight(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(weight).fold(1, usize::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Detector, Rule, pattern::parse, testing};

    fn detects(format: Format, pattern: &str) -> bool {
        let rule = Rule { format, ..testing::rule("R", pattern) };
        Detector::new(testing::set_of(vec![rule]), 0).is_ok()
    }

    /// A class of every other byte: the costliest state.
    fn every_other_byte() -> String {
        (0..128).fold("(?-u:[".to_owned(), |class, byte| format!("{class}\\x{:02x}", byte * 2)) + "])"
    }

    #[test]
    fn what_loads_also_compiles_and_what_does_not_is_told_at_load() {
        let costly = every_other_byte();
        let nested = |depth: usize| format!("a|{}b{}", "(?:".repeat(depth), ")".repeat(depth));
        for (format, pattern, good) in [
            (Format::Native, format!("{costly}{{900}}"), true),
            (Format::Native, format!("{costly}{{9000}}"), false),
            (Format::Npd, nested(248), true),
            // The bound end of the line makes it one level deeper than the parser goes.
            (Format::Npd, nested(249), false),
            (Format::Native, nested(249), true),
            (Format::Native, r"(?u:[^a]){2200}".to_owned(), true),
            (Format::Native, r"(?u:[\x{80}-\x{10FFFF}]){3900}".to_owned(), true),
            (Format::Native, "(?:(?:a*)*){4000}".to_owned(), true),
            (Format::Native, "(a{1000}){1000}".to_owned(), false),
        ] {
            let shown: String = pattern.chars().take(40).collect();
            assert_eq!(parse(format, &pattern).is_ok(), good, "{shown}");
            assert_eq!(detects(format, &pattern), good, "{shown}");
            assert_eq!(compiled(format, &pattern).is_ok_and(|(source, _)| build(&source).is_ok()), good, "{shown}");
        }
    }

    #[test]
    fn the_costliest_pattern_that_is_not_tried_fits() {
        let class = every_other_byte();
        for atom in [&class, r"(?u:[\x{81}-\x{10FFFE}])", "(?:a|b*)", "((?:))", "(?:a??)*"] {
            let fits = |times: &usize| {
                let hir = parser().parse(&format!("(?:{atom}){{{times}}}")).unwrap();
                weight(&hir) <= WEIGHT_SURE_TO_FIT
            };
            let times = (1..=2000).rev().find(fits).unwrap();
            assert!(build(&format!("(?:{atom}){{{times}}}")).is_ok(), "{atom} {times}");
        }
    }

    const ATOMS: [&str; 12] =
        [r"\w", r"(?u:\w)", "[^a]", "(?u:[^a])", "a*", "(b)", "", r"\b", "[a-cx-z]", r"\s\S", "(?i)ä", "$"];

    fn any_pattern() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![prop::sample::select(&ATOMS[..]).prop_map(str::to_owned), Just(every_other_byte())];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                (inner.clone(), 1..80_usize).prop_map(|(inner, times)| format!("(?:{inner}){{{times}}}")),
                (inner.clone(), 0..60_usize).prop_map(|(inner, times)| format!("(?:{inner}){{{times},}}")),
                (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one}|{other}")),
                (inner.clone(), inner).prop_map(|(one, other)| format!("{one}({other})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn no_pattern_loads_that_the_detector_refuses(pattern in any_pattern(), npd: bool) {
            let format = if npd { Format::Npd } else { Format::Native };
            prop_assert_eq!(parse(format, &pattern).is_ok(), detects(format, &pattern));
            if let Ok((source, _)) = compiled(format, &pattern) {
                prop_assert!(build(&source).is_ok());
            }
        }
    }
}
