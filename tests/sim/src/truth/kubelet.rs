//! A node's kubelet: its Lease, its status, and the pods that it runs.

use std::time::Duration;

use nodewell_remedy::{
    api::OUT_OF_SERVICE,
    facts::{Condition, LeaseView, Node, Truth as Is},
    time::Moment,
};

use super::{Store, Truth};

/// Kubelets renew every 10 s.
const RENEW: Duration = Duration::from_secs(10);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Truth {
    pub(super) fn run_machine(&mut self, name: &str) {
        self.run_bmc(name);
        let now = self.now();
        let machine = &self.machines[name];
        if !machine.is_alive(now) || machine.cut || self.store.down > now || !self.store.nodes.contains_key(name) {
            return;
        }
        let is_due = now.since(machine.renewed) >= RENEW || machine.renewed < machine.booted;
        let boot_id = machine.boot_id();
        if is_due {
            self.renew(name, now);
            self.store.edit_node(name, now, |node| well(node, &boot_id));
        }
        self.run_pods(name);
    }

    fn renew(&mut self, name: &str, now: Moment) {
        // Each kubelet has a clock of its own.
        let skew = name.bytes().map(i64::from).sum::<i64>() % 600 - 300;
        let renewed = self.clock.wall().checked_add(Duration::from_secs(skew.unsigned_abs())).ok();
        let lease =
            LeaseView { holder: name.to_owned(), renewed, duration: Duration::from_secs(40), seen: Moment::default() };
        self.store.put_lease(name, lease, now);
        if let Some(machine) = self.machines.get_mut(name) {
            machine.renewed = now;
        }
    }

    /// Starts what is bound to it, ends what is deleted.
    fn run_pods(&mut self, name: &str) {
        let out_of_service = self.store.nodes.get(name).is_some_and(|node| node.taint(OUT_OF_SERVICE).is_some());
        let Some(machine) = self.machines.get_mut(name) else { return };
        machine.running.retain(|uid, _| is_wanted(&self.store, uid));
        let ended: Vec<String> = self
            .store
            .pods
            .values()
            .filter(|pod| pod.node == name && pod.deleting.is_some())
            .map(|pod| pod.at.name.clone())
            .collect();
        for pod in &ended {
            self.store.pods.remove(pod);
        }
        if out_of_service {
            return;
        }
        for pod in self.store.pods.values_mut().filter(|pod| pod.node == name) {
            pod.phase = "Running".into();
            pod.ready = true;
            machine.running.insert(pod.at.uid.clone(), pod.at.name.clone());
        }
    }
}

fn is_wanted(store: &Store, uid: &str) -> bool {
    store.pods.values().any(|pod| pod.at.uid == uid && pod.deleting.is_none())
}

fn well(node: &mut Node, boot_id: &str) {
    node.boot_id = boot_id.to_owned();
    set_ready(node, Is::True, "KubeletReady");
    node.taints.retain(|taint| taint.key != UNREACHABLE);
}

pub(super) fn set_ready(node: &mut Node, status: Is, reason: &str) {
    let ready = Condition {
        kind: "Ready".into(),
        status,
        reason: reason.into(),
        message: String::new(),
        since: None,
        heartbeat: None,
        seen: Moment::default(),
    };
    node.conditions = vec![ready];
}
