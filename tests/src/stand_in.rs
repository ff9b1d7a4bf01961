//! A stand-in for a node: a machine that is on or off, and what its kubelet would report to the API server meanwhile.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::{Call, Client, Cluster, Identity};

/// As kubelets renew theirs.
const RENEW_EVERY: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two looks at pods that are to end.
const END_EVERY: Duration = Duration::from_secs(1);

/// What the kubelet would run on.
pub trait Machine: Send + Sync {
    /// The boot that runs now; nothing while it is off.
    fn boot(&self) -> Option<String>;
}

/// A machine that runs for ever.
pub struct AlwaysOn;

impl Machine for AlwaysOn {
    fn boot(&self) -> Option<String> {
        Some("boot".to_owned())
    }
}

/// What a Node is made of.
#[derive(Debug, Clone, Default)]
pub struct Make<'a> {
    pub name: &'a str,
    pub labels: BTreeMap<String, String>,
    pub system_uuid: String,
    pub address: String,
}

/// A node in the API, kept alive while its machine is. The Node stays when this is dropped; its kubelet ends.
pub struct StandIn {
    name: String,
    uid: String,
    stop: Arc<AtomicBool>,
    /// The kubelet hangs: the machine runs, and the API server hears nothing of it.
    hung: Arc<AtomicBool>,
    reported: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    /// Makes the Node and starts its kubelet.
    ///
    /// # Panics
    /// If the server will not have it.
    #[must_use]
    pub fn start(cluster: &Cluster, make: &Make<'_>, machine: Arc<dyn Machine>) -> Self {
        let metadata = json!({ "name": make.name, "labels": make.labels });
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata });
        let (code, node) = cluster.admin(&Call::post("/api/v1/nodes", &node));
        assert_eq!(code, 201, "{node}");
        let uid = node["metadata"]["uid"].as_str().unwrap().to_owned();
        let (stop, hung) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let reported = Arc::new(Mutex::new(None));
        let kubelet = Kubelet {
            client: cluster.client(&Identity::Admin),
            node: make.name.to_owned(),
            uid: uid.clone(),
            system_uuid: make.system_uuid.clone(),
            address: make.address.clone(),
            machine,
            stop: Arc::clone(&stop),
            hung: Arc::clone(&hung),
            reported: Arc::clone(&reported),
        };
        let thread = Some(thread::spawn(move || kubelet.run()));
        Self { name: make.name.to_owned(), uid, stop, hung, reported, thread }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// From now on the kubelet reports nothing, whatever its machine does; or reports again.
    pub fn hang(&self, hung: bool) {
        self.hung.store(hung, Ordering::Relaxed);
    }

    /// The boot that the kubelet has reported last.
    #[must_use]
    pub fn reported_boot(&self) -> Option<String> {
        self.reported.lock().unwrap().clone()
    }

    /// A condition as the kubelet would report it.
    ///
    /// # Panics
    /// If the server will not have it.
    pub fn report(&self, cluster: &Cluster, kind: &str, status: &str) {
        let body = json!({ "status": { "conditions": [condition(kind, status)] } });
        let path = format!("/api/v1/nodes/{}/status", self.name);
        let (code, answer) = cluster.admin(&Call::strategic_merge(&path, &body));
        assert_eq!(code, 200, "{answer}");
    }

    /// A pod of a StatefulSet that runs here, as its controller would have made it. Gives its UID.
    ///
    /// # Panics
    /// If the server will not have it.
    pub fn run_pod(&self, cluster: &Cluster, name: &str) -> String {
        self.run_pod_with(cluster, name, &json!([]))
    }

    /// The same, with these volumes.
    ///
    /// # Panics
    /// If the server will not have it.
    pub fn run_pod_with(&self, cluster: &Cluster, name: &str, volumes: &Value) -> String {
        // Which a controller makes in a whole cluster.
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        assert!(
            [201, 409].contains(&cluster.admin(&Call::post("/api/v1/namespaces/default/serviceaccounts", &account)).0)
        );
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db",
            "uid": "00000000-0000-4000-8000-000000000001", "controller": true,
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": "default", "ownerReferences": [owner] },
            "spec": {
                "nodeName": self.name, "terminationGracePeriodSeconds": 30,
                "automountServiceAccountToken": false, "volumes": volumes,
                "containers": [{ "name": "main", "image": "example.invalid/main" }],
            },
        });
        let (code, pod) = cluster.admin(&Call::post("/api/v1/namespaces/default/pods", &pod));
        assert_eq!(code, 201, "{pod}");
        let path = format!("/api/v1/namespaces/default/pods/{name}/status");
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        let status = json!({ "status": { "phase": "Running", "conditions": ready } });
        assert_eq!(cluster.admin(&Call::strategic_merge(&path, &status)).0, 200);
        pod["metadata"]["uid"].as_str().unwrap().to_owned()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn condition(kind: &str, status: &str) -> Value {
    let now = Timestamp::now().to_string();
    json!({
        "type": kind, "status": status, "reason": "StandIn", "message": "",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    })
}

