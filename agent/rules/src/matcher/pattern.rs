//! One pattern of one rule: where it is searched and what a match of it means.

use std::{borrow::Cow, sync::PoisonError};

use regex::bytes::Captures;

use super::{
    compile::{Compiled, LazyPattern},
    haystack::{Blanks, Haystack},
    literal::Window,
    opening::Opening,
    outline::Outline,
    steps::{GROUPS, Marks, Steps, TooLong, Way},
};
use crate::{
    pattern,
    rule::{Format, Rule},
    shipped::is_shipped,
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
    /// What the rule finds from here on is meant to happen.
    Inhibit,
    /// It is not any more.
    Until,
}

/// One compiled pattern.
pub(crate) struct Pattern {
    /// Index into `RuleSet::rules`.
    pub(crate) rule: usize,
    pub(crate) role: Role,
    /// Which of the rule's patterns of this role.
    nth: u32,
    /// How many records it may look at.
    pub(crate) depth: usize,
    format: Format,
    blanks: Blanks,
    starts_anchored: bool,
    opening: Opening,
    /// The numbers of the groups `subject`, `pid` and `pod`: a pattern is too short for more than fit.
    groups: [Option<u16>; GROUPS],
    code: LazyPattern,
}

/// A match.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<'t> {
    /// The captures `subject`, `pid` and `pod`.
    pub(crate) subject: Option<&'t [u8]>,
    pub(crate) pid: Option<&'t [u8]>,
    pub(crate) pod: Option<&'t [u8]>,
    /// In how many records before the newest it begins.
    pub(crate) back: usize,
}

impl Role {
    pub(super) const ALL: [Self; 5] = [Self::Match, Self::Revert, Self::Clear, Self::Inhibit, Self::Until];

    /// The patterns of `rule` that have it.
    pub(super) fn patterns(self, rule: &Rule) -> &[String] {
        match self {
            Self::Match => &rule.patterns,
            Self::Revert => rule.counting.as_ref().map(|counting| &*counting.revert).unwrap_or_default(),
            Self::Clear => &rule.clears.patterns,
            Self::Inhibit => rule.inhibition.as_ref().map(|inhibition| &*inhibition.patterns).unwrap_or_default(),
            Self::Until => rule.inhibition.as_ref().map(|inhibition| &*inhibition.until).unwrap_or_default(),
        }
    }
}

impl Pattern {
    /// Checks the `nth` pattern of `rule`, which is the one at `index`, and finds by which windows a record is selected
    /// for it; nothing: every record has to be tried.
    pub(super) fn new(
        rule: &Rule,
        index: usize,
        role: Role,
        nth: usize,
    ) -> Result<(Self, Option<Vec<Window>>), String> {
        let written = &role.patterns(rule)[nth];
        let (source, Outline { is_multi_line, is_anchored, opening, groups, windows }) = outlined(rule, written)?;
        let pattern = Self {
            rule: index,
            role,
            nth: u32::try_from(nth).expect("rule files are smaller than 4 GiB"),
            depth: if is_multi_line { rule.lines } else { 1 },
            format: rule.format,
            blanks: rule.format.into(),
            starts_anchored: is_anchored,
            opening,
            groups,
            code: LazyPattern::new(&source, written),
        };
        Ok((pattern, windows))
    }

