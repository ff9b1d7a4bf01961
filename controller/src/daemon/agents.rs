//! Silent agents, looked after while this controller leads.

use nodewell_reconcile::{
    cache::Cache,
    clock::Clock,
    leader::{Term, in_each},
    liveness::{Liveness, Pace},
};
use nodewell_remediation::{liveness::SilenceTimeouts, snapshot::Snapshot};

use crate::{
    kube::{AgentConditions, KubeCluster},
    tally::Tally,
};

/// In each term of ours; never returns.
pub(super) async fn look_after(cluster: &KubeCluster, cache: &Cache, term: Term, tally: &Tally) {
    let clock: Clock = cluster.clock();
    let mut liveness = Liveness::new(AgentConditions::new(cluster), SilenceTimeouts::default(), Pace::default());
    let snapshot = || cache.with(|snapshot| seen(snapshot));
    in_each(term, clock, async |lease_deadline| {
        liveness.run(snapshot, || clock.now(), lease_deadline, |now| tally.liveness(now)).await
    })
    .await;
}

/// What silence is judged by, and not the whole of a large cluster.
fn seen(whole: &Snapshot) -> Snapshot {
    Snapshot {
        nodes: whole.nodes.clone(),
        kubelet_leases: whole.kubelet_leases.clone(),
        agent_leases: whole.agent_leases.clone(),
        fences: whole.fences.clone(),
        host: whole.host.clone(),
        stopped: whole.stopped.clone(),
        epoch: whole.epoch,
        ..Snapshot::default()
    }
}
