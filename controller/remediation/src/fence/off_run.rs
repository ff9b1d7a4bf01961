//! How long a level has reported Off without a break, and whether the machine ran meanwhile: its kubelet renewed its Lease. Such
//! a level, which is another machine's or stuck, proves nothing of this node until it has reported On.

use std::{collections::BTreeSet, time::Duration};

use super::{FenceInput, Next, record::Draft};
use crate::{
    facts::{LeaseView, Node},
    snapshot::{Level, OffRun, PowerState, Renewal},
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

/// As a record remembers it, of a leader before.
#[must_use]
pub fn denied(since: Moment, node: &Node) -> OffRun {
    OffRun { is_contradicted: true, ..begun(since, node) }
}

/// The record remembers which levels are denied: the next leader has seen nothing of it.
pub(super) fn remember(input: &FenceInput<'_>) -> Option<Next> {
    let FenceInput { gathered, fence, .. } = input;
    let is_on = |level: Level| {
        let newest = gathered.power.iter().rfind(|reading| reading.level == level);
        newest.is_some_and(|reading| reading.state == PowerState::On)
    };
    let contradicted = gathered.off_runs.iter().filter(|(_, run)| run.is_contradicted).map(|(level, _)| *level);
    let remembered = fence.status.denied_levels.iter().copied();
    let denied: BTreeSet<Level> = contradicted.chain(remembered).filter(|level| !is_on(*level)).collect();
    let denied: Vec<Level> = denied.into_iter().collect();
    (denied != fence.status.denied_levels).then(|| Draft::of(input).with(|status| status.denied_levels = denied).save())
}

fn begun(since: Moment, node: &Node) -> OffRun {
    OffRun { since, boot: node.boot_id.clone(), last_renewal: None, is_contradicted: false }
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
