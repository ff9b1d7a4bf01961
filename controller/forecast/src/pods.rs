//! What becomes of each pod of a failed node.

use std::time::Duration;

use nodewell_remediation::facts::{Effect, Pod, Toleration, Volume, VolumeClaim};
use serde::Serialize;

use super::{ClusterTimeline, ForecastSettings, Remediation, RemediationTimeline, Window, maybe_seconds};

/// Set with Ready=Unknown; `node.kubernetes.io/not-ready` is for a kubelet that reports itself not ready.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// What becomes of one pod: by the cluster alone, and with nodewell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodForecast {
    /// `namespace/name`.
    pub pod: String,
    /// `Kind/name` of what controls it; nothing for a bare pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the cluster marks it for deletion. Marked is not gone: the object stays until its kubelet reports that it
    /// ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Window>,
    pub cluster: ClusterOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediation: Option<RemediationOutcome>,
    /// Claims that one node only may use at a time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_volumes: Vec<String>,
    /// Another controller has to agree to its end.
    pub finalizers: bool,
    /// Data in it is lost with the node (`emptyDir`).
    pub loses_data: bool,
}

/// What becomes of it by the cluster alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ClusterOutcome {
    /// Its controller starts another one as soon as this one is marked for deletion.
    Replaced(Window),
    /// It is replaced, and the replacement waits for a volume that stays attached to the failed node. For
    /// `after_removal` after the old pod's *object* is gone, which nothing removes; never if that is switched off.
    WaitsForVolume {
        replaced: Window,
        #[serde(rename = "afterRemovalSeconds", serialize_with = "maybe_seconds")]
        after_removal: Option<Duration>,
    },
    /// A StatefulSet keeps one pod of a name: never while the old object is there.
    NeverReplaced,
    /// Nothing would make it again.
    Lost,
    /// It belongs to the node: it runs again when the node does.
    Stays,
    /// Its tolerations, or the state of the zone, keep it where it is: no replacement.
    NotEvicted,
    /// It had ended before.
    Finished,
    /// Whatever its controller does; we do not know that kind.
    UpToOwner(Window),
}

/// What becomes of it with nodewell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum RemediationOutcome {
    /// Its object is gone, and its volumes are free: whatever controls it starts it elsewhere.
    Released(Window),
    /// It is deleted, and nothing makes another one.
    Lost(Window),
    /// Left where it is.
    Stays,
    /// No difference: this node cannot be fenced, or this pod not be released by it.
    AsCluster,
}

impl PodForecast {
    pub(super) fn of(
        pod: &Pod,
        settings: &ForecastSettings,
        node: &ClusterTimeline,
        timeline: Option<(&Remediation, &RemediationTimeline)>,
    ) -> Self {
        let deletion = deletion(pod, node);
        let cluster = cluster_outcome(pod, deletion, settings);
        Self {
            pod: format!("{}/{}", pod.at.namespace, pod.at.name),
            owner: pod.owner.as_ref().map(|owner| format!("{}/{}", owner.kind, owner.name)),
            deletion,
            cluster,
            remediation: timeline.map(|(remediation, path)| remediation_outcome(pod, remediation, path)),
            held_volumes: single_node_claims(pod).map(|claim| claim.name.clone()).collect(),
            finalizers: pod.finalizers,
            loses_data: pod.volumes.iter().any(|volume| matches!(volume, Volume::EmptyDir { .. })),
        }
    }

    /// The worst first.
    pub(super) fn rank(&self) -> u8 {
        match self.cluster {
            ClusterOutcome::NeverReplaced => 0,
            ClusterOutcome::WaitsForVolume { .. } => 1,
            ClusterOutcome::Lost => 2,
            ClusterOutcome::NotEvicted => 3,
            ClusterOutcome::UpToOwner(_) => 4,
            ClusterOutcome::Replaced(_) => 5,
            ClusterOutcome::Stays => 6,
            ClusterOutcome::Finished => 7,
        }
    }

    /// Only a person, the node itself or a remediation brings it back.
    #[must_use]
    pub fn needs_help(&self) -> bool {
        self.rank() <= 3
    }
}

/// Static pods have a mirror in the API; DaemonSets tolerate the taint for ever.
fn belongs_to_node(pod: &Pod) -> bool {
    pod.mirror || pod.owner.as_ref().is_some_and(|owner| matches!(owner.kind.as_str(), "DaemonSet" | "Node"))
}

fn cluster_outcome(pod: &Pod, deletion: Option<Window>, settings: &ForecastSettings) -> ClusterOutcome {
    if pod.is_finished() {
        return ClusterOutcome::Finished;
    }
    if belongs_to_node(pod) {
        return ClusterOutcome::Stays;
    }
    let Some(owner) = &pod.owner else {
        return if deletion.is_some() { ClusterOutcome::Lost } else { ClusterOutcome::NotEvicted };
    };
    // Whatever its volumes: the name is taken until the object is gone, evicted or not.
    if owner.kind == "StatefulSet" {
        return ClusterOutcome::NeverReplaced;
    }
    let Some(deletion) = deletion else { return ClusterOutcome::NotEvicted };
    match owner.kind.as_str() {
        // Pods that are being deleted do not count (`IsPodActive`); Jobs so unless podReplacementPolicy is Failed.
        "ReplicaSet" | "ReplicationController" | "Job" if single_node_claims(pod).next().is_some() => {
            ClusterOutcome::WaitsForVolume { replaced: deletion, after_removal: settings.force_detach_after }
        }
        "ReplicaSet" | "ReplicationController" | "Job" => ClusterOutcome::Replaced(deletion),
        _ => ClusterOutcome::UpToOwner(deletion),
    }
}

fn single_node_claims(pod: &Pod) -> impl Iterator<Item = &VolumeClaim> {
    pod.volumes.iter().filter_map(|volume| match volume {
        // A claim that was not looked up may be held: better to name one too many.
        Volume::Claim(claim) if claim.one_node_only != Some(false) => Some(claim),
        _ => None,
    })
}

/// When the taint eviction controller deletes it: after the shortest of the tolerations that match
/// (`pkg/controller/tainteviction`), at once if none does, never if all of them are without an end.
fn deletion(pod: &Pod, node: &ClusterTimeline) -> Option<Window> {
    if pod.deleting.is_some() {
        return Some(Window::new(Duration::ZERO, Duration::ZERO));
    }
    let tainted = node.tainted?;
    let matching: Vec<&Toleration> = pod.tolerations.iter().filter(|one| tolerates(one)).collect();
    if matching.is_empty() {
        return Some(tainted);
    }
    let shortest = matching.iter().filter_map(|one| one.seconds).min()?;
    Some(tainted.later(Duration::from_secs(u64::try_from(shortest).unwrap_or_default())))
}

/// The taint has no value.
fn tolerates(toleration: &Toleration) -> bool {
    let key = toleration.key == UNREACHABLE || toleration.key.is_empty() && toleration.exists;
    let effect = toleration.effect.is_none_or(|effect| effect == Effect::NoExecute);
    key && effect && (toleration.exists || toleration.value.is_empty())
}

fn remediation_outcome(pod: &Pod, remediation: &Remediation, path: &RemediationTimeline) -> RemediationOutcome {
    if pod.is_finished() || belongs_to_node(pod) {
        return RemediationOutcome::Stays;
    }
    match path.released {
        Some(at) if remediation.storage_only.as_ref().is_none_or(|storage| pod.uses_only_storage(storage)) => {
            match pod.owner {
                Some(_) => RemediationOutcome::Released(at),
                None => RemediationOutcome::Lost(at),
            }
        }
        _ => RemediationOutcome::AsCluster,
    }
}
