//! Speaks for agents that went silent: performs what [`nodewell_remediation::liveness`] decides, one node after the
//! other.
//!
//! Guarantees: nothing is written to a Node that changed since it was read (its resourceVersion is the precondition),
//! and nothing but the conditions that the agent's own field manager owns. An agent that comes back meanwhile wins: a
//! conflict means that nothing was written, and the next round looks again.
//!
//! Needs: `get nodes`, `patch nodes/status`, `get leases` in the agents' namespace, `create events`.

use std::{future::Future, time::Duration};

use nodewell_remediation::{
    action::EventDraft,
    liveness::{
        AGENT_SILENT, Evidence, LivenessAction, RawCondition, SilenceMemory, SilenceTimeouts, SilentAgent, StatusView,
        Survey, judge, survey,
    },
    message::Message,
    snapshot::Snapshot,
    time::Now,
};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::{api_error::ApiError, lease_deadline::LeaseDeadline};

/// The API server, as far as agents' conditions need it.
pub trait Conditions {
    /// The Node with its `managedFields`, then the agent's Lease, both by the API and not from a cache. Nothing if there is
    /// no such Node.
    fn read(&self, node: &str) -> impl Future<Output = Result<Option<Evidence>, ApiError>>;
    /// Server-side apply on `nodes/status` as the agent's field manager, by force only where its conditions lost their owner
    /// ([`StatusView::has_lost_owners`]), with `metadata.uid` and
    /// `metadata.resourceVersion` of `status` (`nodewell_remediation::liveness::apply_body`). The set is complete: what
    /// it leaves out is given up.
    fn apply(
        &self,
        node: &str,
        status: &StatusView,
        set: &[RawCondition],
    ) -> impl Future<Output = Result<(), ApiError>>;
    /// An Event on the Node.
    fn emit(&self, node: &str, uid: &str, event: &EventDraft) -> impl Future<Output = ()>;
}

/// How fast it goes about it.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Between two rounds.
    pub round: Duration,
    /// Between two nodes: five a second, a thousand in 200 s.
    pub node: Duration,
    /// A node at which a request failed or met another writer is left alone for so long.
    pub again: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { round: Duration::from_secs(10), node: Duration::from_millis(200), again: Duration::from_mins(1) }
    }
}

/// What was done since the start, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub marked_unknown: u64,
    pub collected: u64,
    /// Another client wrote the Node between our read and our write: mostly the agent, which is back.
    pub conflicts: u64,
    pub failures: u64,
}

/// The reconciler, for all terms of one controller: what it saw in an earlier one is still so, or was seen to change.
#[derive(Debug)]
pub struct Liveness<C> {
    conditions: C,
    timeouts: SilenceTimeouts,
    pace: Pace,
    memory: SilenceMemory,
    blocked: Option<String>,
    counts: Counts,
}

impl<C: Conditions> Liveness<C> {
    #[must_use]
    pub fn new(conditions: C, timeouts: SilenceTimeouts, pace: Pace) -> Self {
        Self { conditions, timeouts, pace, memory: SilenceMemory::default(), blocked: None, counts: Counts::default() }
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Why nothing is done, if nothing is.
    #[must_use]
    pub fn blocked(&self) -> Option<&str> {
        self.blocked.as_deref()
    }

    /// Goes on until the term is over. `on_round` is called at each round's end.
    pub async fn run(
        &mut self,
        snapshot: impl Fn() -> Snapshot,
        clock: impl Fn() -> Now,
        mut lease_deadline: LeaseDeadline,
        on_round: impl Fn(&Self),
    ) {
        let mut rounds = interval(self.pace.round);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while lease_deadline.is_ahead(clock().moment) {
            tokio::select! {
                _ = rounds.tick() => {
                    self.round(&snapshot(), &clock, &lease_deadline).await;
                    on_round(self);
                }
                alive = lease_deadline.moved() => if !alive { return },
            }
        }
    }

    /// Looks at all nodes once, and does what is to be done at each.
    pub async fn round(&mut self, snapshot: &Snapshot, clock: &impl Fn() -> Now, lease_deadline: &LeaseDeadline) {
        let now = clock();
        self.memory = std::mem::take(&mut self.memory).observe(snapshot, now);
        let Survey { silent, blocked } = survey(snapshot, &self.memory, &self.timeouts, now);
        self.block(blocked);
        for (at, agent) in silent.iter().enumerate() {
            if at > 0 {
                sleep(self.pace.node).await;
            }
            if !lease_deadline.is_ahead(clock().moment) {
                return;
            }
            self.attend(agent, clock, lease_deadline).await;
        }
    }

    /// One line when it begins, one when it ends.
    fn block(&mut self, blocked: Option<String>) {
        match (&self.blocked, &blocked) {
            (None, Some(why)) => tracing::warn!(why, "silent agents' conditions are left as they are"),
            (Some(_), None) => tracing::info!("silent agents are looked after again"),
            _ => {}
        }
        self.blocked = blocked;
    }

    async fn attend(&mut self, agent: &SilentAgent, clock: &impl Fn() -> Now, lease_deadline: &LeaseDeadline) {
        match self.look(agent, clock, lease_deadline).await {
            Ok(rest) => self.memory.recheck_after(&agent.node, clock().moment.plus(rest)),
            Err(error) => self.failed(agent, &error, clock()),
        }
    }

    /// How long the node may rest after it.
    async fn look(
        &mut self,
        agent: &SilentAgent,
        clock: &impl Fn() -> Now,
        lease_deadline: &LeaseDeadline,
    ) -> Result<Duration, ApiError> {
        let node = &agent.node;
        let Some(evidence) = self.conditions.read(node).await? else { return Ok(self.pace.again) };
        let now = clock();
        let verdict = judge(agent, &evidence, &self.memory, &self.timeouts, now);
        let (LivenessAction::MarkUnknown(set) | LivenessAction::Collect(set)) = &verdict else {
            if let LivenessAction::Leave(why) = &verdict {
                tracing::debug!(node, %why, "a silent agent's conditions are left as they are");
            }
            return Ok(self.timeouts.recheck_after);
        };
        // The read may have taken long.
        if !lease_deadline.is_ahead(now.moment) {
            return Ok(self.pace.again);
        }
        self.conditions.apply(node, &evidence.status, set).await?;
        let event = self.event(&verdict, set.len());
        tracing::info!(node, reason = event.reason, "{}", event.message);
        self.conditions.emit(node, &agent.uid, &event).await;
        Ok(self.timeouts.recheck_after)
    }

    fn event(&mut self, verdict: &LivenessAction, count: usize) -> EventDraft {
        if matches!(verdict, LivenessAction::Collect(_)) {
            self.counts.collected += 1;
            return EventDraft::normal(Message::plain("AgentRemoved"));
        }
        self.counts.marked_unknown += 1;
        EventDraft::warning(Message::of(AGENT_SILENT, &[("count", &count)]))
    }

    fn failed(&mut self, agent: &SilentAgent, error: &ApiError, now: Now) {
        let node = &agent.node;
        if let ApiError::Conflict(why) = error {
            self.counts.conflicts += 1;
            tracing::debug!(node, why, "the Node was written meanwhile: nothing was changed");
        } else {
            self.counts.failures += 1;
            tracing::warn!(node, %error, "cannot look after a silent agent's conditions; tried again later");
        }
        self.memory.recheck_after(node, now.moment.plus(self.pace.again));
    }
}

#[cfg(test)]
mod tests;
