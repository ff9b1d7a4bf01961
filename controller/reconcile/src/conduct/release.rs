//! Pods of a node that is off are let go: each by its UID, and only while the node can take none back.

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_remedy::{
    action::{Done, Failed, Outcome},
    api::{
        OUT_OF_SERVICE,
        fence::{Irreversible, NodeFence},
    },
    facts::{Effect, Node, PodRef},
};

use super::{Conductor, perform::failed};
use crate::{cluster::Cluster, failure::Failure, lifeline::Lifeline, power::Power};

/// Between two looks at what may stop a release of many pods.
const AT_ONCE: usize = 16;
const TRIES: usize = 3;

impl<C: Cluster, P: Power> Conductor<'_, C, P> {
    pub(super) async fn release(&self, fence: &NodeFence, node: &Node, pods: &[PodRef], life: &Lifeline) -> Outcome {
        if fence.status.off.is_none() {
            return Err(Failed::NotBegun("there is no proof that the node is off".into()));
        }
        let mut released = 0;
        let mut node = node.clone();
        for (batch, pods) in pods.chunks(AT_ONCE).enumerate() {
            if batch > 0 {
                node = self.recheck(fence, Irreversible::Release, life).await.map_err(begun)?;
            }
            check_taint(fence, &node).map_err(|failed| if batch > 0 { begun(failed) } else { failed })?;
            released += self.release_batch(pods).await?;
        }
        Ok(Done::Released(released))
    }

    async fn release_batch(&self, pods: &[PodRef]) -> Result<u32, Failed> {
        let mut deletions: FuturesUnordered<_> = pods.iter().map(|pod| self.release_one(pod)).collect();
        let mut released = 0;
        while let Some(done) = deletions.next().await {
            done.map_err(failed)?;
            released += 1;
        }
        Ok(released)
    }

    /// One that is gone is let go. After a lost answer the same is asked again: its UID is nobody else's.
    async fn release_one(&self, pod: &PodRef) -> Result<(), Failure> {
        let mut last = Failure::NotFound;
        for _ in 0..TRIES {
            match self.write(self.cluster.delete_pod(pod, Some(Duration::ZERO))).await {
                Ok(()) | Err(Failure::NotFound) => return Ok(()),
                Err(failure @ Failure::NoAnswer(_)) => last = failure,
                Err(failure) => return Err(failure),
            }
        }
        Err(last)
    }
}

/// Some pods are gone already, whatever stopped the rest.
fn begun(failed: Failed) -> Failed {
    match failed {
        Failed::NotBegun(why) => Failed::InDoubt(format!("a part was released; then: {why}")),
        other => other,
    }
}

/// Without it the kubelet, come back, would run what we let go. A node that is only cut off one storage stays in service,
/// and what it runs cannot reach that storage.
fn check_taint(fence: &NodeFence, node: &Node) -> Result<(), Failed> {
    let has_it = node.taint(OUT_OF_SERVICE).is_some_and(|taint| taint.effect != Effect::PreferNoSchedule);
    let has_it = has_it || fence.status.storage_only.is_some();
    let missing = || Failed::NotBegun(format!("Node {} does not carry the taint {OUT_OF_SERVICE}", node.name));
    if has_it { Ok(()) } else { Err(missing()) }
}
