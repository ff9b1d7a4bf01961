//! The API server takes connections and requests and answers none: noticed within 15 s, and its return within two.

use std::time::Duration;

use nodewell_tests::{
    agent::Agent,
    cluster::Cluster,
    suite::Suite,
    wait::{until, until_within},
};

use crate::{
    api_conditions::{plan_on, wait_told},
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("apiserver_half_open")
        .api_alone("a_silent_server_is_noticed_and_its_return_too", a_silent_server_is_noticed_and_its_return_too)
        .on_double("the_kernel_watches_over_an_idle_connection", the_kernel_watches_over_an_idle_connection);
}

/// Twice what is promised, for machines that are busy.
const NOTICED: Duration = Duration::from_secs(30);
/// Below the time of a request: whoever waits for the one that is pending comes too late.
const RETURNED: Duration = Duration::from_secs(8);

fn state(agent: &Agent) -> String {
    serde_json::to_value(agent.view().apiserver.state).unwrap().as_str().unwrap().to_owned()
}

fn a_silent_server_is_noticed_and_its_return_too(cluster: &Cluster) {
    let node = "half-open";
    let agent = plan_on(cluster, node).start();
    wait_told(cluster, (node, "KernelUnhealthy"), "False");
    until("connected", || (state(&agent) == "connected").then_some(()));
    cluster.freeze();
    agent.kmsg().say(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    until_within(NOTICED, "the silence is noticed", || (state(&agent) == "failing").then_some(()));
    let message = agent.view().apiserver.message;
    assert!(message.contains("no answer within"), "{message}");
    agent.kmsg().say(STALL);
    agent.wait_event("RCUStall");
    cluster.thaw();
    until_within(RETURNED, "the condition is told", || {
        cluster.condition(node, "KernelUnhealthy").filter(|told| told["status"] == "True")
    });
    until_within(RETURNED, "both events are told", || {
        let told = ["KernelOops", "RCUStall"].map(|reason| cluster.events(node, reason).len());
        (told == [1, 1]).then_some(())
    });
    until("nothing waits any more", || (agent.view().apiserver.undelivered == 0).then_some(()));
}

/// Packets that are dropped cannot be played here; what asks for them can be looked at: `timer:(keepalive,8.9sec,0)`.
fn the_kernel_watches_over_an_idle_connection(cluster: &Cluster) {
    let node = "kept-alive";
    let agent = plan_on(cluster, node).start();
    wait_told(cluster, (node, "KernelUnhealthy"), "False");
    let pid = format!("pid={},", agent.pid());
    let timer = until("the connection is idle and watched", || {
        let output = std::process::Command::new("ss").args(["-tnpoH", "state", "established"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ours = text.lines().find(|line| line.contains(&pid) && line.contains("timer:(keepalive,"))?.to_owned();
        let (_, timer) = ours.split_once("timer:(keepalive,")?;
        timer.split("sec").next()?.parse::<f64>().ok()
    });
    assert!(timer <= 9.0, "{timer} s");
}
