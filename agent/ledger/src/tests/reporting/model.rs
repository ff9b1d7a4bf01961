//! Daemons as one would write them down: for each subject and reason the last report, every question answered by
//! looking at everything.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{Condition, Hardware, Status, SubjectKey};

use super::super::*;

/// A claim: transition, count, message.
type Claim = (Timestamp, u64, String);

/// A daemon as one would write it down: for each subject and reason the last report.
#[derive(Debug, Default)]
pub(super) struct Known {
    claims: BTreeMap<(SubjectKey, Name), Claim>,
    doubts: BTreeSet<SubjectKey>,
    /// Types in which subjects are in doubt that are not named one by one.
    of_subjects: BTreeSet<Name>,
    watches: BTreeSet<Name>,
    hardware: Vec<Hardware>,
    silent: bool,
    /// It has stopped, and goes at its end.
    lingers: bool,
    ends: u64,
    /// What it has not named since it came back from a stop, and until when that is believed; then it is not known.
    unnamed: BTreeMap<Name, Option<u64>>,
    clears: bool,
    ids: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) daemons: BTreeMap<String, Known>,
    departed: BTreeMap<String, BTreeSet<String>>,
    pub(super) events: u64,
}

impl Model {
    pub(super) fn report(&mut self, status: &Status, name: String, clears: bool, second: u64) {
        let seen = self.daemons.get(&name).map(|known| &known.ids).or(self.departed.get(&name));
        if status.id.as_ref().is_some_and(|id| seen.is_some_and(|seen| seen.contains(id))) {
            return;
        }
        let ids = self.departed.remove(&name);
        let known = self.daemons.entry(name.clone()).or_default();
        known.ids.extend(ids.into_iter().flatten().chain(status.id.clone()));
        if known.lingers {
            let unnamed = known.watches.iter().map(|condition| (condition.clone(), Some(known.ends)));
            unnamed.for_each(|(condition, until)| _ = known.unnamed.entry(condition).or_insert(until));
        }
        let is_named = |condition: &Name| status.conditions.iter().any(|one| one.condition == *condition);
        known.unnamed.retain(|condition, _| !status.full && !is_named(condition));
        (known.silent, known.clears, known.ends) = (false, clears, second + status.ttl_secs.unwrap());
        known.lingers = false;
        self.events += status.events.len() as u64;
        known.apply(status);
        if status.last && status.linger_secs.is_some_and(|secs| secs > 0) {
            let claimed = known.claims.keys().map(|(subject, _)| &subject.condition);
            let doubted = known.doubts.iter().map(|subject| &subject.condition).chain(&known.of_subjects);
            let wrong: BTreeSet<Name> = claimed.chain(doubted).cloned().collect();
            known.watches.retain(|condition| !wrong.contains(condition));
            (known.doubts, known.of_subjects) = Default::default();
        }
        let linger = status.linger_secs.filter(|secs| *secs > 0 && !known.watches.is_empty());
        if let Some(linger) = linger {
            known.claims.clear();
            (known.lingers, known.ends) = (true, second + linger);
        } else if status.last {
            let gone = self.daemons.remove(&name).unwrap();
            self.departed.insert(name, gone.ids);
        }
    }

    pub(super) fn second(&mut self, second: u64) {
        for (name, gone) in self.daemons.extract_if(.., |_, known| known.lingers && known.ends <= second) {
            self.departed.insert(name, gone.ids);
        }
        for until in self.daemons.values_mut().flat_map(|known| known.unnamed.values_mut()) {
            *until = until.filter(|until| *until > second);
        }
        for known in self.daemons.values_mut().filter(|known| !known.silent && known.ends <= second) {
            known.silent = true;
            if known.clears {
                known.claims.clear();
            }
        }
    }

    /// A person ends every problem of the condition; what the daemons do not know stays so.
    pub(super) fn clear(&mut self, condition: &Name) {
        for known in self.daemons.values_mut() {
            known.claims.retain(|(subject, _), _| subject.condition != *condition);
        }
    }

    pub(super) fn status(&self, condition: &Name) -> Option<ConditionStatus> {
        if self.daemons.values().any(|known| known.claims.keys().any(|(subject, _)| subject.condition == *condition)) {
            return Some(ConditionStatus::True);
        }
        let mut watching = self.daemons.values().filter(|known| known.watches.contains(condition)).peekable();
        watching.peek()?;
        let blind = watching.any(|known| {
            known.silent
                || known.unnamed.get(condition) == Some(&None)
                || known.of_subjects.contains(condition)
                || known.doubts.iter().any(|doubt| doubt.condition == *condition)
        });
        Some(if blind { ConditionStatus::Unknown } else { ConditionStatus::False })
    }

