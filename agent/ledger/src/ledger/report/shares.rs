//! What one user or unit, and all that hold no more than a grant, may take of the node's limits: a daemon that floods
//! shuts out neither another one, nor root, nor our own monitors.

use std::collections::BTreeSet;

use nodewell_model::{Name, ProblemKey};

use super::{super::Ledger, admit::Draft, roster::principal};
use crate::{Rejection, Share, condition::ConditionState, reporter::Reporter};

/// How many of something there would be.
#[derive(Debug, Clone, Copy)]
struct Taken {
    by_one: usize,
    /// By all who may not use the reserve.
    by_granted: usize,
}

impl Share {
    fn is_exceeded_by(self, taken: Taken) -> bool {
        taken.by_one > self.of_one || taken.by_granted > self.of_granted
    }
}

impl Ledger {
    /// Whether `key`, which the batch has as a problem of `name`, is within the shares.
    pub(super) fn admit_share(
        &self,
        draft: &Draft<'_>,
        state: &ConditionState,
        key: &ProblemKey,
        name: &str,
    ) -> Result<(), Rejection> {
        if draft.may_use_reserve {
            return Ok(());
        }
        let whose = || principal(name).unwrap_or_default().to_owned();
        let mine = |other: &str| principal(other) == principal(name);
        let drafted = || {
            let claimed = draft.claims.iter().filter(|(_, daemons)| daemons.iter().any(|daemon| mine(daemon)));
            claimed.map(|(key, _)| key)
        };
        let exceeds = |share: Share, count: &dyn Fn(&Reporter) -> usize, new: usize| {
            let of = |daemons: &mut dyn Iterator<Item = &Reporter>| daemons.map(count).sum::<usize>() + new;
            let by_one = of(&mut self.reporters(mine));
            let by_granted = of(&mut self.reporters(|_| true).filter(|reporter| !reporter.may_use_reserve));
            share.is_exceeded_by(Taken { by_one, by_granted })
        };
        let limits = &self.limits;
        if exceeds(limits.problem_share, &|reporter| reporter.claims, drafted().count()) {
            return Err(Rejection::ShareOfProblems(whose(), limits.problem_share.of_one));
        }
        let alike = |other: &ProblemKey| (&other.condition, &other.reason) == (&key.condition, &key.reason);
        let subjects = state.tallies.get(&key.reason).map_or(0, |tally| tally.subjects);
        let new = drafted().filter(|other| alike(other)).count();
        let of_reason = |reporter: &Reporter| reporter.claims_of(&key.condition, &key.reason);
        // Far from the share, as nearly always, there is nothing to count.
        if subjects + new > limits.subject_share.of_one && exceeds(limits.subject_share, &of_reason, new) {
            return Err(Rejection::ShareOfProblems(whose(), limits.subject_share.of_one));
        }
        self.admit_reasons(state, &mine, drafted().filter(|other| other.condition == key.condition))
            .map_err(|most| Rejection::ShareOfReasons(whose(), most, key.condition.clone()))
    }

    /// Whether the claim of `name` on `key`, which the batch has, leaves room for others' claims on the same problem.
    pub(super) fn admit_claim(
        &self,
        draft: &Draft<'_>,
        state: &ConditionState,
        key: &ProblemKey,
        name: &str,
    ) -> Result<(), Rejection> {
        let share = self.limits.claim_share;
        let new = draft.claims.get(key).map_or(0, BTreeSet::len);
        let held = || state.problems.get(key).into_iter().flat_map(|problem| problem.claims.keys());
        if draft.may_use_reserve || held().count() + new <= share.of_one {
            return Ok(());
        }
        let by_one = held().filter(|held| principal(&held.source) == principal(name)).count() + new;
        // A daemon that is not known any more has shown no right to the reserve.
        let is_granted = |source: &str| {
            principal(source).is_some() && !self.reporter(source).is_some_and(|reporter| reporter.may_use_reserve)
        };
        let by_granted = held().filter(|held| is_granted(&held.source)).count() + new;
        if share.is_exceeded_by(Taken { by_one, by_granted }) {
            let whose = principal(name).unwrap_or_default().to_owned();
            return Err(Rejection::ShareOfClaims(whose, share.of_one, key.reason.clone()));
        }
        Ok(())
    }

    /// A reason counts once, by however many daemons it is claimed.
    fn admit_reasons<'a>(
        &self,
        state: &ConditionState,
        mine: &dyn Fn(&str) -> bool,
        drafted: impl Iterator<Item = &'a ProblemKey>,
    ) -> Result<(), usize> {
        let share = self.limits.reason_share;
        let new: BTreeSet<&Name> = drafted.map(|key| &key.reason).collect();
        if state.tallies.len() + new.len() <= share.of_one {
            return Ok(());
        }
        let condition = &state.spec.condition;
        let count = |reporters: &mut dyn Iterator<Item = &Reporter>| {
            let held: BTreeSet<Name> = reporters.flat_map(|reporter| reporter.reasons_of(condition)).collect();
            new.iter().filter(|reason| !held.contains(**reason)).count() + held.len()
        };
        let by_one = count(&mut self.reporters(mine));
        let by_granted = count(&mut self.reporters(|_| true).filter(|reporter| !reporter.may_use_reserve));
        if share.is_exceeded_by(Taken { by_one, by_granted }) { Err(share.of_one) } else { Ok(()) }
    }

    fn reporters(&self, of: impl Fn(&str) -> bool) -> impl Iterator<Item = &Reporter> {
        let of = self.daemons.iter().filter(move |(name, _)| of(name));
        of.filter_map(|(_, daemon)| daemon.reporter.as_deref())
    }
}
