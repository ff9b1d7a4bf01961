//! What one user or unit, and all that hold no more than a grant, may take of the node's limits: a daemon that floods
//! shuts out neither another one, nor root, nor our own monitors.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
};

use nodewell_model::{Name, ProblemKey};

use super::{
    super::{Ledger, ReportRejection},
    draft::{Draft, Position},
    roster::principal,
};
use crate::{Limits, Rejection, Share, condition::ConditionState, reporter::Reporter};

/// How many of something there would be.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    by_one: usize,
    /// By all who may not use the reserve.
    by_granted: usize,
}

/// Whether the share may be used up: far from it, as nearly always, there is nothing to count.
fn is_near(share: Share, held: usize, new: usize) -> bool {
    held + new > share.of_one
}

impl Share {
    fn is_exceeded_by(self, taken: Taken) -> bool {
        taken.by_one > self.of_one || taken.by_granted > self.of_granted
    }
}

/// A daemon that is not of the batch.
struct Other<'a> {
    reporter: &'a Reporter,
    is_mine: bool,
    is_granted: bool,
}

/// Claims by type and reason.
#[derive(Default)]
struct HeldByReason<'a>(BTreeMap<(&'a Name, &'a Name), Taken>);

impl HeldByReason<'_> {
    fn of(&self, condition: &Name, reason: &Name) -> Taken {
        self.0.get(&(condition, reason)).copied().unwrap_or_default()
    }

    /// How many reasons: one counts once, by however many daemons it is claimed.
    fn reasons_of(&self, condition: &Name) -> Taken {
        let mut reasons = Taken::default();
        for (_, taken) in self.0.iter().filter(|((other, _), _)| *other == condition) {
            reasons.by_one += usize::from(taken.by_one > 0);
            reasons.by_granted += usize::from(taken.by_granted > 0);
        }
        reasons
    }
}

impl Position {
    fn rejection(self, why: Rejection) -> ReportRejection {
        ReportRejection { report: self.report, condition: Some(self.condition), why }
    }
}

impl Ledger {
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

    /// Whether what the daemons of `whose` would report with the batch is within the shares. Only what it adds is looked at:
    /// all else may stay, be confirmed and end.
    pub(super) fn admit_shares(&self, draft: &Draft<'_>, whose: &str) -> Result<(), ReportRejection> {
        let last = draft.claimed.values().flat_map(BTreeMap::values).max();
        let Some(last) = last.filter(|_| !draft.may_use_reserve) else { return Ok(()) };
        let Limits { problem_share, subject_share, reason_share, .. } = self.limits;
        if problem_share.is_exceeded_by(self.problems_with(draft, whose)) {
            return Err(last.rejection(Rejection::ShareOfProblems(whose.to_owned(), problem_share.of_one)));
        }
        let held = LazyCell::new(|| self.held_with(draft, whose));
        for (condition, reasons) in &draft.claimed {
            let Some(state) = self.states.get(*condition) else { continue };
            let exceeds = |reason: &Name| {
                is_near(subject_share, state.subjects(reason), draft.alike(condition, reason))
                    && subject_share.is_exceeded_by(held.of(condition, reason))
            };
            if let Some((reason, position)) = reasons.iter().find(|(reason, _)| exceeds(reason)) {
                let why = Rejection::ShareOfSubjects(whose.to_owned(), subject_share.of_one, (*reason).clone());
                return Err(position.rejection(why));
            }
            let new = draft.reasons.get(*condition).copied().unwrap_or_default();
            if is_near(reason_share, state.active_reasons(), new)
                && reason_share.is_exceeded_by(held.reasons_of(condition))
            {
                let why = Rejection::ShareOfReasons(whose.to_owned(), reason_share.of_one, (*condition).clone());
                return Err(reasons.values().max().unwrap_or(last).rejection(why));
            }
        }
        Ok(())
    }

    /// How many claims peers would have.
    fn problems_with(&self, draft: &Draft<'_>, whose: &str) -> Taken {
        let drafted: usize = draft.reported.values().flat_map(BTreeMap::values).map(BTreeSet::len).sum();
        let mut taken = Taken { by_one: drafted, by_granted: drafted };
        for Other { reporter, is_mine, is_granted } in self.others(draft, whose) {
            taken.by_one += if is_mine { reporter.claims } else { 0 };
            taken.by_granted += if is_granted { reporter.claims } else { 0 };
        }
        taken
    }

    /// What peers would claim of the types that the batch claims: one look at each claim, however many entries it has.
    fn held_with<'a>(&'a self, draft: &'a Draft<'_>, whose: &str) -> HeldByReason<'a> {
        let mut held = HeldByReason::default();
        let drafted = draft.reported.values().map(|reported| (reported, true, true));
        let others = self.others(draft, whose);
        let others = others.map(|Other { reporter, is_mine, is_granted }| (&reporter.held, is_mine, is_granted));
        for (claims, is_mine, is_granted) in drafted.chain(others) {
            for (subject, reasons) in
                claims.iter().filter(|(subject, _)| draft.claimed.contains_key(&subject.condition))
            {
                #[cfg(test)]
                draft.walked.set(draft.walked.get() + reasons.len());
                for reason in reasons {
                    let taken = held.0.entry((&subject.condition, reason)).or_default();
                    taken.by_one += usize::from(is_mine);
                    taken.by_granted += usize::from(is_granted);
                }
            }
        }
        held
    }

    /// How many claims a look at the shares costs.
    #[cfg(test)]
    pub(crate) fn walked_for(&self, reports: &[nodewell_model::Status], sender: &super::super::Sender) -> usize {
        let names: Vec<_> = reports.iter().map(|one| super::roster::name(&one.source, &sender.principal)).collect();
        self.draft(reports, &names, sender).map_or(0, |draft| draft.walked.get())
    }

    /// The daemons that count and that the batch leaves as they are.
    fn others<'a>(&'a self, draft: &'a Draft<'_>, whose: &str) -> impl Iterator<Item = Other<'a>> {
        let others = self.daemons.iter().filter(|(name, _)| !draft.reported.contains_key(&***name));
        let others = others.filter_map(|(name, daemon)| {
            let reporter = daemon.reporter.as_deref()?;
            let is_mine = principal(name) == Some(whose);
            Some(Other { reporter, is_mine, is_granted: !reporter.may_use_reserve })
        });
        others.filter(|other| other.is_mine || other.is_granted)
    }
}
