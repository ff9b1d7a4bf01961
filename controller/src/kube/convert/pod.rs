//! Pods, and what binds them: claims, attachments, disruption budgets.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::{core::v1 as core, policy::v1::PodDisruptionBudget, storage::v1::VolumeAttachment},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use nodewell_remediation::facts::{
    Attachment, Deletion, DisruptionBudget, Owner, Pod, PodRef, Toleration, Volume, VolumeClaim,
};

use super::{node::effect, selector::selects};

/// Set by the kubelet on the copies of its static pods.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// `v1.DefaultTerminationGracePeriodSeconds`.
const DEFAULT_GRACE_SECS: i64 = 30;

/// Claims that were looked up, by name, in the pod's namespace.
pub type Claims = BTreeMap<String, VolumeClaim>;

/// A pod with what is known of its claims. Nothing without a name and a UID.
#[must_use]
pub fn pod(raw: core::Pod, claims: &Claims) -> Option<Pod> {
    let at = PodRef {
        namespace: raw.metadata.namespace.clone()?,
        name: raw.metadata.name.clone()?,
        uid: raw.metadata.uid.clone()?,
    };
    let (spec, status) = (raw.spec.unwrap_or_default(), raw.status.unwrap_or_default());
    let owners = raw.metadata.owner_references.clone().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true)).map(owner);
    let grace = seconds(spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE_SECS));
    let volumes = spec.volumes.iter().flatten().map(|volume| self::volume(volume, &at.name, claims)).collect();
    let ready = status.conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    Some(Pod {
        node: spec.node_name.unwrap_or_default(),
        phase: status.phase.unwrap_or_default(),
        ready,
        created: raw.metadata.creation_timestamp.as_ref().map(|time| time.0),
        owned_by_others: owner.is_none() && !owners.is_empty(),
        owner,
        deleting: deletion(&raw.metadata, grace),
        mirror: raw.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(MIRROR)),
        grace,
        finalizers: raw.metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty()),
        labels: raw.metadata.labels.unwrap_or_default(),
        annotations: raw.metadata.annotations.unwrap_or_default(),
        tolerations: spec.tolerations.unwrap_or_default().into_iter().map(toleration).collect(),
        volumes,
        at,
    })
}

fn owner(raw: &OwnerReference) -> Owner {
    Owner { kind: raw.kind.clone(), name: raw.name.clone(), uid: raw.uid.clone(), gone: false }
}

fn seconds(reported: i64) -> Duration {
    Duration::from_secs(u64::try_from(reported).unwrap_or_default())
}

/// `deletionTimestamp` is when the grace ends; the deletion began so long before.
fn deletion(meta: &ObjectMeta, default: Duration) -> Option<Deletion> {
    let grace = meta.deletion_grace_period_seconds.map_or(default, seconds);
    let end = meta.deletion_timestamp.as_ref()?.0;
    Some(Deletion { at: end.checked_sub(grace).unwrap_or(end), grace })
}

/// Without an operator it is `Equal`.
fn toleration(raw: core::Toleration) -> Toleration {
    Toleration {
        key: raw.key.unwrap_or_default(),
        value: raw.value.unwrap_or_default(),
        exists: raw.operator.as_deref() == Some("Exists"),
        effect: raw.effect.as_deref().and_then(effect),
        seconds: raw.toleration_seconds,
    }
}

fn volume(raw: &core::Volume, pod: &str, claims: &Claims) -> Volume {
    if raw.empty_dir.is_some() {
        return Volume::EmptyDir { name: raw.name.clone() };
    }
    match claim_name(raw, pod) {
        Some(name) => {
            Volume::Claim(claims.get(&name).cloned().unwrap_or(VolumeClaim { name, ..VolumeClaim::default() }))
        }
        None => Volume::Other,
    }
}

/// A generic ephemeral volume's claim is named by pod and volume (`ephemeral.VolumeClaimName`).
fn claim_name(raw: &core::Volume, pod: &str) -> Option<String> {
    let named = raw.persistent_volume_claim.as_ref().map(|claim| claim.claim_name.clone());
    named.or_else(|| raw.ephemeral.as_ref().map(|_| format!("{pod}-{}", raw.name)))
}

/// The claims that a pod names, in its own namespace.
#[must_use]
pub fn claims_of(raw: &core::Pod) -> Vec<String> {
    let pod = raw.metadata.name.as_deref().unwrap_or_default();
    let volumes = raw.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| claim_name(volume, pod)).collect()
}

