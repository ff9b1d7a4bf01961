//! Pods that belong to their node: those of two DaemonSets, and a static one. One of the DaemonSets is a node's agent
//! without volumes, the other one tolerates every taint and has a volume.

use std::time::Duration;

use nodewell_remediation::facts::{Effect, Node, Owner, Pod, PodRef, Taint, Toleration, Volume};

use super::{Truth, evictions::tolerates, pods::claim};

const AGENT: &str = "agent";
const DRIVER: &str = "driver";
const STATIC: &str = "static";
/// What every pod of a DaemonSet tolerates, of the taints that are played.
const TOLERATED: [&str; 3] =
    ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"];

impl Truth {
    /// The DaemonSet controller: a pod on each Node whose taints it tolerates.
    pub(super) fn remake_daemons(&mut self) {
        if !self.scenario.has_daemons {
            return;
        }
        let nodes = self.store.nodes.values().filter(|node| !node.is_control_plane());
        let wanted = nodes.flat_map(|node| [AGENT, DRIVER].map(|set| (set, node)));
        let missing: Vec<(Pod, String)> = wanted
            .filter(|(set, node)| !self.store.pods.contains_key(&format!("{set}-{}", node.name)))
            .map(|(set, node)| (daemon(set, node), node))
            .filter(|(pod, node)| node.taints.iter().all(|taint| may_stay(pod, taint)))
            .map(|(pod, node)| (pod, node.uid.clone()))
            .collect();
        for (pod, node_uid) in missing {
            self.add_pod(pod, node_uid);
        }
    }

    /// A kubelet shows the API server the pod that it runs from a file.
    pub(super) fn show_static_pod(&mut self, node: &str) {
        let name = format!("{STATIC}-{node}");
        if !self.scenario.has_daemons || self.store.pods.contains_key(&name) {
            return;
        }
        let Some(node) = self.store.nodes.get(node) else { return };
        let pod = Pod {
            mirror: true,
            // The kubelet gives it to them.
            tolerations: vec![Toleration { effect: Some(Effect::NoExecute), ..every() }],
            ..of_node(STATIC, "Node", node)
        };
        let node_uid = node.uid.clone();
        self.add_pod(pod, node_uid);
    }

    fn add_pod(&mut self, mut pod: Pod, node_uid: String) {
        pod.at.uid = format!("pod-{}", self.store.next_uid());
        self.store.bound.insert(pod.at.uid.clone(), node_uid);
        if !pod.volumes.is_empty() {
            self.attach(&pod.node, &pod.at.name);
        }
        self.store.put_pod(pod);
    }
}

fn may_stay(pod: &Pod, taint: &Taint) -> bool {
    taint.effect == Effect::PreferNoSchedule || tolerates(pod, taint)
}

fn daemon(set: &str, node: &Node) -> Pod {
    let pod = of_node(set, "DaemonSet", node);
    if set == DRIVER {
        let volumes = vec![Volume::Claim(claim(&pod.at.name))];
        return Pod { tolerations: vec![every()], volumes, ..pod };
    }
    let tolerations = TOLERATED.map(|key| Toleration { key: key.into(), ..every() }).to_vec();
    Pod { tolerations, ..pod }
}

fn of_node(set: &str, kind: &str, node: &Node) -> Pod {
    Pod {
        at: PodRef { namespace: "default".into(), name: format!("{set}-{}", node.name), uid: String::new() },
        node: node.name.clone(),
        phase: "Pending".into(),
        owner: Some(Owner { kind: kind.into(), name: set.into(), uid: set.into(), gone: false }),
        grace: Duration::from_secs(30),
        ..Pod::default()
    }
}

/// Of every taint.
fn every() -> Toleration {
    Toleration { key: String::new(), value: String::new(), exists: true, effect: None, seconds: None }
}
