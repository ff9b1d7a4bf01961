//! Credentials run out and are renewed on disk: noticed by the 401, used at once.

use std::{fs, time::Duration};

use nodewell_tests::{
    agent::{Agent, Plan},
    cluster::{Cluster, Identity},
    double::Fault,
    suite::Suite,
    wait::{until, until_within},
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("certificate_rotates")
        .real_alone("a_client_certificate_runs_out_and_is_renewed", a_client_certificate_runs_out_and_is_renewed)
        .on_double("a_token_refused_and_replaced_costs_no_wait", a_token_refused_and_replaced_costs_no_wait)
        .on_double("a_token_file_is_read_again", a_token_file_is_read_again);
}

const DAY: Duration = Duration::from_secs(86_400);

fn wait_refused(agent: &Agent) {
    let refused = || agent.view().apiserver.message.contains("401").then_some(());
    until_within(Duration::from_secs(60), "the server refuses the credentials", refused);
}

fn a_client_certificate_runs_out_and_is_renewed(cluster: &Cluster) {
    let node = "runs-out";
    cluster.create_node(node);
    let plan = Plan::new(node);
    let folder = plan.folder().to_owned();
    cluster.as_real().write_certificate(node, &folder, Duration::from_secs(15));
    let kubeconfig = plan.file("kubeconfig", &cluster.as_real().kubeconfig_of_files(&folder).to_string());
    let agent = plan.kubeconfig(kubeconfig).config("[apiserver]\nheartbeat = \"10s\"\n").start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    wait_refused(&agent);
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    cluster.as_real().write_certificate(node, &folder, DAY);
    wait_published(cluster, node, "KernelUnhealthy", "True");
    until("nothing is wrong any more", || agent.view().apiserver.message.is_empty().then_some(()));
    assert_eq!(cluster.events(node, "KernelOops").len(), 1);
}

/// The new token is on disk before the old one is refused, as a rotation leaves it: the refused request goes out again
/// with the new one, and no back-off is between the two.
fn a_token_refused_and_replaced_costs_no_wait(cluster: &Cluster) {
    let node = "replaced";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    cluster.as_double().fail_next(1, Fault::status(401));
    cluster.write_kubeconfig(&Identity::Node(node.to_owned()), agent.plan().folder());
    agent.kmsg().write(STALL);
    until("the event is reported", || cluster.events(node, "RCUStall").first().cloned());
    let posts = cluster.as_double().requests().into_iter().filter(|request| request.verb == "POST");
    assert_eq!(posts.map(|request| request.code).collect::<Vec<_>>(), [401, 201]);
    assert!(!agent.view().apiserver.message.contains("401"));
    // A request that waits is logged.
    assert!(!agent.log().contains("will retry"), "{}", agent.log());
}

fn a_token_file_is_read_again(cluster: &Cluster) {
    let node = "token-file";
    cluster.create_node(node);
    let plan = Plan::new(node);
    let token = plan.file("token", "unknown");
    let mut kubeconfig = cluster.as_double().kubeconfig(&Identity::Node(node.to_owned()));
    kubeconfig["users"][0]["user"] = serde_json::json!({ "tokenFile": token });
    let kubeconfig = plan.file("kubeconfig", &kubeconfig.to_string());
    let agent = plan.kubeconfig(kubeconfig).start();
    wait_refused(&agent);
    fs::write(token, format!("node:{node}\n")).unwrap();
    wait_published(cluster, node, "KernelUnhealthy", "False");
}
