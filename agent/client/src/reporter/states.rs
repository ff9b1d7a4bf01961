//! How the daemon's conditions are, by its last report, and what of it is still to be sent.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_model::{Condition, ConditionStatus, Name, SubjectKey};

use super::doubts::{REPORTED_LIMIT, Summing};

/// What is to be sent, all entries of a subject together: they are a set that replaces the one before.
pub(super) type Changed = BTreeMap<SubjectKey, Vec<Condition>>;

/// Every condition of one daemon.
#[derive(Debug)]
pub(super) struct States {
    /// What is worth sending again: everything that is True or Unknown.
    bad: Changed,
    /// What is well.
    healthy: BTreeSet<SubjectKey>,
    /// The last entry of each type that was about nothing being wrong: a full report names every type with it.
    calm: BTreeMap<Name, Condition>,
    /// What the agent does not know yet.
    pub(super) changed: Changed,
    /// Ends that the agent may not have acknowledged, until a full report is taken: each one that knows their type names
    /// them.
    unacknowledged: Changed,
    /// How many reasons the agent holds of each subject, also of one that is unknown by now.
    claimed: BTreeMap<SubjectKey, usize>,
    summing: Summing,
    /// How much the agent holds of this daemon, as far as is known.
    room: usize,
}

impl Default for States {
    fn default() -> Self {
        let (bad, healthy, calm, changed, unacknowledged, claimed, summing) = Default::default();
        Self { bad, healthy, calm, changed, unacknowledged, claimed, summing, room: REPORTED_LIMIT }
    }
}

/// What came of forgetting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forgotten {
    Nothing,
    Subject,
    /// Nothing of the type is left.
    Type,
}

impl States {
    /// Sets the last entries of `key`; returns whether they are news.
    pub(super) fn set(&mut self, key: SubjectKey, conditions: Vec<Condition>) -> bool {
        let entries = agreed(&key, conditions);
        match entries.as_slice() {
            [] => return false,
            [one] if one.status == ConditionStatus::False => return self.set_healthy(key, one.clone()),
            _ => {}
        }
        self.healthy.remove(&key);
        if entries.iter().any(|one| one.status == ConditionStatus::True) {
            self.claimed.insert(key.clone(), entries.len());
        }
        if self.bad.insert(key.clone(), entries.clone()).as_ref() == Some(&entries) {
            return false;
        }
        self.changed.insert(key, entries);
        true
    }

    /// Messages on what is well may differ each time, with a temperature in them: that alone is no news.
    fn set_healthy(&mut self, key: SubjectKey, condition: Condition) -> bool {
        self.calm.insert(key.condition.clone(), Condition { subject: None, ..condition.clone() });
        let ended = self.end(&key, |key, _| Condition { subject: key.subject.clone(), ..condition.clone() });
        let was_healthy = self.healthy.contains(&key);
        if key.is_whole() {
            self.healthy.retain(|other| other.condition != key.condition);
        }
        self.healthy.insert(key.clone());
        if was_healthy && !ended {
            return false;
        }
        self.changed.insert(key, vec![condition]);
        true
    }

    /// `key` is not reported any more; without a subject, nothing of its type.
    pub(super) fn forget(&mut self, key: &SubjectKey, time: Timestamp) -> Forgotten {
        if !self.keys().any(|other| key.covers(other)) {
            return Forgotten::Nothing;
        }
        self.end(key, |_, last| over(last, time));
        self.healthy.retain(|other| !key.covers(other));
        if self.keys().any(|other| other.condition == key.condition) {
            return Forgotten::Subject;
        }
        self.calm.remove(&key.condition);
        Forgotten::Type
    }

    /// Whatever the agent may hold of `key` is over, with these messages: also what ended a moment ago, which it may
    /// not have received. Each is named, because another entry for the whole type may follow before this one is sent.
    /// Returns whether there was anything.
    fn end(&mut self, key: &SubjectKey, end_of: impl Fn(&SubjectKey, &Condition) -> Condition) -> bool {
        self.claimed.retain(|other, _| !key.covers(other));
        let bad = self.bad.extract_if(.., |other, _| key.covers(other));
        let mut held: Changed = bad.collect();
        let unsent = self.changed.iter().filter(|(other, _)| key.covers(other));
        unsent.for_each(|(other, entries)| _ = held.entry(other.clone()).or_insert_with(|| entries.clone()));
        for (other, entries) in &held {
            self.changed.insert(other.clone(), entries.first().map(|last| end_of(other, last)).into_iter().collect());
        }
        !held.is_empty()
    }

