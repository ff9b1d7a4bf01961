//! What the last look at each source came to. A source has looks of its own, so that an API server that is dead delays no request
//! of another one; a record is handed over between requests of both.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nodewell_remediation::{
    external::request::{Request, Source},
    snapshot::Customer,
};

use crate::tally::FenceRequests;

/// Of one source; empty while it cannot be read.
#[derive(Debug, Default)]
pub(super) struct Served {
    pub(super) requests: Vec<Request>,
    /// By node.
    pub(super) customers: BTreeMap<String, Customer>,
    /// How far each request is.
    pub(super) counts: FenceRequests,
}

#[derive(Debug, Default)]
pub(super) struct AllServed(Mutex<BTreeMap<Source, Served>>);

impl AllServed {
    /// The source's requests as they are stored now; they are not served yet.
    pub(super) fn list(&self, source: Source, requests: Vec<Request>) {
        self.lock().entry(source).or_default().requests = requests;
    }

    pub(super) fn set(&self, source: Source, served: Served) {
        self.lock().insert(source, served);
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.lock().values().flat_map(|served| served.requests.iter().cloned()).collect()
    }

    pub(super) fn customers(&self) -> BTreeMap<String, Customer> {
        self.lock().values().flat_map(|served| served.customers.clone()).collect()
    }

    pub(super) fn counts(&self) -> FenceRequests {
        let mut all = FenceRequests::new();
        for (kind, count) in self.lock().values().flat_map(|served| &served.counts) {
            *all.entry(kind.clone()).or_default() += count;
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Source, Served>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
