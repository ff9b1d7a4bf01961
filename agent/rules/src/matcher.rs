//! All rules of one reader in one pass: a record is scanned for a rare window of every rule at once, and only the patterns
//! whose windows it holds are tried, first by two bytes, then by steps, and by a regex where those cannot tell.

mod compile;
mod frequency;
mod haystack;
mod literal;
mod opening;
mod outline;
mod pattern;
mod picked;
mod scan;
mod selected;
mod selects;
mod steps;
mod tail;

use literal::Window;
use opening::Opening;
use steps::TooLong;

pub(crate) use haystack::{Blanks, Haystack, PAST_LIMIT_BYTES, Past, PastLine};
pub use pattern::Role;
pub(crate) use pattern::{Found, Pattern};
pub(crate) use picked::{Picked, Trial};
pub(crate) use scan::Scan;
pub(crate) use selected::Selected;
pub(crate) use selects::{Seen, Selects};
pub(crate) use steps::Way;

use crate::{
    Diagnostic,
    rule::{Rule, RuleSet},
};

/// The patterns of all rules of one reader.
pub struct Matcher {
    /// In the order of the rules; within a rule in the order of [`Role::ALL`].
    patterns: Vec<Pattern>,
    /// What the text of each has to begin with.
    openings: Vec<Opening>,
    scan: Scan,
    selects: Selects,
    /// Patterns without a window: tried on every record.
    lane: Vec<u32>,
    depth: usize,
}

/// A pattern that costs time on every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowPattern<'a> {
    /// Index into [`RuleSet::rules`].
    pub rule: usize,
    pub role: Role,
    pub pattern: &'a str,
}

impl Matcher {
    /// Checks and prepares all patterns of the rules that listen to `reader`; every error is reported.
    pub fn new(set: &RuleSet, reader: usize) -> Result<Self, Vec<Diagnostic>> {
        let mut builder = Builder::default();
        for (index, rule) in set.rules.iter().enumerate().filter(|(_, rule)| rule.reader == reader) {
            builder.add_rule(rule, index);
        }
        frequency::forget();
        if builder.diagnostics.is_empty() { Ok(builder.finish()) } else { Err(builder.diagnostics) }
    }

    /// The patterns that hold no literal worth searching for, so that they run on every record. `set` is what it was
    /// made of.
    pub fn slow_lane<'a>(&'a self, set: &'a RuleSet) -> impl Iterator<Item = SlowPattern<'a>> {
        self.lane.iter().map(move |id| {
            let pattern = &self.patterns[*id as usize];
            let written = pattern.written(&set.rules[pattern.rule]);
            SlowPattern { rule: pattern.rule, role: pattern.role, pattern: written }
        })
    }

    /// How many lines of `block` the scan alone would select: what the benches measure.
    #[must_use]
    pub fn count_candidates(&self, block: &[u8]) -> u64 {
        let (mut cursor, mut at, mut lines) = (self.scan.cursor(block), 0, 0);
        while let Some(hit) = (at < block.len()).then(|| cursor.next_from(at)).flatten() {
            lines += 1;
            at = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |newline| hit + newline + 1);
        }
        lines
    }

    /// How many records the deepest pattern looks at.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// What finds the records that some pattern may match.
    pub(crate) fn scan(&self) -> &Scan {
        &self.scan
    }

    pub(crate) fn pattern(&self, id: u32) -> &Pattern {
        &self.patterns[id as usize]
    }

    /// Which patterns the windows of `joined` select, a scan that has those of this matcher, too.
    pub(crate) fn selects_in(&self, joined: &Scan) -> Selects {
        self.selects.moved(&self.scan, joined)
    }

    /// Fills `selected` with the patterns that `text` may match; whether there are any. `seen`: the text stands in a
    /// line as it is, where these windows were seen, so that it holds no other.
    pub(crate) fn select(&self, text: &[u8], seen: Option<Seen<'_>>, selected: &mut Selected) -> bool {
        selected.reset(self.patterns.len());
        selected.add_all(&self.lane);
        match seen {
            Some(seen) => seen.windows.iter().for_each(|window| selected.add_all(seen.selects.of(*window))),
            None => self.scan.each(text, 0, |window| selected.add_all(self.selects.of(window))),
        }
        selected.retain(|id| self.openings[id as usize].admits(text))
    }

    /// The pattern `id`, which is selected for `text`, as far as its steps can tell; nothing if it does not match. `set`
    /// is what the matcher was made of.
    pub(crate) fn tried(&self, set: &RuleSet, id: u32, text: &[u8], ways: &mut Vec<Way>) -> Option<Picked> {
        let pattern = self.pattern(id);
        match pattern.find_by_steps(&set.rules[pattern.rule], text, ways) {
            Ok(marks) => marks.map(|marks| Picked { pattern: id, marks: Some(marks) }),
            Err(TooLong) => Some(Picked::untried(id)),
        }
    }
}

#[derive(Default)]
struct Builder {
    patterns: Vec<Pattern>,
    lane: Vec<u32>,
    /// Windows and the patterns that they select.
    known: Vec<(Window, u32)>,
    diagnostics: Vec<Diagnostic>,
}

impl Builder {
    fn add_rule(&mut self, rule: &Rule, index: usize) {
        let roles = Role::ALL.into_iter();
        for (role, nth) in roles.flat_map(|role| (0..role.patterns(rule).len()).map(move |nth| (role, nth))) {
            match Pattern::new(rule, index, role, nth) {
                Ok((pattern, windows)) => self.add(pattern, windows),
                Err(error) => self.diagnostics.push(Diagnostic {
                    location: rule.location.clone(),
                    message: format!("pattern of {}: {error}", rule.reason),
                }),
            }
        }
    }

    fn add(&mut self, pattern: Pattern, windows: Option<Vec<Window>>) {
        let id = u32::try_from(self.patterns.len()).expect("rule files are smaller than 4 GiB");
        self.patterns.push(pattern);
        match windows {
            Some(windows) => self.known.extend(windows.into_iter().map(|window| (window, id))),
            None => self.lane.push(id),
        }
    }

    fn finish(mut self) -> Matcher {
        // It lives as long as its rules.
        self.patterns.shrink_to_fit();
        let depth = self.patterns.iter().map(|pattern| pattern.depth).max().unwrap_or(1);
        let scan = Scan::of(self.known.iter().map(|(window, _)| *window).collect());
        let mut lists = vec![Vec::new(); scan.windows().len()];
        for (window, id) in &self.known {
            let at = scan.windows().binary_search(window).expect("the scan is for all of them");
            lists[at].push(*id);
        }
        let selects = Selects::new(lists.iter().map(Vec::as_slice));
        let openings = self.patterns.iter().map(Pattern::opening_of_newest).collect();
        Matcher { patterns: self.patterns, openings, scan, selects, lane: self.lane, depth }
    }
}
