//! medik8s' node-healthcheck-operator as it writes, step by step, by the source that `customers/node-health-check.yaml`
//! names: `internal/controller/nodehealthcheck_controller.go`, and `manager.go`, `status.go` and `lease.go` in
//! `internal/controller/resources`. [`super::operator`] holds it to what the real one writes, where that can run.

use std::sync::Arc;

use jiff::Timestamp;
use nodewell_controller::kube::Wire;
use nodewell_remediation::api::request::KIND;
use serde_json::{Value, json};

use super::actors::{REQUESTS, get, path, request, strict};
use crate::{cases::admin, program::until, server::Server};

pub(crate) const HEALTH_CHECKS: &str = "/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases";
pub(crate) const TIMED_OUT: &str = "remediation.medik8s.io/nhc-timed-out";

/// One `NodeHealthCheck`, whose operator has the rights that it selects by its label.
pub(crate) struct HealthCheck {
    server: Arc<Server>,
    name: String,
    uid: String,
}

/// Kubernetes' own times have no parts of a second.
fn now() -> String {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap().to_string()
}

/// The Lease by which remediators show that they have the node.
pub(crate) fn lease_path(node: &str) -> String {
    format!("{LEASES}/node-{node}")
}

/// What owns the node's Lease; nothing where there is no Node.
pub(crate) async fn lease_owners(server: &Server, node: &str) -> Value {
    match get(server, &format!("/api/v1/nodes/{node}")).await {
        Some(stored) => {
            json!([{ "apiVersion": "v1", "kind": "Node", "name": node, "uid": stored["metadata"]["uid"] }])
        }
        None => Value::Null,
    }
}

/// The entry of a request in the status, as it is when that was made.
pub(crate) fn remediation(request: &Value) -> Value {
    let meta = &request["metadata"];
    json!({
        "resource": { "apiVersion": request["apiVersion"], "kind": request["kind"], "namespace": meta["namespace"],
            "name": meta["name"], "uid": meta["uid"] },
        "started": meta["creationTimestamp"],
        "templateName": meta["annotations"]["remediation.medik8s.io/template-name"],
    })
}

/// Another remediator's.
fn other_remediation(kind: &str, node: &str) -> Value {
    json!({
        "resource": { "apiVersion": "self-node-remediation.medik8s.io/v1alpha1", "kind": kind, "namespace": "default",
            "name": node, "uid": "11111111-2222-3333-4444-555555555555" },
        "started": now(), "templateName": "other",
    })
}

impl HealthCheck {
    /// As it is stored, or a new one.
    pub(crate) async fn make(server: &Arc<Server>, name: &str) -> Self {
        let stored = match get(server, &format!("{HEALTH_CHECKS}/{name}")).await {
            Some(stored) => stored,
            None => {
                let workers = "node-role.kubernetes.io/control-plane";
                let workers = json!({ "matchExpressions": [{ "key": workers, "operator": "DoesNotExist" }] });
                let body = json!({ "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                    "metadata": { "name": name },
                    "spec": { "selector": workers, "minHealthy": "51%",
                        "escalatingRemediations": [{ "order": 1, "timeout": "10m",
                            "remediationTemplate": { "apiVersion": "nodewell.dev/v1alpha1",
                                "kind": "NodeFenceRemediationTemplate", "namespace": "default", "name": "fence" } }] } });
                admin(server, "create", &strict(HEALTH_CHECKS), body).await
            }
        };
        let uid = stored["metadata"]["uid"].as_str().unwrap().to_owned();
        Self { server: Arc::clone(server), name: name.to_owned(), uid }
    }

    /// As whom it holds the Leases of its nodes.
    pub(crate) fn holder(&self) -> String {
        format!("NodeHealthCheck-{}", self.name)
    }

    async fn wire(&self) -> Wire {
        self.server.cluster("requester").await.wire().clone()
    }

