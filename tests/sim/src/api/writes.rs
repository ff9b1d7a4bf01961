//! What the API server does with a write: preconditions first, then the oracles, then the change.

use nodewell_reconcile::{
    cluster::{Leadership, ReachReport},
    failure::Failure,
};
use nodewell_remedy::{
    api::{
        CORDONED_BY,
        fence::{NodeFence, NodeFenceStatus},
    },
    facts::{Deletion, PodRef, Taint},
};

use crate::{scene::Mutation, truth::Truth};

type Written<T> = Result<T, Failure>;

impl Truth {
    pub(super) fn open(&mut self, replica: usize, fence: &NodeFence) -> Written<NodeFence> {
        let name = fence.spec.node_name.clone();
        if self.store.fences.contains_key(&name) {
            return Err(Failure::Conflict("it exists".into()));
        }
        self.audit(replica, &format!("opens the record of {name}: {}", fence.spec.cause));
        if name.starts_with("cp-") {
            self.violate("I8", format!("a record of control-plane node {name}"));
        }
        // The status is a subresource: it is dropped at creation.
        let mut fence = NodeFence { status: NodeFenceStatus::default(), ..fence.clone() };
        fence.metadata.name = name;
        fence.metadata.uid = format!("fence-{}", self.store.next_version());
        Ok(self.store.put_fence(fence, self.now()))
    }

    pub(super) fn save(&mut self, replica: usize, fence: &NodeFence) -> Written<NodeFence> {
        let stored = self.stored(fence)?;
        let (was, is) = (stored.status.phase, fence.status.phase);
        let next = NodeFence { status: fence.status.clone(), ..stored };
        let hold = next.status.hold.as_ref().map_or("", |hold| hold.reason.as_str()).to_owned();
        let intent = next.status.intent.as_ref().map(|intent| (intent.act, intent.epoch));
        self.audit(replica, &format!("record of {}: {was:?} → {is:?} {intent:?} {hold}", next.spec.node_name));
        Ok(self.store.put_fence(next, self.now()))
    }

    pub(super) fn close(&mut self, replica: usize, fence: &NodeFence) -> Written<()> {
        let stored = self.stored(fence)?;
        self.audit(replica, &format!("closes the record of {}", stored.spec.node_name));
        self.store.remove_fence(&stored.metadata.name, self.now());
        Ok(())
    }

    fn stored(&self, fence: &NodeFence) -> Written<NodeFence> {
        let stored = self.store.fences.get(&fence.metadata.name).ok_or(Failure::NotFound)?;
        let is_same = stored.metadata.resource_version == fence.metadata.resource_version
            && stored.metadata.uid == fence.metadata.uid;
        if is_same { Ok(stored.clone()) } else { Err(Failure::Conflict("another version".into())) }
    }

    fn check_uid(&self, (name, uid): (&str, &str)) -> Written<()> {
        self.store.nodes.get(name).filter(|node| node.uid == uid).map(|_| ()).ok_or(Failure::NotFound)
    }

    pub(super) fn taint(&mut self, replica: usize, at: (&str, &str), taint: &Taint) -> Written<()> {
        self.check_uid(at)?;
        self.audit(replica, &format!("taints {} {}", at.0, taint.key));
        self.tainted(at.0, taint);
        let now = self.now();
        self.store.edit_node(at.0, now, |node| {
            node.taints.retain(|old| (&old.key, old.effect) != (&taint.key, taint.effect));
            node.taints.push(taint.clone());
        });
        Ok(())
    }

    pub(super) fn untaint(&mut self, replica: usize, at: (&str, &str), taint: &Taint) -> Written<()> {
        self.check_uid(at)?;
        self.audit(replica, &format!("untaints {} {}", at.0, taint.key));
        let now = self.now();
        self.store.edit_node(at.0, now, |node| {
            node.taints.retain(|old| (&old.key, old.effect) != (&taint.key, taint.effect));
        });
        Ok(())
    }

    pub(super) fn cordon(&mut self, replica: usize, at: (&str, &str), by: &str) -> Written<bool> {
        self.check_uid(at)?;
        let node = &self.store.nodes[at.0];
        if node.unschedulable {
            return Ok(node.annotations.get(CORDONED_BY).is_some_and(|mark| mark == by));
        }
        self.audit(replica, &format!("cordons {}", at.0));
        let now = self.now();
        self.store.edit_node(at.0, now, |node| {
            node.unschedulable = true;
            node.annotations.insert(CORDONED_BY.into(), by.into());
        });
        Ok(true)
    }

    pub(super) fn uncordon(&mut self, replica: usize, at: (&str, &str), by: &str) -> Written<bool> {
        self.check_uid(at)?;
        if self.store.nodes[at.0].annotations.get(CORDONED_BY).is_none_or(|mark| mark != by) {
            return Ok(false);
        }
        self.audit(replica, &format!("uncordons {}", at.0));
        self.uncordoned(at.0);
        let now = self.now();
        self.store.edit_node(at.0, now, |node| {
            node.unschedulable = false;
            node.annotations.remove(CORDONED_BY);
        });
        Ok(true)
    }

    pub(super) fn delete_pod(&mut self, replica: usize, pod: &PodRef, forced: bool) -> Written<()> {
        let stored = self.store.pods.get(&pod.name).filter(|stored| stored.at.uid == pod.uid);
        let node = stored.ok_or(Failure::NotFound)?.node.clone();
        let how = if forced { "releases" } else { "evicts" };
        self.audit(replica, &format!("{how} pod {} of {node}", pod.name));
        self.deleted(pod, &node, forced);
        let at = self.clock.wall();
        if forced {
            self.store.pods.remove(&pod.name);
        } else if let Some(pod) = self.store.pods.get_mut(&pod.name) {
            pod.deleting.get_or_insert(Deletion { at, grace: pod.grace });
        }
        Ok(())
    }

    pub(super) fn report_reach(&mut self, report: &ReachReport) -> Written<()> {
        if self.scene.dry_run {
            self.violate("I15", "a dry run reported what it reaches");
        }
        self.store.reach.insert(report.host.clone(), report.clone());
        Ok(())
    }

    pub(super) fn leadership_as_seen(&self) -> Option<Leadership> {
        let mut lease = self.store.leadership.clone()?;
        if self.scene.mutation == Mutation::LeadsForEver {
            lease.holder.clear();
        }
        Some(lease)
    }

    pub(super) fn lead(&mut self, replica: usize, lease: &Leadership) -> Written<Leadership> {
        let version = self.store.leadership.as_ref().map_or("", |stored| stored.resource_version.as_str());
        let ignored = self.scene.mutation == Mutation::LeadsForEver;
        if !ignored && version != lease.resource_version {
            return Err(Failure::Conflict("another version".into()));
        }
        if self.scene.dry_run {
            self.violate("I15", "a dry run wrote the leader's Lease");
        }
        let is_new = self.store.leadership.as_ref().is_none_or(|stored| stored.transitions != lease.transitions);
        if is_new || lease.holder.is_empty() {
            self.note(format!("replica {replica}: leader is now `{}` epoch {}", lease.holder, lease.transitions));
        }
        let stored = Leadership { resource_version: self.store.next_version(), ..lease.clone() };
        self.store.leadership = Some(stored.clone());
        Ok(stored)
    }
}
