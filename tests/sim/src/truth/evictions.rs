//! What kube-controller-manager does to pods by itself: taint eviction and pod garbage collection, as they are in
//! `pkg/controller/tainteviction` and `pkg/controller/podgc`.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    api::OUT_OF_SERVICE,
    facts::{Deletion, Effect, Node, Pod, Taint, Toleration},
    time::Moment,
};

use super::{Truth, finalizers::is_finishing};

/// `gcCheckPeriod`.
const PERIOD: Duration = Duration::from_secs(20);
/// `quarantineTime`: a Node that is missing is believed to be gone after so long.
const QUARANTINE: Duration = Duration::from_secs(40);

/// The pod garbage collector.
#[derive(Debug, Default)]
pub struct Collector {
    next: Moment,
    /// Names of Nodes that pods are bound to and that were missing, and when each is looked at again.
    missing: BTreeMap<String, Moment>,
}

impl Truth {
    /// The out-of-service taint marks every pod that does not tolerate it, at once; it asks no disruption budget.
    pub(super) fn evict_by_taint(&mut self) {
        let at = self.clock.wall();
        let executes =
            |node: &Node| Some(node.taint(OUT_OF_SERVICE)?.clone()).filter(|taint| taint.effect == Effect::NoExecute);
        let nodes = self.store.nodes.values();
        let tainted: Vec<(String, Taint)> =
            nodes.filter_map(|node| Some((node.name.clone(), executes(node)?))).collect();
        let mut count = 0;
        for (node, taint) in tainted {
            self.store.edit_pods_on(&node, |pod| {
                if pod.deleting.is_none() && !tolerates(pod, &taint) {
                    pod.deleting = Some(Deletion { at, grace: pod.grace });
                    count += 1;
                }
            });
        }
        (0..count).for_each(|_| self.count("cluster evicted by the taint"));
    }

    /// Every 20 s: pods that are ending on a Node that is out of service and not Ready, and pods of Nodes that are gone. They
    /// are deleted with grace 0: the objects are gone at once, whatever still runs.
    pub(super) fn collect_pods(&mut self, now: Moment) {
        if self.collector.next > now {
            return;
        }
        self.collector.next = now.plus(PERIOD);
        let gone = self.nodes_gone(now);
        let nodes = &self.store.nodes;
        let is_left = |pod: &&Pod| match nodes.get(&pod.node) {
            _ if is_finishing(pod) => false,
            Some(node) => pod.deleting.is_some() && !node.is_ready() && node.taint(OUT_OF_SERVICE).is_some(),
            None => gone.contains(&pod.node),
        };
        let left: Vec<Pod> = self.store.pods.values().filter(is_left).cloned().collect();
        for pod in left {
            let orphaned = !self.store.nodes.contains_key(&pod.node);
            self.count(if orphaned { "cluster orphan collected" } else { "cluster collected out of service" });
            self.note(format!("pod {} of {} is deleted by the garbage collector", pod.at.name, pod.node));
            self.collected(&pod);
            self.delete_at_once(&pod.at.name);
        }
    }

    /// Nodes that were missing 40 s ago and are missing still. One that was there in between is asked for by its name, as they do.
    fn nodes_gone(&mut self, now: Moment) -> Vec<String> {
        let nodes = &self.store.nodes;
        let missing = &mut self.collector.missing;
        for pod in self.store.pods.values().filter(|pod| !nodes.contains_key(&pod.node)) {
            missing.entry(pod.node.clone()).or_insert_with(|| now.plus(QUARANTINE));
        }
        let due = missing.extract_if(.., |_, at| *at <= now).map(|(name, _)| name);
        due.filter(|name| !nodes.contains_key(name)).collect()
    }

    /// A Node of that name is there again: its kubelet runs what is bound to the name.
    pub(super) fn bind_again(&mut self, node: &Node) {
        let uids: Vec<String> = self.store.pods_on(&node.name).map(|pod| pod.at.uid.clone()).collect();
        self.store.bound.extend(uids.into_iter().map(|uid| (uid, node.uid.clone())));
    }
}

/// As they have it; it tolerates for good.
#[must_use]
pub fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    let matches = |toleration: &Toleration| {
        let key = toleration.key == taint.key || toleration.key.is_empty() && toleration.exists;
        let value = toleration.exists || toleration.value == taint.value;
        key && value && toleration.effect.is_none_or(|effect| effect == taint.effect)
    };
    pod.tolerations.iter().any(matches)
}
