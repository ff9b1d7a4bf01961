//! How long a level has reported Off without a break, and whether the machine ran meanwhile: its kubelet renewed its Lease. Such
//! a level, which is another machine's or stuck, proves nothing of this node until it has reported On.

use std::{collections::BTreeSet, time::Duration};

use super::{FenceInput, Next, record::Draft};
use crate::{
    api::fence::Phase,
    facts::{LeaseView, Node},
    snapshot::{Gathered, Level, OffRun, PowerState, Renewal},
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

/// The record remembers what is denied: the next leader has seen nothing of it. While it is not known how the node is fenced,
/// nothing changes.
pub(super) fn remember(input: &FenceInput<'_>) -> Option<Next> {
    let FenceInput { gathered, fence, .. } = input;
    let plan = gathered.methods.as_ref()?.as_ref().ok().filter(|plan| plan.storage_only.is_none())?;
    let mut denied = fence.status.denied_methods.clone();
    let found_out = plan.numbered().filter(|(number, level)| {
        let run = gathered.off_runs.get(number).filter(|run| run.is_contradicted);
        run.is_some_and(|run| is_of(run, Some(&level.methods)))
    });
    denied.extend(found_out.flat_map(|(_, level)| level.methods.iter().cloned()));
    let on = plan.numbered().filter(|(number, _)| is_on(input, *number));
    on.for_each(|(_, level)| take_back(&mut denied, &level.methods));
    (denied != fence.status.denied_methods)
        .then(|| Draft::of(input).with(|status| status.denied_methods = denied).save())
}

/// A level reports On. Where another one of its methods is not denied, it may be that one which says so.
pub fn take_back(denied: &mut BTreeSet<String>, asks: &[String]) {
    if denies(denied, Some(asks)) {
        denied.retain(|method| !asks.contains(method));
    }
}

/// By its newest reading, which is of this phase. What was found out by the boot that lives on is not taken back before a
/// person has looked at it: a plug of another machine was turned on again with that machine.
fn is_on(input: &FenceInput<'_>, level: Level) -> bool {
    let is_given_up = matches!(input.fence.status.phase, Phase::Recovering | Phase::Quarantined);
    let newest = input.gathered.power.iter().rfind(|reading| reading.level == level);
    newest.is_some_and(|newest| newest.state == PowerState::On && newest.at >= input.entered && !is_given_up)
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
