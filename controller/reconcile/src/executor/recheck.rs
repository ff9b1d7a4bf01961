//! The last look before what cannot be taken back: by the API server and not by the cache, within a second, and whatever
//! cannot be read forbids.

use std::time::Duration;

use nodewell_remediation::{
    action::Failed,
    api::{
        SKIP_REMEDIATION,
        fence::{DrainReport, IntendedOp, NodeFence},
    },
    drain::ends_with_power,
    facts::{LeaseView, Node, kubelet},
    fence::{must_be_silent, must_stay_cut_off, needs_lease},
    guard::claimed,
};

use super::Executor;
use crate::{
    api_error::ApiError,
    cluster::{Cluster, LeaseKind},
    lease_deadline::LeaseDeadline,
    power::Power,
};

/// A kill switch stops a second after it was set: what was read longer ago is read again.
const FRESH: Duration = Duration::from_millis(800);
const TRIES: usize = 3;

/// Nothing, or why the act may not begin.
type Check = Result<(), String>;

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    /// The Node, if the act may begin now.
    pub(super) async fn recheck(
        &self,
        fence: &NodeFence,
        op: IntendedOp,
        lease_deadline: &LeaseDeadline,
    ) -> Result<Node, Failed> {
        for _ in 0..TRIES {
            let began = self.clock.moment();
            let node = self.look(fence, op, lease_deadline.epoch).await?;
            self.check_lease_deadline(fence, lease_deadline).map_err(Failed::NotBegun)?;
            if self.clock.moment().since(began) <= FRESH {
                return Ok(node);
            }
        }
        Err(Failed::NotBegun("the API server is too slow to know that nothing forbids it".into()))
    }

    async fn look(&self, fence: &NodeFence, op: IntendedOp, epoch: u64) -> Result<Node, Failed> {
        let name = &fence.spec.node_name;
        let (stored, node, lease, stopped) = tokio::join!(
            self.read_fence(&fence.metadata.name),
            self.node(fence),
            self.read_lease(name),
            self.cluster.stopped(),
        );
        let node = node?;
        check_stopped(stopped)
            .and_then(|()| check_record(fence, op, epoch, stored))
            .and_then(|()| self.check_node(&node))
            .and_then(|()| self.check_silence(fence, op, &node, lease))
            .and_then(|()| check_standing(fence, op, &node))
            .map_err(Failed::NotBegun)?;
        self.check_pods(fence, op, name).await.map_err(Failed::NotBegun)?;
        Ok(node)
    }

    /// A drain is old news: pods that came since would end with the power. The record of a node that is dead has that drain void
    /// by then, and this is not asked.
    async fn check_pods(&self, fence: &NodeFence, op: IntendedOp, name: &str) -> Check {
        if op != IntendedOp::PowerOff || !is_emptied(fence) {
            return Ok(());
        }
        let pods = self.cluster.pods_on(name).await.map_err(|error| format!("its pods cannot be listed: {error}"))?;
        let back = pods.iter().find(|pod| pod.deleting.is_none() && ends_with_power(pod));
        back.map_or(Ok(()), |pod| Err(format!("{}/{} came after the drain", pod.at.namespace, pod.at.name)))
    }

    fn check_node(&self, node: &Node) -> Check {
        let own = self.cache.with(|snapshot| snapshot.host.node.clone());
        refuse_if(own.as_ref() == Some(&node.name), || "this is the host that judges".into())?;
        refuse_if(node.annotations.contains_key(SKIP_REMEDIATION), || {
            format!("Node {} is skipped by its annotation {SKIP_REMEDIATION}", node.name)
        })
    }

    /// A node that speaks is not fenced, Ready or not, unless a drain has emptied it. A provider may be asked to
    /// replace one that reports itself unhealthy after a drain that was tried: `evenIfDrainFailed` is that choice.
    fn check_silence(
        &self,
        fence: &NodeFence,
        op: IntendedOp,
        node: &Node,
        lease: Result<Option<LeaseView>, ApiError>,
    ) -> Check {
        if may_speak(fence, op, node) {
            return Ok(());
        }
        let lease = lease.map_err(|error| format!("the kubelet's Lease could not be read: {error}"))?;
        let Some(lease) = lease else {
            return check_without_lease(fence, op, node);
        };
        // However long ago: its silence was the evidence.
        let spoke = op == IntendedOp::Release && must_be_silent(fence) && lease.renewed != fence.status.lease_renewed;
        self.cache.apply_lease(LeaseKind::Kubelet, &node.name, lease);
        refuse_if(spoke, || "the kubelet has renewed its Lease since its power was about to be cut".into())?;
        let now = self.clock.moment();
        let silent = self.cache.with(|snapshot| {
            snapshot.kubelet_leases.get(&node.name).map_or(Duration::ZERO, |known| known.stale_for(now))
        });
        refuse_if(silent < kubelet::RENEW_INTERVAL, || {
            format!("the kubelet renewed its Lease {}s ago", silent.as_secs())
        })
    }

    fn check_lease_deadline(&self, fence: &NodeFence, lease_deadline: &LeaseDeadline) -> Check {
        let name = &fence.spec.node_name;
        let longest = self.cache.with(|snapshot| {
            let plan = snapshot.gathered.get(name).and_then(|gathered| gathered.methods.as_ref())?;
            plan.as_ref().ok().map(|plan| plan.longest())
        });
        // Enough to be begun, not to be ended: renewals every 2 s move the lease deadline of an act under way, and that
        // of a leader which renews is further away than this at any time. If they stop, the supervisor kills the agent at
        // the lease deadline, before another replica may lead; the act is in doubt then and the next leader asks for
        // the power's state first. To ask for the whole of `longest` here would forbid every agent that is slower than
        // one Lease.
        let least = longest.map_or(self.settings.least_remaining, |longest| longest.min(self.settings.least_remaining));
        refuse_if(!lease_deadline.is_ahead(self.clock.moment().plus(least)), || {
            "leadership may end before the act does".into()
        })
    }
}

