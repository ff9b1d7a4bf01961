//! How long a level has reported Off without a break, and whether the machine ran meanwhile: its kubelet renewed its Lease. Such
//! a level, which is another machine's or stuck, proves nothing of this node until it has reported On.

use std::time::Duration;

use crate::{
    facts::{LeaseView, Node},
    snapshot::{OffRun, PowerState},
    time::Now,
};

/// A renewal of before the answer may be seen so late: one that is seen later was made after it.
const OBSERVATION_DELAY: Duration = Duration::from_secs(15);

/// What one more answer of a level, which came at that moment, makes of what is known.
#[must_use]
pub fn observe(
    known: Option<OffRun>,
    state: PowerState,
    at: Now,
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
            let run = known.unwrap_or_else(|| OffRun { since: at, boot: node.boot_id.clone(), is_contradicted: false });
            let spoke = kubelet_lease.is_some_and(|lease| is_renewed_since(lease, run.since));
            Some(OffRun { is_contradicted: run.is_contradicted || spoke, ..run })
        }
    }
}

/// As it was seen, and by the node's own clock as well: a watch that stood still brings what is old.
fn is_renewed_since(lease: &LeaseView, since: Now) -> bool {
    let seen = lease.change_seen_at >= since.moment.plus(OBSERVATION_DELAY);
    seen && lease.renewed.is_some_and(|renewed| renewed > since.wall)
}
