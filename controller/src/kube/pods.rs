//! Pods of one node with their claims, and their two ways out.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use k8s_openapi::api::{
    core::v1::{self as core, PersistentVolume, PersistentVolumeClaim},
    policy::v1::PodDisruptionBudget,
    storage::v1::{StorageClass, VolumeAttachment},
};
use nodewell_reconcile::failure::Failure;
use nodewell_remedy::facts::{Attachment, Budget, Claim, Pod, PodRef};
use serde_json::{Value, json};

use super::{
    convert::{self, Claims},
    wire::{Wire, delete_options, escaped},
};

fn path(at: &PodRef) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", escaped(&at.namespace), escaped(&at.name))
}

/// All pods bound to `node`.
pub(super) async fn on(wire: &Wire, node: &str) -> Result<Vec<Pod>, Failure> {
    let query = format!("&fieldSelector={}", escaped(&format!("spec.nodeName={node}")));
    let raw: Vec<core::Pod> = wire.list("/api/v1/pods", &query).await?;
    let wanted: BTreeSet<(String, String)> = raw.iter().flat_map(named_claims).collect();
    let mut claims: BTreeMap<String, Claims> = BTreeMap::new();
    for (namespace, name) in wanted {
        let claim = claim(wire, &namespace, &name).await;
        claims.entry(namespace).or_default().insert(name, claim);
    }
    let none = Claims::new();
    let mut pods: Vec<Pod> = raw
        .into_iter()
        .filter_map(|raw| {
            let namespace = raw.metadata.namespace.clone().unwrap_or_default();
            convert::pod(raw, claims.get(&namespace).unwrap_or(&none))
        })
        .collect();
    mark_orphans(wire, &mut pods).await;
    Ok(pods)
}

fn named_claims(raw: &core::Pod) -> Vec<(String, String)> {
    let namespace = raw.metadata.namespace.clone().unwrap_or_default();
    convert::claims_of(raw).into_iter().map(|name| (namespace.clone(), name)).collect()
}

pub(super) async fn one(wire: &Wire, at: &PodRef) -> Result<Option<Pod>, Failure> {
    let Some(raw) = wire.get::<core::Pod>(&path(at)).await? else { return Ok(None) };
    Ok(convert::pod(raw, &Claims::new()).filter(|pod| pod.at.uid == at.uid))
}

/// What can be found out about a claim; the rest stays unknown, which nobody takes for permission.
async fn claim(wire: &Wire, namespace: &str, name: &str) -> Claim {
    let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", escaped(namespace), escaped(name));
    let unknown = Claim { name: name.to_owned(), ..Claim::default() };
    let Ok(Some(raw)) = wire.get::<PersistentVolumeClaim>(&path).await else { return unknown };
    let spec = raw.spec.unwrap_or_default();
    let modes = raw.status.and_then(|status| status.access_modes).or(spec.access_modes).unwrap_or_default();
    let single = |mode: &String| matches!(mode.as_str(), "ReadWriteOnce" | "ReadWriteOncePod");
    let driver = driver(wire, spec.volume_name.as_deref(), spec.storage_class_name.as_deref()).await;
    Claim {
        one_node_only: (!modes.is_empty()).then(|| modes.iter().all(single)),
        storage_class: spec.storage_class_name,
        driver,
        ..unknown
    }
}

/// The volume's CSI driver, else what its class provisions with.
async fn driver(wire: &Wire, volume: Option<&str>, class: Option<&str>) -> Option<String> {
    if let Some(volume) = volume {
        let path = format!("/api/v1/persistentvolumes/{}", escaped(volume));
        let found = wire.get::<PersistentVolume>(&path).await.ok().flatten();
        if let Some(csi) = found.and_then(|found| found.spec?.csi) {
            return Some(csi.driver);
        }
    }
    let path = format!("/apis/storage.k8s.io/v1/storageclasses/{}", escaped(class.filter(|class| !class.is_empty())?));
    wire.get::<StorageClass>(&path).await.ok().flatten().map(|class| class.provisioner)
}

/// A pod of a DaemonSet that is gone is one that nothing would make again; kubectl asks the same question.
async fn mark_orphans(wire: &Wire, pods: &mut [Pod]) {
    let mut gone: BTreeMap<(String, String, String), bool> = BTreeMap::new();
    for pod in pods {
        let Some(owner) = pod.owner.as_mut().filter(|owner| owner.kind == "DaemonSet") else { continue };
        let key = (pod.at.namespace.clone(), owner.name.clone(), owner.uid.clone());
        if !gone.contains_key(&key) {
            let is_gone = is_gone(wire, &key).await;
            gone.insert(key.clone(), is_gone);
        }
        owner.gone = gone.get(&key).copied().unwrap_or(false);
    }
}

async fn is_gone(wire: &Wire, (namespace, name, uid): &(String, String, String)) -> bool {
    let path = format!("/apis/apps/v1/namespaces/{}/daemonsets/{}", escaped(namespace), escaped(name));
    match wire.get::<Value>(&path).await {
        Ok(None) => true,
        Ok(Some(set)) => set["metadata"]["uid"].as_str() != Some(uid),
        Err(_) => false,
    }
}

pub(super) async fn attachments(wire: &Wire, node: &str) -> Result<Vec<Attachment>, Failure> {
    let raw: Vec<VolumeAttachment> = wire.list("/apis/storage.k8s.io/v1/volumeattachments", "").await?;
    Ok(raw.into_iter().filter_map(convert::attachment).filter(|one| one.node == node).collect())
}

pub(super) async fn budgets(wire: &Wire, pod: &Pod) -> Result<Vec<Budget>, Failure> {
    let path = format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", escaped(&pod.at.namespace));
    let raw: Vec<PodDisruptionBudget> = wire.list(&path, "").await?;
    Ok(raw.into_iter().filter_map(|raw| convert::budget(raw, pod)).collect())
}

/// Eviction v1.
pub(super) async fn evict(wire: &Wire, at: &PodRef, grace: Option<Duration>) -> Result<(), Failure> {
    let body = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": { "name": at.name, "namespace": at.namespace },
        "deleteOptions": delete_options(&json!({ "uid": at.uid }), grace),
    });
    wire.create::<Value>(&format!("{}/eviction", path(at)), &body).await.map(drop)
}

pub(super) async fn delete(wire: &Wire, at: &PodRef, grace: Option<Duration>) -> Result<(), Failure> {
    wire.delete(&path(at), &json!({ "uid": at.uid }), grace).await
}