/// An attachment, if it is one of a named volume.
#[must_use]
pub fn attachment(raw: VolumeAttachment) -> Option<Attachment> {
    Some(Attachment {
        name: raw.metadata.name?,
        node: raw.spec.node_name,
        volume: raw.spec.source.persistent_volume_name.unwrap_or_default(),
        attached: raw.status.is_some_and(|status| status.attached),
    })
}

/// The budget, if it selects this pod.
#[must_use]
pub fn budget(raw: PodDisruptionBudget, pod: &Pod) -> Option<DisruptionBudget> {
    let spec = raw.spec.unwrap_or_default();
    if !selects(spec.selector.as_ref(), &pod.labels) {
        return None;
    }
    let status = raw.status.unwrap_or_default();
    Some(DisruptionBudget {
        namespace: raw.metadata.namespace?,
        name: raw.metadata.name?,
        pods: vec![pod.at.name.clone()],
        disruptions_allowed: i64::from(status.disruptions_allowed),
        message: format!(
            "{} of {} pods are healthy, it wants {}",
            status.current_healthy, status.expected_pods, status.desired_healthy
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raw(extra: Value) -> core::Pod {
        let mut value =
            json!({ "metadata": { "name": "web-0", "namespace": "shop", "uid": "u" }, "spec": { "containers": [] } });
        for (part, fields) in extra.as_object().unwrap() {
            for (key, field) in fields.as_object().unwrap() {
                value[part][key] = field.clone();
            }
        }
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_pod_has_its_owner_its_claims_and_its_grace() {
        let raw = raw(json!({
            "metadata": { "ownerReferences": [
                { "apiVersion": "x", "kind": "Thing", "name": "t", "uid": "1" },
                { "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "2", "controller": true },
            ] },
            "spec": { "nodeName": "n1", "volumes": [
                { "name": "data", "persistentVolumeClaim": { "claimName": "data-web-0" } },
                { "name": "scratch", "ephemeral": {} }, { "name": "tmp", "emptyDir": {} }, { "name": "cfg", "configMap": {} },
            ], "tolerations": [{ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        }));
        assert_eq!(claims_of(&raw), ["data-web-0", "web-0-scratch"]);
        let known = VolumeClaim { name: "data-web-0".into(), one_node_only: Some(true), ..VolumeClaim::default() };
        let pod = pod(raw, &[(known.name.clone(), known.clone())].into()).unwrap();
        assert_eq!(pod.owner.unwrap().kind, "StatefulSet");
        assert!(!pod.owned_by_others && pod.ready && !pod.mirror);
        assert_eq!(pod.grace, Duration::from_secs(30));
        assert_eq!(pod.volumes[0], Volume::Claim(known));
        assert_eq!(
            pod.volumes[1],
            Volume::Claim(VolumeClaim { name: "web-0-scratch".into(), ..VolumeClaim::default() })
        );
        assert_eq!(pod.volumes[2..], [Volume::EmptyDir { name: "tmp".into() }, Volume::Other]);
        assert_eq!((pod.tolerations[0].exists, pod.tolerations[0].seconds), (true, Some(300)));
    }

    #[test]
    fn a_deletion_began_its_grace_before_its_end() {
        let raw = raw(
            json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:01:00Z", "deletionGracePeriodSeconds": 60 } }),
        );
        let deleting = pod(raw, &Claims::new()).unwrap().deleting.unwrap();
        assert_eq!((deleting.at.to_string().as_str(), deleting.grace.as_secs()), ("2026-01-01T00:00:00Z", 60));
    }

    #[test]
    fn owners_without_a_controller_differ_from_none() {
        let owned = raw(
            json!({ "metadata": { "ownerReferences": [{ "apiVersion": "x", "kind": "T", "name": "t", "uid": "1" }] } }),
        );
        assert!(pod(owned, &Claims::new()).unwrap().owned_by_others);
        assert!(!pod(raw(json!({})), &Claims::new()).unwrap().owned_by_others);
    }

    #[test]
    fn a_budget_is_only_one_of_the_pods_it_selects() {
        let pod = pod(raw(json!({ "metadata": { "labels": { "app": "web" } } })), &Claims::new()).unwrap();
        let of = |app: &str| -> PodDisruptionBudget {
            serde_json::from_value(json!({
                "metadata": { "name": "b", "namespace": "shop" }, "spec": { "selector": { "matchLabels": { "app": app } } },
                "status": { "currentHealthy": 2, "desiredHealthy": 2, "disruptionsAllowed": 0, "expectedPods": 3 },
            }))
            .unwrap()
        };
        assert_eq!(budget(of("web"), &pod).unwrap().message, "2 of 3 pods are healthy, it wants 2");
        assert_eq!(budget(of("db"), &pod), None);
    }
}
