//! What runs on a node in a case, and what becomes of it: stand-ins for a kubelet and a scheduler, pods as the real
//! controllers make them, and a pod's story as a watch reports it.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{WatchEvent, WatchParams},
};
use nodewell_remediation::facts::PodRef;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    cases::{admin, make_node},
    program::until,
    server::Server,
};

/// As kubelets renew theirs.
const RENEW_EVERY: Duration = Duration::from_secs(10);
const PODS: &str = "/api/v1/namespaces/default/pods";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// A task of a case that ends with it, also when it panics.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A Node whose kubelet renews its Lease. It ends no pod: what goes away here was forced away.
pub(crate) struct StandIn {
    pub(crate) name: String,
    pub(crate) uid: String,
    server: Arc<Server>,
    kubelet: Option<Task>,
}

impl StandIn {
    pub(crate) async fn start(server: &Arc<Server>, name: &str) -> Self {
        let uid = make_node(server, name).await;
        let labels = json!({ "metadata": { "labels": { "kubernetes.io/hostname": name } } });
        admin(server, "merge", &format!("/api/v1/nodes/{name}"), labels).await;
        let kubelet = Some(Task(tokio::task::spawn_local(renew(Arc::clone(server), name.to_owned()))));
        let node = Self { name: name.to_owned(), uid, server: Arc::clone(server), kubelet };
        node.report("True").await;
        node
    }

    /// Its kubelet is gone, and Ready is Unknown: node-lifecycle-controller sets that after 50 s, which the case does
    /// not wait.
    pub(crate) async fn die(&mut self) {
        self.kubelet = None;
        self.report("Unknown").await;
    }

    /// A new boot of it: its kubelet renews the Lease again, and reports Ready.
    pub(crate) async fn boots(self, boot: &str) -> Self {
        assert!(self.server.kubectl(&["-n", "kube-node-lease", "delete", "--ignore-not-found", "lease", &self.name]));
        let info = [
            "machineID",
            "systemUUID",
            "kernelVersion",
            "osImage",
            "containerRuntimeVersion",
            "kubeletVersion",
            "kubeProxyVersion",
            "operatingSystem",
            "architecture",
        ];
        let mut info: serde_json::Map<String, Value> =
            info.iter().map(|name| ((*name).to_owned(), json!("x"))).collect();
        info.insert("bootID".to_owned(), json!(boot));
        let path = format!("/api/v1/nodes/{}/status", self.name);
        admin(&self.server, "merge", &path, json!({ "status": { "nodeInfo": info } })).await;
        let kubelet = Some(Task(tokio::task::spawn_local(renew(Arc::clone(&self.server), self.name.clone()))));
        let node = Self { kubelet, ..self };
        node.report("True").await;
        node
    }

    pub(crate) async fn report(&self, ready: &str) {
        let now = Timestamp::now().to_string();
        let ready = json!({ "type": "Ready", "status": ready, "reason": "StandIn", "lastHeartbeatTime": now,
            "lastTransitionTime": now });
        let path = format!("/api/v1/nodes/{}/status", self.name);
        admin(&self.server, "merge", &path, json!({ "status": { "conditions": [ready] } })).await;
    }

    /// A pod without an owner that runs here, with `more` in its spec.
    pub(crate) async fn run_pod(&self, name: &str, more: Value) -> PodRef {
        let mut body = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": pod_spec() });
        body["spec"]["nodeName"] = json!(self.name);
        for (key, value) in more.as_object().unwrap() {
            body["spec"][key] = value.clone();
        }
        let made = admin(&self.server, "create", PODS, body).await;
        mark_running(&self.server, name).await;
        pod_ref(&made)
    }

    /// Binds the pod of this name here, as a scheduler would, and reports that it runs.
    pub(crate) async fn take(&self, pod: &Value) -> PodRef {
        let at = pod_ref(pod);
        let binding = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": at.name },
            "target": { "apiVersion": "v1", "kind": "Node", "name": self.name } });
        admin(&self.server, "create", &format!("{PODS}/{}/binding", at.name), binding).await;
        mark_running(&self.server, &at.name).await;
        at
    }
}

async fn renew(server: Arc<Server>, node: String) {
    let lease = |time: Timestamp| {
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": node },
            "spec": { "holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": format!("{time:.6}") } })
    };
    admin(&server, "create", LEASES, lease(Timestamp::now())).await;
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        admin(&server, "merge", &format!("{LEASES}/{node}"), lease(Timestamp::now())).await;
    }
}

/// Its grace is far longer than a case: what is gone before was not left to end.
fn pod_spec() -> Value {
    json!({ "terminationGracePeriodSeconds": 600, "automountServiceAccountToken": false,
        "containers": [{ "name": "c", "image": "example.invalid/none" }] })
}

async fn mark_running(server: &Server, pod: &str) {
    let status = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
    admin(server, "merge", &format!("{PODS}/{pod}/status"), status).await;
}

