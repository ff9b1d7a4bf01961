//! Errors of people, before and in the middle of a remediation: each blocks it, the reason is shown where people look,
//! and nothing harsher follows from it.

use std::{sync::Arc, time::Duration};

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, fence, phase},
    fencing::Fenced,
    stand_in::{AlwaysOn, Make, StandIn},
    suite::{Need, Suite},
};
use serde_json::{Value, json};

const BMC: Need = Need::Other(nodewell_bmc::missing);
const POLICIES: &str = "/apis/nodewell.dev/v1alpha1/remediationpolicies";
const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const IN_NODEWELL: &str = "/api/v1/namespaces/nodewell";
/// A configuration is read every half minute, and its result is in the record ten seconds later.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_errors")
        .real_alone("a_policy_that_breaks_blocks_what_it_began", a_policy_that_breaks_blocks_what_it_began)
        .real_alone("a_budget_that_never_allows_and_a_node_that_goes", a_budget_that_never_allows_and_a_node_that_goes)
        .real_with(&[BMC], "a_fence_configuration_with_errors_is_no_fence", a_fence_configuration_with_errors);
}

fn policy(when: &str, steps: &Value) -> Value {
    json!({
        "when": when, "mode": "Enforce", "nodeStartupGracePeriod": "0s", "for": "0s", "healthyDelay": "1s",
        "steps": steps,
        "budget": { "maxUnavailable": 1 }, "storm": { "unhealthy": 1, "cooldown": "1s" },
        "fast": { "silentFor": "15s", "unreachableFrom": 2 },
    })
}

fn start_node(cluster: &Cluster, name: &str, labels: &[(&str, &str)]) -> StandIn {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let make = Make { name, labels, system_uuid: String::new(), address: "127.0.0.1".to_owned() };
    StandIn::start(cluster, &make, Arc::new(AlwaysOn))
}

fn node(cluster: &Cluster, name: &str) -> Value {
    cluster.admin(&Call::get(&format!("/api/v1/nodes/{name}"))).1
}

fn is_cordoned(cluster: &Cluster, name: &str) -> bool {
    node(cluster, name)["spec"]["unschedulable"] == true
}

fn has_pod(cluster: &Cluster, name: &str) -> bool {
    cluster.admin(&Call::get(&format!("/api/v1/namespaces/default/pods/{name}"))).0 == 200
}

fn described(cluster: &Cluster, kind: &str, name: &str) -> String {
    cluster.as_real().kubectl(&["describe", kind, name]).stdout
}

/// `kubectl describe` of the object shows all of `parts`.
fn until_described(controller: &Controller, cluster: &Cluster, kind: &str, name: &str, parts: &[&str]) {
    controller.until(PATIENCE, &format!("describe {kind} {name} shows {parts:?}"), || {
        let text = described(cluster, kind, name);
        parts.iter().all(|part| text.contains(part)).then_some(())
    });
}

fn until_planned(controller: &Controller, node: &str, parts: &[&str]) {
    controller.until(PATIENCE, &format!("plan of {node} shows {parts:?}"), || {
        let plan = controller.command(&["plan", "--node", node]);
        let text = plan.stdout + &plan.stderr;
        parts.iter().all(|part| text.contains(part)).then_some(())
    });
}

fn change(cluster: &Cluster, path: &str, patch: &Value) {
    let (code, answer) = cluster.admin(&Call::merge(path, patch));
    assert_eq!(code, 200, "{answer}");
}

fn a_policy_that_breaks_blocks_what_it_began(cluster: &Cluster) {
    apply_manifests(cluster);
    let (_marked, _plain) = (start_node(cluster, "marked", &[("gpu", "bad")]), start_node(cluster, "plain", &[]));
    let when = "node.labels.gpu == 'bad'";
    apply_policy(cluster, "by-label", &policy(when, &json!([{ "cordon": {} }])));
    let controller = Controller::start(cluster, "");
    controller.until(PATIENCE, "the marked one is cordoned", || is_cordoned(cluster, "marked").then_some(()));
    // The other one has no such label, which the expression does not ask for first.
    until_planned(&controller, "plain", &["PredicateError", "has("]);
    until_described(&controller, cluster, "node", "plain", &["Blocked", "PredicateError"]);
    let path = format!("{POLICIES}/by-label");
    change(cluster, &path, &json!({ "spec": { "when": "node.labels.gpu ==" } }));
    until_described(&controller, cluster, "remediationpolicy", "by-label", &["spec.when"]);
    until_described(&controller, cluster, "nodefence", "marked", &["PolicyUnreadable"]);
    until_planned(&controller, "marked", &["PolicyUnreadable", "spec.when"]);
    assert!(is_cordoned(cluster, "marked") && !is_cordoned(cluster, "plain"));
    change(cluster, &path, &json!({ "spec": { "when": "has(node.labels.gpu) && node.labels.gpu == 'worse'" } }));
    controller.until(PATIENCE, "once it is mended its cordon is removed", || {
        (!is_cordoned(cluster, "marked") && phase(cluster, "marked").is_none()).then_some(())
    });
}

