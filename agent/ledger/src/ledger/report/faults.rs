//! What a report names as wrong: each reason of a type and subject is a claim of its own, and the set replaces the one
//! before.

use nodewell_faults::message;
use nodewell_model::{Finding, ProblemKey, Severity, SubjectKey};

use super::{super::Ledger, Entry, Evidence, ReportHeader};

impl Ledger {
    pub(super) fn report_faults(&mut self, header: &ReportHeader<'_>, subject: &SubjectKey, faults: &[Entry<'_>]) {
        self.know_of(header, subject);
        let before = self.keys_of(header, subject);
        // The new ones first: the condition stays True in between.
        faults.iter().for_each(|fault| self.report_fault(header, *fault, subject));
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

    fn report_fault(&mut self, header: &ReportHeader<'_>, (n, condition): Entry<'_>, subject: &SubjectKey) {
        let key = subject.problem(condition.reason.clone());
        let Some(state) = self.states.get_mut(&key.condition) else { return };
        // Admitted before: this only makes room for the reason.
        if state.admit(&key, &header.claimant(), &self.limits).is_err() {
            return;
        }
        let origin = self.origin_of(header, "condition", n);
        let finding = Finding {
            condition: Some(key.condition.clone()),
            subject: key.subject.clone(),
            severity: condition.severity.unwrap_or(Severity::Warn),
            last_time: header.now.wall,
            action: condition.action,
            ..header.finding(&condition.reason, &condition.message, condition.transition, origin)
        };
        self.raise(finding, Some(condition.transition), header.namer(), header.now);
        if let Some(reporter) = self.reporter_mut(&header.daemon) {
            reporter.hold(&key);
        }
    }
}
