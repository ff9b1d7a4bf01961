//! Records: opened, saved, closed, by compare-and-swap only. What was seen to happen is not lost to a lost answer.

use std::time::Duration;

use nodewell_remediation::{
    action::{EventDraft, NodeEvent, Op, Outcome, ReversibleOp},
    api::fence::{NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
    fence::apply_outcome,
    message::Message,
};
use nodewell_time::Backoff;
use tokio::time::sleep;

use super::{Executor, log};
use crate::{api_error::ApiError, audit::Audited, cluster::Records, lease_deadline::LeaseDeadline};

/// Between two tries to write a record.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));

/// What a failed save left behind.
enum Stored {
    /// It was saved after all.
    Next(NodeFence),
    /// Its status is as it was; only something else of it changed, if anything.
    Base(NodeFence),
    /// Another client wrote, or it is gone.
    Other,
    /// It could not be read.
    Unknown,
}

impl<C: Records, P> Executor<'_, C, P> {
    pub(super) async fn open(&self, fence: NodeFence, lease_deadline: &LeaseDeadline) -> Vec<NodeEvent> {
        if let Err(error) = self.claim(&fence).await {
            tracing::warn!(node = fence.spec.node_name, %error, "no record was opened: the node was not claimed");
            sleep(self.settings.rest).await;
            return Vec::new();
        }
        let begun = self.clock.moment();
        let answer = self.open_whole(&fence, lease_deadline).await;
        self.cache.wrote("open", answer.is_ok(), self.clock.moment().since(begun));
        match answer {
            Ok(stored) => self.stored(&fence, None, stored, opened(&fence)),
            Err(error) => {
                tracing::warn!(node = fence.spec.node_name, %error, "the record was not opened as decided");
                sleep(self.settings.rest).await;
                Vec::new()
            }
        }
    }

    async fn open_whole(&self, fence: &NodeFence, lease_deadline: &LeaseDeadline) -> Result<NodeFence, ApiError> {
        let created = self.create(fence, lease_deadline).await?;
        self.write_status(created, fence, lease_deadline).await
    }

    /// A creation without an answer may have been done. A decision knows no UID of what it opens: it is the record that was
    /// opened for the very same reason, and whose status no leader has written.
    async fn create(&self, fence: &NodeFence, lease_deadline: &LeaseDeadline) -> Result<NodeFence, ApiError> {
        let error = match self.write(self.cluster.open(fence)).await {
            Ok(created) => return Ok(created),
            Err(error @ (ApiError::NoAnswer(_) | ApiError::Conflict(_))) => error,
            Err(error) => return Err(error),
        };
        tracing::warn!(node = fence.spec.node_name, %error, "whether the record was opened is not known; it is read");
        let is_it = |there: &NodeFence| there.spec == fence.spec && there.status == NodeFenceStatus::default();
        match self.read_until_answered(fence, lease_deadline).await {
            Some(Some(there)) if is_it(&there) => Ok(there),
            Some(_) | None => Err(error),
        }
    }

    /// Other remediators stay away from a node from before our first write about it.
    async fn claim(&self, fence: &NodeFence) -> Result<(), ApiError> {
        if !self.cache.with(|snapshot| snapshot.peer_leases.are_kept) {
            return Ok(());
        }
        self.write(self.cluster.claim(&fence.spec.node_name, &fence.spec.node_uid)).await
    }

    /// The API server drops the status of what is created: it is a subresource. Until it is written the node is busy, so that
    /// nothing is decided upon a record that knows neither what is ours nor the cycles before it.
    async fn write_status(
        &self,
        created: NodeFence,
        intended: &NodeFence,
        lease_deadline: &LeaseDeadline,
    ) -> Result<NodeFence, ApiError> {
        let mut base = created;
        let mut pauses = PAUSES;
        while lease_deadline.is_ahead(self.clock.moment()) {
            let next = NodeFence { status: intended.status.clone(), ..base.clone() };
            match self.save_once(&base, &next).await {
                Stored::Next(stored) => return Ok(stored),
                Stored::Base(stored) => base = stored,
                Stored::Unknown => {}
                Stored::Other => return Err(ApiError::Conflict("the new record was changed".into())),
            }
            sleep(pauses.pause()).await;
        }
        Err(ApiError::NoAnswer("the term ended before the new record was whole".into()))
    }

    pub(super) async fn save(
        &self,
        fence: NodeFence,
        why: EventDraft,
        lease_deadline: &LeaseDeadline,
    ) -> Vec<NodeEvent> {
        let begun = self.clock.moment();
        // Before the write: the watch may be quicker than the answer.
        let name = &fence.metadata.name;
        let before = self.cache.with(|snapshot| snapshot.fences.get(name).map(|known| known.status.phase));
        let answer = self.write(self.cluster.save(&fence)).await;
        let took = self.clock.moment().since(begun);
        let stored = match answer {
            Ok(stored) => Some(stored),
            Err(error) => {
                tracing::warn!(node = fence.spec.node_name, %error, "the record was not written; it is read again");
                self.read_if_saved(&fence, lease_deadline).await
            }
        };
        self.cache.wrote("save", stored.is_some(), took);
        let Some(stored) = stored else {
            sleep(self.settings.rest).await;
            return Vec::new();
        };
        self.stored(&fence, before, stored, why)
    }

    /// Nothing unless only the answer was lost.
    async fn read_if_saved(&self, fence: &NodeFence, lease_deadline: &LeaseDeadline) -> Option<NodeFence> {
        let there = self.read_until_answered(fence, lease_deadline).await??;
        (there.metadata.uid == fence.metadata.uid && there.status == fence.status).then_some(there)
    }

    /// Known to the audit, to the metrics and to the next decision.
    fn stored(
        &self,
        intended: &NodeFence,
        before: Option<Phase>,
        stored: NodeFence,
        why: EventDraft,
    ) -> Vec<NodeEvent> {
        self.audit_phase(before, &stored, &why);
        self.cache.stored(&stored);
        self.cache.apply_fence(stored);
        vec![node_event(intended, why)]
    }

    pub(super) async fn close(&self, fence: NodeFence, why: EventDraft, lease_deadline: &LeaseDeadline) {
        let begun = self.clock.moment();
        let answer = self.write(self.cluster.close(&fence)).await;
        let took = self.clock.moment().since(begun);
        let is_done = match answer {
            Ok(()) | Err(ApiError::NotFound) => {
                // The server reports it as deleted also while a finalizer keeps it.
                let stored = self.cluster.fence(&fence.metadata.name).await.ok().flatten();
                self.end_unless_there(&fence, stored, &why);
                true
            }
            Err(error) => {
                tracing::warn!(node = fence.spec.node_name, %error, "the record was not closed; it is read again");
                match self.read_until_answered(&fence, lease_deadline).await {
                    Some(stored) => self.end_unless_there(&fence, stored, &why),
                    None => false,
                }
            }
        };
        self.cache.wrote("close", is_done, took);
        if !is_done {
            sleep(self.settings.rest).await;
        }
    }

    /// True if it has ended. `stored` may be another record of the name.
    fn end_unless_there(&self, fence: &NodeFence, stored: Option<NodeFence>, why: &EventDraft) -> bool {
        match stored.filter(|stored| stored.metadata.uid == fence.metadata.uid) {
            Some(stored) => {
                self.cache.apply_fence(stored);
                false
            }
            None => {
                self.ended(fence, why);
                true
            }
        }
    }

    /// In the journal and in the audit; no Event: that the phase became Closed was one.
    fn ended(&self, fence: &NodeFence, why: &EventDraft) {
        log(&fence.spec.node_name, why, self.cache.with(|snapshot| snapshot.epoch));
        self.audit(fence, Audited::ended(why));
        self.cache.miss_fence(&fence.metadata.name, &fence.metadata.uid);
    }

    /// The record alone shows whether a write without an answer was done. Its node is busy until the API server answers;
    /// nothing if that is a refusal, or the term ends before.
    async fn read_until_answered(
        &self,
        fence: &NodeFence,
        lease_deadline: &LeaseDeadline,
    ) -> Option<Option<NodeFence>> {
        let mut pauses = PAUSES;
        while lease_deadline.is_ahead(self.clock.moment()) {
            match self.forget(fence).await {
                Ok(stored) => return Some(stored),
                Err(ApiError::NoAnswer(_)) => sleep(pauses.pause()).await,
                Err(error) => {
                    tracing::warn!(node = fence.spec.node_name, %error, "the record cannot be read");
                    return None;
                }
            }
        }
        None
    }

    /// Replaces the cached record by the stored one.
    async fn forget(&self, fence: &NodeFence) -> Result<Option<NodeFence>, ApiError> {
        let stored = self.read_fence(&fence.metadata.name).await?;
        match &stored {
            Some(stored) => self.cache.apply_fence(stored.clone()),
            None => self.cache.miss_fence(&fence.metadata.name, &fence.metadata.uid),
        }
        Ok(stored)
    }

    /// Writes down what came of a step. A person may annotate or abort the record meanwhile: then it is written onto that.
    /// Only another writer of its status, or the end of the term, makes us give up.
    pub(super) async fn save_outcome(
        &self,
        fence: &NodeFence,
        op: &Op,
        outcome: &Outcome,
        lease_deadline: &LeaseDeadline,
    ) -> Vec<NodeEvent> {
        let mut base = fence.clone();
        let mut pauses = PAUSES;
        let seen = self.clock.now();
        while lease_deadline.is_ahead(self.clock.moment()) {
            // However late it is written, a reading is as old as it is.
            let now =
                if matches!(op, Op::Reversible(ReversibleOp::ReadPower { .. })) { seen } else { self.clock.now() };
            let (next, event) = apply_outcome(&base, op, outcome, lease_deadline.epoch, now);
            match self.save_once(&base, &next).await {
                Stored::Next(stored) => return self.stored(fence, Some(fence.status.phase), stored, event),
                Stored::Base(stored) => base = stored,
                Stored::Unknown => {}
                Stored::Other => {
                    tracing::warn!(node = fence.spec.node_name, ?op, ?outcome, "not recorded: the record was changed");
                    return Vec::new();
                }
            }
            sleep(pauses.pause()).await;
        }
        Vec::new()
    }

    async fn save_once(&self, base: &NodeFence, next: &NodeFence) -> Stored {
        if base.status == next.status {
            return Stored::Next(base.clone());
        }
        match self.write(self.cluster.save(next)).await {
            Ok(stored) => Stored::Next(stored),
            Err(_) => self.compare(base, next).await,
        }
    }

    async fn compare(&self, base: &NodeFence, next: &NodeFence) -> Stored {
        match self.forget(base).await {
            Err(_) => Stored::Unknown,
            Ok(Some(stored)) if stored.metadata.uid != base.metadata.uid => Stored::Other,
            Ok(Some(stored)) if stored.status == next.status => Stored::Next(stored),
            Ok(Some(stored)) if stored.status == base.status => Stored::Base(stored),
            Ok(_) => Stored::Other,
        }
    }

    /// A record that is written in its phase is no change of it.
    fn audit_phase(&self, before: Option<Phase>, stored: &NodeFence, why: &EventDraft) {
        if before != Some(stored.status.phase) {
            self.audit(stored, Audited::phase(before, stored.status.phase, why));
        }
    }

    /// A write takes its turn among all that are under way.
    pub(super) async fn write<T>(&self, call: impl Future<Output = T>) -> T {
        let turn = self.writes.acquire().await;
        let answer = call.await;
        drop(turn);
        answer
    }
}

fn opened(fence: &NodeFence) -> EventDraft {
    let NodeFenceSpec { policy, cause, .. } = &fence.spec;
    EventDraft::normal(Message::of("RemediationOpened", &[("policy", policy), ("evidence", cause)]))
}

pub(super) fn node_event(fence: &NodeFence, event: EventDraft) -> NodeEvent {
    NodeEvent { node: fence.spec.node_name.clone(), uid: fence.spec.node_uid.clone(), event }
}

#[cfg(test)]
mod tests;
