//! Where a second policy only isolates. I17: its record gives way once its node is dead. I4: not while that lives, nor
//! is a record of the other policy opened then, if both are true of it. I12: all that it leaves behind later records
//! know.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_remediation::{
    action::Action,
    api::{
        CORDONED_BY, OUT_OF_SERVICE,
        fence::{NodeFence, NodeFenceStatus, Phase},
    },
    facts::ConditionStatus,
    message::Message,
    time::Moment,
};

use crate::{
    scenario::{OWN_TAINT, POLICY, SECOND},
    truth::{Policy, Truth},
};

/// The cluster itself has given its node up by then, and its Lease has expired.
const DEAD: Duration = Duration::from_secs(50);
/// A leader may have seen the Lease, and that the next policy is true, for the first time when it began: 50 s.
/// Kubelets that were out of hearing may be late for 90 s, and of a storm that has just ended the window of 60 s and
/// the cooldown of 30 s are to come. Then two writes.
const GIVES_WAY: Duration = Duration::from_secs(105);
/// So few nodes that anything is wrong with are no storm, and within the budgets.
const FEW: usize = 3;
/// A decision that was made before a kubelet was heard is written by then.
const WRITTEN: Duration = Duration::from_secs(3);
/// A kubelet that renewed within this lives.
const LIVES: Duration = Duration::from_secs(9);

/// By node: of which record, under which leader and edit of the policy, and since when nothing keeps it from giving
/// way.
pub(super) type Waiting = BTreeMap<String, (String, Moment)>;

/// The record of a node that has died is closed for one of the policy that fences.
pub(super) fn is_superseded(status: &NodeFenceStatus) -> bool {
    let takes_over = || Message::of("FenceClosed/superseded", &[("policy", &POLICY)]).text;
    status.phase == Phase::Closed && status.log.last().is_some_and(|entry| entry.text.ends_with(&takes_over()))
}

/// What a mutation leaves out.
pub(super) fn gives_way(action: &Action) -> bool {
    match action {
        Action::Save { fence, .. } => is_superseded(&fence.status),
        Action::Open(_) | Action::Close { .. } | Action::Perform { .. } => false,
    }
}

impl Truth {
    /// Every second.
    pub(super) fn watch_heirs(&mut self) {
        if self.scenario.second.is_none() {
            return;
        }
        let now = self.now();
        let late = self.records_to_give_way();
        self.oracle.heirs.retain(|name, (key, _)| late.iter().any(|(other, same)| other == name && same == key));
        for (name, key) in late {
            let (_, since) = *self.oracle.heirs.entry(name.clone()).or_insert_with(|| (key, now));
            if now.since(since) > GIVES_WAY {
                let text = format!("{name} is dead, and since {since:?} its record of {SECOND} gives way to none");
                self.violate("I17", text);
            }
        }
    }

    fn records_to_give_way(&self) -> Vec<(String, String)> {
        let is_free = self.store.stopped.is_none() && self.may_take_over() && self.is_calm();
        let Some(leader) = self.undisturbed_leader().filter(|_| is_free) else { return Vec::new() };
        let edited = self.oracle.policy_edited;
        let key = |fence: &NodeFence| format!("{} {leader} {edited:?}", fence.metadata.uid);
        let late = self.store.fences.values().filter(|fence| self.is_to_give_way(fence));
        late.map(|fence| (fence.spec.node_name.clone(), key(fence))).collect()
    }

    /// The other policy is in force, for all that any replica knows, and frees pods.
    fn may_take_over(&self) -> bool {
        let Policy::Parsed(policy) = &self.store.policy else { return false };
        let is_in_force = self.replicas.iter().all(|replica| replica.warned.is_none() && replica.paused.is_none());
        is_in_force && policy.spec.steps.iter().any(|step| step.power_cycle.is_some() || step.reap.is_some())
    }

    /// Of all nodes, those with a record and those that a person has shut too.
    fn is_calm(&self) -> bool {
        let now = self.now();
        let mut affected: BTreeSet<String> = self.signs();
        affected.extend(self.store.fences.keys().cloned());
        let shut = self.store.nodes.values().filter(|node| node.unschedulable || !node.taints.is_empty());
        affected.extend(shut.map(|node| node.name.clone()));
        let mute = self.machines.values().filter(|machine| !machine.answers(now));
        affected.extend(mute.map(|machine| machine.name.clone()));
        affected.len() <= FEW
    }

