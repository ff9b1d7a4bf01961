//! What the API server does with a write: preconditions first, then the oracles, then the change.

use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Leadership, ReachReport, ReleaseMark},
};
use nodewell_remediation::{
    api::{
        CORDONED_BY, OUT_OF_SERVICE, OUT_OF_SERVICE_BY, STORAGE_RELEASED,
        fence::{IntendedOp, NodeFence, NodeFenceStatus},
    },
    facts::{Deletion, Effect, Node, Pod, PodRef, Taint},
};

use crate::{
    scenario::Mutation,
    truth::{NodeRef, Truth},
};

type Written<T> = Result<T, ApiError>;

impl Truth {
    pub(super) fn open(&mut self, replica: usize, fence: &NodeFence) -> Written<NodeFence> {
        let name = fence.spec.node_name.clone();
        if self.store.fences.contains_key(&name) {
            self.refused(fence);
            return Err(ApiError::Conflict("it exists".into()));
        }
        self.count("act open");
        self.audit(replica, &format!("opens the record of {name}: {}", fence.spec.cause));
        self.opened(replica, fence);
        let intended = &fence.status;
        // The status is a subresource: it is dropped at creation.
        let mut fence = NodeFence { status: NodeFenceStatus::default(), ..fence.clone() };
        fence.metadata.name = name;
        fence.metadata.uid = format!("fence-{}", self.store.next_uid());
        fence.metadata.creation_timestamp = Some(self.clock.wall());
        let stored = self.store.put_fence(fence, self.now());
        self.created(&stored.metadata.uid, intended);
        self.record_is_in(&stored.spec.node_name, stored.status.phase);
        Ok(stored)
    }

    pub(super) fn save(&mut self, replica: usize, fence: &NodeFence) -> Written<NodeFence> {
        let stored = self.stored(fence).inspect_err(|_| self.refused(fence))?;
        let (was, is) = (stored.status.phase, fence.status.phase);
        self.changes(replica, &stored, &fence.status);
        let next = NodeFence { status: fence.status.clone(), ..stored };
        let blocker = next.status.blocked_by.first().map_or("", |blocker| blocker.reason.as_str()).to_owned();
        let intent = next.status.intent.as_ref().map(|intent| (intent.op, intent.epoch));
        self.audit(replica, &format!("record of {}: {was:?} → {is:?} {intent:?} {blocker}", next.spec.node_name));
        let saved = self.store.put_fence(next, self.now());
        if self.scenario.mutation == Mutation::TaintsFirst {
            self.taint_early(replica, &saved)?;
        }
        if was != is {
            self.record_is_in(&saved.spec.node_name, is);
        }
        Ok(saved)
    }

    /// As a controller would that takes the taint for a mark like any other.
    fn taint_early(&mut self, replica: usize, fence: &NodeFence) -> Written<()> {
        let intended = fence.status.intent.as_ref().is_some_and(|intent| intent.op == IntendedOp::PowerOff);
        if intended {
            let taint =
                Taint { key: OUT_OF_SERVICE.into(), value: OUT_OF_SERVICE_BY.into(), effect: Effect::NoExecute };
            self.taint(replica, NodeRef { name: &fence.spec.node_name, uid: &fence.spec.node_uid }, &taint)?;
        }
        Ok(())
    }

    pub(super) fn close(&mut self, replica: usize, fence: &NodeFence) -> Written<()> {
        let stored = self.stored(fence).inspect_err(|_| self.refused(fence))?;
        self.count("act close");
        self.audit(replica, &format!("closes the record of {}", stored.spec.node_name));
        self.store.remove_fence(&stored.metadata.name, self.now());
        // Not by hand.
        self.store.unrecorded.remove(&stored.metadata.name);
        Ok(())
    }

    fn stored(&self, fence: &NodeFence) -> Written<NodeFence> {
        let stored = self.store.fences.get(&fence.metadata.name).ok_or(ApiError::NotFound)?;
        let is_same = stored.metadata.resource_version == fence.metadata.resource_version
            && stored.metadata.uid == fence.metadata.uid;
        if is_same { Ok(stored.clone()) } else { Err(ApiError::Conflict("another version".into())) }
    }

    fn check_uid(&self, NodeRef { name, uid }: NodeRef<'_>) -> Written<()> {
        self.store.nodes.get(name).filter(|node| node.uid == uid).map(|_| ()).ok_or(ApiError::NotFound)
    }