    /// The request that it makes of the template `fence` for this node.
    pub(crate) fn request(&self, node: &str, spec: &Value) -> Value {
        json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": KIND, "spec": spec,
            "metadata": { "name": node, "namespace": "default",
                "annotations":
                    { "remediation.medik8s.io/node-name": node, "remediation.medik8s.io/template-name": "fence" },
                "labels": { "app.kubernetes.io/part-of": "node-healthcheck-controller" },
                "ownerReferences": [{ "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                    "name": self.name, "uid": self.uid, "controller": false }] } })
    }

    /// The Lease first, then the request, then its own status. A Lease that another one holds is left to it.
    pub(crate) async fn asks_for(&self, node: &str, spec: Value) {
        if get(&self.server, &lease_path(node)).await.is_none() {
            self.leases(node, &self.holder()).await;
        }
        self.wire().await.create::<Value>(&strict(REQUESTS), &self.request(node, &spec)).await.unwrap();
        self.lists(node, &[KIND]).await;
    }

    /// Whose the node's Lease is. It lasts for the template's ten minutes, and one more.
    pub(crate) async fn leases(&self, node: &str, holder: &str) {
        let now = format!("{:.6}", Timestamp::now());
        let owners = lease_owners(&self.server, node).await;
        let body = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": format!("node-{node}"), "namespace": "medik8s-leases", "ownerReferences": owners },
            "spec": { "holderIdentity": holder, "leaseDurationSeconds": 660, "renewTime": now, "acquireTime": now,
                "leaseTransitions": 0 } });
        let at = lease_path(node);
        match get(&self.server, &at).await {
            Some(_) => admin(&self.server, "merge", &strict(&at), body).await,
            None => admin(&self.server, "create", &strict(LEASES), body).await,
        };
    }

    /// What it has under way for this node, by its own status.
    pub(crate) async fn lists(&self, node: &str, kinds: &[&str]) {
        let own = request(&self.server, node).await.unwrap();
        let of = |kind: &&str| if *kind == KIND { remediation(&own) } else { other_remediation(kind, node) };
        let remediations: Vec<Value> = kinds.iter().map(of).collect();
        let mut nodes = self.unhealthy().await;
        nodes.retain(|one| one["name"] != node);
        nodes.push(json!({ "name": node, "remediations": remediations }));
        self.write(nodes).await;
    }

    async fn unhealthy(&self) -> Vec<Value> {
        let stored = get(&self.server, &format!("{HEALTH_CHECKS}/{}", self.name)).await.unwrap();
        stored["status"]["unhealthyNodes"].as_array().cloned().unwrap_or_default()
    }

    async fn write(&self, nodes: Vec<Value>) {
        let phase = if nodes.is_empty() { "Enabled" } else { "Remediating" };
        let status = json!({ "status": { "unhealthyNodes": nodes, "phase": phase, "lastUpdateTime": now() } });
        admin(&self.server, "merge", &strict(&format!("{HEALTH_CHECKS}/{}/status", self.name)), status).await;
    }

    /// Writes of this node what `change` makes of it; nothing of one that is not unhealthy.
    async fn update(&self, node: &str, change: impl Fn(&mut Value)) {
        let mut nodes = self.unhealthy().await;
        nodes.iter_mut().filter(|one| one["name"] == node).for_each(change);
        self.write(nodes).await;
    }

    /// The template's time is over, or the request has failed: the whole request is written, and then its own status.
    pub(crate) async fn times_out(&self, node: &str) {
        let now = now();
        let wire = self.wire().await;
        // What was changed since it was read is refused, and tried again.
        until("timed out", async || {
            let mut stored = request(&self.server, node).await.unwrap();
            stored["metadata"]["annotations"][TIMED_OUT] = json!(now);
            wire.replace::<Value>(&strict(&path(node)), &stored).await.is_ok()
        })
        .await;
        let timed_out = |of_node: &mut Value| {
            for one in of_node["remediations"].as_array_mut().unwrap() {
                if one["resource"]["kind"] == KIND {
                    one["timedOut"] = json!(now);
                }
            }
        };
        self.update(node, timed_out).await;
    }

    /// The node is healthy: the request is deleted. The node counts as unhealthy for as long as the request is there.
    pub(crate) async fn takes_back(&self, node: &str) {
        self.wire().await.delete(&path(node), &json!({}), None).await.unwrap();
        let now = now();
        self.update(node, |of_node| of_node["conditionsHealthyTimestamp"] = json!(now)).await;
    }

    /// The request is gone: the node is healthy, and its Lease is released if it is the check's own.
    pub(crate) async fn counts_as_healthy(&self, node: &str) {
        until("the request is gone", async || request(&self.server, node).await.is_none()).await;
        let at = lease_path(node);
        let lease = get(&self.server, &at).await.unwrap_or_default();
        if lease["spec"]["holderIdentity"] == self.holder().as_str() {
            let uid = json!({ "uid": lease["metadata"]["uid"] });
            self.server.cluster("admin").await.wire().delete(&at, &uid, None).await.unwrap();
        }
        let mut nodes = self.unhealthy().await;
        nodes.retain(|one| one["name"] != node);
        self.write(nodes).await;
    }

    /// What it must not do.
    pub(crate) async fn strips_the_finalizer(&self, node: &str) -> Result<Value, String> {
        let patch = json!({ "metadata": { "finalizers": null } });
        self.wire().await.merge::<Value>(&path(node), &patch).await.map_err(|error| error.to_string())
    }
}