fn may_speak(fence: &NodeFence, op: IntendedOp, node: &Node) -> bool {
    // A node that is only cut off one storage lives on.
    let is_cut_off = fence.status.storage_only.is_some() && fence.status.off.is_some();
    match op {
        IntendedOp::Release => is_cut_off,
        IntendedOp::PowerOff => is_emptied(fence),
        IntendedOp::PowerOn => {
            fence.status.drain.as_ref().is_some_and(|drain| drain.done) || may_have_its_storage(fence, node)
        }
        IntendedOp::Reap => is_emptied(fence) || fence.status.drain.is_some() && !node.is_ready(),
    }
}

/// A Lease that is not there is no silence: it was there when power was decided on.
fn check_without_lease(fence: &NodeFence, op: IntendedOp, node: &Node) -> Check {
    let needs_lease = match op {
        IntendedOp::PowerOff | IntendedOp::Reap => true,
        IntendedOp::Release => needs_lease(fence),
        // It is turned on, which ends nothing.
        IntendedOp::PowerOn => false,
    };
    refuse_if(needs_lease, || "the kubelet's Lease is not there any more; look at kube-node-lease".into())?;
    refuse_if(node.is_ready(), || "the Node is Ready".into())
}

fn is_emptied(fence: &NodeFence) -> bool {
    fence.status.drain.as_ref().is_some_and(DrainReport::emptied)
}

/// What ends a machine is meant for the boot and the Node that the record knows, and for one that no other
/// remediator remediates.
fn check_standing(fence: &NodeFence, op: IntendedOp, node: &Node) -> Check {
    match op {
        IntendedOp::Release => return check_ended_boot(fence, node),
        IntendedOp::PowerOn => return Ok(()),
        IntendedOp::PowerOff | IntendedOp::Reap => {}
    }
    // A boot that only one of both names may have begun since.
    let rebooted = node.boot_id != fence.status.boot_id;
    refuse_if(rebooted, || "the node has booted since this was intended".into())?;
    claimed(node).map_or(Ok(()), |blocker| Err(format!("{}: {}", blocker.reason, blocker.message)))
}

/// The pods that are released were those of the boot that ended, or that was cut off its storage.
fn check_ended_boot(fence: &NodeFence, node: &Node) -> Check {
    let status = &fence.status;
    let known = status.off.as_ref().map_or(&status.boot_id, |off| &off.boot_id);
    refuse_if(node.boot_id != *known, || "the node has booted since it was intended to be cut off".into())
}

/// A node that is cut off one storage speaks on. It gets the storage back when nothing was released, or when it has booted
/// since: what ran on it then is gone.
fn may_have_its_storage(fence: &NodeFence, node: &Node) -> bool {
    fence.status.storage_only.is_some() && !must_stay_cut_off(fence, node)
}

fn check_stopped(stopped: Result<Option<String>, ApiError>) -> Check {
    match stopped {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(format!("stopped: {why}")),
        Err(error) => Err(format!("the kill switch could not be read: {error}")),
    }
}

fn check_record(fence: &NodeFence, op: IntendedOp, epoch: u64, stored: Result<Option<NodeFence>, ApiError>) -> Check {
    let stored = stored.map_err(|error| format!("the record could not be read: {error}"))?;
    let stored = stored.ok_or("the record was deleted")?;
    let is_same = stored.metadata.uid == fence.metadata.uid
        && stored.metadata.resource_version == fence.metadata.resource_version;
    refuse_if(!is_same, || "the record was changed by another client".into())?;
    // To turn it on again is how an abort is carried out.
    refuse_if(stored.spec.abort && op != IntendedOp::PowerOn, || "a person aborted it".into())?;
    refuse_if(stored.metadata.annotations.contains_key(SKIP_REMEDIATION), || {
        format!("the record is skipped by its annotation {SKIP_REMEDIATION}")
    })?;
    let intent = stored.status.intent.as_ref().filter(|intent| (intent.op, intent.epoch) == (op, epoch));
    refuse_if(intent.is_none(), || "the record does not say that this was intended".into())
}

fn refuse_if(is_so: bool, why: impl FnOnce() -> String) -> Check {
    if is_so { Err(why()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