fn a_budget_that_never_allows_and_a_node_that_goes(cluster: &Cluster) {
    apply_manifests(cluster);
    let full = start_node(cluster, "full", &[]);
    let (_a, _b) = (start_node(cluster, "a", &[]), start_node(cluster, "b", &[]));
    full.run_pod(cluster, "db-0");
    change(cluster, "/api/v1/namespaces/default/pods/db-0", &json!({ "metadata": { "labels": { "app": "db" } } }));
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "db" },
        "spec": { "maxUnavailable": 0, "selector": { "matchLabels": { "app": "db" } } },
    });
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    assert_eq!(cluster.admin(&Call::post(budgets, &budget)).0, 201);
    let steps = json!([{ "cordon": {} }, { "drain": { "timeout": "1h", "retry": "1s" } }]);
    apply_policy(cluster, "full-disks", &policy("conditions.?DiskPressure.?status.orValue('') == 'True'", &steps));
    let controller = Controller::start(cluster, "");
    full.report(cluster, "DiskPressure", "True");
    until_described(&controller, cluster, "node", "full", &["DrainWaits", "default/db-0", "PodDisruptionBudget"]);
    until_planned(&controller, "full", &["Draining", "default/db-0: refused by PodDisruptionBudget default/db"]);
    drop(full);
    cluster.delete_node("full");
    controller.until(PATIENCE, "the record of a Node that is gone ends", || {
        phase(cluster, "full").is_none_or(|phase| phase == "Closed").then_some(())
    });
    assert!(has_pod(cluster, "db-0"), "{}", controller.log());
}

fn a_fence_configuration_with_errors(cluster: &Cluster) {
    apply_manifests(cluster);
    let (dead, _well) = (Fenced::start(cluster, "dead", 1, &[]), Fenced::start(cluster, "well", 2, &[]));
    dead.node.run_pod(cluster, "db-0");
    let steps = json!([{ "taint": {} }, { "cordon": {} }, { "powerCycle": { "readyTimeout": "1m" } }]);
    apply_policy(cluster, "dead-nodes", &policy("!node.ready || lease.present && lease.age > duration('12s')", &steps));
    let config = format!("{IN_NODEWELL}/configmaps/fence-config-node-dead");
    let right = cluster.admin(&Call::get(&config)).1["data"].clone();
    let method = |text: &str| json!({ "data": { "fence-method-ipmi": text } });
    let options = right["fence-method-ipmi"].as_str().unwrap();
    change(cluster, &config, &method(&format!("{options}\nlan_plus=1")));
    let controller = Controller::start(cluster, "");
    let no_option = "fence_ipmilan has no option lan_plus";
    until_described(&controller, cluster, "node", "dead", &["FenceReady", no_option]);
    dead.kill();
    until_described(&controller, cluster, "nodefence", "dead", &["FenceNotReady", no_option]);
    until_planned(&controller, "dead", &["FenceNotReady", no_option]);
    // Each is edited in the middle of the fence.
    change(cluster, &config, &method(&options.replace("fence_ipmilan", "fence_nothing")));
    until_described(&controller, cluster, "nodefence", "dead", &["fence_nothing"]);
    change(cluster, &config, &method(&format!("{options}\nlanplus=1\nlanplus=0")));
    until_described(&controller, cluster, "nodefence", "dead", &["lanplus is given twice"]);
    let by_hand = fence(cluster, "dead").unwrap()["metadata"]["uid"].clone();
    assert_eq!(cluster.admin(&Call::delete(&format!("{FENCES}/dead"))).0, 200);
    let again = |record: Value| (record["metadata"]["uid"] != by_hand).then_some(());
    controller.until(PATIENCE, "a new record for the one deleted by hand", || fence(cluster, "dead").and_then(again));
    let secret = format!("{IN_NODEWELL}/secrets/secret-fence-method-ipmi-dead");
    let data = cluster.admin(&Call::get(&secret)).1["data"].clone();
    assert_eq!(cluster.admin(&Call::delete(&secret)).0, 200);
    change(cluster, &config, &method(&format!("{options}\nsecret=secret-fence-method-ipmi-dead")));
    until_described(&controller, cluster, "nodefence", "dead", &["FenceNotReady", "there is no Secret"]);
    let taints = node(cluster, "dead")["spec"]["taints"].to_string();
    assert!(has_pod(cluster, "db-0") && !taints.contains("out-of-service"), "{taints}\n{}", controller.log());
    assert_eq!((dead.orders("0"), dead.orders("1")), (0, 0), "{:?}", dead.bmc.orders());
    let metadata = json!({ "name": "secret-fence-method-ipmi-dead" });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
    assert_eq!(cluster.admin(&Call::post(&format!("{IN_NODEWELL}/secrets"), &secret)).0, 201);
    controller.until(PATIENCE, "its pod is released", || (!has_pod(cluster, "db-0")).then_some(()));
}
