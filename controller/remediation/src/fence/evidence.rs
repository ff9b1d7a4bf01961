//! Evidence that a node is dead, typed and with its age. The kubelet's and the agent's Lease come over the same path:
//! together they are one witness.

use std::{fmt, time::Duration};

use super::Case;
use crate::{
    api::fence::{Blocker, DrainReport},
    facts::{Effect, Node, Taint, kubelet},
    guard::reason::{EVIDENCE_TOO_YOUNG, NODE_READY},
    snapshot::PowerState,
    time::Moment,
};

/// A host's failure to reach the node counts after this.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5);
/// A BMC's reading is believed for so long.
const READING_LASTS: Duration = Duration::from_secs(10);
/// Two readings nearer than this to each other are one.
const APART: Duration = Duration::from_secs(1);
/// Fewer hosts are never enough, whatever a policy says.
const HOSTS: usize = 2;

/// A witness that reports a node dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// The Leases of the node were not renewed for so long.
    Silence(Duration),
    /// Its BMC reported Off, again and again, first so long ago.
    BmcOff(Duration),
    /// These hosts cannot reach it, each for at least so long.
    Unreachable { hosts: usize, for_at_least: Duration },
    /// The agent gave its Lease back.
    Goodbye,
    /// Everything that had to go was evicted: a node that lives may lose its power.
    Drained,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence(age) => write!(f, "Leases silent for {} s", age.as_secs()),
            Self::BmcOff(age) => write!(f, "BMC says Off since {} s", age.as_secs()),
            Self::Unreachable { hosts, for_at_least } => {
                write!(f, "unreachable from {hosts} hosts for {} s", for_at_least.as_secs())
            }
            Self::Goodbye => f.write_str("agent said goodbye"),
            Self::Drained => f.write_str("drained"),
        }
    }
}

/// All of them in one line, for the journal.
#[must_use]
pub fn sentence(witnesses: &[Witness]) -> String {
    witnesses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The witnesses by which the node's power may be cut; or what is missing.
pub fn may_power_off(case: &Case<'_>) -> Result<Vec<Witness>, Blocker> {
    if drained(case) && is_shut(case) {
        return Ok(vec![Witness::Drained]);
    }
    let Some(silence) = silence(case) else {
        return Err(young("the kubelet's Lease cannot be read; look at kube-node-lease"));
    };
    if silence >= kubelet::GIVEN_UP && case.node.is_some_and(Node::is_not_ready) {
        return Ok(witnesses(case, silence));
    }
    match fast(case, silence) {
        Some(witnesses) => Ok(witnesses),
        None => Err(missing(case, silence)),
    }
}

/// The BMC reports Off without an act of ours, and the Leases agree.
#[must_use]
pub fn is_off(case: &Case<'_>) -> Option<Vec<Witness>> {
    let silence = silence(case)?;
    let enough = case.policy.and_then(|policy| policy.fast).map_or(kubelet::GIVEN_UP, |fast| fast.silent_for);
    bmc_off(case)?;
    (silence >= enough).then(|| witnesses(case, silence))
}

fn drained(case: &Case<'_>) -> bool {
    case.fence.status.drain.as_ref().is_some_and(DrainReport::emptied)
}

/// Nothing new comes onto it: a drain is worth nothing on a node that another actor has uncordoned since.
fn is_shut(case: &Case<'_>) -> bool {
    let ours = &case.fence.status.ours.taints;
    let shuts = |taint: &Taint| taint.effect != Effect::PreferNoSchedule && ours.contains(taint);
    case.node.is_some_and(|node| node.unschedulable || node.taints.iter().any(shuts))
}

/// The kubelet's silence; the agent's Lease can only shorten it while it is young enough to speak for the path.
fn silence(case: &Case<'_>) -> Option<Duration> {
    let silent = case.kubelet_lease?.stale_for(case.now.moment);
    let agent = case.agent_lease.map(|lease| lease.stale_for(case.now.moment));
    Some(if silent >= kubelet::GIVEN_UP { silent } else { agent.map_or(silent, |agent| agent.min(silent)) })
}

fn fast(case: &Case<'_>, silence: Duration) -> Option<Vec<Witness>> {
    let fast = case.policy?.fast?;
    let hosts = usize::try_from(fast.unreachable_from).ok()?.max(HOSTS);
    let (unreachable, _) = unreachable(case)?;
    (silence >= fast.silent_for && unreachable >= hosts).then(|| witnesses(case, silence))
}

/// How many hosts cannot reach it, and for how long at least; nothing as soon as one can.
fn unreachable(case: &Case<'_>) -> Option<(usize, Duration)> {
    let since: Option<Vec<Moment>> = case.gathered.reach.values().copied().collect();
    let ages = since?.into_iter().map(|since| case.now.moment.since(since));
    let counted: Vec<Duration> = ages.filter(|age| *age >= UNREACHABLE_FOR).collect();
    Some((counted.len(), counted.into_iter().min()?))
}

/// Since when it reports Off without a break: two readings apart, all after the last sign of life, the newest still
/// young.
fn bmc_off(case: &Case<'_>) -> Option<Duration> {
    let readings = &case.gathered.power;
    let newest = readings.last()?.at;
    let alive = case.kubelet_lease?.seen;
    let tail = readings.iter().rev().take_while(|reading| reading.state == PowerState::Off && reading.at > alive);
    let oldest = tail.last()?.at;
    let counts = newest.since(oldest) >= APART && case.now.moment.since(newest) <= READING_LASTS;
    counts.then(|| case.now.moment.since(oldest))
}

fn witnesses(case: &Case<'_>, silence: Duration) -> Vec<Witness> {
    let mut witnesses = vec![Witness::Silence(silence)];
    witnesses.extend(bmc_off(case).map(Witness::BmcOff));
    let unreachable = unreachable(case).filter(|(hosts, _)| *hosts > 0);
    witnesses.extend(unreachable.map(|(hosts, for_at_least)| Witness::Unreachable { hosts, for_at_least }));
    if case.agent_lease.is_some_and(|lease| lease.holder.is_empty()) {
        witnesses.push(Witness::Goodbye);
    }
    witnesses
}

fn young(message: &str) -> Blocker {
    Blocker::new(EVIDENCE_TOO_YOUNG, message)
}

fn missing(case: &Case<'_>, silence: Duration) -> Blocker {
    if drained(case) && silence < kubelet::GIVEN_UP {
        return Blocker::new(
            "NotCordoned",
            "it was drained and is open to new pods; cordon it, best by a step before the drain",
        );
    }
    if case.node.is_some_and(Node::is_ready) && silence < kubelet::GIVEN_UP {
        let message = "the node is Ready and was not drained; a drain step before this one would allow it";
        return Blocker::new(NODE_READY, message);
    }
    let sentence = sentence(&witnesses(case, silence));
    if silence >= kubelet::GIVEN_UP {
        let ready =
            if case.node.is_some_and(Node::is_ready) { "Ready is still True" } else { "it has no condition Ready" };
        let who = "the node lifecycle controller (kube-controller-manager) has not given it up";
        return young(&format!("{sentence}, but {ready}: {who}"));
    }
    young(&format!("{sentence}; enough is {} s of silence, or the policy's fast evidence", kubelet::GIVEN_UP.as_secs()))
}
