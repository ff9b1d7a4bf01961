//! What the exporter counts of itself, for `/metrics`.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Counters of the API server exporter. Shared, updated without waiting.
#[derive(Debug, Default)]
pub struct ApiStats {
    requests: Mutex<BTreeMap<(RequestKind, u16), u64>>,
    dropped_events: AtomicU64,
}

/// What a request is for; several kinds share an HTTP verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestKind {
    PatchNodeStatus,
    /// A patch that changes nothing: its answer names the Node.
    LookAtNode,
    CreateEvent,
    PatchEvent,
    CreateLease,
    RenewLease,
}

impl RequestKind {
    /// The label value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PatchNodeStatus => "patch-node-status",
            Self::LookAtNode => "look-at-node",
            Self::CreateEvent => "create-event",
            Self::PatchEvent => "patch-event",
            Self::CreateLease => "create-lease",
            Self::RenewLease => "renew-lease",
        }
    }

    /// Whether it makes an object.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::CreateEvent | Self::CreateLease)
    }
}

impl ApiStats {
    /// Requests so far by kind and HTTP status code; code 0 is a request without an answer.
    #[must_use]
    pub fn requests(&self) -> Vec<(RequestKind, u16, u64)> {
        let counts = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(&(kind, code), &count)| (kind, code, count)).collect()
    }

    /// Occurrences that no Event on the API server will ever count: the outbox was full, the event log dropped them
    /// before they were read, or the server refused the object.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events.load(Ordering::Relaxed)
    }

    pub(super) fn count(&self, kind: RequestKind, code: u16) {
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner).entry((kind, code)).or_default() += 1;
    }

    pub(super) fn drop_events(&self, count: u64) {
        self.dropped_events.fetch_add(count, Ordering::Relaxed);
    }
}
