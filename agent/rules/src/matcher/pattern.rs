//! One pattern of one rule: where it is searched and what a match of it means.

use regex::bytes::{Captures, Regex};
use regex_syntax::hir::{Hir, HirKind, Look};

use super::{
    compile::{Compiled, LazyRegex},
    haystack::{Blanks, Haystack},
    literal::{self, Required, Scope},
    opening::Opening,
};
use crate::{
    pattern,
    rule::{Format, Rule},
};

/// What a match of the pattern means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The rule's problem is there.
    Match,
    /// One match is taken back from a counting rule.
    Revert,
    /// The rule's problem is over.
    Clear,
}

/// One compiled pattern.
pub(crate) struct Pattern {
    /// Index into `RuleSet::rules`.
    pub(crate) rule: usize,
    pub(crate) role: Role,
    /// As it was written, where that is not what is searched for.
    written: Option<String>,
    /// How many records it may look at.
    pub(crate) depth: usize,
    format: Format,
    blanks: Blanks,
    starts_anchored: bool,
    opening: Opening,
    /// The groups that name its subject.
    subject: Option<usize>,
    pid: Option<usize>,
    pod: Option<usize>,
    regex: LazyRegex,
}

/// A match.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The captures `subject`, `pid` and `pod`.
    pub(crate) subject: Option<Vec<u8>>,
    pub(crate) pid: Option<Vec<u8>>,
    pub(crate) pod: Option<Vec<u8>>,
    /// In how many records before the newest it begins.
    pub(crate) back: usize,
}

impl Pattern {
    /// Checks `written` and finds by which windows a record is selected for it; nothing: every record has to be tried.
    pub(super) fn new(
        rule: &Rule,
        index: usize,
        role: Role,
        written: &str,
    ) -> Result<(Self, Option<Required>), String> {
        let (source, hir) = pattern::compiled(rule.format, written)?;
        let multi_line = rule.lines > 1 && literal::can_match_newline(&hir);
        let required = literal::required(&hir, if multi_line { Scope::LastLine } else { Scope::Match });
        let pattern = Self {
            rule: index,
            role,
            written: (written != source).then(|| written.to_owned()),
            depth: if multi_line { rule.lines } else { 1 },
            format: rule.format,
            blanks: rule.format.into(),
            starts_anchored: looks_at_start(&hir),
            opening: Opening::of(&hir),
            subject: group(&hir, "subject"),
            pid: group(&hir, "pid"),
            pod: group(&hir, "pod"),
            regex: LazyRegex::new(source),
        };
        Ok((pattern, required))
    }

    /// As it was written.
    pub(super) fn written(&self) -> &str {
        self.written.as_deref().unwrap_or(self.regex.source())
    }

    /// Searches the newest record, and those before it if the pattern may span several.
    pub(crate) fn find(&self, haystack: &Haystack<'_>) -> Option<Found> {
        if self.depth == 1 {
            let text = haystack.newest(self.blanks);
            return if self.opening.admits(text) { self.find_in_one(self.regex.get()?, text) } else { None };
        }
        let regex = &self.regex.get()?.regex;
        let joined = haystack.joined(self.blanks);
        let records = self.depth.min(joined.starts.len());
        let find = |records| self.find_in_last(regex, &joined.bytes, &joined.starts[joined.starts.len() - records..]);
        match self.format {
            // The fewest records that match, so that `^` can stand at the start of any of them.
            Format::Native => (1..=records).find_map(find),
            Format::Npd if self.starts_anchored => (1..=records).rev().find_map(find),
            Format::Npd => find(records),
        }
    }

    fn find_in_one(&self, compiled: &Compiled, text: &[u8]) -> Option<Found> {
        let Compiled { regex, places } = compiled;
        if self.subject.or(self.pid).or(self.pod).is_none() {
            return regex.is_match(text).then_some(Found { subject: None, pid: None, pod: None, back: 0 });
        }
        let mut places = places.borrow_mut();
        regex.captures_read(&mut places, text)?;
        Some(self.found(|group| places.get(group).map(|(start, end)| &text[start..end]), 0))
    }

    /// A match that reaches into the newest of the records that begin at `starts`.
    fn find_in_last(&self, regex: &Regex, bytes: &[u8], starts: &[usize]) -> Option<Found> {
        let (first, newest) = (*starts.first()?, *starts.last()?);
        // A newest record without text is reached by a match that ends at it.
        let reaches = |end: usize| first + end > newest || first + end == bytes.len() || starts.len() == 1;
        let captures = regex.captures_iter(&bytes[first..]).find(|captures| reaches(end_of(captures)))?;
        let begin = first + captures.get(0).map_or(0, |whole| whole.start());
        let record = starts.partition_point(|start| *start <= begin) - 1;
        Some(self.found(|group| captures.get(group).map(|capture| capture.as_bytes()), starts.len() - 1 - record))
    }

    fn found<'t>(&self, captured: impl Fn(usize) -> Option<&'t [u8]>, back: usize) -> Found {
        let text = |group: Option<usize>| captured(group?).map(<[u8]>::to_vec);
        Found { subject: text(self.subject), pid: text(self.pid), pod: text(self.pod), back }
    }
}

fn end_of(captures: &Captures<'_>) -> usize {
    captures.get(0).map_or(0, |whole| whole.end())
}

fn looks_at_start(hir: &Hir) -> bool {
    hir.properties().look_set().contains(Look::Start)
}

/// The number of the capture group `name`.
fn group(hir: &Hir, name: &str) -> Option<usize> {
    match hir.kind() {
        HirKind::Capture(capture) if capture.name.as_deref() == Some(name) => usize::try_from(capture.index).ok(),
        _ => hir.kind().subs().iter().find_map(|sub| group(sub, name)),
    }
}
