//! What is to be applied to one Node whose agent is silent, by what the API server itself reports of it now.

use jiff::{SignedDuration, Timestamp};

use super::{
    SilenceMemory, SilenceSign, SilenceTimeouts, SilentAgent,
    condition_owners::{ConditionOwners, ConditionOwnersError},
    conditions::{self, RawCondition, StatusView},
};
use crate::time::{Moment, Now};

/// What is to be done about one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LivenessAction {
    /// Applies the full set of the agent's conditions, each Unknown.
    MarkUnknown(Vec<RawCondition>),
    /// Applies the set without the conditions that are the agent's alone, which deletes those: the agent was removed.
    Collect(Vec<RawCondition>),
    /// Nothing: why.
    Leave(LeaveReason),
}

/// Why a node is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaveReason {
    #[error("the Node is gone, or is another one of the name")]
    AnotherNode,
    #[error("the agent has reported meanwhile")]
    AgentReported,
    #[error("no condition on it is the agent's")]
    NoConditionOfAgent,
    #[error("its conditions say so already")]
    AlreadyUnknown,
    #[error(transparent)]
    Owners(#[from] ConditionOwnersError),
}

/// What the API server reports of one node now: read after the decision to look, the Lease after the Node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    pub status: StatusView,
    /// `renewTime` of the agent's Lease, if there is a Lease.
    pub lease: Option<Option<Timestamp>>,
}

/// What is to be applied, if anything.
#[must_use]
pub fn judge(
    silent: &SilentAgent,
    evidence: &Evidence,
    memory: &SilenceMemory,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> LivenessAction {
    verdict(silent, evidence, memory, timeouts, now).unwrap_or_else(LivenessAction::Leave)
}

fn verdict(
    silent: &SilentAgent,
    Evidence { status, lease }: &Evidence,
    memory: &SilenceMemory,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> Result<LivenessAction, LeaveReason> {
    if status.uid != silent.uid {
        return Err(LeaveReason::AnotherNode);
    }
    let mut owners = status.owners()?;
    // Where managedFields were emptied, another writer (Node Problem Detector) may own them: then their heartbeats move on.
    let signs = memory.of(&silent.node);
    owners.retain_ownerless(|kind| {
        signs.is_some_and(|signs| signs.is_unchanged_for(kind, now.moment, timeouts.heartbeat))
    });
    if status.of_agent(&owners).next().is_none() {
        return Err(LeaveReason::NoConditionOfAgent);
    }
    let since =
        still_silent(silent, status, *lease, &owners, memory, timeouts, now).ok_or(LeaveReason::AgentReported)?;
    if !conditions::is_reported_unknown(status, &owners) {
        let since = wall(now, since);
        return Ok(LivenessAction::MarkUnknown(conditions::unknown_conditions(status, &owners, since, now.wall)));
    }
    let lease_gone = memory.of(&silent.node).and_then(|signs| signs.lease_gone);
    let removed = is_removed(status, &owners, *lease, lease_gone, timeouts, now);
    if removed && owners.agent.keys().any(|kind| !owners.is_shared(kind)) {
        return Ok(LivenessAction::Collect(conditions::shared_conditions(status, &owners)));
    }
    Err(LeaveReason::AlreadyUnknown)
}

/// Since when the agent is silent, if what the API server reports now is what the watch showed.
fn still_silent(
    silent: &SilentAgent,
    status: &StatusView,
    lease: Option<Option<Timestamp>>,
    owners: &ConditionOwners,
    memory: &SilenceMemory,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> Option<Moment> {
    match (silent.sign, lease) {
        (SilenceSign::Lease { renewed }, Some(now)) => (renewed == now).then_some(silent.since),
        // The Lease was deleted or created since the survey: the next survey goes by it.
        (SilenceSign::Lease { .. }, None) | (SilenceSign::Heartbeats, Some(_)) => None,
        (SilenceSign::Heartbeats, None) => {
            let since = memory.of(&silent.node)?.unchanged_since(&conditions::heartbeats(status, owners))?;
            (now.moment.since(since) > timeouts.heartbeat).then_some(since)
        }
    }
}

/// Whether the agent counts as removed: none is expected to report its conditions any more.
fn is_removed(
    status: &StatusView,
    owners: &ConditionOwners,
    lease: Option<Option<Timestamp>>,
    lease_gone: Option<Moment>,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> bool {
    let was_deleted = lease_gone.is_some_and(|since| now.moment.since(since) >= timeouts.lease_deleted);
    if lease.is_none() && was_deleted {
        return true;
    }
    // By the wall clock: this has to outlive the controller that wrote it.
    let reported_for = conditions::unknown_since(status, owners).map(|since| now.wall.duration_since(since));
    let after = if lease.is_some() { timeouts.collect_leased } else { timeouts.collect };
    reported_for.is_some_and(|lasted| lasted >= SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX))
}

/// A moment of the monotonic clock as wall time, for people.
fn wall(now: Now, moment: Moment) -> Timestamp {
    let ago = SignedDuration::try_from(now.moment.since(moment)).unwrap_or_default();
    now.wall.checked_sub(ago).unwrap_or(now.wall)
}
