//! What Kubernetes itself does: nodes that go silent, pods that are made again, volumes that are detached.

use std::{collections::BTreeMap, rc::Rc, time::Duration};

use nodewell_remedy::{
    api::OUT_OF_SERVICE,
    facts::{Claim, Effect, Node, Owner, Pod, PodRef, Taint, Truth as Is, Volume, ZONE},
    time::Moment,
};

use super::{Bmc, Change, Machine, Manner, Truth, kubelet::set_ready};

/// `--node-monitor-grace-period` of the present releases.
const GRACE: Duration = Duration::from_secs(50);
/// `tolerationSeconds` that every pod gets.
const TOLERATION: Duration = Duration::from_secs(300);
/// A volume of a node that is gone is detached by force after so long.
const FORCE_DETACH: Duration = Duration::from_secs(360);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Truth {
    pub(super) fn populate(&mut self) {
        for number in 0..self.scene.nodes + self.scene.control_planes {
            self.add_machine(number);
        }
        for number in 0..self.scene.pods {
            self.make_pod(&format!("web-{number}"));
        }
    }

    fn add_machine(&mut self, number: usize) {
        let is_control_plane = number < self.scene.control_planes;
        let name = if is_control_plane { format!("cp-{number}") } else { format!("n-{number:04}") };
        let zone = format!("z-{}", number % self.scene.zones);
        let machine = Machine {
            name: name.clone(),
            zone: zone.clone(),
            on: true,
            boots: 1,
            booted: Moment::default(),
            // Everything was up long before the story begins.
            boot_takes: Duration::ZERO,
            hung: false,
            cut: false,
            kubelet_dead: false,
            broken: false,
            running: BTreeMap::new(),
            bmc: Bmc { manner: Manner::Honest, pending: None },
            renewed: Moment::default(),
            excused: false,
        };
        let node = node(&machine, zone, is_control_plane);
        self.machines.insert(name.clone(), machine);
        self.store.nodes.insert(name.clone(), Rc::new(node.clone()));
        self.store.edit_node(&name, Moment::default(), |node| set_ready(node, Is::True, "KubeletReady"));
    }

    pub(super) fn run_cluster(&mut self) {
        let now = self.now();
        self.watch_nodes(now);
        self.remake_pods();
        self.detach(now);
    }

    fn watch_nodes(&mut self, now: Moment) {
        let silent: Vec<(String, Duration)> = self
            .machines
            .values()
            .map(|machine| (machine.name.clone(), now.since(machine.renewed)))
            .filter(|(_, silent)| *silent >= GRACE)
            .collect();
        for (name, silence) in silent {
            self.store.edit_node(&name, now, |node| {
                if node.is_ready() {
                    set_ready(node, Is::Unknown, "NodeStatusUnknown");
                    node.taints.push(Taint {
                        key: UNREACHABLE.into(),
                        value: String::new(),
                        effect: Effect::NoExecute,
                    });
                }
            });
            if silence >= GRACE + TOLERATION {
                self.evict_all(&name);
            }
        }
    }

    fn evict_all(&mut self, name: &str) {
        let at = self.clock.wall();
        for pod in self.store.pods.values_mut().filter(|pod| pod.node == name && pod.deleting.is_none()) {
            pod.deleting = Some(nodewell_remedy::facts::Deletion { at, grace: Duration::from_secs(30) });
        }
    }

    /// The StatefulSet controller: each identity has one pod, and a new one only when the old object is gone.
    fn remake_pods(&mut self) {
        let missing: Vec<String> = (0..self.scene.pods)
            .map(|number| format!("web-{number}"))
            .filter(|name| !self.store.pods.contains_key(name))
            .collect();
        for name in missing {
            self.make_pod(&name);
        }
    }

    fn make_pod(&mut self, name: &str) {
        let able: Vec<&String> =
            self.store.nodes.values().filter(|node| takes_pods(node)).map(|node| &node.name).collect();
        if able.is_empty() {
            return;
        }
        let place = usize::try_from(self.random.below(able.len() as u64)).unwrap_or(0);
        // The node that fails in plain stories has something to lose.
        let node = able.iter().find(|node| name == "web-0" && node.as_str() == "n-0004").unwrap_or(&able[place]);
        let node = (*node).clone();
        let uid = self.store.next_version();
        let pod = pod(name, &format!("pod-{uid}"), &node);
        self.store.pods.insert(name.to_owned(), pod);
        self.store.attached.entry(node).or_default().insert(name.to_owned(), None);
    }

    /// The attach-detach controller. With the out-of-service taint it does not wait for a node that cannot answer.
    fn detach(&mut self, now: Moment) {
        let nodes: Vec<String> = self.store.attached.keys().cloned().collect();
        for name in nodes {
            let is_out = self.store.nodes.get(&name).is_none_or(|node| node.taint(OUT_OF_SERVICE).is_some());
            let answers = self.machines.get(&name).is_some_and(|machine| machine.is_alive(now) && !machine.cut);
            let wait = if is_out || answers { Duration::from_secs(2) } else { FORCE_DETACH };
            let pods = &self.store.pods;
            let Some(attached) = self.store.attached.get_mut(&name) else { continue };
            attached.retain(|identity, unused| {
                if pods.get(identity).is_some_and(|pod| pod.node == name) {
                    *unused = None;
                    return true;
                }
                now.since(*unused.get_or_insert(now)) < wait
            });
            let count = attached.len();
            self.store.edit_node(&name, now, |node| node.volumes_attached = count);
        }
    }

    /// A person deletes the Node; its pods go with it. What still runs there is that person's doing.
    pub fn delete_node(&mut self, name: &str) {
        let now = self.now();
        self.store.remove_node(name, now);
        self.store.pods.retain(|_, pod| pod.node != name);
        if let Some(machine) = self.machines.get_mut(name) {
            machine.excused = true;
        }
    }

    /// Everything, as a watch begins.
    #[must_use]
    pub fn list(&self) -> Vec<Change> {
        let nodes = self.store.nodes.values().map(|node| Change::Node(Rc::clone(node)));
        let leases = self.store.leases.iter().map(|(name, lease)| Change::Lease(name.clone(), lease.clone()));
        let fences = self.store.fences.values().map(|fence| Change::Fence(Box::new(fence.clone())));
        let stopped = std::iter::once(Change::Stopped(self.store.stopped.is_some()));
        nodes.chain(leases).chain(fences).chain(stopped).collect()
    }
}

