//! One event on its way out: what the ledger hands to every exporter.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BootId, Name, Origin, Severity, view::EventView};

/// Something that happened, or the start or end of a problem. Its origin makes sending it idempotent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Counts up from 1 within a run of the agent.
    pub id: u64,
    pub origin: Origin,
    pub boot_id: Option<BootId>,
    #[serde(deserialize_with = "Severity::saved")]
    pub severity: Severity,
    /// The record's own time, of the first where several were merged.
    pub time: Timestamp,
    /// Of the newest.
    pub last_time: Timestamp,
    pub reason: Name,
    pub message: String,
    pub subject: Option<String>,
    /// The pod's, where the subject is a pod that the record names by its uid. What it is called is found elsewhere,
    /// perhaps only later: a record that is read again is the same event by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_uid: Option<String>,
    /// The monitor or daemon that saw it.
    pub source: String,
    /// Its sender has no more than a grant for some types: it shares with others what may be delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_peer: bool,
    /// Set when this is the start or the end of a problem.
    pub condition: Option<Name>,
    /// How many records report it.
    pub count: u64,
    pub test: bool,
}

impl EventRecord {
    /// The user or unit that reported it, if that is a peer. The gate has judged by the sender's rights: its name alone shows
    /// neither a unit of root's nor the agent's own user.
    #[must_use]
    pub fn peer(&self) -> Option<&str> {
        let principal = || self.source.split_once('@').map_or("", |(_, principal)| principal);
        self.from_peer.then(principal)
    }

    /// What it is about, the same whenever the record is read.
    #[must_use]
    pub fn subject_key(&self) -> Option<&str> {
        self.pod_uid.as_deref().or(self.subject.as_deref())
    }

    /// As people are shown it.
    #[must_use]
    pub fn view(&self) -> EventView {
        EventView {
            id: self.id,
            severity: self.severity,
            timestamp: self.time,
            reason: self.reason.clone(),
            message: self.message.clone(),
            subject: self.subject.clone(),
            source: self.source.clone(),
            condition: self.condition.clone(),
            count: self.count,
            test: self.test,
        }
    }
}
