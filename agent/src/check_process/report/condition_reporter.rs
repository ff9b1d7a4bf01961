//! Reports the findings of judges to the agent: conditions of each device, Events, evidence that problems are over, and
//! how many devices there are.
//!
//! A reporter has one or more *parts*, each judged by itself and named by a key `K`: a [`&'static Check`], a plug-in's
//! number.

mod compose;
mod pending_recoveries;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_checks::probe::{DeviceEvent, Findings, PollError, RecoveryEvidence, State, Verdict};
use nodewell_model::{Event, Hardware, Name, SubjectKey};

use super::link::Link;
use crate::check_process::{release::Release, state_file::ReportedCondition};

use compose::{SinceByReason, compose, joined, released, reported_subject};
use pending_recoveries::PendingRecoveries;

/// The agent's monitor of the shipped rules for the kernel log.
const KERNEL_MONITOR: &str = "kernel-monitor";

/// Reports all parts of one reporter.
pub(in crate::check_process) struct ConditionReporter<'a, K> {
    link: &'a Link,
    parts: BTreeMap<K, ReportedPart>,
    pending_recoveries: PendingRecoveries,
    released_until: Option<Timestamp>,
}

/// What was reported of one part.
#[derive(Debug, Default)]
struct ReportedPart {
    subjects: BTreeMap<SubjectKey, SinceByReason>,
    hardware: Vec<Hardware>,
}

/// What a round left open: for it the reports of an earlier run stay.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::check_process) enum Unreached {
    Nothing,
    /// Some were not looked at: too many were silent before, or each reports alone.
    Rest,
    /// There was no list, nor was any before it in this run.
    Everything(PollError),
}

impl<'a, K: Copy + Ord> ConditionReporter<'a, K> {
    pub(in crate::check_process) fn new(link: &'a Link) -> Self {
        Self { link, parts: BTreeMap::new(), pending_recoveries: PendingRecoveries::default(), released_until: None }
    }

    /// Loads what an earlier run reported, so that a condition that still holds has its old `since`. Nothing of it is
    /// reported before its device was looked at.
    pub(in crate::check_process) fn load(&mut self, part: K, saved: Vec<ReportedCondition>) {
        let reported = self.parts.entry(part).or_default();
        for ReportedCondition { condition, subject, reason, since } in saved {
            reported.subjects.entry(SubjectKey::of(condition, subject)).or_default().insert(reason, since);
        }
        // A stop before the first round must withdraw nothing either.
        self.note_retained();
    }

    /// What is reported now, for a later run.
    pub(in crate::check_process) fn reported(&self, part: K) -> Vec<ReportedCondition> {
        let subjects = self.parts.get(&part).into_iter().flat_map(|reported| &reported.subjects);
        let of_key = |(key, since): (&SubjectKey, &SinceByReason)| {
            let reported = |(reason, since): (&Name, &Timestamp)| ReportedCondition {
                condition: key.condition.clone(),
                subject: key.subject.clone().unwrap_or_default(),
                reason: reason.clone(),
                since: *since,
            };
            since.iter().map(reported).collect::<Vec<_>>()
        };
        subjects.flat_map(of_key).collect()
    }

    /// Reports all conditions of `part`, and forgets those of subjects that `findings` does not name: they are gone.
    /// Not so what `unreached` says was not looked at.
    pub(in crate::check_process) async fn report(&mut self, part: K, findings: Findings, unreached: &Unreached) {
        self.released_until = None;
        let Findings { verdicts, events, recoveries, hardware } = findings;
        self.conditions(part, verdicts, unreached);
        self.happened(events);
        self.hardware(part, hardware);
        let as_reported = |one: RecoveryEvidence| RecoveryEvidence { subject: reported_subject(&one.subject), ..one };
        self.pending_recoveries.end(self.link, recoveries.into_iter().map(as_reported).collect()).await;
    }

    /// The devices are released, and no worker reads them: all their conditions become Unknown.
    pub(in crate::check_process) fn release(&mut self, release: &Release) {
        if self.released_until.replace(release.until) == Some(release.until) {
            return;
        }
        for key in self.parts.values().flat_map(|reported| reported.subjects.keys()) {
            self.link.set_all(key, vec![released(key, release)]);
        }
    }

    /// Each part was judged once.
    pub(in crate::check_process) fn all_reported(&self) {
        self.link.all_reported();
    }

    fn conditions(&mut self, part: K, verdicts: Vec<Verdict>, unreached: &Unreached) {
        let reported = self.parts.entry(part).or_default();
        let verdicts = joined(verdicts);
        let gone: BTreeSet<SubjectKey> =
            reported.subjects.keys().filter(|key| !verdicts.contains_key(key)).cloned().collect();
        for (key, state) in verdicts {
            self.set(part, key, state);
        }
        for key in gone {
            match unreached {
                Unreached::Nothing => self.forget(part, &key),
                // What an earlier run reported of it, the agent still has.
                Unreached::Rest => {}
                Unreached::Everything(error) => self.set(part, key, nodewell_checks::probe::unknown(error)),
            }
        }
        self.note_retained();
    }

    fn set(&mut self, part: K, key: SubjectKey, state: State) {
        let reported = self.parts.entry(part).or_default();
        let before = reported.subjects.remove(&key).unwrap_or_default();
        let (conditions, since) = compose(&key, state, &before);
        self.link.set_all(&key, conditions);
        reported.subjects.insert(key, since);
    }

    fn forget(&mut self, part: K, key: &SubjectKey) {
        self.parts.entry(part).or_default().subjects.remove(key);
        self.link.forget(key);
    }

    /// A stop from now on withdraws nothing.
    pub(in crate::check_process) fn retain_on_stop(&self) {
        self.link.retain_on_stop(true);
    }

    fn note_retained(&self) {
        let mut all = self.parts.values().flat_map(|reported| reported.subjects.values());
        self.link.retain_on_stop(all.any(|since| !compose::is_healthy(since)));
    }

    /// Events of what the kernel logs too, such as an Xid, are for a node whose kernel log the agent does not read.
    fn happened(&self, events: Vec<DeviceEvent>) {
        for DeviceEvent { reason, severity, subject, message, time, is_in_kernel_log } in events {
            let subject = subject.as_deref().map(reported_subject);
            let seen_by = is_in_kernel_log.then(|| KERNEL_MONITOR.to_owned());
            self.link.send_event(Event { severity, timestamp: time, reason, message, subject, seen_by });
        }
    }

    fn hardware(&mut self, part: K, hardware: Vec<Hardware>) {
        self.parts.entry(part).or_default().hardware = hardware;
        let all: Vec<Hardware> = self.parts.values().flat_map(|reported| reported.hardware.clone()).collect();
        if !all.is_empty() || self.link.has_sent_hardware() {
            self.link.hardware(all);
        }
    }
}

#[cfg(test)]
mod tests;
