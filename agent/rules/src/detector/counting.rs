//! Counting rules: so many matches of one subject within so long are a finding.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use nodewell_model::Record;

use super::moment::Moment;
use crate::rule::Counting;

/// Subjects that one rule counts; the one not seen for the longest makes room.
const SUBJECTS_LIMIT: usize = 1024;
/// More matches than this are not remembered, whatever a rule asks for.
const COUNT_LIMIT: usize = 10_000;

/// The counts of one rule.
#[derive(Default)]
pub(super) struct Counter {
    subjects: HashMap<Option<String>, Subject>,
    uses: u64,
}

#[derive(Default)]
struct Subject {
    /// The newest matches, as many as the threshold.
    matches: VecDeque<Moment>,
    reached: bool,
    last_use: u64,
}

/// The threshold is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    /// How many matching records no finding has reported yet.
    pub(super) count: u64,
    /// When the count will be below the threshold again, if nothing repeats it.
    pub(super) quiet: Option<Duration>,
}

impl Reached {
    /// Of a rule that does not count.
    pub(super) const ONCE: Self = Self { count: 1, quiet: None };
}

impl Counter {
    /// One more match. A lasting problem is reported by every match from the threshold on; an event once for each
    /// threshold of matches.
    pub(super) fn add(
        &mut self,
        counting: &Counting,
        lasting: bool,
        subject: &Option<String>,
        record: &Record<'_>,
    ) -> Option<Reached> {
        let threshold = usize::try_from(counting.count).map_or(COUNT_LIMIT, |count| count.clamp(1, COUNT_LIMIT));
        let now = Moment::of(record);
        let subject = self.subject(subject);
        subject.matches.retain(|then| now.is_within(counting.window, then));
        subject.matches.push_back(now);
        if subject.matches.len() > threshold {
            subject.matches.pop_front();
        }
        if subject.matches.len() < threshold {
            subject.reached = false;
            return None;
        }
        let unspoken = if subject.reached { 1 } else { threshold as u64 };
        let quiet = subject.matches.front().map(|oldest| now.left_of(counting.window, oldest));
        subject.reached = lasting;
        if !lasting {
            subject.matches.clear();
        }
        Some(Reached { count: unspoken, quiet: quiet.filter(|_| lasting) })
    }

    /// Takes the newest match back.
    pub(super) fn revert(&mut self, subject: &Option<String>) {
        // A recovery line often does not name what it means: then it is the one that failed last.
        let found = match subject {
            Some(_) if self.subjects.contains_key(subject) => self.subjects.get_mut(subject),
            Some(_) => self.subjects.get_mut(&None),
            None => self.subjects.values_mut().max_by_key(|subject| subject.last_use),
        };
        if let Some(found) = found {
            found.matches.pop_back();
        }
    }

    fn subject(&mut self, name: &Option<String>) -> &mut Subject {
        self.uses += 1;
        if !self.subjects.contains_key(name) && self.subjects.len() >= SUBJECTS_LIMIT {
            let oldest = self.subjects.iter().min_by_key(|(_, subject)| subject.last_use);
            let oldest = oldest.map(|(name, _)| name.clone());
            oldest.map(|name| self.subjects.remove(&name));
        }
        let subject = self.subjects.entry(name.clone()).or_default();
        subject.last_use = self.uses;
        subject
    }
}
