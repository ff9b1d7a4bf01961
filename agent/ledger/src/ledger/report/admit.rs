//! Whether a batch of reports fits: looked at as a whole before any of it is taken, so that it is all or nothing.
//!
//! Limits that all daemons share are counted as if nothing in the batch made room; a daemon's own subjects exactly.

use std::{collections::BTreeSet, sync::Arc};

use nodewell_model::{Condition, ConditionStatus, ProblemKey, Status, SubjectKey};

use super::{
    super::{Ledger, Sender},
    ReportRejection, by_subject,
    draft::{Draft, Position},
    named,
    roster::principal,
};
use crate::{
    Rejection,
    condition::ConditionState,
    daemon::Daemon,
    reporter::{Held, Reporter},
};

impl Ledger {
    pub(super) fn admit(&self, reports: &[Status], names: &[Arc<str>], sender: &Sender) -> Result<(), ReportRejection> {
        self.draft(reports, names, sender).map(drop)
    }

    pub(super) fn draft<'a>(
        &self,
        reports: &'a [Status],
        names: &'a [Arc<str>],
        sender: &Sender,
    ) -> Result<Draft<'a>, ReportRejection> {
        let mut draft = Draft::new(reports, sender);
        for (report, (status, name)) in reports.iter().zip(names).enumerate() {
            let rejection = |condition, why| ReportRejection { report, condition, why };
            if status.id.as_ref().is_some_and(|id| self.knows(name, id) || !draft.ids.insert((name, id))) {
                continue;
            }
            self.admit_daemon(&mut draft, name, names).map_err(|why| rejection(None, why))?;
            // Before its entries: what is too much for one daemon costs no look at each of them.
            self.admit_subjects(&mut draft, name, status).map_err(|why| rejection(None, why))?;
            for (n, condition) in status.conditions.iter().enumerate() {
                draft.position = Position { report, condition: n };
                self.admit_condition(&mut draft, name, condition).map_err(|why| rejection(Some(n), why))?;
            }
        }
        self.admit_shares(&draft, &sender.principal)?;
        Ok(draft)
    }

    fn admit_daemon<'a>(
        &self,
        draft: &mut Draft<'a>,
        name: &'a Arc<str>,
        batch: &'a [Arc<str>],
    ) -> Result<(), Rejection> {
        if self.daemons.contains_key(name) || !draft.new.insert(name) {
            return Ok(());
        }
        let stays = |(other, daemon): &(&Arc<str>, &Daemon)| batch.contains(other) || !daemon.may_be_forgotten();
        let external = || self.daemons.iter().filter(|(_, daemon)| daemon.reporter.is_some());
        let new = draft.new.len();
        let of_one = external().filter(stays).filter(|(other, _)| principal(other) == principal(name)).count();
        let all = external().filter(stays).count();
        let forgotten = external().count() - all;
        let may_use_reserve = |daemon: &Daemon| daemon.reporter.as_ref().is_some_and(|one| one.may_use_reserve);
        let granted = external().filter(stays).filter(|(_, daemon)| !may_use_reserve(daemon)).count();
        if of_one + new > self.limits.daemons_of_one
            || all + new > self.limits.external_daemons
            || !draft.may_use_reserve && granted + new > self.limits.granted_daemons
            || self.daemons.len() - forgotten + new > self.limits.daemons
        {
            return Err(Rejection::TooManyDaemons(Arc::clone(name)));
        }
        Ok(())
    }

    fn admit_condition<'a>(
        &self,
        draft: &mut Draft<'a>,
        name: &'a str,
        condition: &'a Condition,
    ) -> Result<(), Rejection> {
        let Some(state) = self.states.get(&condition.condition) else {
            return Err(Rejection::UnknownCondition(condition.condition.clone()));
        };
        let key = condition.subject_key().problem(condition.reason.clone());
        if condition.status != ConditionStatus::True || claims(state, &key, name) {
            return Ok(());
        }
        let reasons = draft.claimed.entry(&condition.condition).or_default();
        reasons.insert(&condition.reason, draft.position);
        let claimants = draft.claims.entry(key.clone()).or_default();
        let is_first = claimants.insert(name) && claimants.len() == 1;
        if state.problems.get(&key).map_or(0, |problem| problem.claims.len()) + claimants.len() > self.limits.claims {
            return Err(Rejection::TooManySources(key.reason));
        }
        self.admit_claim(draft, state, &key, name)?;
        if is_first && !state.problems.contains_key(&key) {
            self.admit_problem(draft, state, condition)?;
        }
        Ok(())
    }

    /// Whether there is room for the problem that begins with `condition`.
    fn admit_problem<'a>(
        &self,
        draft: &mut Draft<'a>,
        state: &ConditionState,
        condition: &'a Condition,
    ) -> Result<(), Rejection> {
        let Condition { condition, reason, .. } = condition;
        draft.problems += 1;
        let alike = draft.alike.entry((condition, reason)).or_default();
        *alike += 1;
        if self.problems() + draft.problems > self.limits.problems
            || state.subjects(reason) + *alike > self.limits.subjects
        {
            return Err(Rejection::TooManyProblems);
        }
        if *alike > 1 || state.tallies.get(reason).is_some_and(|tally| tally.problems > 0) {
            return Ok(());
        }
        let reasons = draft.reasons.entry(condition).or_default();
        *reasons += 1;
        if state.active_reasons() + *reasons > self.limits.reasons {
            return Err(Rejection::TooManyReasons(condition.clone()));
        }
        Ok(())
    }

    fn admit_subjects<'a>(&self, draft: &mut Draft<'a>, name: &'a Arc<str>, status: &Status) -> Result<(), Rejection> {
        let limit = self.limits.reported_subjects;
        let known = self.reporter(name).map_or(0, Reporter::reported_count);
        // Far from the limit, as nearly always, there is nothing to look at. The shares of peers count what they report.
        if draft.may_use_reserve && known + draft.conditions <= limit {
            return Ok(());
        }
        let reported = draft.reported.entry(name).or_insert_with(|| self.reporter(name).map(all).unwrap_or_default());
        apply(reported, status);
        let count: usize = reported.values().map(|reasons| reasons.len().max(1)).sum();
        if count > limit { Err(Rejection::TooManySubjects(Arc::clone(name), limit)) } else { Ok(()) }
    }
}

