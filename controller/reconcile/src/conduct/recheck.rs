//! The last look before what cannot be taken back: by the API server and not by the cache, within a second, and whatever
//! cannot be read forbids.

use std::time::Duration;

use nodewell_remedy::{
    action::Failed,
    api::{
        HOLD,
        fence::{Irreversible, NodeFence},
    },
    facts::{LeaseView, Node},
};

use super::Conductor;
use crate::{
    cluster::{Cluster, LeaseKind},
    failure::Failure,
    lifeline::Lifeline,
    power::Power,
};

/// A kill switch holds a second after it was set: what was read longer ago is read again.
const FRESH: Duration = Duration::from_millis(800);
const TRIES: usize = 3;
/// Kubelets renew every 10 s: one that did within this may be well.
const SILENT: Duration = Duration::from_secs(10);

type Refusal = Result<(), String>;

impl<C: Cluster, P: Power> Conductor<'_, C, P> {
    /// The Node, if the act may begin now.
    pub(super) async fn recheck(&self, fence: &NodeFence, act: Irreversible, life: &Lifeline) -> Result<Node, Failed> {
        for _ in 0..TRIES {
            let began = self.clock.moment();
            let node = self.look(fence, act, life.epoch).await?;
            self.check_life(fence, life).map_err(Failed::NotBegun)?;
            if self.clock.moment().since(began) <= FRESH {
                return Ok(node);
            }
        }
        Err(Failed::NotBegun("the API server is too slow to know that nothing forbids it".into()))
    }

    async fn look(&self, fence: &NodeFence, act: Irreversible, epoch: u64) -> Result<Node, Failed> {
        let name = &fence.spec.node_name;
        let (stored, node, lease, stopped) = tokio::join!(
            self.cluster.fence(&fence.metadata.name),
            self.node(fence),
            self.cluster.lease(LeaseKind::Kubelet, name),
            self.cluster.stopped(),
        );
        let node = node?;
        check_stopped(stopped)
            .and_then(|()| check_record(fence, (act, epoch), stored))
            .and_then(|()| self.check_node(&node))
            .and_then(|()| self.check_silence(fence, act, &node, lease))
            .map_err(Failed::NotBegun)?;
        Ok(node)
    }

    fn check_node(&self, node: &Node) -> Refusal {
        let own = self.world.with(|snapshot| snapshot.host.node.clone());
        refuse_if(own.as_ref() == Some(&node.name), || "this is the host that judges".into())?;
        refuse_if(node.annotations.contains_key(HOLD), || {
            format!("Node {} is held by its annotation {HOLD}", node.name)
        })
    }

    /// A node that speaks is not fenced, Ready or not, unless a drain has emptied it. A provider may be asked to replace one
    /// that says itself it is not well after a drain that was tried: `evenIfDrainFailed` is that choice.
    fn check_silence(
        &self,
        fence: &NodeFence,
        act: Irreversible,
        node: &Node,
        lease: Result<Option<LeaseView>, Failure>,
    ) -> Refusal {
        if may_speak(fence, act, node) {
            return Ok(());
        }
        let lease = lease.map_err(|failure| format!("the kubelet's Lease could not be read: {failure}"))?;
        let Some(lease) = lease else {
            return refuse_if(node.is_ready(), || "the Node is Ready".into());
        };
        self.world.apply_lease(LeaseKind::Kubelet, &node.name, lease);
        let now = self.clock.moment();
        let silent = self.world.with(|snapshot| {
            snapshot.kubelet_leases.get(&node.name).map_or(Duration::ZERO, |known| known.stale_for(now))
        });
        refuse_if(silent < SILENT, || format!("the kubelet renewed its Lease {}s ago", silent.as_secs()))
    }

    fn check_life(&self, fence: &NodeFence, life: &Lifeline) -> Refusal {
        let name = &fence.spec.node_name;
        let longest = self.world.with(|snapshot| {
            let plan = snapshot.cases.get(name).and_then(|case| case.methods.as_ref())?;
            plan.as_ref().ok().map(|plan| plan.longest)
        });
        // Enough to be begun, not to be ended: renewals every 2 s prolong the lifeline of an act under way, and that of a
        // leader which renews lasts longer than this at any time. If they stop, the keeper kills the agent at the lifeline,
        // before anybody else may lead; the act is in doubt then and the next leader asks for the power's state first. To
        // ask for the whole of `longest` here would forbid every agent that is slower than one Lease.
        let least = longest.map_or(self.settings.least_life, |longest| longest.min(self.settings.least_life));
        refuse_if(!life.holds(self.clock.moment().plus(least)), || "leadership may end before the act does".into())
    }
}

fn may_speak(fence: &NodeFence, act: Irreversible, node: &Node) -> bool {
    let drain = fence.status.drain.as_ref();
    match act {
        Irreversible::Release => false,
        Irreversible::PowerOff | Irreversible::PowerOn => drain.is_some_and(|drain| drain.done),
        Irreversible::Reap => drain.is_some_and(|drain| drain.done || !node.is_ready()),
    }
}

fn check_stopped(stopped: Result<Option<String>, Failure>) -> Refusal {
    match stopped {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(format!("stopped: {why}")),
        Err(failure) => Err(format!("the kill switch could not be read: {failure}")),
    }
}

fn check_record(fence: &NodeFence, meant: (Irreversible, u64), stored: Result<Option<NodeFence>, Failure>) -> Refusal {
    let stored = stored.map_err(|failure| format!("the record could not be read: {failure}"))?;
    let stored = stored.ok_or("the record was deleted")?;
    let is_same = stored.metadata.uid == fence.metadata.uid
        && stored.metadata.resource_version == fence.metadata.resource_version;
    refuse_if(!is_same, || "the record was changed by somebody else".into())?;
    refuse_if(stored.spec.abort, || "a person aborted it".into())?;
    refuse_if(stored.metadata.annotations.contains_key(HOLD), || {
        format!("the record is held by its annotation {HOLD}")
    })?;
    let intent = stored.status.intent.as_ref().filter(|intent| (intent.act, intent.epoch) == meant);
    refuse_if(intent.is_none(), || "the record does not say that this was meant".into())
}

fn refuse_if(is_so: bool, why: impl FnOnce() -> String) -> Refusal {
    if is_so { Err(why()) } else { Ok(()) }
}
