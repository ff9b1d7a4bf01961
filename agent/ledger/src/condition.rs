//! The state of one condition: its problems, its status, and the view last shown of it.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use nodewell_model::{Ack, ConditionSpec, ConditionStatus, Name, ProblemKey, view::ConditionView};
use serde::{Deserialize, Serialize};

use crate::{
    Limits, Now, Rejection,
    acks::{HeldAck, Outgrown},
    claim::{Change, Claim, Claimant, Problem},
    daemon::Daemon,
    mutes::ConditionMutes,
};

/// What made a status change, and when: the two are dated differently.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause {
    /// A record, or the end of its quiet time.
    Record(Timestamp),
    /// A daemon's report or silence.
    Daemon(Timestamp),
}

/// A condition's status and its transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Transition {
    /// `None`: no problem and no monitor watches; not listed.
    pub(crate) status: Option<ConditionStatus>,
    /// The last transition.
    pub(crate) since: Option<Timestamp>,
    /// The last transition that a record made: none by a record is dated before it.
    pub(crate) floor: Option<Timestamp>,
}

/// Problems of one reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) problems: usize,
    pub(crate) subjects: usize,
}

/// Everything about one condition.
#[derive(Debug, Clone)]
pub(crate) struct ConditionState {
    pub(crate) spec: ConditionSpec,
    pub(crate) problems: BTreeMap<ProblemKey, Problem>,
    /// Reasons that held the condition once stay here at zero, for the gauges.
    pub(crate) tallies: BTreeMap<Name, Tally>,
    pub(crate) transition: Transition,
    /// As the run before left it, or as it was while healthy before a watcher began to start, until the status is known
    /// again: neither is a transition.
    pub(crate) before_start: Option<Transition>,
    /// What of it people muted; set by [`ConditionState::set_mutes`].
    pub(crate) mutes: ConditionMutes,
    /// Which of the problems people called false positives.
    pub(crate) acks: BTreeMap<ProblemKey, HeldAck>,
    /// How many of the problems are neither.
    pub(crate) turning: usize,
    /// Grows when a reason comes or goes.
    pub(crate) reasons_version: u64,
    /// What was last saved: the transition, since when it starts, and the reasons' version.
    pub(crate) saved: Option<(Transition, Option<Timestamp>, u64)>,
    /// `None`: something changed since it was made.
    pub(crate) view: Option<Arc<ConditionView>>,
}

impl ConditionState {
    pub(crate) fn new(spec: ConditionSpec) -> Self {
        let (problems, tallies) = (BTreeMap::new(), BTreeMap::new());
        Self {
            spec,
            problems,
            tallies,
            transition: Transition::default(),
            before_start: None,
            mutes: ConditionMutes::default(),
            acks: BTreeMap::new(),
            turning: 0,
            reasons_version: 0,
            saved: None,
            view: None,
        }
    }

    /// Returns whether they are others than before.
    pub(crate) fn set_mutes(&mut self, mutes: ConditionMutes) -> bool {
        let is_other = self.mutes != mutes;
        if is_other {
            self.mutes = mutes;
            self.count_turning();
        }
        is_other
    }

    /// Whether it is True by the problem `key`.
    pub(crate) fn turns(&self, key: &ProblemKey) -> bool {
        !self.mutes.is_muted(key) && !self.acks.contains_key(key)
    }

    fn count_turning(&mut self) {
        self.turning = self.problems.keys().filter(|key| self.turns(key)).count();
    }

    /// Whether anything but `nodewell inject` claims the problem.
    pub(crate) fn is_real(&self, key: &ProblemKey) -> bool {
        self.problems.get(key).is_some_and(|problem| !problem.is_test())
    }

    /// The problem, which is there, is a false positive.
    pub(crate) fn hold_ack(&mut self, key: &ProblemKey, ack: &Ack) {
        let Some(problem) = self.problems.get(key) else { return };
        let (severity, sources) = (problem.severity(), problem.sources().cloned().collect());
        let turned = self.turns(key);
        self.acks.insert(key.clone(), HeldAck { ack: ack.clone(), severity, sources });
        self.turning -= usize::from(turned);
    }

    /// It is none, or is over.
    pub(crate) fn remove_ack(&mut self, key: &ProblemKey) -> Option<HeldAck> {
        let held = self.acks.remove(key)?;
        self.turning += usize::from(self.problems.contains_key(key) && self.turns(key));
        Some(held)
    }

    /// Why a false positive is not what the person saw any more, if so.
    pub(crate) fn outgrown(&self, key: &ProblemKey) -> Option<Outgrown> {
        let held = self.acks.get(key)?;
        let problem = self.problems.get(key)?;
        let severity = problem.severity();
        if severity > held.severity {
            return Some(Outgrown::Worse(severity));
        }
        let other = problem.sources().find(|source| !held.sources.contains(*source))?;
        Some(Outgrown::Another(Arc::clone(other)))
    }