    /// Nothing of the node or of its record keeps it: no wish of a person, no announced reboot, no act that failed,
    /// and nothing that an older record of its node left to it. Control planes have guards of their own, and a Node
    /// that was registered again may be new to a leader whose clock is behind. Without a Lease, as after a restore of a
    /// store that had none yet, nothing proves that a node is dead.
    fn is_to_give_way(&self, fence: &NodeFence) -> bool {
        let (now, name, status) = (self.now(), &fence.spec.node_name, &fence.status);
        let Some((machine, node)) = self.machines.get(name).zip(self.store.nodes.get(name)) else { return false };
        let is_first = machine.generation == 1 && node.uid == fence.spec.node_uid && !node.is_control_plane();
        let is_dead = node.is_not_ready() && now.since(machine.renewed) >= DEAD && self.store.leases.contains_key(name);
        let is_announced = self.replicas.iter().any(|replica| replica.announced.contains_key(name));
        let is_theirs = fence.spec.abort || self.is_skipped(fence);
        let is_open = status.phase != Phase::Closed && status.failures == 0;
        let is_out = status.own_changes.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE);
        let is_cut = is_out || status.off.is_some() || status.storage_only.is_some();
        fence.spec.policy == SECOND && is_first && is_dead && is_open && !is_announced && !is_theirs && !is_cut
    }

    /// This replica is about to close a record so.
    pub(super) fn gave_way(&mut self, replica: usize, stored: &NodeFence, next: &NodeFenceStatus) {
        let (name, by) = (&stored.spec.node_name, &stored.spec.policy);
        self.count("cluster records that gave way");
        // Its policy may have been edited since: then that is its heir.
        if stored.spec.steps.iter().any(|step| step.power_cycle.is_some() || step.reap.is_some()) {
            self.violate("I4", format!("the record of {name} by {by} gives way, whose steps would fence it"));
        }
        if self.is_seen_alive(replica, name) {
            self.violate("I4", format!("the record of {name} gives way, whose kubelet lives"));
        }
        if next.own_changes.taints.iter().any(|taint| taint.key == OWN_TAINT) {
            self.violate("I12", format!("the record of {name} gives way, and no other one knows of its {OWN_TAINT}"));
        }
    }

    /// A record is opened. Of a node that is ill and lives the policy that only isolates has the say.
    pub(super) fn check_say(&mut self, replica: usize, fence: &NodeFence) {
        let (name, by) = (&fence.spec.node_name, &fence.spec.policy);
        if self.scenario.second.is_none() || by == SECOND || self.store.set_back > 0 {
            return;
        }
        let report = self.store.nodes.get(name).and_then(|node| node.condition("KernelDeadlock"));
        let is_ill = report.is_some_and(|report| report.status == ConditionStatus::True);
        if is_ill && self.is_seen_alive(replica, name) {
            self.violate("I4", format!("a record of {name} by {by}, which lives and is for {SECOND} to isolate"));
        }
    }

    /// Its kubelet renewed its Lease a moment ago, and the replica knows that, and what was reported by then.
    fn is_seen_alive(&self, replica: usize, name: &str) -> bool {
        let (now, synced) = (self.now(), self.replicas[replica].synced);
        let renewed = self.machines.get(name).map(|machine| machine.renewed);
        renewed.is_some_and(|at| at.plus(WRITTEN) <= synced && now.since(at) < LIVES)
    }

    /// No record owns the cordon of one that gave way: after the next one, and `healthyDelay`, it gets one of its own
    /// policy.
    pub(super) fn has_cordons_of_none(&self) -> bool {
        let is_free = |name: &String| !self.store.fences.contains_key(name);
        let mut marked = self.store.nodes.values().filter(|node| node.annotations.contains_key(CORDONED_BY));
        self.scenario.second.is_some() && marked.any(|node| is_free(&node.name))
    }

    /// By its own record alone: where a person deleted that, or a store that went back never had it, the taint stays.
    pub(super) fn must_take_own_taints_back(&self) -> bool {
        let by_hand = self.tally.of("person DeletesRecord") > 0 || self.oracle.record_deleted > Moment::default();
        !by_hand && self.store.set_back == 0
    }
}
