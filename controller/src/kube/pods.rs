//! Pods of one node with their claims, and their two ways out.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use k8s_openapi::api::{
    core::v1::{self as core, PersistentVolume, PersistentVolumeClaim},
    policy::v1::PodDisruptionBudget,
    storage::v1::{StorageClass, VolumeAttachment},
};
use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::facts::{Attachment, DisruptionBudget, Pod, PodRef, VolumeClaim};
use serde_json::{Value, json};

use super::{
    convert::{self, Claims},
    wire::{Wire, delete_options, escaped},
};

fn path(at: &PodRef) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", escaped(&at.namespace), escaped(&at.name))
}

/// Questions about one node's claims and DaemonSets that are under way at once.
const AT_ONCE: usize = 16;

/// All pods bound to `node`; of their claims no more than the names.
pub(super) async fn on(wire: &Wire, node: &str) -> Result<Vec<Pod>, ApiError> {
    finished(wire, raw(wire, node).await?, &BTreeMap::new()).await
}

/// The same with what their claims are: up to three requests for each.
pub(super) async fn with_claims(wire: &Wire, node: &str) -> Result<Vec<Pod>, ApiError> {
    let raw = raw(wire, node).await?;
    let wanted: BTreeSet<(String, String)> = raw.iter().flat_map(named_claims).collect();
    let found = each(wanted, |(namespace, name)| async move {
        let claim = claim(wire, &namespace, &name).await;
        (namespace, name, claim)
    });
    let mut claims: BTreeMap<String, Claims> = BTreeMap::new();
    for (namespace, name, claim) in found.await {
        claims.entry(namespace).or_default().insert(name, claim);
    }
    finished(wire, raw, &claims).await
}

async fn raw(wire: &Wire, node: &str) -> Result<Vec<core::Pod>, ApiError> {
    let query = format!("&fieldSelector={}", escaped(&format!("spec.nodeName={node}")));
    wire.list("/api/v1/pods", &query).await
}

async fn finished(wire: &Wire, raw: Vec<core::Pod>, claims: &BTreeMap<String, Claims>) -> Result<Vec<Pod>, ApiError> {
    let none = Claims::new();
    let read = raw.into_iter().filter_map(|raw| {
        let namespace = raw.metadata.namespace.clone().unwrap_or_default();
        convert::pod(raw, claims.get(&namespace).unwrap_or(&none))
    });
    let mut pods: Vec<Pod> = read.collect();
    mark_orphans(wire, &mut pods).await;
    Ok(pods)
}

/// Asks for all, some at once: one after the other a node with many volumes would never be known in time.
async fn each<T, F: Future>(wanted: impl IntoIterator<Item = T>, ask: impl Fn(T) -> F) -> Vec<F::Output> {
    stream::iter(wanted).map(ask).buffer_unordered(AT_ONCE).collect().await
}

fn named_claims(raw: &core::Pod) -> Vec<(String, String)> {
    let namespace = raw.metadata.namespace.clone().unwrap_or_default();
    convert::claims_of(raw).into_iter().map(|name| (namespace.clone(), name)).collect()
}

pub(super) async fn one(wire: &Wire, at: &PodRef) -> Result<Option<Pod>, ApiError> {
    let Some(raw) = wire.get::<core::Pod>(&path(at)).await? else { return Ok(None) };
    Ok(convert::pod(raw, &Claims::new()).filter(|pod| pod.at.uid == at.uid))
}

