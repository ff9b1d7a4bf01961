//! The detector of one reader: records in, findings out. Pure; the thread that reads also calls it.

mod conclude;
mod counting;
mod decode;
mod fields;
mod inhibit;
mod moment;
mod ring;
mod start;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_faults::{Host, xid::history::XidHistory};
use nodewell_model::{Finding, Name, Record};

pub(crate) use fields::Known;

use self::{counting::Counter, inhibit::Inhibited, ring::Ring, start::Start};
use crate::{
    Diagnostic,
    matcher::{Found, Haystack, Matcher, Past, Picked, Role, Selected, SlowPattern, Way},
    rule::{Rule, RuleSet},
};

/// Judges the records of one reader by all rules that listen to it.
pub struct Detector {
    set: Arc<RuleSet>,
    matcher: Arc<Matcher>,
    ring: Ring,
    /// By rule.
    counters: HashMap<usize, Counter>,
    /// By rule.
    inhibited: HashMap<usize, Inhibited>,
    /// For each rule a number shared by the rules of the same reason and condition.
    slots: Vec<u32>,
    claimed: Selected,
    /// Room to select and to match in.
    selected: Selected,
    picked: Vec<Picked>,
    ways: Vec<Way>,
    /// `None`: nothing is too old, as in a replay.
    start: Option<Start>,
    /// For decoders.
    host: Host,
    xids: XidHistory,
}

/// What the caller knows beside a record.
pub(crate) struct Context<'a> {
    /// The rules that the detector was made of.
    pub(crate) set: &'a RuleSet,
    /// The patterns that it may match, in the order of the rules.
    pub(crate) picked: &'a [Picked],
    /// The records before it.
    pub(crate) past: &'a dyn Past,
    pub(crate) known: Known<'a>,
    /// Whether it matters that what the rule raises is over. If not, that is not even looked for.
    pub(crate) hears_end: &'a dyn Fn(&Rule) -> bool,
}

/// One record on its way through the rules.
struct Judged<'a, 'r> {
    set: &'a RuleSet,
    record: &'a Record<'r>,
    haystack: Haystack<'a>,
    known: Known<'a>,
    hears_end: &'a dyn Fn(&Rule) -> bool,
}

impl Detector {
    /// The detector for the rules of `set` that listen to `reader`. Regexes are checked now and compiled at their first
    /// hit.
    pub fn new(set: Arc<RuleSet>, reader: usize) -> Result<Self, Vec<Diagnostic>> {
        let matcher = Arc::new(Matcher::new(&set, reader)?);
        let (ring, slots) = (Ring::new(matcher.depth() - 1), slots(&set));
        let (counters, inhibited, host, xids) = Default::default();
        let (claimed, selected, picked, ways) = Default::default();
        let start = None;
        Ok(Self { set, matcher, ring, counters, inhibited, slots, claimed, selected, picked, ways, start, host, xids })
    }

    /// The agent started at `started`: rules of Node Problem Detector pass over what is older than their `lookback` or
    /// younger than boot + `delay`; native temporary rules report nothing older than `default_lookback`. What lasts is
    /// looked for everywhere, and test records always count.
    #[must_use]
    pub fn with_start(self, started: Timestamp, default_lookback: Duration) -> Self {
        Self { start: Some(Start { at: started, default_lookback }), ..self }
    }

    /// The log is of this host. The branch of NVIDIA's driver holds until its own line names another.
    #[must_use]
    pub fn with_host(self, host: Host) -> Self {
        Self { host, ..self }
    }

    /// All that was there at the start has been read: what comes now is news, whatever a clock that jumps shows.
    pub fn caught_up(&mut self) {
        self.start = None;
    }

    /// Judges `record`; what it proves is appended to `out`.
    pub fn push(&mut self, record: &Record<'_>, out: &mut Vec<Finding>) {
        if self.matcher.select(record.text, None, &mut self.selected) {
            let (ring, mut picked) = (std::mem::take(&mut self.ring), std::mem::take(&mut self.picked));
            picked.clear();
            picked.extend(self.selected.iter().map(Picked::untried));
            let set = Arc::clone(&self.set);
            let hears_end = &|_: &Rule| true;
            let context = Context { set: &set, picked: &picked, past: &ring, known: Known::Everything, hears_end };
            self.judge(record, &context, out);
            (self.ring, self.picked) = (ring, picked);
        }
        self.ring.push(record);
    }

