//! What a report names as wrong: each reason of a type and subject is a claim of its own, and the set replaces the one
//! before.

use std::sync::Arc;

use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_model::{EventRecord, Finding, FindingKind, ProblemKey, RequiredProof, Severity, SubjectKey, text};

use super::{super::Ledger, Entry, Evidence, ReportHeader};
use crate::claim::{Lasting, Restated, Restatement};

impl Ledger {
    pub(super) fn report_faults(&mut self, header: &ReportHeader<'_>, subject: &SubjectKey, faults: &[Entry<'_>]) {
        self.know_of(header, subject);
        let before = self.keys_of(header, subject);
        // The new ones first: the condition stays True in between.
        for entry in faults {
            let key = subject.problem(entry.1.reason.clone());
            if before.contains(&key) {
                self.restate(header, *entry, &key);
            } else {
                self.claim_reported(header, *entry, &key);
            }
        }
        self.end_unreported(header, &before, faults);
    }

    /// What was there before and is not reported any more.
    fn end_unreported(&mut self, header: &ReportHeader<'_>, before: &[ProblemKey], faults: &[Entry<'_>]) {
        let is_reported = |key: &&ProblemKey| faults.iter().any(|(_, fault)| fault.reason == key.reason);
        let new = faults.iter().find(|(_, fault)| before.iter().all(|key| key.reason != fault.reason));
        for old in before.iter().filter(|key| !is_reported(key)) {
            match new {
                Some((n, new)) => {
                    let evidence = message("ProblemEnded/ended-replaced", &[("reason", &new.reason)]);
                    self.end_by_report(header, *n, old, Evidence { time: new.transition, text: &evidence });
                }
                None => self.end_by_report(
                    header,
                    0,
                    old,
                    Evidence { time: header.now.wall, text: &message("ProblemEnded/ended-withdrawn", &[]) },
                ),
            }
        }
    }

    fn claim_reported(&mut self, header: &ReportHeader<'_>, (n, condition): Entry<'_>, key: &ProblemKey) {
        let Some(state) = self.states.get_mut(&key.condition) else { return };
        // Admitted before: this only makes room for the reason.
        if state.admit(key, &header.claimant(), &self.limits).is_err() {
            return;
        }
        let finding = Finding {
            source: Arc::clone(&header.daemon),
            kind: FindingKind::Raise,
            condition: Some(key.condition.clone()),
            reason: key.reason.clone(),
            subject: key.subject.clone(),
            severity: condition.severity.unwrap_or(Severity::Warn),
            message: text::message(condition.message.as_bytes()),
            time: condition.transition.min(header.now.wall),
            last_time: header.now.wall,
            count: 1,
            origin: self.origin_of(header, "condition", n),
            boot_id: self.run.boot_id,
            ends_after_quiet: None,
            ends_at_boot: false,
            action: condition.action,
            required_proof: RequiredProof::None,
            test: false,
        };
        self.count_reason(&finding.reason, finding.count, header.namer());
        let start = self.claim(finding, Lasting::Open, key.clone(), header.now);
        self.note_claim(header, condition.transition, key);
        let from_peer = header.namer().is_peer();
        start.into_iter().for_each(|event| self.emit(EventRecord { from_peer, ..event }));
    }

    fn note_claim(&mut self, header: &ReportHeader<'_>, transition: Timestamp, key: &ProblemKey) {
        let problem = self.states.get_mut(&key.condition).and_then(|state| state.problems.get_mut(key));
        if let Some(claim) = problem.and_then(|problem| problem.claims.get_mut(&header.claimant())) {
            claim.transition = Some(transition);
        }
        if let Some(reporter) = self.reporter_mut(&header.daemon) {
            reporter.hold(key);
        }
    }

    fn restate(&mut self, header: &ReportHeader<'_>, (_, condition): Entry<'_>, key: &ProblemKey) {
        let Some(state) = self.states.get_mut(&key.condition) else { return };
        let problem = state.problems.get_mut(key);
        let Some(claim) = problem.and_then(|problem| problem.claims.get_mut(&header.claimant())) else { return };
        let is_reported = Restated {
            transition: condition.transition,
            severity: condition.severity.unwrap_or(Severity::Warn),
            action: condition.action,
            message: text::message(condition.message.as_bytes()),
        };
        let before = claim.count;
        let came = claim.restate(is_reported, header.now);
        if came == Restatement::Nothing {
            return;
        }
        let again = claim.count - before;
        self.review_ack(key, header.now);
        self.refresh_by_record(&key.condition, condition.transition.min(header.now.wall));
        if again > 0 {
            self.count_reason(&key.reason, again, header.namer());
        }
        if came == Restatement::News {
            self.dirty.claim(key, &header.claimant());
        }
        self.changed();
    }
}
