//! A key that holds one regex or several: each is parsed, so that its errors and captures are known.

use regex_syntax::hir::Hir;

use crate::{pattern, report::Report, rule::Format};
use nodewell_settings::{Section, StringAt};

/// Patterns and what they parse to.
#[derive(Debug, Default)]
pub(super) struct Patterns<'a> {
    pub(super) words: Vec<StringAt<'a>>,
    /// Of those that are valid; none of a file that was proven before.
    parsed: Vec<(usize, Hir)>,
}

impl<'a> Patterns<'a> {
    /// The patterns of `key`; none if the key is not there.
    pub(super) fn read(section: Section<'a>, key: &str, report: &mut Report<'_>) -> Self {
        let words = section.strings(key, report);
        if report.is_proven() {
            return Self { words, parsed: Vec::new() };
        }
        let mut parsed = Vec::with_capacity(words.len());
        for word in &words {
            match pattern::parse(Format::Native, word.text) {
                Err(error) => report.error(word.at, format!("invalid regex in {key:?}: {error}")),
                Ok(hir) if pattern::matches_everything(&hir) => {
                    report.error(word.at, format!("{key:?} matches every line: {:?}", word.text));
                }
                Ok(hir) => parsed.push((word.at, hir)),
            }
        }
        Self { words, parsed }
    }

    pub(super) fn texts(&self) -> Vec<String> {
        self.words.iter().map(|word| word.text.to_owned()).collect()
    }

    /// Reports each pattern that can match without setting the group `capture`, which `user` relies on.
    pub(super) fn must_capture(&self, capture: &str, user: &str, report: &mut Report<'_>) {
        for (at, _) in self.parsed.iter().filter(|(_, hir)| !pattern::always_captures(hir, capture)) {
            report.error(*at, format!("{user} needs the capture (?P<{capture}>…) in every match of the pattern"));
        }
    }

    /// The first pattern that has a group named `subject`.
    pub(super) fn with_subject(&self) -> Option<usize> {
        self.parsed.iter().find(|(_, hir)| pattern::captures(hir, "subject")).map(|(at, _)| *at)
    }
}
