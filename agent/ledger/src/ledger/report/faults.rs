//! What a report names as wrong: each reason of a type and subject is a claim of its own, and the set replaces the one
//! before.

use std::sync::Arc;

use jiff::Timestamp;
use nodewell_model::{Finding, FindingKind, Guard, ProblemKey, Severity, SubjectKey, text};

use super::{super::Ledger, Entry, Word};
use crate::{
    claim::{Lasting, Restated, Restatement},
    condition::Cause,
};

impl Ledger {
    pub(super) fn report_faults(&mut self, word: &Word<'_>, subject: &SubjectKey, faults: &[Entry<'_>]) {
        self.trust_again(word, subject);
        let before = self.keys_of(word, subject);
        // The new ones first: the condition stays True in between.
        for entry in faults {
            let key = subject.problem(entry.1.reason.clone());
            if before.contains(&key) {
                self.restate(word, *entry, &key);
            } else {
                self.claim_reported(word, *entry, &key);
            }
        }
        self.end_unsaid(word, &before, faults);
    }

    /// What was there before and is not reported any more.
    fn end_unsaid(&mut self, word: &Word<'_>, before: &[ProblemKey], faults: &[Entry<'_>]) {
        let said = |key: &&ProblemKey| faults.iter().any(|(_, fault)| fault.reason == key.reason);
        let new = faults.iter().find(|(_, fault)| before.iter().all(|key| key.reason != fault.reason));
        for old in before.iter().filter(|key| !said(key)) {
            match new {
                Some((n, new)) => {
                    let evidence = format!("{} took its place", new.reason);
                    self.end_by_report(word, *n, old, (new.transition, &evidence));
                }
                None => self.end_by_report(word, 0, old, (word.now.wall, "it is not reported any more")),
            }
        }
    }

    fn claim_reported(&mut self, word: &Word<'_>, (n, condition): Entry<'_>, key: &ProblemKey) {
        let Some(state) = self.states.get_mut(&key.condition) else { return };
        // Admitted before: this only makes room for the reason.
        if state.admit(key, &word.claimant(), &self.limits).is_err() {
            return;
        }
        let finding = Finding {
            source: Arc::clone(&word.daemon),
            kind: FindingKind::Raise,
            condition: Some(key.condition.clone()),
            reason: key.reason.clone(),
            subject: key.subject.clone(),
            severity: condition.severity.unwrap_or(Severity::Warn),
            message: text::message(condition.message.as_bytes()),
            time: condition.transition.min(word.now.wall),
            last_time: word.now.wall,
            count: 1,
            origin: self.origin_of(word, "condition", n),
            boot_id: self.run.boot_id,
            quiet: None,
            ends_at_boot: false,
            action: condition.action,
            guard: Guard::None,
            test: false,
        };
        self.count(&finding);
        let start = self.claim(finding, Lasting::Open, key.clone(), word.now);
        self.note_claim(word, condition.transition, key);
        start.into_iter().for_each(|event| self.emit(event));
    }

    fn note_claim(&mut self, word: &Word<'_>, transition: Timestamp, key: &ProblemKey) {
        let problem = self.states.get_mut(&key.condition).and_then(|state| state.problems.get_mut(key));
        if let Some(claim) = problem.and_then(|problem| problem.claims.get_mut(&word.claimant())) {
            claim.transition = Some(transition);
        }
        if let Some(reporter) = self.reporter_mut(&word.daemon) {
            reporter.hold(key);
        }
    }

    fn restate(&mut self, word: &Word<'_>, (_, condition): Entry<'_>, key: &ProblemKey) {
        let Some(state) = self.states.get_mut(&key.condition) else { return };
        let problem = state.problems.get_mut(key);
        let Some(claim) = problem.and_then(|problem| problem.claims.get_mut(&word.claimant())) else { return };
        let said = Restated {
            transition: condition.transition,
            severity: condition.severity.unwrap_or(Severity::Warn),
            action: condition.action,
            message: text::message(condition.message.as_bytes()),
        };
        let before = claim.count;
        let came = claim.restate(said, word.now);
        if came == Restatement::Nothing {
            return;
        }
        let again = claim.count - before;
        state.settle(&self.daemons, Cause::Record(condition.transition.min(word.now.wall)));
        if again > 0 {
            self.count_reason(&key.reason, again);
        }
        if came == Restatement::News {
            self.dirty.claim(key, &word.claimant());
        }
        self.changed();
    }
}