    /// The patterns that run on every record because they hold no literal.
    pub fn slow_lane(&self) -> impl Iterator<Item = SlowPattern<'_>> {
        self.matcher.slow_lane(&self.set)
    }

    /// Forgets what was counted and what came before: the records that follow are of another boot.
    pub fn forget(&mut self) {
        self.counters.clear();
        self.inhibited.clear();
        self.ring = Ring::new(self.matcher.depth() - 1);
        self.host.branch = None;
        self.xids = XidHistory::default();
    }

    pub(crate) fn matcher(&self) -> &Arc<Matcher> {
        &self.matcher
    }

    /// As [`Self::push`], by what the caller knows.
    pub(crate) fn judge(&mut self, record: &Record<'_>, context: &Context<'_>, out: &mut Vec<Finding>) {
        let Context { set, picked, past, known, hears_end } = *context;
        let haystack = Haystack::new(record.text, past, self.matcher.depth());
        self.claimed.reset(self.slots.len());
        let judged = Judged { set, record, haystack, known, hears_end };
        let begin = out.len();
        picked.iter().for_each(|picked| self.try_pattern(picked, &judged, begin, out));
    }

    /// `begin`: where the findings of this record begin in `out`.
    fn try_pattern(&mut self, picked: &Picked, judged: &Judged<'_, '_>, begin: usize, out: &mut Vec<Finding>) {
        let pattern = self.matcher.pattern(picked.pattern);
        let (rule, slot) = (&judged.set.rules[pattern.rule], self.slots[pattern.rule]);
        let is_idle = match pattern.role {
            Role::Match => self.claimed.contains(slot),
            // What was raised a moment ago the caller cannot know.
            Role::Clear => out.is_empty() && !(judged.hears_end)(rule),
            Role::Until => self.inhibited.get(&pattern.rule).is_none_or(Inhibited::is_empty),
            Role::Revert | Role::Inhibit => false,
        };
        if is_idle || self.ignores(rule, judged.record) || !judged.admits(rule) {
            return;
        }
        let found = pattern.find(rule, &judged.haystack, picked.marks(), &mut self.ways);
        let Some(found) = found else { return };
        let (index, role) = (pattern.rule, pattern.role);
        match role {
            Role::Match if self.is_inhibited(index, rule, &found, judged.record) => {}
            Role::Match if rule.decoder.is_some() => self.decode(rule, slot, &found, judged, out),
            Role::Match => {
                let counted = self.count(index, &found, judged.record);
                // Another rule of the same reason may look further back.
                if !self.is_history(rule, rule.condition.as_ref(), judged.record) {
                    self.claimed.add(slot);
                    out.extend(counted.and_then(|counted| judged.raise(rule, &found, counted)));
                }
            }
            Role::Revert => {
                self.counters.entry(index).or_default().revert(&found.subject_text());
            }
            Role::Inhibit | Role::Until => self.inhibit(index, rule, role, judged.record),
            Role::Clear => {
                let clear = judged.clear(rule, &found);
                let is_cleared = out[begin..].iter().any(|other| other.merges_with(&clear));
                out.extend((!is_cleared).then_some(clear));
            }
        }
    }

    fn ignores(&self, rule: &Rule, record: &Record<'_>) -> bool {
        self.start.is_some_and(|start| start.ignores(rule, record))
    }

    fn is_history(&self, rule: &Rule, condition: Option<&Name>, record: &Record<'_>) -> bool {
        self.start.is_some_and(|start| start.is_history(rule, condition, record))
    }

    fn is_inhibited(&self, index: usize, rule: &Rule, found: &Found<'_>, record: &Record<'_>) -> bool {
        let (Some(inhibition), Some(inhibited)) = (&rule.inhibition, self.inhibited.get(&index)) else { return false };
        !record.test && inhibited.covers(inhibition, found.subject_text().as_deref(), record)
    }

    /// Takes note of a line by which the rule's matches are inhibited, or are no more.
    fn inhibit(&mut self, index: usize, rule: &Rule, role: Role, record: &Record<'_>) {
        let Some(inhibition) = &rule.inhibition else { return };
        let inhibited = self.inhibited.entry(index).or_default();
        match role {
            Role::Until => inhibited.end(inhibition, record),
            _ => inhibited.begin(inhibition, record),
        }
    }

    /// The count after one more match: `None` while it is too small.
    fn count(&mut self, index: usize, found: &Found<'_>, record: &Record<'_>) -> Option<counting::Reached> {
        let rule = &self.set.rules[index];
        match &rule.counting {
            Some(counting) if !record.test => {
                let counter = self.counters.entry(index).or_default();
                counter.add(counting, rule.condition.is_some(), &found.subject_text(), record)
            }
            _ => Some(counting::Reached::ONCE),
        }
    }
}

fn slots(set: &RuleSet) -> Vec<u32> {
    let mut known = HashMap::new();
    let slot = |rule: &Rule| {
        let next = u32::try_from(known.len()).expect("rule files are smaller than 4 GiB");
        *known.entry((rule.reason.clone(), rule.condition.clone())).or_insert(next)
    };
    set.rules.iter().map(slot).collect()
}

#[cfg(test)]
mod tests;
