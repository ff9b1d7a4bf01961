//! Cluster API as it writes in its management cluster, by the source that `customers/cluster-api.yaml` names:
//! `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`, and `GenerateTemplate` in
//! `controllers/external/util.go`.

use serde_json::{Value, json};

use super::actors::{REQUESTS, get, strict};
use crate::{cases::admin, server::Server};

const API_VERSION: &str = "cluster.x-k8s.io/v1beta2";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
const CHECKS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinehealthchecks";
pub(crate) const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";
const EXAMPLE: &str = include_str!("../../../../docs/examples/external-remediation/machine-health-check.yaml");

fn infrastructure(kind: &str, name: &str) -> Value {
    json!({ "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name })
}

/// A cluster, and the shipped example as the `MachineHealthCheck` of its Machines.
pub(crate) fn make_cluster(server: &Server, name: &str) {
    let cluster = json!({ "apiVersion": API_VERSION, "kind": "Cluster",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "infrastructureRef": infrastructure("Metal3Cluster", name) } });
    server.apply(&cluster.to_string()).unwrap();
    for mut document in serde_saphyr::from_multiple::<Value>(EXAMPLE).unwrap() {
        if document["kind"] == "MachineHealthCheck" {
            document["metadata"]["name"] = json!(name);
            document["spec"]["clusterName"] = json!(name);
        }
        server.apply(&document.to_string()).unwrap();
    }
}

/// A Machine of `cluster` with this status, and the request that Cluster API makes for it.
pub(crate) async fn machine_request(server: &Server, name: &str, cluster: &str, status: Option<Value>) {
    let machine = json!({ "apiVersion": API_VERSION, "kind": "Machine",
        "metadata": { "name": name, "namespace": "default",
            "labels": { CLUSTER_NAME: cluster, "cluster.x-k8s.io/deployment-name": "prod-md-0" } },
        "spec": { "clusterName": cluster, "bootstrap": { "dataSecretName": name },
            "infrastructureRef": infrastructure("Metal3Machine", name) } });
    let machine = admin(server, "create", &strict(MACHINES), machine).await;
    if let Some(status) = status {
        admin(server, "merge", &strict(&format!("{MACHINES}/{name}/status")), json!({ "status": status })).await;
    }
    let request = request(server, &machine).await;
    let wire = server.cluster("requester").await.wire().clone();
    wire.create::<Value>(&strict(REQUESTS), &request).await.unwrap();
}

/// The template that the `MachineHealthCheck` of the Machine's cluster names, as a request for it.
async fn request(server: &Server, machine: &Value) -> Value {
    let (name, cluster) = (&machine["metadata"]["name"], machine["spec"]["clusterName"].as_str().unwrap());
    let check = get(server, &format!("{CHECKS}/{cluster}")).await.unwrap();
    let reference = &check["spec"]["remediation"]["templateRef"];
    let text = |field: &str| reference[field].as_str().unwrap();
    let (group, _) = text("apiVersion").split_once('/').unwrap();
    let templates = format!("/apis/{}/namespaces/default/nodefenceremediationtemplates", text("apiVersion"));
    let template = get(server, &format!("{templates}/{}", text("name"))).await.unwrap();
    let mut request = template["spec"]["template"].clone();
    request["apiVersion"] = reference["apiVersion"].clone();
    request["kind"] = json!(text("kind").strip_suffix("Template").unwrap());
    let meta = &mut request["metadata"];
    meta["name"] = name.clone();
    meta["namespace"] = json!("default");
    meta["labels"][CLUSTER_NAME] = json!(cluster);
    meta["annotations"]["cluster.x-k8s.io/cloned-from-name"] = json!(text("name"));
    meta["annotations"]["cluster.x-k8s.io/cloned-from-groupkind"] = json!(format!("{}.{group}", text("kind")));
    meta["ownerReferences"] = json!([{ "apiVersion": API_VERSION, "kind": "Machine", "name": name,
        "uid": machine["metadata"]["uid"] }]);
    request
}