    pub(super) fn taint(&mut self, replica: usize, at: NodeRef<'_>, taint: &Taint) -> Written<bool> {
        self.check_uid(at)?;
        if self.is_foreign(at.name, taint) {
            return Ok(false);
        }
        self.count("act taint");
        self.audit(replica, &format!("taints {} {}", at.name, taint.key));
        self.tainted(replica, at.name, taint);
        let now = self.now();
        self.store.edit_node(at.name, now, |node| {
            node.taints.retain(|old| (&old.key, old.effect) != (&taint.key, taint.effect));
            node.taints.push(taint.clone());
        });
        Ok(true)
    }

    /// Of another value: another writer's.
    fn is_foreign(&self, node: &str, taint: &Taint) -> bool {
        let alike = |old: &&Taint| old.key == taint.key && old.effect == taint.effect;
        self.store.nodes[node].taints.iter().find(alike).is_some_and(|old| old.value != taint.value)
    }

    pub(super) fn untaint(&mut self, replica: usize, at: NodeRef<'_>, taint: &Taint) -> Written<bool> {
        self.check_uid(at)?;
        if self.is_foreign(at.name, taint) {
            return Ok(false);
        }
        self.count("act untaint");
        self.audit(replica, &format!("untaints {} {}", at.name, taint.key));
        if taint.key == OUT_OF_SERVICE {
            self.in_service_again(at.name);
        }
        let now = self.now();
        self.store.edit_node(at.name, now, |node| {
            node.taints.retain(|old| old != taint);
        });
        Ok(true)
    }

    /// On condition that the Node is still the version that was seen.
    pub(super) fn mark_release(&mut self, replica: usize, seen: &Node, mark: &ReleaseMark) -> Written<()> {
        let at = NodeRef { name: &seen.name, uid: &seen.uid };
        self.check_uid(at)?;
        if self.store.nodes[&seen.name].resource_version != seen.resource_version {
            return Err(ApiError::Conflict("another version".into()));
        }
        match mark {
            ReleaseMark::OutOfService(taint) => self.taint(replica, at, taint).map(drop),
            ReleaseMark::StorageOf(boot) => {
                self.audit(replica, &format!("marks {}: storage of {boot} released", seen.name));
                let now = self.now();
                self.store.edit_node(&seen.name, now, |node| {
                    node.annotations.insert(STORAGE_RELEASED.into(), boot.clone());
                });
                Ok(())
            }
        }
    }

    pub(super) fn unmark_release(&mut self, replica: usize, at: NodeRef<'_>) -> Written<()> {
        self.check_uid(at)?;
        self.audit(replica, &format!("forgets the release of {}", at.name));
        let now = self.now();
        self.store.edit_node(at.name, now, |node| drop(node.annotations.remove(STORAGE_RELEASED)));
        Ok(())
    }

    pub(super) fn cordon(&mut self, replica: usize, at: NodeRef<'_>, by: &str) -> Written<bool> {
        self.check_uid(at)?;
        if self.store.nodes[at.name].unschedulable {
            let ours = self.bears_mark(at.name, by) && !self.store.scheduled_by_hand.contains(at.name);
            return Ok(ours || self.scenario.mutation == Mutation::UncordonsAnybody);
        }
        self.count("act cordon");
        self.audit(replica, &format!("cordons {}", at.name));
        let now = self.now();
        self.store.edit_node(at.name, now, |node| {
            node.unschedulable = true;
            node.annotations.insert(CORDONED_BY.into(), by.into());
        });
        self.store.scheduled_by_hand.remove(at.name);
        Ok(true)
    }

    fn bears_mark(&self, node: &str, by: &str) -> bool {
        self.store.nodes[node].annotations.get(CORDONED_BY).is_some_and(|mark| mark == by)
    }

    /// Our mark goes in any case; the cordon with it, unless a person has set it again.
    pub(super) fn uncordon(&mut self, replica: usize, at: NodeRef<'_>, by: &str) -> Written<bool> {
        self.check_uid(at)?;
        let anybodys = self.scenario.mutation == Mutation::UncordonsAnybody;
        if !self.bears_mark(at.name, by) && !anybodys {
            return Ok(false);
        }
        let by_hand = self.store.scheduled_by_hand.contains(at.name);
        let theirs = self.store.nodes[at.name].unschedulable && by_hand && !anybodys;
        if theirs {
            self.audit(replica, &format!("takes its mark off the cordon of {}", at.name));
        } else {
            self.count("act uncordon");
            self.audit(replica, &format!("uncordons {}", at.name));
            self.uncordoned(at.name);
        }
        let now = self.now();
        self.store.edit_node(at.name, now, |node| {
            node.unschedulable &= theirs;
            node.annotations.remove(CORDONED_BY);
        });
        Ok(!theirs)
    }

