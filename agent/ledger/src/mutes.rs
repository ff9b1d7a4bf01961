//! The mutes: who muted which problems, and which of that is in force.
//!
//! They end by the wall clock, because people name a date; the wall clock may jump, so they are looked at again every
//! [`LOOK_EVERY`] and not by one deadline.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{Mute, MuteKey, Name, ProblemKey};

use crate::Now;

/// A clock that was set is noticed within this.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// A clock that was ahead has this long to be set right before a person's mute is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 3600);

/// What is muted, and whether the configuration does it: a person may mute the same for longer.
type Slot = (MuteKey, bool);

/// All mutes of this node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mutes {
    all: BTreeMap<Slot, Mute>,
    in_force: BTreeSet<Slot>,
    /// Since when, by the boot clock, people's are over.
    over_since: BTreeMap<Slot, Duration>,
    next_look: Option<Duration>,
}

/// What a look at the clock changed.
#[derive(Debug, Default)]
pub(crate) struct Turned {
    pub(crate) begun: Vec<Mute>,
    pub(crate) over: Vec<Mute>,
}

impl Mutes {
    /// A person's.
    pub(crate) fn own(&self, key: &MuteKey) -> Option<&Mute> {
        self.all.get(&(key.clone(), false))
    }

    /// A person's, while it is in force.
    pub(crate) fn own_in_force(&self, key: &MuteKey) -> Option<&Mute> {
        self.own(key).filter(|_| self.in_force.contains(&(key.clone(), false)))
    }

    /// The configuration's, while it is in force.
    pub(crate) fn configured(&self, key: &MuteKey) -> Option<&Mute> {
        let slot = (key.clone(), true);
        self.all.get(&slot).filter(|_| self.in_force.contains(&slot))
    }

    /// Those of people that are in force, which are saved.
    pub(crate) fn saved(&self) -> impl Iterator<Item = &Mute> {
        self.in_force().filter(|mute| !mute.configured)
    }

    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Mute> {
        self.in_force.iter().filter_map(|slot| self.all.get(slot))
    }

    /// How many of people there are.
    pub(crate) fn own_count(&self) -> usize {
        self.all.keys().filter(|(_, configured)| !configured).count()
    }

    pub(crate) fn insert(&mut self, mute: Mute) {
        let slot = (mute.key.clone(), mute.configured);
        self.over_since.remove(&slot);
        self.all.insert(slot, mute);
    }

    /// Takes a person's away.
    pub(crate) fn remove_own(&mut self, key: &MuteKey) -> Option<Mute> {
        self.remove(&(key.clone(), false))
    }

    fn remove(&mut self, slot: &Slot) -> Option<Mute> {
        self.in_force.remove(slot);
        self.over_since.remove(slot);
        self.all.remove(slot)
    }

    /// Replaces those of the configuration; of two of the same problems the later one counts. Returns those in force
    /// that are there no more.
    pub(crate) fn configure(&mut self, mutes: Vec<Mute>) -> Vec<Mute> {
        let wanted: BTreeMap<Slot, Mute> = mutes.into_iter().map(|mute| ((mute.key.clone(), true), mute)).collect();
        let gone = self.all.keys().filter(|slot| slot.1 && !wanted.contains_key(*slot));
        let gone: Vec<Slot> = gone.cloned().collect();
        let was_in_force = |slot: &&Slot| self.in_force.contains(*slot);
        let ended = gone.iter().filter(was_in_force).filter_map(|slot| self.all.get(slot)).cloned().collect();
        gone.iter().for_each(|slot| _ = self.remove(slot));
        for (slot, mute) in wanted {
            // The same, on another line of the file, is no news.
            let is_same = |known: &Mute| (known.until, &known.why) == (mute.until, &mute.why);
            if self.all.get(&slot).is_some_and(|known| !is_same(known)) {
                self.remove(&slot);
            }
            self.insert(mute);
        }
        ended
    }

    pub(crate) fn next_look(&self) -> Option<Duration> {
        self.next_look
    }

    /// Holds all of them against the wall clock. One that is over stays for a while, not in force: a clock that was wrong
    /// may be set back.
    pub(crate) fn look(&mut self, now: Now) -> Turned {
        let mut turned = Turned::default();
        for (slot, mute) in &self.all {
            match (self.in_force.contains(slot), mute.until > now.wall) {
                (false, true) => turned.begun.push(mute.clone()),
                (true, false) => turned.over.push(mute.clone()),
                (true, true) => {}
                (false, false) => drop(self.over_since.entry(slot.clone()).or_insert(now.boottime)),
            }
        }
        for mute in &turned.begun {
            let slot = (mute.key.clone(), mute.configured);
            self.over_since.remove(&slot);
            self.in_force.insert(slot);
        }
        for mute in &turned.over {
            let slot = (mute.key.clone(), mute.configured);
            self.in_force.remove(&slot);
            self.over_since.insert(slot, now.boottime);
        }
        self.forget(now);
        self.next_look = (!self.all.is_empty()).then(|| now.after(self.wait(now.wall)));
        turned
    }

    fn forget(&mut self, now: Now) {
        let is_old = |(slot, since): &(&Slot, &Duration)| !slot.1 && **since + FORGOTTEN_AFTER <= now.boottime;
        let old: Vec<Slot> = self.over_since.iter().filter(is_old).map(|(slot, _)| slot.clone()).collect();
        old.iter().for_each(|slot| _ = self.remove(slot));
    }

    /// Until the first one ends, and no longer than a clock may be wrong.
    fn wait(&self, wall: Timestamp) -> Duration {
        let left = self.in_force().map(|mute| Duration::try_from(mute.until.duration_since(wall)).unwrap_or_default());
        left.min().unwrap_or(LOOK_EVERY).min(LOOK_EVERY)
    }
}

/// The mutes in force that concern one condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ConditionMutes(Vec<Mute>);

impl ConditionMutes {
    pub(crate) fn of(mutes: &Mutes, condition: &Name) -> Self {
        Self(mutes.in_force().filter(|mute| mute.key.concerns(condition)).cloned().collect())
    }

    /// The one that mutes `key` for longest.
    pub(crate) fn of_problem(&self, key: &ProblemKey) -> Option<&Mute> {
        self.0.iter().filter(|mute| mute.key.covers(key)).max_by_key(|mute| mute.until)
    }

    pub(crate) fn is_muted(&self, key: &ProblemKey) -> bool {
        self.0.iter().any(|mute| mute.key.covers(key))
    }
}