fn pod_ref(pod: &Value) -> PodRef {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap().to_owned();
    PodRef { namespace: "default".into(), name: text("name"), uid: text("uid") }
}

/// A StatefulSet of one and a budget that lets nothing of it go; its pod, as the real controller made it.
pub(crate) async fn make_guarded_set(server: &Server, name: &str) -> Value {
    let labels = json!({ "app": name });
    let set = json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": name },
        "spec": { "replicas": 1, "serviceName": name, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod_spec() } } });
    let budget = json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": name },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": labels } } });
    admin(server, "create", "/apis/apps/v1/namespaces/default/statefulsets", set).await;
    admin(server, "create", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget).await;
    made(server, name, None).await
}

/// A DaemonSet for one node; its pod, with the tolerations that the real controller gives it.
pub(crate) async fn make_daemon(server: &Server, name: &str, node: &str) -> Value {
    let labels = json!({ "app": name });
    let mut spec = pod_spec();
    spec["nodeSelector"] = json!({ "kubernetes.io/hostname": node });
    let set = json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": name },
        "spec": { "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": spec } } });
    admin(server, "create", "/apis/apps/v1/namespaces/default/daemonsets", set).await;
    made(server, name, None).await
}

/// The pod of this app that is not that one, as soon as a controller has made it.
pub(crate) async fn made(server: &Server, app: &str, before: Option<&PodRef>) -> Value {
    let mut found = None;
    until("made", async || {
        found = pods_of(server, app).await.into_iter().find(|pod| before.is_none_or(|old| old.uid != pod_ref(pod).uid));
        found.is_some()
    })
    .await;
    found.unwrap()
}

pub(crate) async fn pods_of(server: &Server, app: &str) -> Vec<Value> {
    server.cluster("admin").await.wire().list(PODS, &format!("&labelSelector=app%3D{app}")).await.unwrap()
}

/// Waits until the real controller has counted: one pod, and none may go.
pub(crate) async fn wait_for_budget(server: &Server, name: &str) {
    let path = format!("/apis/policy/v1/namespaces/default/poddisruptionbudgets/{name}");
    until("counted by the budget", async || {
        let budget: Option<Value> = server.cluster("admin").await.wire().get(&path).await.unwrap();
        let status = &budget.unwrap()["status"];
        status["currentHealthy"] == 1 && status["expectedPods"] == 1 && status["disruptionsAllowed"] == 0
    })
    .await;
}

/// What became of the pods of a node, as a watch reports it.
pub(crate) struct Story {
    seen: Rc<RefCell<Vec<Seen>>>,
    _task: Task,
}

/// A pod as it was then, or at its end.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) is_gone: bool,
    pub(crate) pod: Pod,
}

impl Story {
    /// Of the pods that are there, and what comes.
    pub(crate) async fn of(server: &Server, node: &str) -> Self {
        let pods: Api<Pod> = Api::namespaced(server.client("admin").await, "default");
        let only = WatchParams::default().fields(&format!("spec.nodeName={node}"));
        let events = pods.watch(&only, "0").await.unwrap();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let kept = Rc::clone(&seen);
        let task = tokio::task::spawn_local(async move {
            let mut events = events.boxed_local();
            while let Some(event) = events.try_next().await.unwrap() {
                kept.borrow_mut().extend(Seen::now(event));
            }
        });
        Self { seen, _task: Task(task) }
    }

    fn first(&self, pod: &PodRef, is_it: fn(&Seen) -> bool) -> Option<Seen> {
        let seen = self.seen.borrow();
        seen.iter().find(|seen| seen.pod.metadata.uid.as_deref() == Some(&pod.uid) && is_it(seen)).cloned()
    }

    /// Since it was there first with a `deletionTimestamp`.
    pub(crate) fn ending(&self, pod: &PodRef) -> Option<Seen> {
        self.first(pod, |seen| seen.pod.metadata.deletion_timestamp.is_some())
    }

    pub(crate) fn gone(&self, pod: &PodRef) -> Option<Seen> {
        self.first(pod, |seen| seen.is_gone)
    }

    pub(crate) async fn until_ending(&self, pod: &PodRef) -> Seen {
        until("asked to end", async || self.ending(pod).is_some()).await;
        self.ending(pod).unwrap()
    }

    pub(crate) async fn until_gone(&self, pod: &PodRef) -> Seen {
        until("gone", async || self.gone(pod).is_some()).await;
        self.gone(pod).unwrap()
    }
}

impl Seen {
    fn now(event: WatchEvent<Pod>) -> Option<Self> {
        let (is_gone, pod) = match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (false, pod),
            WatchEvent::Deleted(pod) => (true, pod),
            WatchEvent::Bookmark(_) => return None,
            WatchEvent::Error(error) => panic!("the watch ended: {error:?}"),
        };
        Some(Self { at: Instant::now(), is_gone, pod })
    }

    /// Why it is disrupted, as the client that did it wrote.
    pub(crate) fn disruption(&self) -> Option<String> {
        let conditions = self.pod.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == "DisruptionTarget")?.reason.clone()
    }
}
