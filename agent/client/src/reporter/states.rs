//! How the daemon's conditions are, by its last report, and what of it is still to be sent.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_model::{Condition, ConditionStatus, Name};

use super::doubts::{SPOKEN_LIMIT, Summing};

/// What a condition is about.
pub(super) type Spot = (Name, Option<String>);
/// What is to be sent, all entries of a spot together: they are a set that replaces the one before.
pub(super) type Changed = BTreeMap<Spot, Vec<Condition>>;

/// Every condition of one daemon.
#[derive(Debug)]
pub(super) struct States {
    /// What is worth sending again: everything that is True or Unknown.
    bad: Changed,
    /// What is well.
    well: BTreeSet<Spot>,
    /// The last entry of each type that was about nothing being wrong: a full report names every type with it.
    calm: BTreeMap<Name, Condition>,
    /// What the agent does not know yet.
    pub(super) changed: Changed,
    /// Ends that the agent may not have heard, until a full report is taken: each one that knows their type names them.
    unheard: Changed,
    /// How many reasons the agent holds of each spot, also of one that is unknown by now.
    claimed: BTreeMap<Spot, usize>,
    summing: Summing,
    /// How much the agent holds of this daemon, as far as is known.
    room: usize,
}

impl Default for States {
    fn default() -> Self {
        let (bad, well, calm, changed, unheard, claimed, summing) = Default::default();
        Self { bad, well, calm, changed, unheard, claimed, summing, room: SPOKEN_LIMIT }
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
    /// Sets the last entries of `spot`; returns whether they are news.
    pub(super) fn set(&mut self, spot: Spot, conditions: Vec<Condition>) -> bool {
        let said = agreed(&spot, conditions);
        match said.as_slice() {
            [] => return false,
            [one] if one.status == ConditionStatus::False => return self.set_well(spot, one.clone()),
            _ => {}
        }
        self.well.remove(&spot);
        if said.iter().any(|one| one.status == ConditionStatus::True) {
            self.claimed.insert(spot.clone(), said.len());
        }
        if self.bad.insert(spot.clone(), said.clone()).as_ref() == Some(&said) {
            return false;
        }
        self.changed.insert(spot, said);
        true
    }

    /// Messages on what is well may differ each time, with a temperature in them: that alone is no news.
    fn set_well(&mut self, spot: Spot, condition: Condition) -> bool {
        self.calm.insert(spot.0.clone(), Condition { subject: None, ..condition.clone() });
        let ended = self.end(&spot, |spot, _| Condition { subject: spot.1.clone(), ..condition.clone() });
        if spot.1.is_none() {
            self.well.retain(|other| other.0 != spot.0);
        }
        if !self.well.insert(spot.clone()) && !ended {
            return false;
        }
        self.changed.insert(spot, vec![condition]);
        true
    }

    /// `spot` is not reported any more; without a subject, nothing of its type.
    pub(super) fn forget(&mut self, spot: &Spot, time: Timestamp) -> Forgotten {
        if !self.spots().any(|other| is_meant(spot, other)) {
            return Forgotten::Nothing;
        }
        self.end(spot, |_, last| over(last, time));
        self.well.retain(|other| !is_meant(spot, other));
        if self.spots().any(|other| other.0 == spot.0) {
            return Forgotten::Subject;
        }
        self.calm.remove(&spot.0);
        Forgotten::Type
    }

    /// Whatever the agent may hold of `spot` is over, with these messages: also what ended a moment ago, which it may
    /// not have received. Each is named, because another entry for the whole type may follow before this one is sent.
    /// Returns whether there was anything.
    fn end(&mut self, spot: &Spot, words: impl Fn(&Spot, &Condition) -> Condition) -> bool {
        self.claimed.retain(|other, _| !is_meant(spot, other));
        let bad = self.bad.extract_if(.., |other, _| is_meant(spot, other));
        let mut held: Changed = bad.collect();
        let unsaid = self.changed.iter().filter(|(other, _)| is_meant(spot, other));
        unsaid.for_each(|(other, said)| _ = held.entry(other.clone()).or_insert_with(|| said.clone()));
        for (other, said) in &held {
            self.changed.insert(other.clone(), said.first().map(|last| words(other, last)).into_iter().collect());
        }
        !held.is_empty()
    }

    fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.bad.keys().chain(&self.well)
    }

    /// Whether an agent that knows nothing should hear of it soon.
    pub(super) fn is_worth_repeating(&self) -> bool {
        !self.bad.is_empty()
    }

    /// The agent will never take a report with these.
    pub(super) fn refused(&mut self, conditions: &[Condition]) {
        for end in conditions.iter().filter(|one| one.status == ConditionStatus::False) {
            self.unheard.insert((end.condition.clone(), end.subject.clone()), vec![end.clone()]);
        }
    }

    /// A full report was taken: the agent knows what is so, and of nothing else.
    pub(super) fn all_heard(&mut self) {
        self.unheard.clear();
    }

    /// Sums up what would be too much to report one by one; returns whether it is reported in another way than before.
    pub(super) fn sum_up(&mut self) -> bool {
        let summing = Summing::of(&self.bad, &self.claimed, self.room);
        self.changed.retain(|spot, _| !(summing.has(spot) && self.bad.contains_key(spot)));
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
        self.room = SPOKEN_LIMIT;
    }

    /// Whether something that is wrong is still to be reported.
    pub(super) fn owes_wrong(&self) -> bool {
        self.changed
            .keys()
            .any(|spot| self.bad.contains_key(spot) || (spot.1.is_none() && self.summing.sums.contains_key(&spot.0)))
    }

    /// Reports everything that is so, in a full report. Ends are among it: a doubt about a whole type would retain what
    /// is not named. A type that nothing is known of any more is not.
    pub(super) fn say_everything(&mut self) {
        let unsaid = std::mem::take(&mut self.changed);
        self.unheard.extend(unsaid.into_iter().filter(|(spot, _)| !self.bad.contains_key(spot)));
        let types: BTreeSet<&Name> = self.spots().map(|(name, _)| name).collect();
        let ends = self.unheard.iter().filter(|((name, _), _)| types.contains(name));
        let ends = ends.map(|(spot, said)| (spot.clone(), said.clone()));
        let of_bad: BTreeSet<&Name> = self.bad.keys().map(|(name, _)| name).collect();
        let calm = self.calm.iter().filter(|(name, _)| !of_bad.contains(name));
        let calm = calm.map(|(name, condition)| ((name.clone(), None), vec![condition.clone()]));
        self.changed = ends.chain(calm).chain(self.summing.told(&self.bad)).collect();
    }
}

/// Whether `other` is `spot`, or of the type that `spot` without a subject stands for.
fn is_meant(spot: &Spot, other: &Spot) -> bool {
    other == spot || (spot.1.is_none() && other.0 == spot.0)
}

/// Entries that one report may have side by side: of `spot`, and either faults of different reasons or one other entry.
fn agreed(spot: &Spot, conditions: Vec<Condition>) -> Vec<Condition> {
    let of_spot = |one| Condition { condition: spot.0.clone(), subject: spot.1.clone(), ..one };
    let (faults, others): (Vec<_>, Vec<_>) =
        conditions.into_iter().map(of_spot).partition(|one| one.status == ConditionStatus::True);
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
