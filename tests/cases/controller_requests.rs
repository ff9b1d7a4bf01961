//! Another remediator asks for a node to be fenced, and the controller does all of it: a real request, a simulated BMC.

use std::{path::Path, time::Duration};

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, fence},
    fencing::Fenced,
    suite::{Need, Suite},
};
use serde_json::{Value, json};

const BMC: Need = Need::Other(nodewell_bmc::missing);
const REQUESTS: &str = "/apis/nodewell.dev/v1alpha1/namespaces/default/nodefenceremediations";
/// A Node younger than 5 minutes is left alone, by the defaults that a record without a policy has; then power and release.
const RELEASED_WITHIN: Duration = Duration::from_secs(420);
const SOON: Duration = Duration::from_secs(60);

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("controller_requests").real_with(
        &[BMC, Need::ControllerManager, Need::LongSuite],
        "a_node_is_fenced_for_a_request_and_given_back",
        a_node_is_fenced_for_a_request_and_given_back,
    );
}

fn request(cluster: &Cluster) -> Option<Value> {
    let (code, request) = cluster.admin(&Call::get(&format!("{REQUESTS}/asked")));
    (code == 200).then_some(request)
}

/// `Succeeded`, with its reason.
fn succeeded(cluster: &Cluster) -> (String, String) {
    let request = request(cluster).unwrap_or_default();
    let conditions = request["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|one| one["type"] == "Succeeded").unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

fn a_node_is_fenced_for_a_request_and_given_back(cluster: &Cluster) {
    apply_manifests(cluster);
    let rbac = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac");
    let roles = rbac.join("external-remediation/nodewell-external-remediation.yaml");
    let outcome = cluster.as_real().kubectl(&["apply", "--filename", &roles.to_string_lossy()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let fenced = Fenced::start(cluster, "asked", 61, &[]);
    let _well = Fenced::start(cluster, "well", 62, &[]);
    // It is what gives a silent node up.
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    fenced.node.run_pod(cluster, "db-0");
    let controller = Controller::start(cluster, "[external-remediation]\nenabled = true\n");
    controller.until(SOON, "the BMC has been asked who it is", || (!fenced.bmc.orders().is_empty()).then_some(()));
    fenced.node.hang(true);
    let made = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFenceRemediation",
        "metadata": { "name": "asked", "namespace": "default" }, "spec": {} });
    let (code, answer) = cluster.admin(&Call::post(REQUESTS, &made));
    assert_eq!(code, 201, "{answer}");
    let waits = || (succeeded(cluster) == ("Unknown".to_owned(), "RequestWaits".to_owned())).then_some(());
    controller.until(SOON, "it waits while the node is Ready", waits);
    controller.until(SOON * 2, "its record is opened", || fence(cluster, "asked"));
    controller.until(RELEASED_WITHIN, "it is turned off", || (!fenced.bmc.is_on()).then_some(()));
    fenced.node.hang(false);
    let pod = || cluster.admin(&Call::get("/api/v1/namespaces/default/pods/db-0")).0;
    controller.until(SOON, "the pod is released", || (pod() == 404).then_some(()));
    let fenced_as_asked = || (succeeded(cluster) == ("True".to_owned(), "Fenced".to_owned())).then_some(());
    controller.until(SOON * 2, "fenced, and its machine back", fenced_as_asked);
    assert!(fenced.bmc.is_on() && fenced.orders("0") >= 1, "{:?}", fenced.bmc.orders());
    // Its client finds the node healthy.
    let (code, answer) = cluster.admin(&Call::delete(&format!("{REQUESTS}/asked")));
    assert!(code == 200 || code == 202, "{answer}");
    controller.until(SOON, "the request is gone", || request(cluster).is_none().then_some(()));
    assert!(fence(cluster, "asked").is_none(), "its record has ended before it");
    let (_, node) = cluster.admin(&Call::get("/api/v1/nodes/asked"));
    assert!(
        node["spec"]["unschedulable"] != true && !node["spec"]["taints"].to_string().contains("nodewell"),
        "{node}"
    );
    controller.check_rights();
}
