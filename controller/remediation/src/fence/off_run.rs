//! How long a level has reported Off without a break, and whether the machine ran meanwhile: its kubelet renewed its Lease. Such
//! a level, which is another machine's or stuck, proves nothing of this node until it has reported On.

use std::{collections::BTreeSet, time::Duration};

use super::{FenceInput, Next, record::Draft};
use crate::{
    api::fence::{NodeFenceStatus, Phase},
    facts::{LeaseView, Node},
    snapshot::{FenceLevel, FencePlan, Gathered, Level, OffRun, PowerState, Renewal},
    time::Moment,
};

/// How late a renewal may be seen: what is later than that by the node's clock was made after the answer.
const OBSERVATION_DELAY: Duration = Duration::from_secs(5);

/// What one more answer of a level, which came at that moment, makes of what is known.
#[must_use]
pub fn observe(
    known: Option<OffRun>,
    state: PowerState,
    at: Moment,
    node: &Node,
    kubelet_lease: Option<&LeaseView>,
) -> Option<OffRun> {
    match state {
        PowerState::On => None,
        PowerState::Unknown => known,
        PowerState::Off => {
            // What another boot renews says nothing: the machine was off, and has been on since. Nor does a Lease that was made
            // since, for that is a person's.
            let goes_on = |run: &OffRun| run.boot == node.boot_id && kubelet_lease.is_some();
            let known = known.filter(|run| run.is_contradicted || goes_on(run));
            let run = known.unwrap_or_else(|| begun(at, node));
            // A Lease without a time may be given one by a person: what comes after that is the kubelet's.
            let last_renewal = run.last_renewal.clone().or_else(|| renewal(kubelet_lease?));
            let spoke = last_renewal.as_ref().zip(kubelet_lease.and_then(renewal));
            let spoke = spoke.is_some_and(|(last, renewal)| is_made_after(&renewal, last, run.since));
            Some(OffRun { is_contradicted: run.is_contradicted || spoke, last_renewal, ..run })
        }
    }
}

/// The methods of the level, if it is known how the node is fenced.
#[must_use]
pub fn asks(gathered: &Gathered, level: Level) -> Option<&[String]> {
    let plan = gathered.methods.as_ref()?.as_ref().ok()?;
    Some(plan.level(level).map(|level| level.methods.as_slice()).unwrap_or_default())
}

/// The run is of these methods, and not of others that the level had before; of what is not known it may be.
#[must_use]
pub fn is_of(run: &OffRun, asks: Option<&[String]>) -> bool {
    run.methods.is_empty() || asks.is_none_or(|asks| run.methods == asks)
}

/// All of these methods have reported Off of a machine that ran. Where it is not known what a level asks, it may be that.
#[must_use]
pub fn denies(denied: &BTreeSet<String>, asks: Option<&[String]>) -> bool {
    let Some(asks) = asks else { return !denied.is_empty() };
    !asks.is_empty() && asks.iter().all(|method| denied.contains(method))
}

/// As a record remembers it, of a leader before.
#[must_use]
pub fn denied(since: Moment, node: &Node) -> OffRun {
    OffRun { is_contradicted: true, ..begun(since, node) }
}

/// The record remembers what is denied, by itself and by the records before it: the next leader has seen nothing of it. What a
/// level has found out is known once it is known what that level asks.
pub(super) fn remember(input: &FenceInput<'_>) -> Option<Next> {
    let FenceInput { gathered, fence, .. } = input;
    let plan = match &gathered.methods {
        Some(Ok(plan)) => Some(plan),
        Some(Err(_)) | None => None,
    };
    if fence.status.storage_only.is_some() || plan.is_some_and(|plan| plan.storage_only.is_some()) {
        return None;
    }
    let before = fence.status.denied_methods.iter().chain(input.denied_before.into_iter().flatten());
    let mut denied = before.cloned().collect();
    let is_found_out = |(number, level): &(Level, &FenceLevel)| {
        let run = gathered.off_runs.get(number).filter(|run| run.is_contradicted);
        run.is_some_and(|run| is_of(run, Some(&level.methods)))
    };
    let found_out = plan.into_iter().flat_map(FencePlan::numbered).filter(is_found_out);
    take_back_reported(&mut denied, &fence.status, gathered);
    denied.extend(found_out.flat_map(|(_, level)| level.methods.iter().cloned()));
    (denied != fence.status.denied_methods)
        .then(|| Draft::of(input).with(|status| status.denied_methods = denied).save())
}

/// Of what the record denies, that by which no level has reported On since.
pub(super) fn denied_by(status: &NodeFenceStatus, gathered: &Gathered) -> BTreeSet<String> {
    let mut denied = status.denied_methods.clone();
    take_back_reported(&mut denied, status, gathered);
    denied
}

fn take_back_reported(denied: &mut BTreeSet<String>, status: &NodeFenceStatus, gathered: &Gathered) {
    if !is_given_up(status) {
        denied.retain(|method| !gathered.reported_on.contains(method));
    }
}

/// What was found out by the boot that lives on is not taken back before a person has looked at it: a plug of another machine
/// was turned on again with that machine.
#[must_use]
pub fn is_given_up(status: &NodeFenceStatus) -> bool {
    status.giving_up.is_some() || status.phase == Phase::Quarantined
}

fn begun(since: Moment, node: &Node) -> OffRun {
    OffRun { since, boot: node.boot_id.clone(), last_renewal: None, is_contradicted: false, methods: Vec::new() }
}

fn renewal(lease: &LeaseView) -> Option<Renewal> {
    Some(Renewal { at: lease.renewed?, seen_at: lease.change_seen_at })
}

/// By the node's own clock alone, from one renewal to the other: the clocks of hosts differ, and a watch that stood
/// still brings what is old.
fn is_made_after(renewal: &Renewal, last: &Renewal, off: Moment) -> bool {
    let until_off = off.since(last.seen_at).saturating_add(OBSERVATION_DELAY);
    Duration::try_from(renewal.at.duration_since(last.at)).is_ok_and(|later| later > until_off)
}