/// What can be found out about a claim; the rest stays unknown, which no caller takes for permission.
async fn claim(wire: &Wire, namespace: &str, name: &str) -> VolumeClaim {
    let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", escaped(namespace), escaped(name));
    let unknown = VolumeClaim { name: name.to_owned(), ..VolumeClaim::default() };
    let Ok(Some(raw)) = wire.get::<PersistentVolumeClaim>(&path).await else { return unknown };
    let spec = raw.spec.unwrap_or_default();
    let modes = raw.status.and_then(|status| status.access_modes).or(spec.access_modes).unwrap_or_default();
    let single = |mode: &String| matches!(mode.as_str(), "ReadWriteOnce" | "ReadWriteOncePod");
    let driver = driver(wire, spec.volume_name.as_deref(), spec.storage_class_name.as_deref()).await;
    VolumeClaim {
        one_node_only: (!modes.is_empty()).then(|| modes.iter().all(single)),
        storage_class: spec.storage_class_name,
        driver,
        volume: spec.volume_name,
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
    let sets: BTreeSet<Set> = pods.iter().filter_map(set_of).collect();
    let asked = each(sets, |set| async move { is_gone(wire, &set).await.then_some(set) });
    let gone: BTreeSet<Set> = asked.await.into_iter().flatten().collect();
    for pod in pods {
        let is_orphan = set_of(pod).is_some_and(|set| gone.contains(&set));
        pod.owner.iter_mut().for_each(|owner| owner.gone = is_orphan);
    }
}

/// A DaemonSet: namespace, name and UID.
type Set = (String, String, String);

fn set_of(pod: &Pod) -> Option<Set> {
    let owner = pod.owner.as_ref().filter(|owner| owner.kind == "DaemonSet")?;
    Some((pod.at.namespace.clone(), owner.name.clone(), owner.uid.clone()))
}

async fn is_gone(wire: &Wire, (namespace, name, uid): &Set) -> bool {
    let path = format!("/apis/apps/v1/namespaces/{}/daemonsets/{}", escaped(namespace), escaped(name));
    match wire.get::<Value>(&path).await {
        Ok(None) => true,
        Ok(Some(set)) => set["metadata"]["uid"].as_str() != Some(uid),
        Err(_) => false,
    }
}

pub(super) async fn attachments(wire: &Wire, node: &str) -> Result<Vec<Attachment>, ApiError> {
    let raw: Vec<VolumeAttachment> = wire.list("/apis/storage.k8s.io/v1/volumeattachments", "").await?;
    Ok(raw.into_iter().filter_map(convert::attachment).filter(|one| one.node == node).collect())
}

pub(super) async fn budgets(wire: &Wire, pod: &Pod) -> Result<Vec<DisruptionBudget>, ApiError> {
    let path = format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", escaped(&pod.at.namespace));
    let raw: Vec<PodDisruptionBudget> = wire.list(&path, "").await?;
    Ok(raw.into_iter().filter_map(|raw| convert::budget(raw, pod)).collect())
}

/// Eviction v1.
pub(super) async fn evict(wire: &Wire, at: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
    let body = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": { "name": at.name, "namespace": at.namespace },
        "deleteOptions": delete_options(&json!({ "uid": at.uid }), grace),
    });
    wire.create::<Value>(&format!("{}/eviction", path(at)), &body).await.map(drop)
}

pub(super) async fn delete(wire: &Wire, at: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
    wire.delete(&path(at), &json!({ "uid": at.uid }), grace).await
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc, sync::Mutex};

    use hyper::{Request, Response};
    use kube::client::Body;

    use super::*;

    /// A node with 200 pods, each with a claim of its own; every answer takes 50 ms. The paths that were asked for.
    fn server() -> (Wire, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            log.lock().unwrap().push(path.clone());
            async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok::<_, Infallible>(Response::new(Body::from(answer(&path).to_string().into_bytes())))
            }
        });
        (Wire::new(kube::Client::new(service, "default"), Duration::from_secs(10)), asked)
    }

    fn answer(path: &str) -> Value {
        if path.ends_with("/pods") {
            let pods: Vec<Value> = (0..200).map(pod).collect();
            return json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": pods });
        }
        let spec = json!({ "volumeName": "v", "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
            "csi": { "driver": "disks.example.com", "volumeHandle": "h" } });
        let kinds = [
            ("/persistentvolumeclaims/", "v1", "PersistentVolumeClaim"),
            ("/persistentvolumes/", "v1", "PersistentVolume"),
            ("/storageclasses/", "storage.k8s.io/v1", "StorageClass"),
            ("/daemonsets/", "apps/v1", "DaemonSet"),
        ];
        let (_, version, kind) = kinds.into_iter().find(|(part, ..)| path.contains(part)).unwrap();
        json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "x", "uid": "set" }, "spec": spec,
            "provisioner": "p" })
    }

    fn pod(at: usize) -> Value {
        let volumes = json!([{ "name": "a", "persistentVolumeClaim": { "claimName": format!("c{at}") } }]);
        let owners = json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": format!("d{}", at % 40),
            "uid": if at.is_multiple_of(40) { "before" } else { "set" }, "controller": true }]);
        json!({ "metadata": { "namespace": "n", "name": format!("p{at}"), "uid": format!("u{at}"),
            "ownerReferences": owners }, "spec": { "containers": [], "volumes": volumes, "nodeName": "a" } })
    }

    #[tokio::test(start_paused = true)]
    async fn two_hundred_claims_are_known_before_the_pods_are_old() {
        let (wire, _) = server();
        let began = tokio::time::Instant::now();
        let pods = with_claims(&wire, "a").await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        let known = pods.iter().flat_map(|pod| &pod.volumes).filter(|volume| match volume {
            nodewell_remediation::facts::Volume::Claim(claim) => claim.driver.as_deref() == Some("disks.example.com"),
            _ => false,
        });
        assert_eq!((pods.len(), known.count()), (200, 200));
    }

    #[tokio::test(start_paused = true)]
    async fn claims_are_not_asked_for_unless_they_matter() {
        let (wire, asked) = server();
        let pods = on(&wire, "a").await.unwrap();
        let orphans = pods.iter().filter(|pod| pod.owner.as_ref().is_some_and(|owner| owner.gone)).count();
        assert_eq!((pods.len(), orphans), (200, 5));
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1 + 40, "one list, and each DaemonSet once");
        assert!(asked.iter().all(|path| !path.contains("persistentvolume")));
    }
}
