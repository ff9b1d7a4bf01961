//! Pods: the StatefulSet that makes them again, the disruption budgets that protect them, the volumes they leave
//! behind.

use std::time::Duration;

use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::facts::{DisruptionBudget, Node, Owner, Pod, PodRef, Volume, VolumeClaim};

use super::{Truth, volumes::volume_of};
use crate::scenario::Theme;

/// How the StatefulSet's pods are called.
const SET: &str = "web-";
/// The storage that fencing cuts off.
pub const SAN: &str = "san";

/// Pods are in four groups: two that no budget selects, one that may miss one pod, one that may miss none.
fn group(name: &str) -> Option<u64> {
    number(name).map(|number| number % 4)
}

/// Which of the StatefulSet's pods it is; nothing of those that belong to their node.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix(SET)?.parse().ok()
}

/// Every other pod has its data on the storage that can be cut off.
#[must_use]
pub fn uses_san(identity: &str) -> bool {
    number(identity).is_some_and(|number| number.is_multiple_of(2))
}

impl Truth {
    /// The StatefulSet controller: each identity has one pod, and a new one only when the old object is gone.
    pub(super) fn remake_pods(&mut self) {
        let there = self.store.pods.range(SET.to_owned()..).take_while(|(name, _)| name.starts_with(SET)).count();
        if there == self.scenario.pods {
            return;
        }
        let missing: Vec<String> = (0..self.scenario.pods)
            .map(|number| format!("{SET}{number}"))
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
        self.store.put_pod(pod);
        self.store.bound.insert(uid, node_uid);
        self.attach(&node, name);
    }

    fn pod(&self, name: &str, uid: &str, node: &str) -> Pod {
        let cuttable = self.scenario.theme == Theme::Storage && uses_san(name);
        let claim = VolumeClaim { storage_class: cuttable.then(|| SAN.to_owned()), ..claim(name) };
        Pod {
            at: PodRef { namespace: "default".into(), name: name.into(), uid: uid.into() },
            node: node.into(),
            phase: "Pending".into(),
            owner: Some(Owner { kind: "StatefulSet".into(), name: "web".into(), uid: "web".into(), gone: false }),
            grace: Duration::from_secs(30),
            volumes: vec![Volume::Claim(claim)],
            finalizers: number(name).is_some_and(|number| self.has_finalizers(number)),
            ..Pod::default()
        }
    }

    /// The budget that selects a pod, if one does.
    #[must_use]
    pub fn budget_of(&self, pod: &str) -> Option<DisruptionBudget> {
        let group = group(pod)?;
        let most_missing = match group {
            // One of hundreds at a time would take longer than a drain has.
            2 if self.scenario.is_crowded => 5,
            2 => 1,
            3 if self.scenario.never_allows => 0,
            _ => return None,
        };
        let pods: Vec<&Pod> =
            self.store.pods.values().filter(|other| self::group(&other.at.name) == Some(group)).collect();
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
}

/// As its claim is, once it was looked up.
pub(super) fn claim(identity: &str) -> VolumeClaim {
    VolumeClaim {
        name: format!("data-{identity}"),
        one_node_only: Some(true),
        volume: Some(volume_of(identity)),
        ..VolumeClaim::default()
    }
}

/// As a list of pods has it: with the names of its claims alone.
#[must_use]
pub fn without_claims(pod: &Pod) -> Pod {
    let nameless = |volume: &Volume| match volume {
        Volume::Claim(claim) => Volume::Claim(VolumeClaim { name: claim.name.clone(), ..VolumeClaim::default() }),
        other => other.clone(),
    };
    Pod { volumes: pod.volumes.iter().map(nameless).collect(), ..pod.clone() }
}

fn takes_pods(node: &Node) -> bool {
    node.is_ready() && !node.unschedulable && node.taints.is_empty() && !node.is_control_plane()
}