/// Everything that a daemon reports; what it only doubts has no reason.
fn all(reporter: &Reporter) -> Held {
    let doubted = reporter.unsure.iter().map(|unsure| (unsure.subject.clone(), BTreeSet::new()));
    let held = reporter.held.iter().map(|(subject, reasons)| (subject.clone(), reasons.clone()));
    doubted.chain(held).collect()
}

/// What its daemon reports after `status`.
fn apply(reported: &mut Held, status: &Status) {
    let named = named(status);
    for (subject, entries) in by_subject(&status.conditions) {
        let Some((_, first)) = entries.first() else { continue };
        match first.status {
            ConditionStatus::True => {
                reported.insert(subject, entries.iter().map(|(_, fault)| fault.reason.clone()).collect());
            }
            ConditionStatus::Unknown => {
                if subject.is_whole() {
                    let stays = |other: &SubjectKey| other.condition != subject.condition || named.contains(other);
                    reported.retain(|other, reasons| !reasons.is_empty() || stays(other));
                }
                reported.entry(subject).or_default();
            }
            ConditionStatus::False if subject.subject.is_some() => _ = reported.remove(&subject),
            ConditionStatus::False => {
                reported.retain(|other, _| {
                    *other != subject && (other.condition != subject.condition || named.contains(other))
                });
            }
        }
    }
    if status.full {
        let doubted = |subject: &SubjectKey| {
            let whole = |other: &Condition| other.condition == subject.condition && other.subject.is_none();
            status.conditions.iter().any(|other| whole(other) && other.status == ConditionStatus::Unknown)
        };
        reported.retain(|subject, _| named.contains(subject) || doubted(subject));
    }
    if status.last {
        reported.clear();
    }
}

fn claims(state: &ConditionState, key: &ProblemKey, name: &str) -> bool {
    let problem = state.problems.get(key);
    problem.is_some_and(|problem| problem.claims.keys().any(|claimant| *claimant.source == *name && !claimant.test))
}
