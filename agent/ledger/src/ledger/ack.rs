//! False positives: what a person says of a problem that is there. It stays a problem and turns no condition until it
//! ends; what begins after that turns it again.

use std::fmt::Display;

use nodewell_faults::message;
use nodewell_model::{Ack, ConditionStatus, MuteKey, Name, ProblemKey};

use super::{Ledger, Rejection};
use crate::{
    Now,
    acks::{HeldAck, Outgrown},
    condition::{Cause, ConditionState},
};

impl Ledger {
    /// Calls the active problems of `key` false positives, but for tests and for those that are called so already;
    /// returns how many these are.
    pub fn ack(&mut self, key: &MuteKey, ack: &Ack, now: Now) -> Result<usize, Rejection> {
        self.is_declared(key.condition.as_ref())?;
        let found = self.problems_of(key, |_, _| true);
        let real = self.problems_of(key, ConditionState::is_real);
        let new = self.problems_of(key, |state, problem| state.is_real(problem) && !state.acks.contains_key(problem));
        if found.is_empty() {
            return Err(Rejection::NoSuchProblem(key.whole()));
        }
        if real.is_empty() {
            return Err(Rejection::OnlyTests(key.whole()));
        }
        if new.is_empty() {
            return Err(Rejection::AckedAlready(key.whole()));
        }
        new.iter().for_each(|problem| self.hold_ack(problem, ack));
        let args: [(&str, &dyn Display); 3] = [("problem", key), ("by", &ack.by), ("why", &ack.why)];
        let text = counted(new.len(), &message("FalsePositive", &args));
        let origin = self.run.next_origin();
        self.announce(key, "FalsePositive", text, origin, now);
        self.settle_acks(&new, now);
        Ok(new.len())
    }

    /// Takes that back for the active problems of `key`; returns how many turn their condition again.
    pub fn unack(&mut self, key: &MuteKey, by: &str, now: Now) -> Result<usize, Rejection> {
        self.is_declared(key.condition.as_ref())?;
        let held = self.problems_of(key, |state, problem| state.acks.contains_key(problem));
        if held.is_empty() {
            return Err(Rejection::NotAcked(key.whole()));
        }
        held.iter().for_each(|problem| _ = self.remove_ack(problem));
        let why = message("FalsePositiveRevoked/figure-taken-back", &[("by", &by)]);
        self.revoke(key, held.len(), &why, now);
        self.settle_acks(&held, now);
        let turns = |problem: &&ProblemKey| {
            let state = self.states.get(&problem.condition);
            state.is_some_and(|state| state.turns(problem))
        };
        Ok(held.iter().filter(turns).count())
    }

    /// After a claim: a problem that is worse than it was then, or that another source claims, is not what the person
    /// saw. The caller derives the status.
    pub(crate) fn review_ack(&mut self, problem: &ProblemKey, now: Now) {
        let outgrown = self.states.get(&problem.condition).and_then(|state| state.outgrown(problem));
        let Some(outgrown) = outgrown else { return };
        self.remove_ack(problem);
        let why = match &outgrown {
            Outgrown::Worse(severity) => message("FalsePositiveRevoked/figure-worse", &[("severity", severity)]),
            Outgrown::Another(source) => message("FalsePositiveRevoked/figure-another", &[("source", source)]),
        };
        self.revoke(&named(problem), 1, &why, now);
    }

    /// Strikes out what a person said of a problem that is over.
    fn remove_ack(&mut self, problem: &ProblemKey) -> Option<HeldAck> {
        let held = self.states.get_mut(&problem.condition)?.remove_ack(problem)?;
        self.dirty.ack(problem);
        Some(held)
    }

    fn hold_ack(&mut self, problem: &ProblemKey, ack: &Ack) {
        let Some(state) = self.states.get_mut(&problem.condition) else { return };
        state.hold_ack(problem, ack);
        self.false_positives.count_problem(&problem.condition, &problem.reason);
        self.dirty.ack(problem);
        self.dirty.false_positives();
    }

    fn revoke(&mut self, key: &MuteKey, problems: usize, why: &str, now: Now) {
        let text = counted(problems, &message("FalsePositiveRevoked", &[("problem", key), ("why", &why)]));
        let origin = self.run.next_origin();
        self.announce(key, "FalsePositiveRevoked", text, origin, now);
    }

    /// The active problems that `key` is about and that are `wanted`.
    fn problems_of(&self, key: &MuteKey, wanted: impl Fn(&ConditionState, &ProblemKey) -> bool) -> Vec<ProblemKey> {
        let concerned = self.states.iter().filter(|(name, _)| key.concerns(name));
        let problems = concerned.flat_map(|(_, state)| state.problems.keys().map(move |problem| (state, problem)));
        let wanted = problems.filter(|(state, problem)| key.covers(problem) && wanted(state, problem));
        wanted.map(|(_, problem)| problem.clone()).collect()
    }

    /// Derives what changed by what was said of `problems`. A condition that is True no more was so by nothing but
    /// false positives.
    fn settle_acks(&mut self, problems: &[ProblemKey], now: Now) {
        let mut conditions: Vec<&Name> = problems.iter().map(|problem| &problem.condition).collect();
        conditions.dedup();
        for name in conditions {
            let Some(state) = self.states.get_mut(name) else { continue };
            let was_true = state.transition.status == Some(ConditionStatus::True);
            state.refresh(&self.daemons, Cause::Daemon(now.wall));
            if was_true && state.transition.status != Some(ConditionStatus::True) {
                self.false_positives.count_condition(name);
                self.dirty.false_positives();
            }
        }
        self.changed();
    }
}

/// How people call a problem.
fn named(problem: &ProblemKey) -> MuteKey {
    MuteKey { reason: problem.reason.clone(), condition: None, subject: problem.subject.clone() }
}

fn counted(problems: usize, text: &str) -> String {
    if problems > 1 { format!("{problems} problems: {text}") } else { text.to_owned() }
}

/// The message of a condition that `problem` would hold if it were no false positive.
pub(crate) fn acked(problem: &ProblemKey, ack: &Ack) -> String {
    let named = named(problem);
    let args: [(&str, &dyn Display); 4] = [("problem", &named), ("by", &ack.by), ("at", &ack.at), ("why", &ack.why)];
    message("FalsePositives", &args)
}
