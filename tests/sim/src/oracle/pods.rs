//! Asked of every eviction, deletion and release, and of what the garbage collector deletes.

use std::time::Duration;

use nodewell_remediation::{
    api::fence::NodeFence,
    facts::{Pod, PodRef},
    time::Moment,
};

use super::acts::STOP;
use crate::{
    scenario::{DRAIN, PODS_WITHIN},
    truth::{Truth, uses_san},
};

/// From the record of its beginning to the drain's own clock, and back to a call.
const SLACK: Duration = Duration::from_secs(2);
/// A release that was intended is begun within so long, or not at all.
pub(super) const INTENDED: Duration = Duration::from_secs(14);
/// A drain looks at what may stop it so often.
const LOOKS: Duration = Duration::from_secs(3);
/// A pod that waits for its finalizers is deleted again so often: after lost answers, and by lists from before.
const AGAIN: u32 = 4;

impl Truth {
    /// A drain is about to evict or delete a pod.
    pub fn drain_calls(&mut self, replica: usize, pod: &PodRef, evicts: bool) {
        let now = self.now();
        self.count(if evicts { "act drain-evicts" } else { "act drain-deletes" });
        if !evicts && !self.scenario.forces {
            self.violate("I14", format!("pod {} is deleted where the budgets should be asked", pod.name));
        }
        let stored = self.store.pods.get(&pod.name).filter(|stored| stored.at == *pod);
        let Some(fence) = stored.and_then(|stored| self.store.fences.get(&stored.node)).cloned() else { return };
        let began = self.drain_began(&fence, replica);
        // Each portion after the first has a window more.
        let windows = fence.status.drain_portions.saturating_sub(1);
        let window = self.scenario.pod_limit().map_or(PODS_WITHIN, |(_, window)| window);
        if began.is_none_or(|began| now.since(began) > DRAIN + window * windows + SLACK) {
            self.violate("I14", format!("a call for pod {} after its drain was over (began {began:?})", pod.name));
        }
        if let Some(why) = self.stopped_long(&fence, replica) {
            self.violate("I11", format!("pod {} is evicted although {why}", pod.name));
        }
    }

    /// With clocks that differ no replica can know how long another leader drained: then each has the whole time once.
    fn drain_began(&self, fence: &NodeFence, replica: usize) -> Option<Moment> {
        let began = self.oracle.drains.get(&fence.metadata.uid).copied()?;
        if self.scenario.skew == [0; 3] && !self.stepped {
            return Some(began);
        }
        // By a clock that cannot be compared it counts from when its leader could see it.
        let leader = &self.replicas[replica];
        let (_, term) = leader.term;
        let saw = if leader.deaf_from <= term { term.max(leader.deaf) } else { term };
        Some(began.max(saw))
    }

