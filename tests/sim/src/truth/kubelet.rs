//! A node's kubelet: its Lease, its status, and the pods that it runs.

use std::time::Duration;

use jiff::SignedDuration;
use nodewell_remediation::{
    api::OUT_OF_SERVICE,
    facts::{Condition, ConditionStatus as Is, Deletion, LeaseView, Node},
    time::Moment,
};

use super::{Excuse, Truth, uses_san};

/// Kubelets renew every 10 s.
const RENEW: Duration = Duration::from_secs(10);
/// What runs takes so long to stop, if its grace is not shorter.
const STOPPING: Duration = Duration::from_secs(2);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Truth {
    pub(super) fn run_machine(&mut self, name: &str) {
        self.run_bmc(name);
        let now = self.now();
        let machine = &self.machines[name];
        if !machine.is_alive(now) || machine.cut || self.store.down > now {
            return;
        }
        if machine.registers.is_some_and(|at| at <= now) {
            self.register(name);
        }
        let machine = &self.machines[name];
        if self.store.nodes.get(name).is_none_or(|node| node.uid != machine.node_uid()) {
            return self.end_pods(name);
        }
        let is_due = now.since(machine.renewed) >= RENEW || machine.renewed < machine.booted;
        let (boot_id, ill) = (machine.boot_id(), machine.ill);
        if is_due {
            self.renew(name, now);
            self.store.edit_node(name, now, |node| healthy(node, &boot_id, ill));
        }
        self.run_pods(name);
    }

    fn renew(&mut self, name: &str, now: Moment) {
        // Each kubelet has a clock of its own.
        let skew = name.bytes().map(i64::from).sum::<i64>() % 600 - 300;
        let renewed = self.clock.wall().checked_add(SignedDuration::from_secs(skew)).ok();
        let lease = LeaseView {
            resource_version: String::new(),
            holder: name.to_owned(),
            renewed,
            duration: Duration::from_secs(40),
            change_seen_at: Moment::default(),
        };
        self.store.put_lease(name, lease, now);
        if let Some(machine) = self.machines.get_mut(name) {
            machine.renewed = now;
            if let Some(Excuse::Lied { woke, .. }) = &mut machine.excuse {
                woke.get_or_insert(now);
            }
        }
    }

    /// Starts what is bound to it, ends what is deleted.
    fn run_pods(&mut self, name: &str) {
        self.end_pods(name);
        let out_of_service = self.store.nodes.get(name).is_some_and(|node| node.taint(OUT_OF_SERVICE).is_some());
        let Some(machine) = self.machines.get_mut(name).filter(|_| !out_of_service) else { return };
        for pod in self.store.pods.values_mut().filter(|pod| pod.node == name && pod.deleting.is_none()) {
            pod.phase = "Running".into();
            pod.ready = true;
            machine.running.insert(pod.at.uid.clone(), pod.at.name.clone());
        }
    }

    /// A process that waits for a storage that is cut off cannot be ended: it goes on when it has it back.
    fn end_pods(&mut self, name: &str) {
        let Some(machine) = self.machines.get_mut(name) else { return };
        let wall = self.clock.wall();
        let cut = machine.storage_cut;
        let is_over = |deletion: &Deletion| {
            let age = Duration::try_from(wall.duration_since(deletion.at)).unwrap_or_default();
            age >= deletion.grace.min(STOPPING)
        };
        let running = &machine.running;
        let is_stuck = |uid: &str, identity: &str| cut && uses_san(identity) && running.contains_key(uid);
        self.store.pods.retain(|_, pod| {
            let ends = pod.node == name && pod.deleting.as_ref().is_some_and(is_over);
            !ends || is_stuck(&pod.at.uid, &pod.at.name)
        });
        let pods = &self.store.pods;
        machine
            .running
            .retain(|uid, identity| cut && uses_san(identity) || pods.values().any(|pod| pod.at.uid == *uid));
    }
}

fn healthy(node: &mut Node, boot_id: &str, ill: bool) {
    node.boot_id = boot_id.to_owned();
    set_ready(node, Is::True, "KubeletReady");
    if ill {
        node.conditions.push(condition("KernelDeadlock", Is::True, "DockerHung"));
    }
    node.taints.retain(|taint| taint.key != UNREACHABLE);
}

/// The kubelet's status, or the node lifecycle controller's; what monitors reported stays until the kubelet's next.
pub(super) fn set_ready(node: &mut Node, status: Is, reason: &str) {
    node.conditions = vec![condition("Ready", status, reason)];
}

fn condition(kind: &str, status: Is, reason: &str) -> Condition {
    Condition {
        kind: kind.into(),
        status,
        reason: reason.into(),
        message: String::new(),
        since: None,
        heartbeat: None,
        change_seen_at: Moment::default(),
        // Unknown is what the node lifecycle controller writes.
        is_own_report: status != Is::Unknown,
    }
}
