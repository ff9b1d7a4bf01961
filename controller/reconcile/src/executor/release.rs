//! Pods of a node that is off are let go. First the Node is marked: its out-of-service taint has Kubernetes delete every pod
//! that does not tolerate it, and nothing stops that any more. Then those that would have to wait for the pod garbage
//! collector are deleted, each by its UID.

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_remediation::{
    action::{Done, Failed, Outcome},
    api::fence::{IntendedOp, NodeFence},
    facts::{Node, Pod, PodRef, Taint},
    fence::{is_deleted_by_release, out_of_service},
    snapshot::{FenceScope, PowerState},
    time::{Moment, Now},
};

use super::{Executor, perform::failed};
use crate::{
    api_error::ApiError,
    cluster::{Cluster, ReleaseMark},
    lease_deadline::LeaseDeadline,
    power::Power,
};

/// Between two looks at what may stop a release of many pods.
const AT_ONCE: usize = 16;
const TRIES: usize = 3;

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    pub(super) async fn release(&self, fence: &NodeFence, pods: &[PodRef], lease_deadline: &LeaseDeadline) -> Outcome {
        let since = self.mark(fence, lease_deadline).await?;
        let mut released = 0;
        for (batch, pods) in pods.chunks(AT_ONCE).enumerate() {
            if batch > 0 {
                self.look_again(fence, since, lease_deadline).await.map_err(begun)?;
            }
            let mut left = self.release_batch(pods).await?;
            // An answer is waited for for long: a person may have stopped it meanwhile.
            for _ in 1..TRIES {
                if left.is_empty() {
                    break;
                }
                self.look_again(fence, since, lease_deadline).await.map_err(begun)?;
                left = self.release_batch(&left).await?;
            }
            if !left.is_empty() {
                return Err(Failed::InDoubt(format!("{} deletions have no answer", left.len())));
            }
            released += pods.len();
        }
        Ok(Done::Released(u32::try_from(released).unwrap_or(u32::MAX)))
    }

    /// Whether a release that has begun may go on.
    async fn look_again(&self, fence: &NodeFence, since: Moment, lease_deadline: &LeaseDeadline) -> Result<(), Failed> {
        let node = self.recheck(fence, IntendedOp::Release, lease_deadline).await?;
        check_mark(fence, &node, &out_of_service())?;
        // Its power is read beside a long release, too.
        if self.was_read_on(&node.name, since) { Err(is_on()) } else { Ok(()) }
    }

    /// Off is read once more, then everything else is looked at, and the Node is marked if it is still the one that was
    /// looked at. A change in between has it looked at again. Returns since when a reading of On forbids the release.
    async fn mark(&self, fence: &NodeFence, lease_deadline: &LeaseDeadline) -> Result<Moment, Failed> {
        let mut last = String::new();
        for _ in 0..TRIES {
            let since = self.check_off(fence).await?;
            self.check_count(fence).await?;
            let node = self.recheck(fence, IntendedOp::Release, lease_deadline).await?;
            // Another caller may have been answered meanwhile.
            if self.was_read_on(&node.name, since) {
                return Err(is_on());
            }
            // It waits for no turn among other writes: nothing lies between the last look and this.
            match self.cluster.mark_release(&node, &mark(fence)?).await {
                Ok(()) => return Ok(since),
                Err(ApiError::Conflict(why)) => last = why,
                Err(error) => return Err(failed(error)),
            }
        }
        Err(Failed::NotBegun(format!("the Node is changed all the time: {last}")))
    }

    /// By its BMC, or by the switch of its storage; a state that is neither forbids, too. Returns since when a reading of On forbids
    /// the release.
    async fn check_off(&self, fence: &NodeFence) -> Result<Moment, Failed> {
        if fence.status.off.is_none() {
            return Err(Failed::NotBegun("there is no proof that the node is off".into()));
        }
        let node = self.node(fence).await?;
        let since = intended_at(fence, self.clock.now())?;
        // A level before it that has been silent since before the order counts as well: it had its time after that.
        match self.read_power(&node, &FenceScope::of(&fence.status), Moment::default()).await {
            PowerState::Off if !self.was_read_on(&node.name, since) => Ok(since),
            PowerState::On | PowerState::Off => Err(is_on()),
            PowerState::Unknown => Err(Failed::NotBegun("its power could not be read right before the release".into())),
        }
    }

    /// No more pods than the guards were asked for. A list that is not there is not an empty one.
    async fn check_count(&self, fence: &NodeFence) -> Result<(), Failed> {
        let node = &fence.spec.node_name;
        let intended = fence.status.intent.as_ref().map_or(0, |intent| intent.pods as usize);
        let unknown = |error| Failed::NotBegun(format!("the pods of {node} could not be counted: {error}"));
        let pods = self.cluster.pods_on(node).await.map_err(unknown)?;
        // What their claims are this list does not contain; those of a storage are deleted by name and UID alone.
        let is_deleted = |pod: &&Pod| fence.status.storage_only.is_none() && is_deleted_by_release(pod, None);
        let here = pods.iter().filter(is_deleted).count();
        let more =
            || Failed::NotBegun(format!("{here} pods would go, and {intended} were counted; they are counted again"));
        if here > intended { Err(more()) } else { Ok(()) }
    }

    /// Those whose deletion has no answer: the same may be asked again, for its UID is unique.
    async fn release_batch(&self, pods: &[PodRef]) -> Result<Vec<PodRef>, Failed> {
        let delete = async |pod: &PodRef| {
            let answer = self.write(self.cluster.delete_pod(pod, Some(Duration::ZERO))).await;
            (pod.clone(), answer)
        };
        let mut deletions: FuturesUnordered<_> = pods.iter().map(delete).collect();
        let mut unanswered = Vec::new();
        while let Some((pod, answer)) = deletions.next().await {
            match answer {
                // One that is gone is let go.
                Ok(()) | Err(ApiError::NotFound) => {}
                Err(ApiError::NoAnswer(_)) => unanswered.push(pod),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(unanswered)
    }
}

fn is_on() -> Failed {
    Failed::NotBegun("it is On again".into())
}

/// When the release was intended, on our own clock: a reading of On since then forbids it.
fn intended_at(fence: &NodeFence, now: Now) -> Result<Moment, Failed> {
    let age =
        fence.status.intent.as_ref().and_then(|intent| Duration::try_from(now.wall.duration_since(intent.at)).ok());
    let unknown = || Failed::NotBegun("the time of the intended release is not known: the clock was set back".into());
    age.map(|age| Moment(now.moment.0.saturating_sub(age))).ok_or_else(unknown)
}

/// Some pods are gone already, whatever stopped the rest.
fn begun(failed: Failed) -> Failed {
    match failed {
        Failed::NotBegun(why) => Failed::InDoubt(format!("a part was released; then: {why}")),
        other => other,
    }
}

/// A node that is only cut off one storage stays in service; what it bears outlives the record.
fn mark(fence: &NodeFence) -> Result<ReleaseMark, Failed> {
    if fence.status.storage_only.is_none() {
        return Ok(ReleaseMark::OutOfService(out_of_service()));
    }
    let boot = fence.status.off.as_ref().map(|off| off.boot_id.clone()).filter(|boot| !boot.is_empty());
    let unknown = || Failed::NotBegun("the boot that was cut off its storage is not known".into());
    boot.map(ReleaseMark::StorageOf).ok_or_else(unknown)
}

/// Without the taint the kubelet, come back, would run what we let go.
fn check_mark(fence: &NodeFence, node: &Node, taint: &Taint) -> Result<(), Failed> {
    let has_it = node.taints.iter().any(|other| (&other.key, other.effect) == (&taint.key, taint.effect));
    if has_it || fence.status.storage_only.is_some() {
        return Ok(());
    }
    Err(Failed::NotBegun(format!("Node {} does not carry the taint {} any more", node.name, taint.key)))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use nodewell_remediation::api::fence::Intent;

    use super::*;

    fn intended(at: i64) -> NodeFence {
        let mut fence =
            NodeFence { metadata: Default::default(), spec: Default::default(), status: Default::default() };
        let at = Timestamp::constant(at, 0);
        fence.status.intent = Some(Intent { op: IntendedOp::Release, epoch: 1, at, pods: 0 });
        fence
    }

    fn now(wall: i64) -> Now {
        Now { moment: Moment(Duration::from_secs(100)), wall: Timestamp::constant(wall, 0) }
    }

    #[test]
    fn a_word_of_on_counts_from_when_the_release_was_intended() {
        assert_eq!(intended_at(&intended(1000), now(1007)), Ok(Moment(Duration::from_secs(93))));
        assert_eq!(intended_at(&intended(1000), now(1000)), Ok(Moment(Duration::from_secs(100))));
    }

    /// Or a reading of On that came in between would be older than the release.
    #[test]
    fn a_release_intended_at_an_unknown_time_is_not_begun() {
        assert!(matches!(intended_at(&intended(1001), now(1000)), Err(Failed::NotBegun(_))), "from the future");
        let mut none = intended(1000);
        none.status.intent = None;
        assert!(matches!(intended_at(&none, now(1000)), Err(Failed::NotBegun(_))), "nothing is intended");
    }
}
