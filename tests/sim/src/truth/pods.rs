//! Pods: the StatefulSet that makes them again, the disruption budgets that protect them, the volumes they leave
//! behind.

use std::time::Duration;

use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::{
    api::OUT_OF_SERVICE,
    facts::{DisruptionBudget, Node, Owner, Pod, PodRef, Volume, VolumeClaim},
    time::Moment,
};

use super::Truth;
use crate::scenario::Theme;

/// A volume of a node that is gone is detached by force after so long.
const FORCE_DETACH: Duration = Duration::from_secs(360);
/// The storage that fencing cuts off.
pub const SAN: &str = "san";

/// Pods are in four groups: two that no budget selects, one that may miss one pod, one that may miss none.
fn group(name: &str) -> u64 {
    number(name) % 4
}

fn number(name: &str) -> u64 {
    name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Every other pod has its data on the storage that can be cut off.
#[must_use]
pub fn uses_san(identity: &str) -> bool {
    number(identity).is_multiple_of(2)
}

impl Truth {
    /// The StatefulSet controller: each identity has one pod, and a new one only when the old object is gone.
    pub(super) fn remake_pods(&mut self) {
        if self.store.pods.len() == self.scenario.pods {
            return;
        }
        let missing: Vec<String> = (0..self.scenario.pods)
            .map(|number| format!("web-{number}"))
            .filter(|name| !self.store.pods.contains_key(name))
            .collect();
        for name in missing {
            self.make_pod(&name);
        }
    }

    pub(super) fn make_pod(&mut self, name: &str) {
        let able: Vec<&Node> =
            self.store.nodes.values().filter(|node| takes_pods(node)).map(std::convert::AsRef::as_ref).collect();
        if able.is_empty() {
            return;
        }
        let index = usize::try_from(self.random.below(able.len() as u64)).unwrap_or(0);
        // The node that fails in plain stories has something to lose.
        let node = able.iter().find(|node| name == "web-0" && node.name == "n-0004").unwrap_or(&able[index]);
        let (node, node_uid) = (node.name.clone(), node.uid.clone());
        let uid = format!("pod-{}", self.store.next_uid());
        let pod = self.pod(name, &uid, &node);
        self.store.pods.insert(name.to_owned(), pod);
        self.store.bound.insert(uid, node_uid);
        self.store.attached.entry(node).or_default().insert(name.to_owned(), None);
    }

    fn pod(&self, name: &str, uid: &str, node: &str) -> Pod {
        let cuttable = self.scenario.theme == Theme::Storage && uses_san(name);
        let claim = VolumeClaim {
            name: format!("data-{name}"),
            one_node_only: Some(true),
            storage_class: cuttable.then(|| SAN.to_owned()),
            ..VolumeClaim::default()
        };
        Pod {
            at: PodRef { namespace: "default".into(), name: name.into(), uid: uid.into() },
            node: node.into(),
            phase: "Pending".into(),
            owner: Some(Owner { kind: "StatefulSet".into(), name: "web".into(), uid: "web".into(), gone: false }),
            grace: Duration::from_secs(30),
            volumes: vec![Volume::Claim(claim)],
            ..Pod::default()
        }
    }

    /// The budget that selects a pod, if one does.
    #[must_use]
    pub fn budget_of(&self, pod: &str) -> Option<DisruptionBudget> {
        let group = group(pod);
        let most_missing = match group {
            2 => 1,
            3 if self.scenario.never_allows => 0,
            _ => return None,
        };
        let pods: Vec<&Pod> = self.store.pods.values().filter(|other| self::group(&other.at.name) == group).collect();
        let serving = pods.iter().filter(|pod| pod.ready && pod.deleting.is_none()).count();
        let wanted = (0..self.scenario.pods as u64).filter(|number| number % 4 == group).count();
        let allowed = i64::try_from(serving).unwrap_or(0) + most_missing - i64::try_from(wanted).unwrap_or(0);
        Some(DisruptionBudget {
            namespace: "default".into(),
            name: format!("pdb-{group}"),
            pods: pods.iter().map(|pod| pod.at.name.clone()).collect(),
            disruptions_allowed: allowed,
            message: format!("{serving} of {wanted} serve"),
        })
    }

    /// What the API server answers to an eviction that a budget forbids.
    #[must_use]
    pub fn forbidden(&self, pod: &str) -> Option<ApiError> {
        let budget = self.budget_of(pod).filter(|budget| budget.disruptions_allowed <= 0)?;
        let message = format!("Cannot evict pod as it would violate the pod's disruption budget {}", budget.name);
        Some(ApiError::EvictionRefused { message, retry: None })
    }

    /// The attach-detach controller. With the out-of-service taint it does not wait for a node that cannot answer.
    pub(super) fn detach(&mut self, now: Moment) {
        let Self { store, machines, .. } = self;
        let mut counted = Vec::new();
        for (name, attached) in &mut store.attached {
            let is_out = store.nodes.get(name).is_none_or(|node| node.taint(OUT_OF_SERVICE).is_some());
            let answers = machines.get(name).is_some_and(|machine| machine.is_alive(now) && !machine.cut);
            let wait = if is_out || answers { Duration::from_secs(2) } else { FORCE_DETACH };
            let pods = &store.pods;
            attached.retain(|identity, unused| {
                if pods.get(identity).is_some_and(|pod| pod.node == *name) {
                    *unused = None;
                    return true;
                }
                now.since(*unused.get_or_insert(now)) < wait
            });
            let shown = store.nodes.get(name).map(|node| node.volumes_attached);
            if shown.is_some_and(|shown| shown != attached.len()) {
                counted.push((name.clone(), attached.len()));
            }
        }
        for (name, count) in counted {
            store.edit_node(&name, now, |node| node.volumes_attached = count);
        }
    }
}

fn takes_pods(node: &Node) -> bool {
    node.is_ready() && !node.unschedulable && node.taints.is_empty() && !node.is_control_plane()
}
