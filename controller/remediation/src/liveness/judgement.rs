//! What is to be applied to one Node whose agent is silent, by what the API server itself reports of it now.

use jiff::{SignedDuration, Timestamp};

use super::{
    Sign, Silence, SilenceMemory, SilenceTimeouts,
    conditions::{self, RawCondition, StatusView},
    ownership::{Ownership, OwnershipError},
};
use crate::time::{Moment, Now};

/// What is to be done about one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LivenessAction {
    /// Applies the full set of the agent's conditions, each Unknown.
    MarkUnknown(Vec<RawCondition>),
    /// Applies what is left of the set: the agent was removed.
    Collect(Vec<RawCondition>),
    /// Nothing: why.
    Leave(Leave),
}

/// Why a node is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Leave {
    #[error("the Node is gone, or is another one of the name")]
    AnotherNode,
    #[error("the agent has spoken meanwhile")]
    Back,
    #[error("no condition on it is the agent's")]
    NothingOfOurs,
    #[error("its conditions say so already")]
    Done,
    #[error(transparent)]
    Owners(#[from] OwnershipError),
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
    silence: &Silence,
    evidence: &Evidence,
    memory: &SilenceMemory,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> LivenessAction {
    verdict(silence, evidence, memory, timeouts, now).unwrap_or_else(LivenessAction::Leave)
}

fn verdict(
    silence: &Silence,
    Evidence { status, lease }: &Evidence,
    memory: &SilenceMemory,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> Result<LivenessAction, Leave> {
    if status.uid != silence.uid {
        return Err(Leave::AnotherNode);
    }
    let mut owners = status.owners()?;
    // Another writer whose name was lost too may write them (Node Problem Detector): its writes are seen.
    let signs = memory.of(&silence.node);
    owners.keep_lost(|kind| signs.is_some_and(|signs| signs.is_quiet(kind, now.moment, timeouts.heartbeat)));
    if status.of_agent(&owners).next().is_none() {
        return Err(Leave::NothingOfOurs);
    }
    let since = still_silent(silence, status, *lease, &owners, memory, timeouts, now).ok_or(Leave::Back)?;
    if !conditions::is_silenced(status, &owners) {
        let since = wall(now, since);
        return Ok(LivenessAction::MarkUnknown(conditions::silenced(status, &owners, since, now.wall)));
    }
    let lease_gone = memory.of(&silence.node).and_then(|signs| signs.lease_gone);
    let removed = is_removed(status, &owners, *lease, lease_gone, timeouts, now);
    if removed && owners.agents.keys().any(|kind| !owners.is_shared(kind)) {
        return Ok(LivenessAction::Collect(conditions::collected(status, &owners)));
    }
    Err(Leave::Done)
}

/// Since when, if what the API server reports now is what we knew.
fn still_silent(
    silence: &Silence,
    status: &StatusView,
    lease: Option<Option<Timestamp>>,
    owners: &Ownership,
    memory: &SilenceMemory,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> Option<Moment> {
    match (silence.sign, lease) {
        (Sign::Lease { renewed }, Some(now)) => (renewed == now).then_some(silence.since),
        // It has gone, or come, since the survey: the next one knows.
        (Sign::Lease { .. }, None) | (Sign::Heartbeats, Some(_)) => None,
        (Sign::Heartbeats, None) => {
            let since = memory.of(&silence.node)?.quiet_since(&conditions::heartbeats(status, owners))?;
            (now.moment.since(since) > timeouts.heartbeat).then_some(since)
        }
    }
}

/// Whether no agent is expected to report them any more.
fn is_removed(
    status: &StatusView,
    owners: &Ownership,
    lease: Option<Option<Timestamp>>,
    lease_gone: Option<Moment>,
    timeouts: &SilenceTimeouts,
    now: Now,
) -> bool {
    let taken_away = lease_gone.is_some_and(|since| now.moment.since(since) >= timeouts.withdrawn);
    if lease.is_none() && taken_away {
        return true;
    }
    // By the wall clock: this has to outlive the controller that wrote it.
    let marked = conditions::silenced_since(status, owners).map(|since| now.wall.duration_since(since));
    let after = if lease.is_some() { timeouts.collect_leased } else { timeouts.collect };
    marked.is_some_and(|lasted| lasted >= SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX))
}

/// A moment of ours for people.
fn wall(now: Now, moment: Moment) -> Timestamp {
    let ago = SignedDuration::try_from(now.moment.since(moment)).unwrap_or_default();
    now.wall.checked_sub(ago).unwrap_or(now.wall)
}
