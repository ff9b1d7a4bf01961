//! Events on their way out, numbered, bounded, each with an origin.

use std::collections::VecDeque;

use jiff::Timestamp;
use nodewell_model::{BootId, EventRecord, Finding, Origin, RequiredProof};

use crate::Now;

/// This run of the agent: what makes the ledger's own events unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) boot_id: Option<BootId>,
    started_ns: u64,
    pub(crate) sequence: u64,
}

/// Events that wait to be taken.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct EventQueue {
    pub(crate) waiting: VecDeque<EventRecord>,
    pub(crate) last_id: u64,
    pub(crate) dropped: u64,
}

impl Run {
    pub(crate) fn new(now: Now) -> Self {
        let started_ns = u64::try_from(now.wall.as_nanosecond()).unwrap_or_default();
        Self { boot_id: None, started_ns, sequence: 0 }
    }

    /// The origin of something that no record reports.
    pub(crate) fn next_origin(&mut self) -> Origin {
        self.sequence += 1;
        let boot_id = self.boot_id.unwrap_or_default();
        Origin::Agent { boot_id, started_ns: self.started_ns, sequence: self.sequence }
    }

    /// Whether `other` is known to be another boot than ours.
    pub(crate) fn is_other_boot(&self, other: Option<BootId>) -> bool {
        self.boot_id.zip(other).is_some_and(|(ours, other)| ours != other)
    }
}

impl EventQueue {
    /// Numbers `event` and stores at most `limit`, the newest.
    pub(crate) fn push(&mut self, event: EventRecord, limit: usize) {
        self.last_id += 1;
        self.waiting.push_back(EventRecord { id: self.last_id, ..event });
        while self.waiting.len() > limit {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }

    pub(crate) fn take(&mut self) -> Vec<EventRecord> {
        self.waiting.drain(..).collect()
    }
}

/// The event that `finding` is, or starts a problem with: one of our own, until its sender is known.
pub(crate) fn event_of(finding: &Finding) -> EventRecord {
    EventRecord {
        id: 0,
        origin: finding.origin.clone(),
        boot_id: finding.boot_id,
        severity: finding.severity,
        time: finding.time,
        last_time: finding.last_time,
        reason: finding.reason.clone(),
        message: finding.message.clone(),
        subject: finding.subject.clone(),
        pod_uid: pod_uid(finding),
        source: finding.source.to_string(),
        from_peer: false,
        condition: finding.condition.clone(),
        count: finding.count,
        test: finding.test,
    }
}

fn pod_uid(finding: &Finding) -> Option<String> {
    match &finding.required_proof {
        RequiredProof::Pod { uid } => Some(uid.clone()),
        RequiredProof::None | RequiredProof::NodePlumbing { .. } | RequiredProof::Filesystem { .. } => None,
    }
}

/// Why problems end, and what reports it.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) time: Timestamp,
    /// `None`: no record reports it, the ledger concludes it.
    pub(crate) origin: Option<Origin>,
    pub(crate) boot_id: Option<BootId>,
    pub(crate) source: String,
    pub(crate) from_peer: bool,
    pub(crate) evidence: String,
    pub(crate) test: bool,
}
