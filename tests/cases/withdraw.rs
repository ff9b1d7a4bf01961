//! `nodewell withdraw`: after the agent is gone nothing of ours is left on the Node, and everything of others is.

use std::time::{Duration, Instant};

use nodewell_tests::{
    agent::Plan,
    cli::{Outcome, nodewell},
    cluster::{Cluster, Identity},
    suite::Suite,
};
use serde_json::json;

use crate::api_conditions::{plan_on, wait_published};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("withdraw")
        .case("without_a_cluster_there_is_nothing_to_do", without_a_cluster_there_is_nothing_to_do)
        .case("a_server_that_never_answers_costs_the_time_given", a_server_that_never_answers_costs_the_time_given)
        .api("our_conditions_go_and_others_stay", our_conditions_go_and_others_stay)
        .api("who_may_not_write_is_reported", who_may_not_write_is_reported);
}

/// As the removal of the package calls it, for the Node and the kubeconfig of `plan`.
fn withdraw(plan: &Plan, more: &[&str]) -> Outcome {
    let config = plan.folder().join("nodewell.toml");
    let mut args = vec!["withdraw", "--config", config.to_str().unwrap()];
    args.extend(more);
    nodewell(args)
}

fn our_conditions_go_and_others_stay(cluster: &Cluster) {
    let node = "withdrawn";
    let plan = plan_on(cluster, node);
    let kubeconfig = plan.folder().join("kubeconfig");
    let flags = ["--kubeconfig", kubeconfig.to_str().unwrap(), "--node-name", node];
    cluster.write_as_peer(node, "kubelet", &json!([{ "type": "Ready", "status": "True" }]));
    let mut agent = plan.start();
    wait_published(cluster, node, "KernelDeadlock", "False");
    agent.kill();
    let outcome = withdraw(agent.plan(), &flags);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains(node), "{outcome:?}");
    let left: Vec<_> = cluster.conditions(node).iter().map(|one| one["type"].clone()).collect();
    assert_eq!(left, ["Ready"]);
    let again = withdraw(agent.plan(), &flags);
    assert_eq!(again.code, 0, "{again:?}");
    cluster.delete_node(node);
    let gone = withdraw(agent.plan(), &flags);
    assert_eq!(gone.code, 0, "{gone:?}");
}

fn who_may_not_write_is_reported(cluster: &Cluster) {
    let node = "not-withdrawn";
    cluster.create_node(node);
    let plan = Plan::new(node);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Unknown, plan.folder());
    let outcome = withdraw(&plan, &["--kubeconfig", kubeconfig.to_str().unwrap(), "--node-name", node]);
    assert_eq!(outcome.code, 70, "{outcome:?}");
    assert!(outcome.stderr.contains(node) && outcome.stderr.contains("401"), "{outcome:?}");
}

fn without_a_cluster_there_is_nothing_to_do() {
    let plan = Plan::new("alone");
    let outcome = withdraw(&plan, &[]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    assert!(outcome.stdout.contains("nothing to withdraw"), "{outcome:?}");
}

fn a_server_that_never_answers_costs_the_time_given() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = Plan::new("silent");
    let server = format!("https://{}", silent.local_addr().unwrap());
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "c", "cluster": { "server": server, "insecure-skip-tls-verify": true } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
        "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }],
        "current-context": "x",
    });
    let path = plan.file("kubeconfig", &kubeconfig.to_string());
    // The first run of a program may build it.
    let _ = nodewell(["--version"]);
    let start = Instant::now();
    let outcome = withdraw(&plan, &["--kubeconfig", path.to_str().unwrap(), "--timeout", "1s"]);
    assert_eq!(outcome.code, 70, "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