struct Kubelet {
    client: Client,
    node: String,
    uid: String,
    system_uuid: String,
    address: String,
    machine: Arc<dyn Machine>,
    stop: Arc<AtomicBool>,
    hung: Arc<AtomicBool>,
    reported: Arc<Mutex<Option<String>>>,
}

impl Kubelet {
    fn run(&self) {
        let mut renewed: Option<Instant> = None;
        let mut boot = None;
        let mut ended = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let runs = self.machine.boot().filter(|_| !self.hung.load(Ordering::Relaxed));
            if let Some(now) = runs {
                if boot.as_ref() != Some(&now) && self.report_boot(&now) {
                    (boot, renewed) = (Some(now.clone()), None);
                    *self.reported.lock().unwrap() = Some(now);
                }
                if renewed.is_none_or(|at| at.elapsed() >= RENEW_EVERY) && self.renew() {
                    renewed = Some(Instant::now());
                }
                if ended.elapsed() >= END_EVERY {
                    self.end_pods();
                    ended = Instant::now();
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn report_boot(&self, boot: &str) -> bool {
        let status = json!({ "status": {
            "conditions": [condition("Ready", "True"), condition("MemoryPressure", "False")],
            "addresses": [{ "type": "InternalIP", "address": self.address }],
            "nodeInfo": {
                "bootID": boot, "systemUUID": self.system_uuid, "machineID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "", "kubeletVersion": "v1.36.2", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64",
            },
        } });
        let path = format!("/api/v1/nodes/{}/status", self.node);
        self.client.call(&Call::strategic_merge(&path, &status)).0 == 200
    }

    fn renew(&self) -> bool {
        const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        let renewed = format!("{:.6}", Timestamp::now());
        let spec = json!({ "holderIdentity": self.node, "leaseDurationSeconds": 40, "renewTime": renewed });
        let path = format!("{LEASES}/{}", self.node);
        let (code, _) = self.client.call(&Call::merge(&path, &json!({ "spec": spec })));
        if code != 404 {
            return code == 200;
        }
        let owner = json!([{ "apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.uid }]);
        let metadata = json!({ "name": self.node, "ownerReferences": owner });
        let lease =
            json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec });
        self.client.call(&Call::post(LEASES, &lease)).0 == 201
    }

    /// A kubelet ends what is being deleted, and reports so by deleting it for good.
    fn end_pods(&self) {
        let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", self.node);
        let (_, list) = self.client.call(&Call::get(&path));
        let ending = |pod: &&Value| !pod["metadata"]["deletionTimestamp"].is_null();
        for pod in list["items"].as_array().into_iter().flatten().filter(ending) {
            let (namespace, name) = (&pod["metadata"]["namespace"], &pod["metadata"]["name"]);
            let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) else { continue };
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}?gracePeriodSeconds=0");
            let _ = self.client.call(&Call::delete(&path));
        }
    }
}
