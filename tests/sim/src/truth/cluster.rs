//! What Kubernetes itself and a cloud do: nodes that go silent, are registered, deleted and replaced.

use std::{collections::BTreeMap, rc::Rc, time::Duration};

use nodewell_remediation::{
    facts::{CONTROL_PLANE, ConditionStatus as Is, Deletion, Effect, Node, Taint, ZONE},
    time::Moment,
};

use super::{Bmc, Change, Excuse, Machine, Manner, Policy, Provider, Truth, evictions::tolerates, kubelet::set_ready};

/// `--node-monitor-grace-period` of the present releases.
const GRACE: Duration = Duration::from_secs(50);
/// `tolerationSeconds` that every pod gets.
const TOLERATION: Duration = Duration::from_secs(300);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Truth {
    pub(super) fn populate(&mut self) {
        for number in 0..self.scenario.nodes + self.scenario.control_planes {
            self.add_machine(number);
        }
        for number in 0..self.scenario.pods {
            self.make_pod(&format!("web-{number}"));
        }
        self.remake_daemons();
        self.store.policy = Policy::Parsed(Rc::new(self.scenario.policy()));
    }

    fn add_machine(&mut self, number: usize) {
        let is_control_plane = number < self.scenario.control_planes;
        let name = if is_control_plane { format!("cp-{number}") } else { format!("n-{number:04}") };
        let machine = Machine {
            name: name.clone(),
            zone: format!("z-{}", number % self.scenario.zones),
            on: true,
            boots: 1,
            booted: Moment::default(),
            // Everything was up long before the story begins.
            boot_takes: Duration::ZERO,
            hung: false,
            cut: false,
            kubelet_dead: false,
            broken: false,
            ill: false,
            storage_cut: false,
            generation: 1,
            registers: None,
            reaped: false,
            provider: Provider::Honest,
            running: BTreeMap::new(),
            ending: BTreeMap::new(),
            settled: None,
            restart: None,
            bmc: Bmc { manner: Manner::Honest, pending: None, restores: None, asked: 0 },
            supply: None,
            renewed: Moment::default(),
            excuse: None,
        };
        let mut node = node(&machine, jiff::Timestamp::UNIX_EPOCH);
        node.resource_version = "1".into();
        self.machines.insert(name.clone(), machine);
        self.store.nodes.insert(name, Rc::new(node));
    }

    pub(super) fn run_cluster(&mut self) {
        let now = self.now();
        self.run_cloud(now);
        if self.store.down <= now && self.has_quorum(now) {
            self.watch_nodes(now);
            self.evict_by_taint();
            self.collect_pods(now);
            self.finish_pods(now);
            self.remake_daemons();
        } else {
            self.is_absent(now);
            self.blind_until = now;
        }
        self.remake_pods();
        self.detach(now);
    }

    /// The node lifecycle controller. After a time without the API server it begins to count from zero, if it was
    /// started again for that, else it goes by what it heard before.
    fn watch_nodes(&mut self, now: Moment) {
        // With a restored store it was started again.
        let remembers = self.scenario.remembers_silence && self.store.set_back == 0;
        let seen = |machine: &Machine| if remembers { machine.renewed } else { machine.renewed.max(self.blind_until) };
        let silent: Vec<(String, Duration)> = self
            .machines
            .values()
            .map(|machine| (machine, now.since(seen(machine))))
            .filter(|(_, silent)| *silent >= GRACE)
            .map(|(machine, silent)| (machine.name.clone(), silent))
            .collect();
        for (name, silence) in silent {
            if self.store.nodes.get(&name).is_some_and(|node| node.is_ready()) {
                self.give_up(&name, now);
            }
            if silence >= GRACE + TOLERATION {
                self.evict_all(&name);
            }
        }
    }

    fn give_up(&mut self, name: &str, now: Moment) {
        if self.machines.get(name).is_some_and(|machine| machine.is_alive(now) && !machine.cut) {
            self.count("cluster late kubelets given up");
        }
        // What a monitor reported stays. Where there is one policy it goes, as it always did: that one is true of the
        // node all the same.
        let stays = self.scenario.second.is_some();
        self.store.edit_node(name, now, |node| {
            let reported = node.condition("KernelDeadlock").cloned().filter(|_| stays);
            set_ready(node, Is::Unknown, "NodeStatusUnknown");
            node.conditions.extend(reported);
            node.taints.push(Taint { key: UNREACHABLE.into(), value: String::new(), effect: Effect::NoExecute });
        });
        self.store.edit_pods_on(name, |pod| pod.ready = false);
    }

    fn evict_all(&mut self, name: &str) {
        let at = self.clock.wall();
        let unreachable = Taint { key: UNREACHABLE.into(), value: String::new(), effect: Effect::NoExecute };
        self.store.edit_pods_on(name, |pod| {
            if !tolerates(pod, &unreachable) {
                pod.deleting.get_or_insert(Deletion { at, grace: Duration::from_secs(30) });
            }
        });
    }

    /// The Node object goes; the garbage collector deletes its pods later. What still runs there then is the doing of
    /// the person who deleted it.
    pub fn delete_node(&mut self, name: &str) {
        let now = self.now();
        self.store.remove_node(name, now);
        // A cordon goes with its Node: the next one of the name is schedulable.
        self.oracle.persons.remove(name);
        if let Some(machine) = self.machines.get_mut(name) {
            machine.excuse = Some(Excuse::Deleted);
        }
    }

    /// A kubelet makes a Node for itself. It ends what no pod stands for any more, and runs what is bound to its name.
    pub(super) fn register(&mut self, name: &str) {
        let (now, wall) = (self.now(), self.clock.wall());
        let Some(machine) = self.machines.get_mut(name) else { return };
        machine.registers = None;
        machine.generation += 1;
        machine.settled = None;
        let pods = &self.store.pods;
        machine.running.retain(|uid, identity| pods.get(identity).is_some_and(|pod| pod.at.uid == *uid));
        machine.excuse = None;
        // Its first status reports that it lives.
        machine.renewed = Moment::default();
        let node = node(machine, wall);
        self.bind_again(&node);
        self.store.add_node(node, now);
        self.count("cluster registered again");
        self.note(format!("{name}: registered again"));
    }

    /// What a provider was asked to do and does now.
    fn run_cloud(&mut self, now: Moment) {
        for id in self.provider.due(now) {
            let machine = self.machines.values().find(|machine| machine.provider_id() == id);
            if let Some(name) = machine.map(|machine| machine.name.clone()) {
                self.take_away(&name);
            }
        }
        for name in self.provider.vacated(now) {
            self.delete_node(&name);
            self.replace(&name);
        }
    }

    /// The machine is gone; its cloud controller deletes the Node soon.
    pub fn take_away(&mut self, name: &str) {
        let now = self.now();
        self.switch(name, false, "its provider");
        let Some(machine) = self.machines.get_mut(name).filter(|machine| !machine.reaped) else { return };
        machine.reaped = true;
        let pause = self.random.secs(1, 8);
        self.provider.vacate(name, now.plus(pause));
    }

    /// In most cases another machine comes under the same name.
    fn replace(&mut self, name: &str) {
        let now = self.now();
        if self.random.chance(300) {
            return;
        }
        let pause = self.random.secs(5, 40);
        let Some(machine) = self.machines.get_mut(name) else { return };
        machine.reaped = false;
        machine.registers = Some(now.plus(pause));
        self.switch(name, true, "its provider");
    }

    /// Everything, as a watch begins.
    #[must_use]
    pub fn list(&self) -> Vec<Change> {
        let nodes = self.store.nodes.values().map(|node| Change::Node(Rc::clone(node)));
        let leases = self.store.leases.iter().map(|(name, lease)| Change::Lease(name.clone(), lease.clone()));
        let fences = self.store.fences.values().map(|fence| Change::Fence(Box::new(fence.clone())));
        let ending = self.store.shutdowns.iter().map(|(name, boot)| Change::Shutdown(name.clone(), boot.clone()));
        let policy = Change::Policy(self.store.policy.clone());
        let second = self.scenario.second_policy().map(|policy| Change::Second(Rc::new(policy)));
        let rest = [policy, Change::Stopped(self.store.stopped.is_some())];
        nodes.chain(leases).chain(ending).chain(fences).chain(rest).chain(second).collect()
    }
}

fn node(machine: &Machine, created: jiff::Timestamp) -> Node {
    let mut labels = BTreeMap::from([(ZONE.to_owned(), machine.zone.clone())]);
    if machine.name.starts_with("cp-") {
        labels.insert(CONTROL_PLANE[0].to_owned(), String::new());
    }
    let mut node = Node {
        name: machine.name.clone(),
        uid: machine.node_uid(),
        created,
        labels,
        provider_id: machine.provider_id(),
        boot_id: machine.boot_id(),
        system_uuid: format!("uuid-{}", machine.name),
        addresses: vec!["192.0.2.1".into()],
        ..Node::default()
    };
    set_ready(&mut node, Is::True, "KubeletReady");
    node
}
