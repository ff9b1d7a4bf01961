//! Two controllers on two hosts: one leads and one stands by, and whatever befalls the first, no act is done in its old
//! term, and the other comes to the same end.

use nix::sys::signal::Signal;
use nodewell_tests::{
    cluster::Cluster,
    controller_hosts::{self, Scene},
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
fn catch_at(scene: &Scene<'_>, leader: usize, action: &str) {
    let agents = scene.host(leader).agents();
    let before = agents.begun(action);
    agents.close(action);
    scene.lose();
    if action == "on" {
        scene.mend_when_off();
    }
    scene.until(&format!("the agent is about to turn it {action}"), |_| agents.begun(action) > before);
}

fn a_killed_leader(cluster: &Cluster) {
    let mut scene = Scene::start(cluster, 50);
    for (round, action) in (1..).zip(["off", "on"]) {
        let leader = scene.leader().unwrap();
        if !scene.has_pod() {
            scene.lost.node.run_pod(cluster, "db-0");
        }
        let passed = scene.host(leader).agents().passed(action);
        catch_at(&scene, leader, action);
        scene.kill(leader);
        scene.wait_leader(1 - leader);
        // Its agent has gone with it.
        scene.host(leader).agents().open(action);
        scene.start_again(leader);
        if action == "off" {
            scene.mend_when_off();
        }
        scene.wait_recovered();
        assert_eq!(scene.host(leader).agents().passed(action), passed, "killed at {action}\n{}", scene.told());
        assert_eq!((scene.acts("off"), scene.acts("on")), (round, round), "killed at {action}\n{}", scene.told());
    }
}

/// What the first host's agents did, from the moment at which they were caught: nothing to the machine; and how often
/// they asked it, until the term was over.
fn assert_idle_since(scene: &Scene<'_>, asked: usize) {
    let agents = scene.host(0).agents();
    assert_eq!(agents.passed("off"), 0, "{}", scene.told());
    assert_eq!(agents.begun("on"), 0, "{}", scene.told());
    assert_eq!(agents.begun("status"), asked, "{}", scene.told());
    assert_eq!((scene.acts("off"), scene.acts("on")), (1, 1), "{}", scene.told());
}

fn a_stopped_leader(cluster: &Cluster) {
    let scene = Scene::start(cluster, 53);
    catch_at(&scene, 0, "off");
    scene.controller(0).signal(Signal::SIGSTOP);
    scene.wait_leader(1);
    // The agent's keeper has ended it by the Lease's own time: no agent goes through.
    scene.host(0).agents().open("off");
    scene.controller(0).signal(Signal::SIGCONT);
    wait_stepped_down(&scene);
    let asked = scene.host(0).agents().begun("status");
    scene.mend_when_off();
    scene.wait_recovered();
    assert_idle_since(&scene, asked);
}

fn a_leader_cut_off_the_api(cluster: &Cluster) {
    let scene = Scene::start(cluster, 56);
    // One host alone is no second witness: the cluster itself has to give the node up.
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    catch_at(&scene, 0, "off");
    scene.host(0).cut_api();
    wait_stepped_down(&scene);
    scene.host(0).agents().open("off");
    let asked = scene.host(0).agents().begun("status");
    scene.wait_leader(1);
    scene.mend_when_off();
    scene.wait_recovered();
    assert_idle_since(&scene, asked);
    scene.host(0).join_api();
    scene.until("it sees the cluster again", |scene| scene.controller(0).is_ready());
    assert_eq!(scene.leader(), Some(1), "{}", scene.told());
    assert_idle_since(&scene, asked);
}

fn wait_stepped_down(scene: &Scene<'_>) {
    scene.until("its term is over, and it knows", |scene| scene.controller(0).log().contains("leads no more"));
}
