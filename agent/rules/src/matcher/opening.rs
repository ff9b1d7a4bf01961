//! What a pattern that stands at the start of a text lets begin there: a look at two bytes, before a regex.

use regex_syntax::hir::{
    Hir, Look,
    literal::{ExtractKind, Extractor},
};

/// A bit for each kind of first two bytes with which a text may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening(pub(super) u64);

impl Opening {
    pub(super) const ANY: Self = Self(u64::MAX);

    pub(super) fn of(hir: &Hir) -> Self {
        if !hir.properties().look_set_prefix().contains(Look::Start) {
            return Self::ANY;
        }
        let mut extractor = Extractor::new();
        // More of them is not looked at, and need not be spelled out.
        let beginnings = extractor.kind(ExtractKind::Prefix).limit_literal_len(2).extract(hir);
        let kinds = |literal: &[u8]| match literal {
            [] => u64::MAX,
            [first] => (0..=u8::MAX).fold(0, |kinds, second| kinds | kind(*first, second)),
            [first, second, ..] => kind(*first, *second),
        };
        beginnings
            .literals()
            .map_or(Self::ANY, |literals| Self(literals.iter().fold(0, |all, literal| all | kinds(literal.as_bytes()))))
    }

    /// Whether `text` may match; a text of one byte or none always may.
    pub(super) fn admits(self, text: &[u8]) -> bool {
        match text {
            [first, second, ..] => self.0 & kind(*first, *second) != 0,
            _ => true,
        }
    }
}

/// One of 64: a row of eight for the first byte.
fn kind(first: u8, second: u8) -> u64 {
    let eighth = |byte: u8| (byte ^ (byte >> 3)) & 7;
    1 << (eighth(first) << 3 | eighth(second))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{pattern, rule::Format};

    fn opening(pattern: &str) -> Opening {
        Opening::of(&pattern::compiled(Format::Native, pattern).unwrap().1)
    }

    #[test]
    fn what_cannot_begin_a_match_is_not_admitted() {
        let nic = opening("^(?:igb|ixgbe|e1000e) (?P<subject>\\S+): ");
        assert_eq!(["igb x", "ixgbe x", "e1000e x"].map(|text| nic.admits(text.as_bytes())), [true; 3]);
        assert_eq!(["ACPI: x", "systemd", "ata1: x"].map(|text| nic.admits(text.as_bytes())), [false; 3]);
        assert!(nic.admits(b"i") && nic.admits(b""));
    }

    #[test]
    fn a_pattern_that_may_stand_anywhere_admits_all() {
        for pattern in ["XFS", "(?m)^XFS", r"^\w+: XFS", "^(?:md)?: XFS|XFS", "^", "^$|XFS", "(?:^XFS|md)"] {
            assert_eq!(opening(pattern), Opening::ANY, "{pattern}");
        }
    }

    proptest! {
        /// A text that matches is admitted.
        #[test]
        fn no_match_is_lost(
            pattern in r"\^?(\(\?:)?[a-cA-C.]{0,3}(\[ab\]|\(\?i:b\)|a\?|b\*|c\+|\|a)?[a-c]{0,2}\)?",
            text in "[a-cA-C]{0,6}",
        ) {
            if let Ok((source, hir)) = pattern::compiled(Format::Native, &pattern) {
                let matches = pattern::build(&source).is_ok_and(|regex| regex.is_match(text.as_bytes()));
                prop_assert!(!matches || Opening::of(&hir).admits(text.as_bytes()));
            }
        }
    }
}