    /// For each problem: how often, and whether it is unconfirmed.
    pub(super) fn problems(&self, condition: &Name) -> BTreeMap<(Name, Option<String>), (u64, bool)> {
        let mut problems = BTreeMap::new();
        for known in self.daemons.values() {
            for ((subject, reason), (_, count, _)) in
                known.claims.iter().filter(|((subject, _), _)| subject.condition == *condition)
            {
                let (total, unconfirmed) =
                    problems.entry((reason.clone(), subject.subject.clone())).or_insert((0, true));
                *total += count;
                *unconfirmed &= known.silent || known.doubts.contains(subject);
            }
        }
        problems
    }

    /// What any daemon reports of each problem.
    pub(super) fn messages(&self) -> BTreeSet<(Name, Name, Option<String>, String)> {
        let claims = self.daemons.values().flat_map(|known| &known.claims);
        let message = |((subject, reason), (_, _, message)): (&(SubjectKey, Name), &Claim)| {
            (subject.condition.clone(), reason.clone(), subject.subject.clone(), message.clone())
        };
        claims.map(message).collect()
    }

    /// For each class: all, well, lost, and whether a count is unconfirmed.
    pub(super) fn hardware(&self) -> BTreeMap<String, (u32, u32, u32, bool)> {
        let mut classes = BTreeMap::new();
        for known in self.daemons.values() {
            for one in &known.hardware {
                let lost = one.states.get("lost").copied().unwrap_or_default();
                let sums = classes.entry(one.class.clone()).or_insert((0, 0, 0, false));
                *sums = (sums.0 + one.total, sums.1 + one.total - lost, sums.2 + lost, sums.3 || known.silent);
            }
        }
        classes
    }
}

impl Known {
    fn apply(&mut self, status: &Status) {
        let named: BTreeSet<SubjectKey> = status.conditions.iter().map(Condition::subject_key).collect();
        let all: BTreeSet<SubjectKey> =
            self.claims.keys().map(|(subject, _)| subject).chain(&self.doubts).cloned().collect();
        let before = std::mem::take(&mut self.claims);
        self.claims = before
            .iter()
            .filter(|((subject, _), _)| !is_true(status, subject))
            .map(|(key, claim)| (key.clone(), claim.clone()))
            .collect();
        if status.full {
            self.watches.clear();
        }
        if status.full || status.hardware.is_some() {
            self.hardware = status.hardware.clone().unwrap_or_default();
        }
        for condition in &status.conditions {
            self.watches.insert(condition.condition.clone());
            let own = condition.subject_key();
            let is_one = |other: &SubjectKey| other.condition == own.condition && other.subject.is_some();
            let has_subjects = all.iter().chain(&named).any(is_one);
            let others = all
                .iter()
                .filter(|other| other.condition == own.condition && own.is_whole() && !named.contains(*other));
            let meant: BTreeSet<SubjectKey> = others.cloned().chain([own.clone()]).collect();
            match condition.status {
                ConditionStatus::True => self.claim(own, condition, &before),
                ConditionStatus::False => {
                    self.claims.retain(|(subject, _), _| !meant.contains(subject));
                    self.doubts.retain(|subject| !meant.contains(subject));
                    self.of_subjects.retain(|name| condition.subject.is_some() || *name != condition.condition);
                }
                ConditionStatus::Unknown => {
                    if condition.subject.is_none() && has_subjects {
                        self.of_subjects.insert(condition.condition.clone());
                    }
                    self.doubts.extend(meant);
                }
            }
        }
        if status.full {
            let whole = |subject: &SubjectKey| {
                status.conditions.iter().any(|one| {
                    one.status == ConditionStatus::Unknown
                        && one.subject.is_none()
                        && one.condition == subject.condition
                })
            };
            self.claims.retain(|(subject, _), _| named.contains(subject) || whole(subject));
            self.doubts.retain(|subject| named.contains(subject) || whole(subject));
            self.of_subjects.retain(|name| whole(&SubjectKey::whole(name.clone())));
        }
    }

    fn claim(&mut self, subject: SubjectKey, condition: &Condition, before: &BTreeMap<(SubjectKey, Name), Claim>) {
        self.doubts.remove(&subject);
        let key = (subject, condition.reason.clone());
        let count = before.get(&key).map_or(1, |known| known.1 + u64::from(known.0 != condition.transition));
        self.claims.insert(key, (condition.transition, count, condition.message.clone()));
    }
}

/// Whether the report contains faults of `subject`: they are all there are.
fn is_true(status: &Status, of: &SubjectKey) -> bool {
    status.conditions.iter().any(|one| one.subject_key() == *of && one.status == ConditionStatus::True)
}
