//! Evidence that a node is dead, typed and with its age. The kubelet's and the agent's Lease come over the same path:
//! together they are one witness.

use std::{fmt, time::Duration};

use super::{FenceInput, levels, refilled};
use crate::{
    api::fence::{Blocker, DrainReport},
    facts::{Effect, Node, Taint, kubelet},
    guard::node_ready,
    snapshot::{Level, PowerState},
    time::Moment,
};

/// A host's failure to reach the node counts after this.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5);
/// A BMC's reading is believed for so long.
const READING_LASTS: Duration = Duration::from_secs(10);
/// Two readings that are nearer to each other than this count as one.
const MIN_READING_DISTANCE: Duration = Duration::from_secs(1);
/// Fewer hosts are never enough, whatever a policy says.
const MIN_HOSTS: usize = 2;

/// A reason for which power may be cut: a witness that reports the node dead, or a drain that left nothing on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// The Leases of the node were not renewed for so long.
    Silence(Duration),
    /// Its BMC reported Off, again and again, first so long ago.
    BmcOff(Duration),
    /// These hosts cannot reach it, each for at least so long.
    Unreachable { hosts: usize, for_at_least: Duration },
    /// The agent released its Lease.
    LeaseReleased,
    /// Everything that had to go was evicted: a node that lives may lose its power.
    Drained,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence(age) => write!(f, "Leases silent for {} s", age.as_secs()),
            Self::BmcOff(age) => write!(f, "BMC reports Off since {} s", age.as_secs()),
            Self::Unreachable { hosts, for_at_least } => {
                write!(f, "unreachable from {hosts} hosts for {} s", for_at_least.as_secs())
            }
            Self::LeaseReleased => f.write_str("agent released its Lease"),
            Self::Drained => f.write_str("drained"),
        }
    }
}