    /// `source` claims a false positive no more, which goes on: what it claims next is news, and what is left is what
    /// is called so. Returns whether that is another ack than before.
    pub(crate) fn narrow_ack(&mut self, key: &ProblemKey, source: &str) -> bool {
        let Some(severity) = self.problems.get(key).map(Problem::severity) else { return false };
        let Some(held) = self.acks.get_mut(key) else { return false };
        let is_less = severity < held.severity;
        held.severity = held.severity.min(severity);
        held.sources.remove(source) || is_less
    }

    /// After rows were loaded in any order: returns those that are about no real problem, which are struck out.
    pub(crate) fn settle_loaded_acks(&mut self) -> Vec<ProblemKey> {
        let over: Vec<ProblemKey> = self.acks.keys().filter(|key| !self.is_real(key)).cloned().collect();
        over.iter().for_each(|key| _ = self.acks.remove(key));
        self.count_turning();
        over
    }

    /// Where a claim on `key` goes: to the problem of its subject, or, past the limits, to the one without.
    pub(crate) fn bounded_key(&self, key: ProblemKey, full: bool, limits: &Limits) -> ProblemKey {
        if key.subject.is_none() || self.problems.contains_key(&key) {
            return key;
        }
        if full || self.subjects(&key.reason) >= limits.subjects { ProblemKey { subject: None, ..key } } else { key }
    }

    /// Whether `claimant` may claim `key`.
    pub(crate) fn admit(&mut self, key: &ProblemKey, claimant: &Claimant, limits: &Limits) -> Result<(), Rejection> {
        let claims = self.problems.get(key).map(|problem| &problem.claims);
        if claims.is_some_and(|claims| claims.len() >= limits.claims && !claims.contains_key(claimant)) {
            return Err(Rejection::TooManySources(key.reason.clone()));
        }
        if self.tallies.contains_key(&key.reason) || self.tallies.len() < limits.reasons {
            return Ok(());
        }
        let over = self.tallies.iter().find(|(_, tally)| tally.problems == 0).map(|(reason, _)| reason.clone());
        match over.map(|reason| self.tallies.remove(&reason)) {
            Some(_) => {
                self.reasons_version += 1;
                Ok(())
            }
            None => Err(Rejection::TooManyReasons(key.condition.clone())),
        }
    }

    /// How many subjects have problems of one reason.
    pub(crate) fn subjects(&self, reason: &Name) -> usize {
        self.tallies.get(reason).map_or(0, |tally| tally.subjects)
    }

    /// How many reasons it has problems of.
    pub(crate) fn active_reasons(&self) -> usize {
        self.tallies.values().filter(|tally| tally.problems > 0).count()
    }

    /// A problem starts with its first claim; a test also counts as a start where the problem is there already.
    pub(crate) fn starts(&self, key: &ProblemKey, claimant: &Claimant) -> bool {
        let problem = self.problems.get(key);
        problem.is_none_or(|problem| claimant.test && !problem.claims.contains_key(claimant))
    }

    /// Writes a claim down, or merges it with the one that `claimant` has. `None`: it changes nothing.
    pub(crate) fn claim(&mut self, key: &ProblemKey, claimant: &Claimant, claim: Claim, now: Now) -> Option<Change> {
        let claims = &mut self.open(key).claims;
        if let Some(held) = claims.get_mut(claimant) {
            return held.merge(claim, now);
        }
        let change = Change { counted: claim.count, is_news: true, deadlines: (None, claim.deadline) };
        claims.insert(claimant.clone(), claim);
        Some(change)
    }

    /// The problem of `key`, which begins if it was not there.
    fn open(&mut self, key: &ProblemKey) -> &mut Problem {
        if !self.problems.contains_key(key) {
            self.reasons_version += u64::from(!self.tallies.contains_key(&key.reason));
            let tally = self.tallies.entry(key.reason.clone()).or_default();
            tally.problems += 1;
            tally.subjects += usize::from(key.subject.is_some());
            self.turning += usize::from(self.turns(key));
        }
        self.problems.entry(key.clone()).or_default()
    }

    /// Strikes out a problem that no source claims any more.
    pub(crate) fn close(&mut self, key: &ProblemKey) {
        if self.problems.remove(key).is_none() {
            return;
        }
        self.turning -= usize::from(self.turns(key));
        if let Some(tally) = self.tallies.get_mut(&key.reason) {
            tally.problems -= 1;
            tally.subjects -= usize::from(key.subject.is_some());
        }
    }