    /// Eviction: the budgets are asked, by the API server.
    pub(super) fn evict(&mut self, replica: usize, pod: &PodRef) -> Written<()> {
        if let Some(error) = self.forbidden(&pod.name).filter(|_| self.stands_for(pod).is_some()) {
            self.count("act evict-forbidden");
            return Err(error);
        }
        self.delete_pod(replica, pod, false)
    }

    fn stands_for(&self, pod: &PodRef) -> Option<&Pod> {
        let by_name = self.scenario.mutation == Mutation::NamesOnly;
        self.store.pods.get(&pod.name).filter(|stored| by_name || stored.at.uid == pod.uid)
    }

    pub(super) fn delete_pod(&mut self, replica: usize, pod: &PodRef, releases: bool) -> Written<()> {
        let stored = self.stands_for(pod).ok_or(ApiError::NotFound)?;
        let (pod, node) = (stored.at.clone(), stored.node.clone());
        let how = if releases { "release" } else { "evict" };
        self.count(&format!("act {how}"));
        self.audit(replica, &format!("{how}s pod {} of {node}", pod.name));
        self.deleted(replica, &pod, &node, releases);
        let at = self.clock.wall();
        if releases {
            self.delete_at_once(&pod.name);
        } else {
            self.store.edit_pod(&pod.name, |pod| {
                pod.deleting.get_or_insert(Deletion { at, grace: pod.grace });
            });
        }
        Ok(())
    }

    pub(super) fn report_reach(&mut self, report: &ReachReport) -> Written<()> {
        if self.scenario.dry_run {
            self.violate("I15", "a dry run reported what it reaches");
        }
        self.store.reach.insert(report.host.clone(), report.clone());
        Ok(())
    }

    pub(super) fn leadership_as_seen(&self) -> Option<Leadership> {
        let mut lease = self.store.leadership.clone()?;
        if self.scenario.mutation == Mutation::LeadsForEver {
            lease.holder.clear();
        }
        Some(lease)
    }

    pub(super) fn lead(&mut self, replica: usize, lease: &Leadership) -> Written<Leadership> {
        let version = self.store.leadership.as_ref().map_or("", |stored| stored.resource_version.as_str());
        let ignored = self.scenario.mutation == Mutation::LeadsForEver;
        if !ignored && version != lease.resource_version {
            return Err(ApiError::Conflict("another version".into()));
        }
        if self.scenario.dry_run {
            self.violate("I15", "a dry run wrote the leader's Lease");
        }
        // A standby writes into the leader's Lease when it offers to lead, and when it knows of later terms.
        // Its own holder of before a restart is another one, and so is itself in a Lease of a backup: it counts terms
        // on for those, too, and renews nothing by that.
        let itself = format!("replica-{replica}-{}", self.replicas[replica].life);
        let stored = self.store.leadership.as_ref();
        let is_of_a_backup =
            stored.is_some_and(|stored| stored.holder == lease.holder && stored.renewed == lease.renewed);
        let is_its_own = lease.holder.is_empty() || lease.holder == itself && !is_of_a_backup;
        let counts_on = stored.is_none_or(|stored| stored.transitions != lease.transitions);
        let is_new = is_its_own && counts_on;
        if is_new {
            self.count("act lead");
            self.replicas[replica].term = (lease.transitions, self.now());
            self.forget_heard();
        }
        self.saw_the_policy(replica);
        if lease.holder.is_empty() {
            self.count("act resign");
        }
        if is_new || lease.holder.is_empty() {
            self.note(format!("replica {replica}: leader is now `{}` epoch {}", lease.holder, lease.transitions));
        }
        if is_its_own {
            (self.oracle.led, self.oracle.led_before) = (Some((replica, self.now())), None);
        } else {
            self.count(if counts_on { "act count-terms-on" } else { "act offer-to-lead" });
        }
        let stored = Leadership { resource_version: self.store.next_version(), ..lease.clone() };
        let before = self.store.leadership.replace(stored.clone());
        // The first write of a term leaves what the leader before handed over.
        if before.is_none_or(|before| before.annotations != stored.annotations) {
            self.store.handed_over = self.now();
        }
        Ok(stored)
    }
}
