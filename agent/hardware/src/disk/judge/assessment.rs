//! What is found out about one device while its reading is gone through.

use jiff::Timestamp;
use nodewell_model::Name;

use super::CONDITION;
use crate::{
    Fault, RecoveryEvidence, State, UnknownReason,
    disk::{
        baseline::{Baseline, CounterGrowth},
        part::Part,
        reading::Identity,
    },
};

/// Grows while a reading is judged.
#[derive(Default)]
pub(super) struct Assessment {
    pub(super) faults: Vec<Fault>,
    pub(super) events: Vec<ObservedEvent>,
    /// Why the device's health is unknown, if it is.
    unknown: Option<State>,
    notes: Vec<String>,
    /// Reasons that are unknown this time, because what carries them could not be read.
    unread: Vec<&'static str>,
    /// What is proven to be over, and by what.
    recovery: Option<(&'static str, String)>,
}

/// Something that happened, at the time of the reading.
pub(super) struct ObservedEvent {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Assessment {
    pub(super) fn fault(&mut self, reason: &'static str, message: String) {
        self.faults.push(Fault::new(reason, message));
    }

    /// A fault if the counter grew; a figure for people if it stands at something.
    pub(super) fn growth(&mut self, reason: &'static str, what: &str, growth: CounterGrowth) {
        let total = growth.base.saturating_add(growth.grown);
        if growth.grown > 0 {
            let message = format!("{total} {what}, {} more than the {} known before", growth.grown, growth.base);
            self.faults.push(Fault { since: growth.since, ..Fault::new(reason, message) });
        } else if total > 0 {
            self.note(format!("{total} {what}, not growing"));
        }
    }

    pub(super) fn event(&mut self, reason: &'static str, message: String) {
        self.events.push(ObservedEvent { reason, message });
    }

    /// A figure or a term for people.
    pub(super) fn note(&mut self, notes: impl Into<String>) {
        let notes = notes.into();
        if !self.notes.contains(&notes) {
            self.notes.push(notes);
        }
    }

    /// What others claim is over.
    pub(super) fn is_over(&mut self, reason: &'static str, evidence: impl Into<String>) {
        self.recovery = Some((reason, evidence.into()));
    }

    /// The part without which the device's state is unknown.
    pub(super) fn need<'a, T>(&mut self, part: &'a Part<T>) -> Option<&'a T> {
        match part {
            Part::Read(value) => return Some(value),
            Part::Unreadable(message) => self.set_unknown(UnknownReason::Unreadable, message.clone()),
            Part::Denied(message) => self.set_unknown(UnknownReason::PermissionDenied, message.clone()),
            Part::Absent => self.note("it offers no health data"),
        }
        None
    }

    /// A part that others do without; if it should be there and cannot be read, faults of these reasons are not over.
    pub(super) fn carried<'a, T>(&mut self, part: &'a Part<T>, reasons: &[&'static str]) -> Option<&'a T> {
        if part.is_lost() {
            self.unread.extend_from_slice(reasons);
        }
        part.read()
    }

    /// The disk still has the faults that could not be read this time. Where nothing at all is known, the verdict is
    /// that, and the ledger retains the faults it holds.
    pub(super) fn retain_unread(&mut self, baseline: &Baseline) {
        if self.faults.is_empty() && !self.is_known() {
            return;
        }
        let is_unread = |fault: &Fault| {
            self.unread.contains(&fault.reason.as_str())
                && !self.faults.iter().any(|found| found.reason == fault.reason)
        };
        let unread: Vec<_> = baseline.saved_faults().into_iter().filter(is_unread).collect();
        self.faults.extend(unread);
    }

    /// A part that may be missing if another is there.
    pub(super) fn need_either<'a, T>(&mut self, part: &'a Part<T>, has_other: bool) -> Option<&'a T> {
        if has_other { part.read() } else { self.need(part) }
    }

    pub(super) fn set_unknown(&mut self, reason: UnknownReason, message: String) {
        self.unknown = Some(State::Unknown { reason, message });
    }

    /// Whether what was read is enough for a verdict.
    pub(super) fn is_known(&self) -> bool {
        self.unknown.is_none()
    }

    pub(super) fn recovery_evidence(&self, subject: &str, seen_before: Timestamp) -> Option<RecoveryEvidence> {
        let (reason, evidence) = self.recovery.clone()?;
        Some(RecoveryEvidence {
            condition: Name::fixed(CONDITION),
            reason: Some(Name::fixed(reason)),
            subject: subject.to_owned(),
            seen_before,
            evidence,
        })
    }

    /// A fault is one whatever else cannot be read.
    pub(super) fn state(mut self, identity: &Identity) -> State {
        if !self.faults.is_empty() {
            for fault in &mut self.faults {
                fault.message = join(&fault.message, identity);
            }
            return State::Faulty(self.faults);
        }
        self.unknown.unwrap_or_else(|| {
            let notes = if self.notes.is_empty() { "no fault is known".to_owned() } else { self.notes.join(", ") };
            State::Healthy { message: notes }
        })
    }
}

/// Its identity stands with its faults: that is the disk to pull out.
fn join(message: &str, identity: &Identity) -> String {
    match (identity.model.as_str(), identity.serial.as_str()) {
        ("", "") => message.to_owned(),
        (model, "") => format!("{message} ({model})"),
        ("", serial) => format!("{message} (serial number {serial})"),
        (model, serial) => format!("{message} ({model}, serial number {serial})"),
    }
}
