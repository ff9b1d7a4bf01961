//! What the answers of a node's levels make of how long they have reported Off, and of what is denied of them.

use std::collections::BTreeSet;

use nodewell_remediation::{
    fence::off_run,
    snapshot::{Gathered, Level, OffRun, PowerState, Snapshot},
    time::Moment,
};

/// What its answer makes of how long the level has reported Off. While it is not known what the level asks, no denial is of it, and
/// On ends none.
pub(super) fn observe_run(snapshot: &mut Snapshot, name: &str, level: Level, state: PowerState, answered: Moment) {
    let asks = snapshot.gathered.get(name).and_then(|gathered| off_run::asks(gathered, level)).map(<[String]>::to_vec);
    let is_denied = asks.as_ref().is_some_and(|asks| off_run::denies(&snapshot.denied_now(name), Some(asks)));
    let Some((node, gathered)) = snapshot.nodes.get(name).zip(snapshot.gathered.get_mut(name)) else { return };
    let known = gathered.off_runs.remove(&level).filter(|run| off_run::is_of(run, asks.as_deref()));
    let known = known.filter(|run| run.is_contradicted || !is_denied);
    let known = known.or_else(|| is_denied.then(|| off_run::denied(answered, node)));
    let is_unclear = asks.is_none() && known.as_ref().is_some_and(|run| run.is_contradicted);
    let state = if is_unclear { PowerState::Unknown } else { state };
    let run = off_run::observe(known, state, answered, node, snapshot.kubelet_leases.get(name));
    if let Some(asks) = asks.as_ref().filter(|_| run.as_ref().is_some_and(|run| run.is_contradicted)) {
        gathered.reported_on.retain(|method| !asks.contains(method));
    }
    let run = run.map(|run| OffRun { methods: asks.unwrap_or_else(|| run.methods.clone()), ..run });
    gathered.off_runs.extend(run.map(|run| (level, run)));
}

/// The level reports On, and all that it asks is denied: no other method may have reported it.
pub(super) fn take_back(snapshot: &mut Snapshot, name: &str, level: Level) {
    let denied_now = snapshot.denied_now(name);
    let is_given_up = is_given_up(snapshot, name);
    let Snapshot { nodes, gathered, denied, .. } = snapshot;
    let Some((node, gathered)) = nodes.get(name).zip(gathered.get_mut(name)).filter(|_| !is_given_up) else { return };
    let asks = off_run::asks(gathered, level).filter(|asks| off_run::denies(&denied_now, Some(asks)));
    let Some(asks) = asks.map(<[String]>::to_vec) else { return };
    denied.get_mut(name).into_iter().for_each(|of_node| of_node.remove(&node.uid, &asks));
    gathered.reported_on.extend(asks);
}

pub(super) fn is_given_up(snapshot: &Snapshot, name: &str) -> bool {
    snapshot.fences.get(name).is_some_and(|fence| off_run::is_given_up(&fence.status))
}

/// Runs of levels that ask something else by now, or are not there any more; what they have found out.
pub(super) fn drop_runs(gathered: &mut Gathered) -> BTreeSet<String> {
    let plan = gathered.methods.as_ref().and_then(|plan| plan.as_ref().ok());
    let Some(plan) = plan else { return BTreeSet::new() };
    let asks = |level: &Level| plan.level(*level).map(|level| level.methods.as_slice()).unwrap_or_default();
    let gone = gathered.off_runs.extract_if(.., |level, run| !off_run::is_of(run, Some(asks(level))));
    gone.filter(|(_, run)| run.is_contradicted).flat_map(|(_, run)| run.methods).collect()
}
