//! How long a level has reported Off without a break, and whether the machine ran meanwhile: its kubelet renewed its Lease. Such
//! a level, which is another machine's or stuck, proves nothing of this node until it has reported On.

use std::time::Duration;

use crate::{
    facts::{LeaseView, Node},
    snapshot::{OffRun, PowerState, Renewal},
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
            let run = known.unwrap_or_else(|| begun(at, node, kubelet_lease));
            let spoke = kubelet_lease.is_some_and(|lease| is_renewed_since(lease, &run));
            Some(OffRun { is_contradicted: run.is_contradicted || spoke, ..run })
        }
    }
}

fn begun(since: Moment, node: &Node, kubelet_lease: Option<&LeaseView>) -> OffRun {
    let renewal = |lease: &LeaseView| Some(Renewal { at: lease.renewed?, seen_at: lease.change_seen_at });
    let last_renewal = kubelet_lease.and_then(renewal);
    OffRun { since, boot: node.boot_id.clone(), last_renewal, is_contradicted: false }
}

/// By the node's own clock alone, from one renewal to the other: the clocks of hosts differ, and a watch that stood
/// still brings what is old.
fn is_renewed_since(lease: &LeaseView, run: &OffRun) -> bool {
    let Some(renewed) = lease.renewed else { return false };
    match &run.last_renewal {
        Some(last) => {
            let until_off = run.since.since(last.seen_at).saturating_add(OBSERVATION_DELAY);
            Duration::try_from(renewed.duration_since(last.at)).is_ok_and(|later| later > until_off)
        }
        None => lease.change_seen_at > run.since.plus(OBSERVATION_DELAY),
    }
}
