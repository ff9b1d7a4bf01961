//! The API server takes connections and requests and answers none: noticed within 15 s, and its return within two.

use std::time::Duration;

use nodewell_tests::{
    agent::{Agent, Plan},
    cluster::{Cluster, Identity},
    suite::{Need, Suite},
    wait::{until, until_within},
    wire::Wire,
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("apiserver_half_open")
        .api_alone("a_silent_server_is_noticed_and_its_return_too", a_silent_server_is_noticed_and_its_return_too)
        .case_with(&[Need::Wire], "packets_that_vanish_are_noticed", packets_that_vanish_are_noticed);
}

/// Twice what is promised, for machines that are busy.
const NOTICED: Duration = Duration::from_secs(30);
/// Below the timeout of a request: an agent that waits for the pending one comes too late.
const RETURNED: Duration = Duration::from_secs(8);

fn state(agent: &Agent) -> String {
    serde_json::to_value(agent.view().apiserver.state).unwrap().as_str().unwrap().to_owned()
}

fn a_silent_server_is_noticed_and_its_return_too(cluster: &Cluster) {
    let node = "half-open";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    until("connected", || (state(&agent) == "connected").then_some(()));
    cluster.freeze();
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    until_within(NOTICED, "the silence is noticed", || (state(&agent) == "failing").then_some(()));
    let message = agent.view().apiserver.message;
    assert!(message.contains("no answer within"), "{message}");
    agent.kmsg().write(STALL);
    agent.wait_event("RCUStall");
    cluster.thaw();
    until_within(RETURNED, "the condition is reported", || {
        cluster.condition(node, "KernelUnhealthy").filter(|reported| reported["status"] == "True")
    });
    until_within(RETURNED, "both events are reported", || {
        let reported = ["KernelOops", "RCUStall"].map(|reason| cluster.events(node, reason).len());
        (reported == [1, 1]).then_some(())
    });
    until("nothing waits any more", || (agent.view().apiserver.undelivered == 0).then_some(()));
}

/// The promise is 15 s; a request of the agent's is given 10.
const IDLE_NOTICED: Duration = Duration::from_secs(20);

fn packets_that_vanish_are_noticed() {
    let cluster = Cluster::double();
    let wire = Wire::to(cluster.as_double().address());
    let node = "cut-off";
    cluster.create_node(node);
    let plan = Plan::new(node);
    let near = cluster.as_double().kubeconfig(&Identity::Node(node.to_owned())).to_string();
    let far = near.replace(&cluster.as_double().address().to_string(), &wire.address().to_string());
    let kubeconfig = plan.file("kubeconfig", &far);
    let agent = plan.kubeconfig(kubeconfig).wrapped_in(wire.enter()).start();
    wait_published(&cluster, node, "KernelUnhealthy", "False");
    until("connected", || (state(&agent) == "connected").then_some(()));

    wire.cut();
    until_within(IDLE_NOTICED, "the idle connection is given up by the kernel", || {
        (connections(&agent) == 0).then_some(())
    });
    agent.kmsg().write(OOPS);
    until_within(NOTICED, "the cut is noticed", || (state(&agent) == "failing").then_some(()));
    wire.join();
    until_within(RETURNED, "the condition is reported", || {
        cluster.condition(node, "KernelUnhealthy").filter(|reported| reported["status"] == "True")
    });
    until_within(RETURNED, "and the event", || (cluster.events(node, "KernelOops").len() == 1).then_some(()));

    until("the connection is there", || (connections(&agent) > 0).then_some(()));
    wire.cut();
    agent.kmsg().write(STALL);
    until_within(NOTICED, "a connection in use is given up too", || (state(&agent) == "failing").then_some(()));
    wire.join();
    until_within(RETURNED, "the event is reported", || (cluster.events(node, "RCUStall").len() == 1).then_some(()));
}

/// Established connections of the agent's to the server.
fn connections(agent: &Agent) -> usize {
    let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", agent.pid())).unwrap();
    // State 01, and not what the metrics' port may have.
    let established = |line: &&str| line.split_whitespace().nth(3) == Some("01") && line.contains(OWN_NET);
    table.lines().filter(established).count()
}

/// 10.213.…, as `/proc/net/tcp` turns addresses around.
const OWN_NET: &str = "D50A:";
