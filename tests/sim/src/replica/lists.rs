//! Lists: the first ones, and those after the store went back.

use std::{collections::BTreeSet, time::Duration};

use nodewell_reconcile::{
    cache::{Cache, Source},
    cluster::LeaseKind,
};
use tokio::time::{sleep, timeout};

use super::{Target, apply, know};
use crate::{
    scenario::{Mutation, POLICY, SECOND},
    truth::{Change, Shared},
};

const SOURCES: [Source; 5] =
    [Source::Nodes, Source::KubeletLeases, Source::AgentLeases, Source::Fences, Source::Policies];
/// A watch that delivers nothing is given up after so long.
const SILENCE: Duration = Duration::from_secs(90);

/// Which of the stores, one restored after the other, a watch was opened on.
pub(super) struct Lineage(u64);

impl Lineage {
    pub(super) fn of(truth: &Shared) -> Self {
        Self(truth.borrow().store.set_back)
    }

    pub(super) fn is_another(&self, truth: &Shared) -> bool {
        truth.borrow().store.set_back != self.0
    }
}

/// Half of the watches break with the API server. The others were opened again from a version that the restored store has
/// not come to: they hang until they are given up, or until something else shows what happened.
pub(super) async fn hang(truth: &Shared, cache: &Cache) {
    if truth.borrow_mut().random.chance(500) {
        // Only the first one that has to be listed is waited for: then all have to be.
        let _ = timeout(SILENCE, cache.relist_wanted(Source::Fences)).await;
    }
}

/// Whether any list is to be asked for again.
pub(super) async fn is_relist_wanted(cache: &Cache) -> bool {
    for source in SOURCES {
        if timeout(Duration::ZERO, cache.relist_wanted(source)).await.is_ok() {
            return true;
        }
    }
    false
}

/// All lists at once, as a program begins.
pub(super) fn begin(truth: &Shared, number: usize, to: Target<'_>) -> usize {
    for source in SOURCES {
        to.cache.ask_list(source, "");
        take(truth, number, to, source);
    }
    take_stop(truth, to);
    truth.borrow().store.changes.len()
}

/// The switch has a watch of its own, and is listed with it.
fn take_stop(truth: &Shared, to: Target<'_>) {
    let (changes, mutation) = (truth.borrow().list(), truth.borrow().scenario.mutation);
    changes.iter().filter(|change| matches!(change, Change::Stopped(_))).for_each(|change| apply(to, change, mutation));
}

/// One list after the other, each at its own time, until all are complete. What changes meanwhile comes by the watches.
pub(super) async fn relist(truth: &Shared, number: usize, to: Target<'_>) -> usize {
    let cursor = truth.borrow().store.changes.len();
    take_stop(truth, to);
    let first = truth.borrow_mut().random.below(SOURCES.len() as u64);
    for offset in 0..SOURCES.len() {
        let source = SOURCES[(offset + usize::try_from(first).unwrap_or(0)) % SOURCES.len()];
        to.cache.ask_list(source, "");
        let pause = truth.borrow_mut().random.millis(5, 400);
        sleep(pause).await;
        take(truth, number, to, source);
    }
    // Lists that were under way when the store was seen to have gone back are asked for once more.
    for source in SOURCES {
        while timeout(Duration::ZERO, to.cache.relist_wanted(source)).await.is_ok() {
            to.cache.ask_list(source, "");
            sleep(Duration::from_millis(20)).await;
            take(truth, number, to, source);
        }
    }
    cursor
}

/// What changed before comes by the watch all the same, as something that is known.
pub(super) async fn relist_leases(truth: &Shared, number: usize, to: Target<'_>) {
    to.cache.ask_list(Source::KubeletLeases, "");
    let pause = truth.borrow_mut().random.millis(5, 400);
    sleep(pause).await;
    take(truth, number, to, Source::KubeletLeases);
}

/// The answer to a list, as it is at this instant.
fn take(truth: &Shared, number: usize, to: Target<'_>, source: Source) {
    let (changes, mutation) = (truth.borrow().list(), truth.borrow().scenario.mutation);
    if mutation != Mutation::ClingsToCopies {
        to.cache.list_began(source, &truth.borrow().store.version.to_string());
    }
    for change in changes.iter().filter(|change| of(change) == Some(source)) {
        list(to, change, mutation);
        know(truth, number, change);
    }
    let truth = truth.borrow();
    let names: BTreeSet<String> = match source {
        Source::Fences => truth.store.fences.keys().cloned().collect(),
        Source::Policies => {
            let second = truth.scenario.second.map(|_| SECOND.to_owned());
            second.into_iter().chain([POLICY.to_owned()]).collect()
        }
        Source::Nodes | Source::KubeletLeases | Source::AgentLeases => truth.store.nodes.keys().cloned().collect(),
    };
    to.cache.listed(source, &names);
}

fn of(change: &Change) -> Option<Source> {
    match change {
        Change::Node(_) | Change::NodeGone(_) => Some(Source::Nodes),
        Change::Lease(..) => Some(Source::KubeletLeases),
        Change::Shutdown(..) => Some(Source::AgentLeases),
        Change::Fence(_) | Change::FenceGone(..) => Some(Source::Fences),
        Change::Policy(_) | Change::Second(_) => Some(Source::Policies),
        Change::Stopped(_) => None,
    }
}

fn list(to: Target<'_>, change: &Change, mutation: Mutation) {
    match change {
        change if mutation == Mutation::ClingsToCopies => apply(to, change, mutation),
        Change::Node(node) if mutation != Mutation::SeesDead => to.cache.list_node((**node).clone()),
        Change::Lease(name, lease) if mutation == Mutation::None => {
            to.cache.list_lease(LeaseKind::Kubelet, name, lease.clone());
        }
        Change::Fence(fence) => to.cache.list_fence((**fence).clone()),
        other => apply(to, other, mutation),
    }
}