    /// Evictions cannot be taken back, and are not looked at one by one: what the replica has seen for a while counts.
    fn stopped_long(&self, fence: &NodeFence, replica: usize) -> Option<&'static str> {
        let known = self.replicas[replica].synced;
        let late = |since: Option<&Moment>| since.is_some_and(|at| known.since(*at) > LOOKS);
        let (uid, store) = (&fence.metadata.uid, &self.store);
        match () {
            () if late(store.stopped.as_ref()) => Some("everything is stopped"),
            () if late(store.skipped.get(&fence.spec.node_name)) => Some("a person has the node skipped"),
            () if late(store.skipped.get(uid)) => Some("a person has the record skipped"),
            () if late(store.aborted.get(uid)) => Some("a person aborted it"),
            () => None,
        }
    }

    /// A pod of a node that is off is about to be let go; asked once for each, for a call without an answer is repeated.
    pub fn release_begins(&mut self, replica: usize, pod: &PodRef) {
        let now = self.now();
        if !self.oracle.tried.insert(pod.uid.clone()) {
            return;
        }
        if self.store.stopped.is_some_and(|at| now.since(at) > STOP) {
            self.violate("I11", format!("pod {} is released although everything is stopped", pod.name));
        }
        self.check_policy(replica, &format!("release of pod {}", pod.name), INTENDED);
    }

    pub fn deleted(&mut self, replica: usize, pod: &PodRef, node: &str, releases: bool) {
        let now = self.now();
        self.oracle.deeds.push(format!("{} {}", if releases { "release" } else { "evict" }, pod.name));
        let bound = self.store.bound.get(&pod.uid);
        let record = self.store.fences.get(node).map(|fence| &fence.spec.node_uid);
        // A release looks before each few pods, a drain now and then.
        let looks = if releases { STOP } else { LOOKS };
        let has_not_seen =
            self.is_unrecorded_within(node, bound, looks) || (!releases && self.has_not_heard(replica, node));
        let just_gone = record.is_none() && has_not_seen;
        if record != bound && !just_gone {
            let text = format!("pod {} of {node} ({bound:?}) was deleted by a record of {record:?}", pod.name);
            self.violate("I13", text);
        }
        self.check_kind(pod, releases);
        if !releases {
            return self.count_evicted(node, &pod.uid);
        }
        self.count_pods(node, std::slice::from_ref(&pod.uid));
        let Some(machine) = self.machines.get(node).filter(|machine| !machine.is_excused(now)) else { return };
        let cut_off = machine.storage_cut && uses_san(&pod.name);
        if machine.running.contains_key(&pod.uid) && !cut_off {
            self.violate("I2", format!("pod {} was released while it runs on {node}", pod.name));
        }
    }

    /// Static pods and those of DaemonSets come back to the same node, and one that waits for its finalizers does not
    /// go sooner if it is deleted again.
    fn check_kind(&mut self, at: &PodRef, releases: bool) {
        let Some(pod) = self.store.pods.get(&at.name) else { return };
        let (belongs, waits) = (belongs_as(pod).is_some(), releases && self.store.finishing.contains_key(&at.name));
        if belongs {
            self.violate("I13", format!("{} was deleted, which belongs to its node", at.name));
        }
        if waits {
            let again = self.oracle.deleted_again.entry(at.uid.clone()).or_default();
            *again += 1;
            if *again > AGAIN {
                self.violate("I13", format!("{} waits for its finalizers, and is deleted again and again", at.name));
            }
        }
    }

    /// What belongs to its node and stays there, after what would take any other pod away.
    pub(super) fn count_left(&mut self, node: &str, by: &str, stays: impl Fn(&Pod) -> bool) {
        let left = self.store.pods_on(node).filter(|pod| pod.deleting.is_none() && stays(pod));
        let kinds: Vec<&str> = left.filter_map(belongs_as).collect();
        kinds.into_iter().for_each(|kind| self.count(&format!("cluster {kind} pods left by a {by}")));
    }

    /// The garbage collector deletes it, because of our taint or because its Node is gone.
    pub fn collected(&mut self, pod: &Pod) {
        let (now, node) = (self.now(), pod.node.clone());
        let orphaned = !self.store.nodes.contains_key(&node);
        if !orphaned {
            self.oracle.deeds.push(format!("collected {}", pod.at.name));
            self.count_pods(&node, std::slice::from_ref(&pod.at.uid));
        }
        let Some(machine) = self.machines.get(&node).filter(|machine| !machine.is_excused(now)) else { return };
        if machine.running.contains_key(&pod.at.uid) && !self.oracle.let_go.contains(&pod.at.uid) {
            self.violate(
                "I2",
                format!("pod {} was deleted by the garbage collector while it runs on {node}", pod.at.name),
            );
        }
    }

    /// The record of that Node was deleted by hand a moment ago, and who acts by it may not have seen that.
    fn is_unrecorded_within(&self, name: &str, uid: Option<&String>, looks: Duration) -> bool {
        let is_its_own = |(at, of): &(Moment, String)| self.now().since(*at) <= looks && Some(of) == uid;
        self.store.unrecorded.get(name).is_some_and(is_its_own)
    }

    /// The store went back, and who led before acts by records that it has forgotten, to the end of that term.
    fn has_not_heard(&self, replica: usize, node: &str) -> bool {
        let is_its_term = |(other, until)| other == replica && self.now() <= until;
        let forgotten = self.oracle.forgotten.get(node);
        self.oracle.led_before.is_some_and(is_its_term)
            && forgotten.is_some()
            && forgotten == self.store.nodes.get(node).map(|node| &node.uid)
    }

    pub fn uncordoned(&mut self, name: &str) {
        if self.oracle.persons.contains(name) {
            self.violate("I12", format!("{name} was cordoned by a person and uncordoned by us"));
        }
    }
}

/// Whether a pod belongs to its node, and as what: its kubelet, or a `DaemonSet`, runs it there and nowhere else.
fn belongs_as(pod: &Pod) -> Option<&'static str> {
    if pod.mirror {
        return Some("static");
    }
    pod.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet").then_some("daemon")
}
