//! Two controllers on two hosts: one leads and one stands by, and whatever befalls the first, no act is done in its old
//! term, and the other comes to the same end.

use nix::sys::signal::Signal;
use nodewell_tests::{
    cluster::Cluster,
    controller_hosts::{self, Scenario},
    suite::{Need, Suite},
};

const NEEDS: &[Need] = &[Need::Other(nodewell_bmc::missing), Need::Other(controller_hosts::missing), Need::LongSuite];
/// Something has to give a silent node up that no second host can ask.
const GIVEN_UP: &[Need] = &[NEEDS[0], NEEDS[1], NEEDS[2], Need::ControllerManager];

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_hosts")
        .real_with(NEEDS, "a_killed_leader_is_succeeded_by_the_standby", a_killed_leader)
        .real_with(NEEDS, "a_stopped_leader_does_nothing_of_its_old_term", a_stopped_leader)
        .real_with(GIVEN_UP, "a_leader_cut_off_the_api_and_not_the_bmcs_does_nothing", a_leader_cut_off_the_api);
}

/// The leader's agent is at the gate before it asks the BMC for `action`.
fn catch_at(scenario: &Scenario<'_>, leader: usize, action: &str) {
    let agents = scenario.host(leader).agents();
    let before = agents.begun(action);
    agents.close(action);
    scenario.lose();
    if action == "on" {
        scenario.mend_when_off();
    }
    scenario.until(&format!("the agent is about to turn it {action}"), |_| agents.begun(action) > before);
}

fn a_killed_leader(cluster: &Cluster) {
    let mut scenario = Scenario::start(cluster, 50);
    for (round, action) in (1..).zip(["off", "on"]) {
        let leader = scenario.leader().unwrap();
        if !scenario.has_pod() {
            scenario.lost.node.run_pod(cluster, "db-0");
        }
        let passed = scenario.host(leader).agents().passed(action);
        catch_at(&scenario, leader, action);
        scenario.kill(leader);
        scenario.wait_leader(1 - leader);
        // Its agent has gone with it.
        scenario.host(leader).agents().open(action);
        scenario.start_again(leader);
        if action == "off" {
            scenario.mend_when_off();
        }
        scenario.wait_recovered();
        assert_eq!(scenario.host(leader).agents().passed(action), passed, "killed at {action}\n{}", scenario.report());
        assert_eq!(
            (scenario.acts("off"), scenario.acts("on")),
            (round, round),
            "killed at {action}\n{}",
            scenario.report()
        );
    }
}

/// What the first host's agents did, from the moment at which they were caught: nothing to the machine; and how often
/// they asked it, until the term was over.
fn assert_idle_since(scenario: &Scenario<'_>, asked: usize) {
    let agents = scenario.host(0).agents();
    assert_eq!(agents.passed("off"), 0, "{}", scenario.report());
    assert_eq!(agents.begun("on"), 0, "{}", scenario.report());
    assert_eq!(agents.begun("status"), asked, "{}", scenario.report());
    assert_eq!((scenario.acts("off"), scenario.acts("on")), (1, 1), "{}", scenario.report());
}

fn a_stopped_leader(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 53);
    catch_at(&scenario, 0, "off");
    scenario.controller(0).signal(Signal::SIGSTOP);
    scenario.wait_leader(1);
    // The agent's supervisor has ended it by the Lease's own time: no agent goes through.
    scenario.host(0).agents().open("off");
    scenario.controller(0).signal(Signal::SIGCONT);
    wait_stepped_down(&scenario);
    let asked = scenario.host(0).agents().begun("status");
    scenario.mend_when_off();
    scenario.wait_recovered();
    assert_idle_since(&scenario, asked);
}

fn a_leader_cut_off_the_api(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 56);
    // One host alone is no second witness: the cluster itself has to give the node up.
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    catch_at(&scenario, 0, "off");
    scenario.host(0).cut_api();
    wait_stepped_down(&scenario);
    scenario.host(0).agents().open("off");
    let asked = scenario.host(0).agents().begun("status");
    scenario.wait_leader(1);
    scenario.mend_when_off();
    scenario.wait_recovered();
    assert_idle_since(&scenario, asked);
    scenario.host(0).join_api();
    scenario.until("it sees the cluster again", |scenario| scenario.controller(0).is_ready());
    assert_eq!(scenario.leader(), Some(1), "{}", scenario.report());
    assert_idle_since(&scenario, asked);
}

fn wait_stepped_down(scenario: &Scenario<'_>) {
    scenario.until("its term is over, and it knows", |scenario| scenario.controller(0).log().contains("leads no more"));
}
