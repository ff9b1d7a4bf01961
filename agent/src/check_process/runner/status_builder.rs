//! What judges find, reported to the agent: conditions of each device, what happened, what is over, how many there are.
//! Each part of the state has a key `K`: a [`CheckKind`], or whatever else is looked after by itself.

mod compose;
mod ending;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_hardware::{Findings, Happening, State, Verdict};
use nodewell_model::{Event, Inventory, Name, SubjectKey};

use super::{keeping::Said, poll_loop::Rest, release::Release};
use crate::check_process::link::Link;

use compose::{Since, compose, joined, released};
use ending::Endings;

/// Reports all parts of what one problem daemon looks after.
pub(in crate::check_process) struct StatusBuilder<'a, K> {
    link: &'a Link,
    told: BTreeMap<K, Told>,
    endings: Endings,
    released_until: Option<Timestamp>,
}

/// What was reported of one part.
#[derive(Debug, Default)]
struct Told {
    subjects: BTreeMap<SubjectKey, Since>,
    inventory: Vec<Inventory>,
}

impl<'a, K: Copy + Ord> StatusBuilder<'a, K> {
    pub(in crate::check_process) fn new(link: &'a Link) -> Self {
        Self { link, told: BTreeMap::new(), endings: Endings::default(), released_until: None }
    }

    /// What an earlier run reported, for the times in it. It is not reported again before the device was looked at.
    pub(in crate::check_process) fn resume(&mut self, part: K, said: Vec<Said>) {
        let told = self.told.entry(part).or_default();
        for Said { condition, subject, reason, since } in said {
            told.subjects.entry(SubjectKey::of(condition, subject)).or_default().insert(reason, since);
        }
        // A stop before the first round must withdraw nothing either.
        self.note_held();
    }

    /// What is reported now, for a later run.
    pub(in crate::check_process) fn said(&self, part: K) -> Vec<Said> {
        let subjects = self.told.get(&part).into_iter().flat_map(|told| &told.subjects);
        let of_key = |(key, since): (&SubjectKey, &Since)| {
            let said = |(reason, since): (&Name, &Timestamp)| Said {
                condition: key.condition.clone(),
                subject: key.subject.clone().unwrap_or_default(),
                reason: reason.clone(),
                since: *since,
            };
            since.iter().map(said).collect::<Vec<_>>()
        };
        subjects.flat_map(of_key).collect()
    }

    /// Reports the state of a part, whole but for `rest`.
    pub(in crate::check_process) async fn tell(&mut self, part: K, findings: Findings, rest: &Rest) {
        self.released_until = None;
        let Findings { verdicts, happenings, ended, inventory } = findings;
        self.conditions(part, verdicts, rest);
        self.happened(happenings).await;
        self.inventory(part, inventory);
        self.endings.end(self.link, ended).await;
    }

    /// No reader looks after what is known so far.
    pub(in crate::check_process) fn release(&mut self, release: &Release) {
        if self.released_until.replace(release.until) == Some(release.until) {
            return;
        }
        for key in self.told.values().flat_map(|told| told.subjects.keys()) {
            self.link.set_all(key, vec![released(key, release)]);
        }
    }

    /// Each part was judged once.
    pub(in crate::check_process) fn all_said(&self) {
        self.link.all_said();
    }

    fn conditions(&mut self, part: K, verdicts: Vec<Verdict>, rest: &Rest) {
        let told = self.told.entry(part).or_default();
        let verdicts = joined(verdicts);
        let gone: BTreeSet<SubjectKey> =
            told.subjects.keys().filter(|key| !verdicts.contains_key(key)).cloned().collect();
        for (key, state) in verdicts {
            self.say(part, key, state);
        }
        for key in gone {
            match rest {
                Rest::None => self.forget(part, &key),
                // What an earlier run reported of it, the agent still has.
                Rest::Some => {}
                Rest::All(trouble) => self.say(part, key, nodewell_hardware::unknown(trouble)),
            }
        }
        self.note_held();
    }

    fn say(&mut self, part: K, key: SubjectKey, state: State) {
        let told = self.told.entry(part).or_default();
        let before = told.subjects.remove(&key).unwrap_or_default();
        let (conditions, since) = compose(&key, state, &before);
        self.link.set_all(&key, conditions);
        told.subjects.insert(key, since);
    }

    fn forget(&mut self, part: K, key: &SubjectKey) {
        self.told.entry(part).or_default().subjects.remove(key);
        self.link.forget(key);
    }

    /// A stop from now on withdraws nothing.
    pub(in crate::check_process) fn hold(&self) {
        self.link.holds(true);
    }

    fn note_held(&self) {
        let mut all = self.told.values().flat_map(|told| told.subjects.values());
        self.link.holds(all.any(|since| !compose::is_well(since)));
    }

    /// A kernel line of the same Xid makes an Event of its own: ours is for a node whose kernel log cannot be read.
    async fn happened(&self, happenings: Vec<Happening>) {
        let is_xid = |happening: &Happening| happening.reason.as_str().starts_with("GpuXid");
        let is_double = happenings.iter().any(is_xid) && self.link.reads_kernel_log().await;
        for happening in happenings.into_iter().filter(|happening| !(is_double && is_xid(happening))) {
            let Happening { reason, severity, subject, message, time } = happening;
            self.link.tell(Event { severity, timestamp: time, reason, message, subject });
        }
    }

    fn inventory(&mut self, part: K, inventory: Vec<Inventory>) {
        self.told.entry(part).or_default().inventory = inventory;
        let all: Vec<Inventory> = self.told.values().flat_map(|told| told.inventory.clone()).collect();
        if !all.is_empty() || self.link.counts() {
            self.link.inventory(all);
        }
    }
}

#[cfg(test)]
mod tests;
