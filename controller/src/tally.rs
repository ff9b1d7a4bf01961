//! What was done for agents, and received of crash dumps, since this program's start; shown on `/metrics`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nodewell_approver::{Approver, Requests};
use nodewell_power::native::LoginCounts;
use nodewell_reconcile::liveness::{self, Conditions, Liveness};

use crate::{audit, kdump};

/// Updated by the reconcilers after each of their rounds.
#[derive(Debug, Default)]
pub struct Tally(Mutex<TallySnapshot>);

/// Requests of other remediators by their condition `Succeeded`: its status and reason.
pub type FenceRequests = BTreeMap<(String, String), u64>;

/// The counts of one moment.
#[derive(Debug, Clone, Default)]
pub struct TallySnapshot {
    pub liveness: liveness::Counts,
    /// Silent agents are left alone, because too many are silent at once or something stops everything.
    pub blocked: bool,
    pub enrolment: nodewell_approver::Counts,
    /// Requests that were not approved, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Of these, those that wait for a person now.
    pub waiting: BTreeMap<&'static str, u64>,
    pub dumps: kdump::Counts,
    /// Those that this leader serves.
    pub fence_requests: FenceRequests,
    /// Of the audit, once there is one.
    pub audit: Option<Arc<audit::Counts>>,
    /// Of BMCs.
    pub logins: Option<Arc<LoginCounts>>,
}

impl Tally {
    /// As it is now.
    #[must_use]
    pub fn snapshot(&self) -> TallySnapshot {
        self.lock().clone()
    }

    pub(crate) fn liveness<C: Conditions>(&self, now: &Liveness<C>) {
        let mut tally = self.lock();
        (tally.liveness, tally.blocked) = (now.counts(), now.blocked().is_some());
    }

    pub(crate) fn enrolment<R: Requests>(&self, now: &Approver<R>) {
        let mut tally = self.lock();
        (tally.enrolment, tally.refused) = (now.counts(), now.refused().clone());
        tally.waiting.clear();
        for (_, rejection) in now.waiting() {
            *tally.waiting.entry(rejection.reason()).or_default() += 1;
        }
    }

    pub(crate) fn dumps(&self, now: kdump::Counts) {
        self.lock().dumps = now;
    }

    pub(crate) fn fence_requests(&self, now: FenceRequests) {
        self.lock().fence_requests = now;
    }

    pub(crate) fn audit(&self, counts: Arc<audit::Counts>) {
        self.lock().audit = Some(counts);
    }

    pub(crate) fn logins(&self, counts: Arc<LoginCounts>) {
        self.lock().logins = Some(counts);
    }

    fn lock(&self) -> MutexGuard<'_, TallySnapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