/// All of them in one line.
#[must_use]
pub fn sentence(witnesses: &[Witness]) -> String {
    witnesses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The witnesses by which the node's power may be cut; or what is missing.
pub fn may_power_off(input: &FenceInput<'_>) -> Result<Vec<Witness>, Blocker> {
    if drained(input) && takes_no_new_pods(input) {
        return Ok(vec![Witness::Drained]);
    }
    by_silence(input)
}

/// The same without a drain.
pub(super) fn by_silence(input: &FenceInput<'_>) -> Result<Vec<Witness>, Blocker> {
    let Some(silence) = silence(input) else {
        return Err(Blocker::plain("WithinGracePeriod/noLease"));
    };
    if silence >= kubelet::NODE_MONITOR_GRACE && input.node.is_some_and(Node::is_not_ready) {
        return Ok(witnesses(input, silence));
    }
    match fast_witnesses(input) {
        Some(witnesses) => Ok(witnesses),
        None => Err(missing_evidence(input, silence)),
    }
}

/// The BMC reports Off without an act of ours, and the Leases agree.
#[must_use]
pub fn is_off(input: &FenceInput<'_>) -> Option<Vec<Witness>> {
    let silence = silence(input)?;
    let enough =
        input.policy.and_then(|policy| policy.fast).map_or(kubelet::NODE_MONITOR_GRACE, |fast| fast.silent_for);
    bmc_off(input)?;
    (silence >= enough).then(|| witnesses(input, silence))
}

/// A drain left nothing, and no pod came since.
pub(super) fn drained(input: &FenceInput<'_>) -> bool {
    input.fence.status.drain.as_ref().is_some_and(DrainReport::emptied) && refilled::pod(input).is_none()
}

/// No new pod is scheduled onto it: a drain is worth nothing on a node that another actor has uncordoned since.
fn takes_no_new_pods(input: &FenceInput<'_>) -> bool {
    let ours = &input.fence.status.own_changes.taints;
    let shuts = |taint: &Taint| taint.effect != Effect::PreferNoSchedule && ours.contains(taint);
    input.node.is_some_and(|node| node.unschedulable || node.taints.iter().any(shuts))
}

/// The kubelet's silence. While that is shorter than the grace period, an agent's Lease that was renewed later shortens it: the
/// path to the API server works.
fn silence(input: &FenceInput<'_>) -> Option<Duration> {
    let silent = input.kubelet_lease?.stale_for(input.now.moment);
    let agent = input.agent_lease.map(|lease| lease.stale_for(input.now.moment));
    Some(if silent >= kubelet::NODE_MONITOR_GRACE { silent } else { agent.map_or(silent, |agent| agent.min(silent)) })
}

/// It was silent for the policy's shorter time, and enough hosts cannot reach it.
pub(super) fn fast_witnesses(input: &FenceInput<'_>) -> Option<Vec<Witness>> {
    let (fast, silence) = (input.policy?.fast?, silence(input)?);
    let hosts = usize::try_from(fast.unreachable_from).ok()?.max(MIN_HOSTS);
    let (unreachable, _) = unreachable(input)?;
    (silence >= fast.silent_for && unreachable >= hosts).then(|| witnesses(input, silence))
}

/// How many hosts cannot reach it, and for how long at least; nothing as soon as one can, nor while none was asked for long.
fn unreachable(input: &FenceInput<'_>) -> Option<(usize, Duration)> {
    let since: Option<Vec<Moment>> = input.gathered.reach.values().copied().collect();
    let ages = since?.into_iter().map(|since| input.now.moment.since(since));
    let counted: Vec<Duration> = ages.filter(|age| *age >= UNREACHABLE_FOR).collect();
    Some((counted.len(), counted.into_iter().min()?))
}

/// Since when it reports Off without a break: two readings apart, all after the last sign of life, the newest still
/// young.
pub(super) fn bmc_off(input: &FenceInput<'_>) -> Option<Duration> {
    off_at(input, levels::current(input))
}

/// The same of one level.
pub(super) fn off_at(input: &FenceInput<'_>, level: Level) -> Option<Duration> {
    if levels::is_denied(input, level) {
        return None;
    }
    let readings = || input.gathered.power.iter().rev().filter(move |reading| reading.level == level);
    let newest = readings().next()?.at;
    let alive = input.kubelet_lease?.change_seen_at.max(read_on_elsewhere(input, level));
    let tail = readings().take_while(|reading| reading.state == PowerState::Off && reading.at > alive);
    let oldest = tail.last()?.at;
    let counts = newest.since(oldest) >= MIN_READING_DISTANCE && input.now.moment.since(newest) <= READING_LASTS;
    counts.then(|| input.now.moment.since(oldest))
}

/// When the machine itself reported On last, at another level than the one at hand.
fn read_on_elsewhere(input: &FenceInput<'_>, level: Level) -> Moment {
    let others = input.gathered.power.iter().filter(|reading| reading.level != level && reading.asks_machine);
    let on = others.filter(|reading| reading.state == PowerState::On);
    on.map(|reading| reading.at).max().unwrap_or_default()
}

fn witnesses(input: &FenceInput<'_>, silence: Duration) -> Vec<Witness> {
    let mut witnesses = vec![Witness::Silence(silence)];
    witnesses.extend(bmc_off(input).map(Witness::BmcOff));
    let unreachable = unreachable(input);
    witnesses.extend(unreachable.map(|(hosts, for_at_least)| Witness::Unreachable { hosts, for_at_least }));
    if input.agent_lease.is_some_and(|lease| lease.holder.is_empty()) {
        witnesses.push(Witness::LeaseReleased);
    }
    witnesses
}

fn missing_evidence(input: &FenceInput<'_>, silence: Duration) -> Blocker {
    if let Some(pod) = refilled::pod(input) {
        let pod = format!("{}/{}", pod.at.namespace, pod.at.name);
        return Blocker::of("DrainFailed/refilled", &[("pod", &pod)]);
    }
    if drained(input) && silence < kubelet::NODE_MONITOR_GRACE {
        return Blocker::plain("NotCordoned");
    }
    if input.node.is_some_and(Node::is_ready) && silence < kubelet::NODE_MONITOR_GRACE {
        return node_ready(input.fence.status.drain.as_ref());
    }
    let evidence = sentence(&witnesses(input, silence));
    if silence >= kubelet::NODE_MONITOR_GRACE {
        let ready =
            if input.node.is_some_and(Node::is_ready) { "Ready is still True" } else { "it has no condition Ready" };
        return Blocker::of("WithinGracePeriod/notGivenUp", &[("evidence", &evidence), ("ready", &ready)]);
    }
    let limit = kubelet::NODE_MONITOR_GRACE.as_secs();
    Blocker::of("WithinGracePeriod/evidence", &[("evidence", &evidence), ("limit", &limit)])
}