    /// The problems of a reason and subject; what is `None` stands for all.
    pub(crate) fn keys_of(&self, reason: Option<&Name>, subject: Option<&str>) -> Vec<ProblemKey> {
        let key = |reason: &Name, subject: Option<&str>| {
            let (condition, reason) = (self.spec.condition.clone(), reason.clone());
            ProblemKey { condition, reason, subject: subject.map(str::to_owned) }
        };
        match (reason, subject) {
            (Some(reason), Some(_)) => {
                Some(key(reason, subject)).filter(|key| self.problems.contains_key(key)).into_iter().collect()
            }
            (Some(reason), None) => {
                let from = self.problems.range(key(reason, None)..).map(|(key, _)| key);
                from.take_while(|key| key.reason == *reason).cloned().collect()
            }
            (None, subject) => {
                let wanted = |key: &&ProblemKey| subject.is_none() || key.subject.as_deref() == subject;
                self.problems.keys().filter(wanted).cloned().collect()
            }
        }
    }

    /// Derives the status; `since` moves only with it.
    pub(crate) fn refresh(&mut self, daemons: &BTreeMap<Arc<str>, Daemon>, cause: Cause) {
        self.view = None;
        let status = self.derive(daemons);
        if self.continue_before(status) {
            return;
        }
        self.note_start(status, daemons);
        if self.transition.status == status {
            return;
        }
        let transition = &mut self.transition;
        transition.status = status;
        match cause {
            Cause::Record(time) => {
                transition.floor = transition.floor.max(Some(time));
                transition.since = transition.floor;
            }
            Cause::Daemon(time) => transition.since = transition.since.max(Some(time)),
        }
    }

    /// Unknown because a watcher starts is no transition of what was healthy; because one is blind, it is.
    fn note_start(&mut self, status: Option<ConditionStatus>, daemons: &BTreeMap<Arc<str>, Daemon>) {
        if status != Some(ConditionStatus::Unknown) {
            return;
        }
        if !self.is_starting(daemons) {
            self.before_start = None;
        } else if self.transition.status == Some(ConditionStatus::False) {
            self.before_start.get_or_insert(self.transition);
        }
    }

    /// Since when it is Unknown because a watcher starts.
    pub(crate) fn starting_since(&self) -> Option<Timestamp> {
        self.before_start?;
        self.transition.since.filter(|_| self.transition.status == Some(ConditionStatus::Unknown))
    }

    /// As the run before left it. The disk may come late: what this run has shown meanwhile stays.
    pub(crate) fn load_transition(&mut self, before: Transition, starting_since: Option<Timestamp>) {
        self.before_start = Some(before);
        let transition = &mut self.transition;
        transition.floor = transition.floor.max(before.floor);
        // A version that does not know the time may have written it again beside a later transition.
        let since = starting_since.filter(|since| before.since <= Some(*since));
        if transition.status.is_none() && since.is_some() {
            (transition.status, transition.since) = (Some(ConditionStatus::Unknown), since);
        }
    }

    /// Of those that watch it, none is worse than starting.
    fn is_starting(&self, daemons: &BTreeMap<Arc<str>, Daemon>) -> bool {
        let name = &self.spec.condition;
        let mut blind = daemons.values().filter(|daemon| daemon.watches(name) && !daemon.sees(name));
        blind.all(|daemon| daemon.is_starting_on(name))
    }

    /// Takes the times of before over where the status is the same; returns whether it is.
    fn continue_before(&mut self, status: Option<ConditionStatus>) -> bool {
        let Some(before) = self.before_start else { return false };
        let is_same = before.status == status;
        if is_same {
            self.transition = before;
        }
        if is_same || matches!(status, Some(ConditionStatus::True | ConditionStatus::False)) {
            self.before_start = None;
        }
        is_same
    }

    /// A claim of the run before: what was claimed meanwhile repeats it.
    pub(crate) fn load_claim(&mut self, key: &ProblemKey, claimant: &Claimant, saved: Claim) {
        let claims = &mut self.open(key).claims;
        match claims.remove(claimant) {
            None => drop(claims.insert(claimant.clone(), saved)),
            Some(meanwhile) => {
                let mut claim = saved;
                claim.repeat(meanwhile);
                claims.insert(claimant.clone(), claim);
            }
        }
    }

    fn derive(&self, daemons: &BTreeMap<Arc<str>, Daemon>) -> Option<ConditionStatus> {
        if self.turning > 0 {
            return Some(ConditionStatus::True);
        }
        let mut watchers = daemons.values().filter(|daemon| daemon.watches(&self.spec.condition)).peekable();
        if watchers.peek().is_none() {
            // What is muted or a false positive is still shown.
            return (!self.problems.is_empty()).then_some(ConditionStatus::False);
        }
        let seen = watchers.all(|daemon| daemon.sees(&self.spec.condition));
        Some(if seen { ConditionStatus::False } else { ConditionStatus::Unknown })
    }
}
