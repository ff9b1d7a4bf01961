//! Doubts about so many subjects that the agent would refuse them: one entry for their type stands for all.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{Condition, ConditionStatus, Name, SubjectKey};

use super::{
    compose::{BODY_LIMIT_BYTES, short_size},
    states::Changed,
};

/// As many types, subjects and reasons the agent holds of one daemon, if its configuration sets nothing else.
pub(super) const REPORTED_LIMIT: usize = 256;
/// Left for the rest of a full report: counts, and what is over.
const WRONG_LIMIT_BYTES: usize = BODY_LIMIT_BYTES - 8 * 1024;
/// So many fit into any report: none is longer than 768 bytes with a short message, unless its text is full of quotes.
const SURELY_FIT: usize = 64;

/// What stands for the doubts about the subjects of one type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sum {
    pub(super) condition: Condition,
    subjects: BTreeSet<SubjectKey>,
}

/// Everything that is wrong, as it is reported: which doubts are summed up, and whether all of it fits into one report.
#[derive(Debug, Default)]
pub(super) struct Summing {
    pub(super) sums: BTreeMap<Name, Sum>,
    pub(super) fits: bool,
}

impl Summing {
    /// Sums up doubts, most numerous first, until no more than `room` is reported, as the agent counts it: each reason,
    /// also those that are `claimed` of a subject in doubt.
    pub(super) fn of(bad: &Changed, claimed: &BTreeMap<SubjectKey, usize>, room: usize) -> Self {
        let mut left = doubts(bad);
        let mut summing = Self::default();
        loop {
            let weight = summing.weight(bad, claimed);
            summing.fits = weight <= REPORTED_LIMIT && summing.fits_bytes(bad);
            if summing.fits && weight <= room {
                return summing;
            }
            let Some(most) = left.iter().max_by_key(|(_, doubts)| doubts.len()).map(|(name, _)| (*name).clone()) else {
                return summing;
            };
            let doubts = left.remove(&most).unwrap_or_default();
            if doubts.len() > 1 {
                summing.sums.extend(Sum::of(&doubts).map(|sum| (most, sum)));
            }
        }
    }

    /// Whether an entry for its type stands for the doubt about `key`.
    pub(super) fn has(&self, key: &SubjectKey) -> bool {
        self.sums.get(&key.condition).is_some_and(|sum| sum.subjects.contains(key))
    }

    /// What is reported of what is wrong.
    pub(super) fn reported(&self, bad: &Changed) -> Changed {
        let apart = bad.iter().filter(|(key, _)| !self.has(key)).map(|(key, entries)| (key.clone(), entries.clone()));
        let sums = self.sums.iter().map(|(name, sum)| (SubjectKey::whole(name.clone()), vec![sum.condition.clone()]));
        apart.chain(sums).collect()
    }

    fn weight(&self, bad: &Changed, claimed: &BTreeMap<SubjectKey, usize>) -> usize {
        let of = |key: &SubjectKey| claimed.get(key).copied().unwrap_or(usize::from(!self.has(key)));
        bad.keys().map(of).sum::<usize>() + self.sums.len()
    }

    fn fits_bytes(&self, bad: &Changed) -> bool {
        bad.len() <= SURELY_FIT
            || self.reported(bad).values().flatten().map(short_size).sum::<usize>() <= WRONG_LIMIT_BYTES
    }
}

impl Sum {
    fn of(doubts: &[&Condition]) -> Option<Self> {
        let subjects = doubts.iter().map(|doubt| doubt.subject_key()).collect();
        Some(Self { condition: condition(doubts)?, subjects })
    }
}

/// By type, but where something is reported of the type itself: nothing stands beside that.
fn doubts(bad: &Changed) -> BTreeMap<&Name, Vec<&Condition>> {
    let mut doubts: BTreeMap<&Name, Vec<&Condition>> = BTreeMap::new();
    for (key, entries) in bad.iter().filter(|(key, _)| !key.is_whole()) {
        if let [one] = entries.as_slice()
            && one.status == ConditionStatus::Unknown
            && !bad.contains_key(&SubjectKey::whole(key.condition.clone()))
        {
            doubts.entry(&key.condition).or_default().push(one);
        }
    }
    doubts
}

/// The commonest reason, since the first of them, with the message of one of those.
fn condition(doubts: &[&Condition]) -> Option<Condition> {
    let mut reasons: BTreeMap<&Name, Vec<&Condition>> = BTreeMap::new();
    doubts.iter().for_each(|doubt| reasons.entry(&doubt.reason).or_default().push(doubt));
    let commonest = reasons.into_values().max_by_key(Vec::len).unwrap_or_default();
    let one = commonest.into_iter().min_by_key(|doubt| doubt.transition)?;
    let subject = one.subject.as_deref().unwrap_or_default();
    let message = format!("{} are unknown, such as {subject}: {}", doubts.len(), one.message);
    let transition = doubts.iter().map(|doubt| doubt.transition).min().unwrap_or(one.transition);
    Some(Condition { subject: None, message, transition, ..one.clone() })
}
