//! Asked when a drain begins. That is when its record has so: nothing is evicted before.

use std::time::Duration;

use nodewell_remediation::api::fence::{NodeFence, Phase};

use crate::truth::Truth;

/// What was decided before a sign was seen is written by then.
const WRITTEN: Duration = Duration::from_secs(3);
/// A node that was Ready for so long, and whose kubelet renewed so lately, lives for every replica.
const READY: Duration = Duration::from_secs(5);
const RENEWED: Duration = Duration::from_secs(9);

impl Truth {
    /// Every second.
    pub(super) fn watch_drains(&mut self) {
        let now = self.now();
        let unready = self.store.nodes.values().filter(|node| !node.is_ready()).map(|node| node.name.clone());
        self.oracle.unready.extend(unready.map(|name| (name, now)));
    }

    pub(super) fn drain_begins(&mut self, replica: usize, fence: &NodeFence) {
        let (now, name) = (self.now(), &fence.spec.node_name);
        self.oracle.drains.insert(fence.metadata.uid.clone(), now);
        self.count("cluster drains begun");
        let what = format!("the drain of {name}");
        self.check_policy(replica, &what, WRITTEN);
        self.check_storm(replica, &what, false);
        self.check_reboot(replica, name, "the drain");
        self.check_absence(name, "the drain");
        self.check_drains(name);
    }

    /// Of the living, which compete with each other for the policy's `maxConcurrent`.
    fn check_drains(&mut self, name: &str) {
        let most = self.scenario.most_drained();
        let is_drained =
            |fence: &NodeFence| fence.status.phase == Phase::Draining && fence.status.drain_begun_at.is_some();
        let fences = self.store.fences.values().filter(|fence| is_drained(fence));
        let others = fences.map(|fence| &fence.spec.node_name).filter(|other| *other != name && self.lives(other));
        let others: Vec<String> = others.cloned().collect();
        if self.lives(name) && others.len() >= most {
            self.violate("I1", format!("the drain of {name} begins beside those of {others:?}, {most} may"));
        }
    }

    fn lives(&self, name: &str) -> bool {
        let now = self.now();
        let is_ready = self.oracle.unready.get(name).is_none_or(|at| now.since(*at) > READY);
        let renewed = self.machines.get(name).map(|machine| machine.renewed);
        is_ready && renewed.is_some_and(|at| now.since(at) < RENEWED)
    }
}
