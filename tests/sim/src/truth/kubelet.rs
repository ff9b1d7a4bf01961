//! A node's kubelet: its Lease, its status, and the pods that it runs.

use std::time::Duration;

use jiff::SignedDuration;
use nodewell_remediation::{
    api::OUT_OF_SERVICE,
    facts::{Condition, ConditionStatus as Is, HeartbeatOwner, LeaseView, Node},
    time::Moment,
};

use super::{
    Excuse, Truth, evictions::tolerates, finalizers::is_finishing, machine::Settled, restart::shut_down, uses_san,
};
use crate::clocks;

/// Kubelets renew every 10 s.
const RENEW: Duration = Duration::from_secs(10);
/// What runs takes so long to stop, if its grace is not shorter; each fourth pod finishes what it has begun.
const STOPPING: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(2), Duration::from_secs(2), Duration::from_secs(9)];
/// So few seconds of silence are enough for the policy that is played.
const FEW: Duration = Duration::from_secs(15);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Truth {
    pub(super) fn run_machine(&mut self, name: &str) {
        self.run_bmc(name);
        self.run_restart(name);
        let now = self.now();
        let machine = &self.machines[name];
        if !machine.is_alive(now) || machine.cut || self.store.down > now {
            return;
        }
        if self.is_late(name, now) {
            if now.since(machine.renewed) > FEW {
                self.count("cluster late kubelets silent for 15 s");
            }
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
        let ends = machine.restart.is_some_and(|restart| restart.is_shown_by_kubelet());
        if is_due {
            self.renew(name, now);
            if !self.reports_late(name, now) {
                self.store.edit_node(
                    name,
                    now,
                    |node| if ends { shut_down(node) } else { healthy(node, &boot_id, ill) },
                );
            }
            self.restarted(name);
        }
        self.run_pods(name);
    }

    /// Without an API server a kubelet gives a try up after 10 s and begins the next one after up to 7 s, each at a
    /// moment of its own. Not after a restore: before kubelets are heard the cluster itself collects pods by the taints
    /// of the backup, and only who restores it can prevent that (docs/etcd-restore.md).
    fn is_late(&self, name: &str, now: Moment) -> bool {
        self.was_away_within(Duration::from_secs(self.slowness(name) % 18), now)
    }

    /// It reports what has changed, by the copy of the Node that it has: that it is Unknown it has to read first.
    fn reports_late(&self, name: &str, now: Moment) -> bool {
        let is_unknown = self.store.nodes.get(name).and_then(|node| node.condition("Ready").map(|ready| ready.status));
        let lived = self.machines.get(name).is_some_and(|machine| machine.booted < self.store.down);
        let late = Duration::from_secs(17 + self.slowness(name) % 50);
        lived && is_unknown == Some(Is::Unknown) && self.was_away_within(late, now)
    }

    fn slowness(&self, name: &str) -> u64 {
        name.bytes().map(u64::from).sum::<u64>().wrapping_add(self.scenario.seed)
    }

    fn was_away_within(&self, late: Duration, now: Moment) -> bool {
        self.store.down > Moment::default() && self.store.set_back == 0 && now < self.store.down.plus(late)
    }

    fn renew(&mut self, name: &str, now: Moment) {
        // Each kubelet has a clock of its own.
        let skew = name.bytes().map(i64::from).sum::<i64>() % 600 - 300;
        let renewed = clocks::true_time().checked_add(SignedDuration::from_secs(skew)).ok();
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

    /// Starts what is bound to it, ends what is deleted. A pod that does not tolerate its taint is not admitted.
    fn run_pods(&mut self, name: &str) {
        self.show_static_pod(name);
        let taint = self.store.nodes.get(name).and_then(|node| node.taint(OUT_OF_SERVICE).cloned());
        let now = Settled { version: self.store.version_of_pods(name), is_tainted: taint.is_some() };
        if self.machines.get(name).is_some_and(|machine| machine.settled == Some(now)) {
            return;
        }
        self.end_pods(name);
        let Some(machine) = self.machines.get_mut(name) else { return };
        self.store.edit_pods_on(name, |pod| {
            let is_admitted = taint.as_ref().is_none_or(|taint| tolerates(pod, taint));
            if pod.deleting.is_some() || !is_admitted {
                return;
            }
            pod.ready = true;
            if !machine.running.contains_key(&pod.at.uid) {
                pod.phase = "Running".into();
                machine.running.insert(pod.at.uid.clone(), pod.at.name.clone());
            }
        });
        let version = self.store.version_of_pods(name);
        machine.settled = machine.ending.is_empty().then_some(Settled { version, ..now });
    }

    /// A process that waits for a storage that is cut off cannot be ended: it goes on when it has it back.
    fn end_pods(&mut self, name: &str) {
        let now = self.now();
        self.runs_changed = true;
        let Some(machine) = self.machines.get_mut(name) else { return };
        let cut = machine.storage_cut;
        let mut ended = Vec::new();
        for pod in self.store.pods_on(name) {
            let Some(deletion) = pod.deleting.as_ref().filter(|_| !is_finishing(pod)) else { continue };
            let runs = machine.running.contains_key(&pod.at.uid);
            let seen = *machine.ending.entry(pod.at.uid.clone()).or_insert(now);
            let is_over = !runs || now.since(seen) >= deletion.grace.min(stopping(&pod.at.uid));
            let is_stuck = runs && cut && uses_san(&pod.at.name);
            if is_over && !is_stuck {
                ended.push(pod.at.name.clone());
            }
        }
        ended.iter().for_each(|pod| self.delete_at_once(pod));
        let Some(machine) = self.machines.get_mut(name) else { return };
        let pods = &self.store.pods;
        let lives =
            |uid: &str, identity: &str| pods.get(identity).is_some_and(|pod| pod.at.uid == *uid && !is_finishing(pod));
        machine.running.retain(|uid, identity| cut && uses_san(identity) || lives(uid, identity));
        let running = &machine.running;
        machine.ending.retain(|uid, _| running.contains_key(uid));
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

pub(super) fn condition(kind: &str, status: Is, reason: &str) -> Condition {
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
        heartbeat_owner: HeartbeatOwner::Other,
    }
}

fn stopping(uid: &str) -> Duration {
    STOPPING[uid.bytes().map(usize::from).sum::<usize>() % STOPPING.len()]
}