    /// As it was written in `rule`, its own.
    pub(super) fn written<'r>(&self, rule: &'r Rule) -> &'r str {
        &self.role.patterns(rule)[self.nth as usize]
    }

    /// What the first two bytes of the newest record have to be; anything, if it may not be judged by them alone.
    pub(super) fn opening_of_newest(&self) -> Opening {
        if self.depth == 1 && self.blanks == Blanks::Kept { self.opening } else { Opening::ANY }
    }

    /// Searches the newest record, and those before it if the pattern may span several. `rule` is its own, `marks` is
    /// what was found when it was picked, `ways` is room to work in.
    pub(crate) fn find<'h>(
        &self,
        rule: &Rule,
        haystack: &'h Haystack<'_>,
        marks: Option<&Marks>,
        ways: &mut Vec<Way>,
    ) -> Option<Found<'h>> {
        let newest = haystack.newest(self.blanks);
        if let Some(marks) = marks {
            return Some(self.found_at(marks, newest));
        }
        if self.depth == 1 {
            return if self.opening.admits(newest) { self.find_in_one(rule, newest, ways) } else { None };
        }
        if self.code.tail(|| self.written(rule)).is_some_and(|tail| !tail.may_be_in(newest, ways)) {
            return None;
        }
        let joined = haystack.joined(self.blanks, self.depth);
        let records = self.depth.min(joined.starts.len());
        let find = |records| self.find_in_last(rule, &joined.bytes, &joined.starts[joined.starts.len() - records..]);
        match self.format {
            // The fewest records that match, so that `^` can stand at the start of any of them.
            Format::Native => (1..=records).find_map(find),
            Format::Npd if self.starts_anchored => (1..=records).rev().find_map(find),
            Format::Npd => find(records),
        }
    }

    /// The first match in `newest`, as it is. An error: it is not for steps to tell.
    pub(super) fn find_by_steps(
        &self,
        rule: &Rule,
        newest: &[u8],
        ways: &mut Vec<Way>,
    ) -> Result<Option<Marks>, TooLong> {
        if self.depth > 1 || self.blanks != Blanks::Kept {
            return Err(TooLong);
        }
        self.steps(rule).ok_or(TooLong)?.find(newest, ways)
    }

    fn find_in_one<'t>(&self, rule: &Rule, text: &'t [u8], ways: &mut Vec<Way>) -> Option<Found<'t>> {
        match self.steps(rule).map(|steps| steps.find(text, ways)) {
            Some(Ok(marks)) => marks.map(|marks| self.found_at(&marks, text)),
            None | Some(Err(TooLong)) => self.find_by_regex(rule, text),
        }
    }

    fn steps(&self, rule: &Rule) -> Option<&Steps> {
        self.code.steps(|| self.written(rule), self.groups.map(|group| group.map(usize::from)))
    }

    fn found_at<'t>(&self, marks: &Marks, text: &'t [u8]) -> Found<'t> {
        self.found(|nth, _| marks.group(text, nth), 0)
    }

    fn find_by_regex<'t>(&self, rule: &Rule, text: &'t [u8]) -> Option<Found<'t>> {
        let Compiled { regex, places } = self.code.regex(|| self.written(rule))?;
        if self.groups.iter().all(Option::is_none) {
            return regex.is_match(text).then(|| self.found(|_, _| None, 0));
        }
        let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
        regex.captures_read(&mut places, text)?;
        Some(self.found(|_, group| places.get(group).map(|(start, end)| &text[start..end]), 0))
    }

    /// A match that reaches into the newest of the records that begin at `starts`.
    fn find_in_last<'t>(&self, rule: &Rule, bytes: &'t [u8], starts: &[usize]) -> Option<Found<'t>> {
        let (first, newest) = (*starts.first()?, *starts.last()?);
        if !self.opening.admits(&bytes[first..]) {
            return None;
        }
        let regex = &self.code.regex(|| self.written(rule))?.regex;
        // A newest record without text is reached by a match that ends at it.
        let reaches = |end: usize| first + end > newest || first + end == bytes.len() || starts.len() == 1;
        let captures = regex.captures_iter(&bytes[first..]).find(|captures| reaches(end_of(captures)))?;
        let begin = first + captures.get(0).map_or(0, |whole| whole.start());
        let record = starts.partition_point(|start| *start <= begin) - 1;
        let back = starts.len() - 1 - record;
        Some(self.found(|_, group| captures.get(group).map(|capture| capture.as_bytes()), back))
    }

    /// `captured` gives the text of the nth of the groups, by that and by its number in the pattern.
    fn found<'t>(&self, captured: impl Fn(usize, usize) -> Option<&'t [u8]>, back: usize) -> Found<'t> {
        let text = |nth: usize| captured(nth, self.groups[nth]?.into());
        Found { subject: text(0), pid: text(1), pod: text(2), back }
    }
}

fn end_of(captures: &Captures<'_>) -> usize {
    captures.get(0).map_or(0, |whole| whole.end())
}

/// What is searched for, and what is known of it. A shipped pattern was parsed before it was shipped.
fn outlined<'r>(rule: &Rule, written: &'r str) -> Result<(Cow<'r, str>, Outline), String> {
    if rule.format == Format::Native
        && is_shipped(&rule.location.file)
        && let Some(outline) = Outline::shipped(written, rule.lines)
    {
        return Ok((Cow::Borrowed(written), outline));
    }
    let (source, hir) = pattern::compiled(rule.format, written)?;
    Ok((Cow::Owned(source), Outline::of(&hir, rule.lines)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadPlan, Location, load, shipped::FOLDER, testing};

    fn of_file(file: &str, rule: &Rule) -> Rule {
        Rule { location: Location { file: file.into(), line: 1 }, ..rule.clone() }
    }

    #[test]
    fn no_shipped_pattern_is_parsed_and_all_others_are() {
        let set = load(&LoadPlan::default()).set;
        for rule in &set.rules {
            let others = of_file("/etc/nodewell/rules.d/mine.toml", rule);
            for pattern in &rule.patterns {
                let (known, parsed) = (outlined(rule, pattern).unwrap(), outlined(&others, pattern).unwrap());
                assert!(matches!(known.0, Cow::Borrowed(_)) && matches!(parsed.0, Cow::Owned(_)), "{pattern}");
                assert_eq!(known, parsed, "{pattern}");
            }
        }
    }

    #[test]
    fn what_no_shipped_rule_has_is_parsed_wherever_it_stands() {
        for (pattern, error) in [("^Zebra$", None), ("abc(def", Some("unclosed group"))] {
            for file in ["mine.toml", &format!("{FOLDER}/mine.toml")] {
                let rule = of_file(file, &testing::rule("R", pattern));
                assert_eq!(outlined(&rule, pattern).err().as_deref(), error, "{pattern} of {file}");
            }
        }
    }
}