    fn keys(&self) -> impl Iterator<Item = &SubjectKey> {
        self.bad.keys().chain(&self.healthy)
    }

    /// Whether an agent that knows nothing should be sent it soon.
    pub(super) fn is_worth_repeating(&self) -> bool {
        !self.bad.is_empty()
    }

    /// The agent will never take a report with these.
    pub(super) fn refused(&mut self, conditions: &[Condition]) {
        for end in conditions.iter().filter(|one| one.status == ConditionStatus::False) {
            self.unacknowledged.insert(end.subject_key(), vec![end.clone()]);
        }
    }

    /// A full report was taken: the agent knows what is so, and of nothing else.
    pub(super) fn all_acknowledged(&mut self) {
        self.unacknowledged.clear();
    }

    /// Sums up what would be too much to report one by one; returns whether it is reported in another way than before.
    pub(super) fn sum_up(&mut self) -> bool {
        let summing = Summing::of(&self.bad, &self.claimed, self.room);
        self.changed.retain(|key, _| !(summing.has(key) && self.bad.contains_key(key)));
        let before = std::mem::replace(&mut self.summing, summing);
        before.sums != self.summing.sums
    }

    /// Whether one report holds all that is wrong.
    pub(super) fn fits(&self) -> bool {
        self.summing.fits
    }

    /// The agent holds less of us than we thought: because of its configuration, or of what an earlier run reported.
    pub(super) fn tighten(&mut self) {
        self.room = (self.room / 2).max(1);
    }

    /// Another agent may have other limits.
    pub(super) fn loosen(&mut self) {
        self.room = REPORTED_LIMIT;
    }

    /// Whether something that is wrong is still to be reported.
    pub(super) fn owes_wrong(&self) -> bool {
        self.changed
            .keys()
            .any(|key| self.bad.contains_key(key) || (key.is_whole() && self.summing.sums.contains_key(&key.condition)))
    }

    /// Reports everything that is so, in a full report. Ends are among it: a doubt about a whole type would retain what
    /// is not named. A type that nothing is known of any more is not.
    pub(super) fn report_everything(&mut self) {
        let unsent = std::mem::take(&mut self.changed);
        self.unacknowledged.extend(unsent.into_iter().filter(|(key, _)| !self.bad.contains_key(key)));
        let types: BTreeSet<&Name> = self.keys().map(|key| &key.condition).collect();
        let ends = self.unacknowledged.iter().filter(|(key, _)| types.contains(&key.condition));
        let ends = ends.map(|(key, entries)| (key.clone(), entries.clone()));
        let of_bad: BTreeSet<&Name> = self.bad.keys().map(|key| &key.condition).collect();
        let calm = self.calm.iter().filter(|(name, _)| !of_bad.contains(name));
        let calm = calm.map(|(name, condition)| (SubjectKey::whole(name.clone()), vec![condition.clone()]));
        self.changed = ends.chain(calm).chain(self.summing.reported(&self.bad)).collect();
    }
}

/// Entries that one report may have side by side: of `key`, and either faults of different reasons or one other entry.
fn agreed(key: &SubjectKey, conditions: Vec<Condition>) -> Vec<Condition> {
    let of_key = |one| Condition { condition: key.condition.clone(), subject: key.subject.clone(), ..one };
    let (faults, others): (Vec<_>, Vec<_>) =
        conditions.into_iter().map(of_key).partition(|one| one.status == ConditionStatus::True);
    if faults.is_empty() {
        return others.into_iter().next_back().into_iter().collect();
    }
    let by_reason: BTreeMap<Name, Condition> = faults.into_iter().map(|one| (one.reason.clone(), one)).collect();
    by_reason.into_values().collect()
}

fn over(last: &Condition, time: Timestamp) -> Condition {
    let message = "it is not looked after any more".to_owned();
    Condition {
        status: ConditionStatus::False,
        transition: time,
        message,
        severity: None,
        action: None,
        ..last.clone()
    }
}