fn takes_pods(node: &Node) -> bool {
    node.is_ready() && !node.unschedulable && node.taints.is_empty() && !node.is_control_plane()
}

fn node(machine: &Machine, zone: String, is_control_plane: bool) -> Node {
    let mut labels = BTreeMap::from([(ZONE.to_owned(), zone)]);
    if is_control_plane {
        labels.insert(nodewell_remedy::facts::CONTROL_PLANE[0].to_owned(), String::new());
    }
    Node {
        name: machine.name.clone(),
        uid: format!("uid-{}", machine.name),
        resource_version: "1".into(),
        created: jiff::Timestamp::UNIX_EPOCH,
        deleting: false,
        labels,
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        unschedulable: false,
        provider_id: String::new(),
        conditions: Vec::new(),
        boot_id: machine.boot_id(),
        system_uuid: format!("uuid-{}", machine.name),
        addresses: vec!["192.0.2.1".into()],
        volumes_attached: 0,
    }
}

fn pod(name: &str, uid: &str, node: &str) -> Pod {
    let claim = Claim { name: format!("data-{name}"), one_node_only: Some(true), ..Claim::default() };
    Pod {
        at: PodRef { namespace: "default".into(), name: name.into(), uid: uid.into() },
        node: node.into(),
        phase: "Pending".into(),
        ready: false,
        created: None,
        owner: Some(Owner { kind: "StatefulSet".into(), name: "web".into(), uid: "web".into(), gone: false }),
        owned_by_others: false,
        deleting: None,
        mirror: false,
        grace: Duration::from_secs(30),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        tolerations: Vec::new(),
        volumes: vec![Volume::Claim(claim)],
        finalizers: false,
    }
}
