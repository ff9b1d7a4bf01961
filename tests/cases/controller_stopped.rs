//! A person stops what is under way: the kill switch and an abort, before a machine is off and after it.

use std::time::Duration;

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller_hosts::{self, LOST, Scene},
    suite::{Need, Suite},
};

const NEEDS: &[Need] = &[Need::Other(nodewell_bmc::missing), Need::Other(controller_hosts::missing), Need::LongSuite];
/// Far past the moment at which the next act would have come.
const FAR: Duration = Duration::from_secs(20);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_stopped")
        .real_with(NEEDS, "a_pause_before_power_off_lasts_until_it_is_resumed", a_pause_before_power_off)
        .real_with(NEEDS, "an_abort_before_power_off_takes_everything_back", an_abort_before_power_off)
        .real_with(NEEDS, "a_pause_and_an_abort_after_power_off_turn_it_on_and_release_nothing", after_power_off);
}

/// A person's: what stops everything is no right of the service's.
#[track_caller]
fn command(scene: &Scene<'_>, args: &[&str]) {
    let outcome = scene.controller(0).command(args);
    assert_eq!(outcome.code, 0, "{args:?}: {outcome:?}");
}

fn wait_evidence(scene: &Scene<'_>) {
    scene.until("both hosts have seen enough", |scene| {
        [0, 1].iter().all(|host| scene.says(*host).flatten().is_some_and(|secs| secs >= 10))
    });
}

fn a_pause_before_power_off(cluster: &Cluster) {
    let scene = Scene::start(cluster, 70);
    command(&scene, &["pause", "the BMC network is rebuilt"]);
    scene.until("the leader has heard", |scene| scene.controller(0).log().contains("the BMC network is rebuilt"));
    scene.lose();
    wait_evidence(&scene);
    scene.stays_untouched(FAR);
    assert!(scene.is_clean(), "nothing at all is begun\n{}", scene.told());
    command(&scene, &["resume"]);
    scene.mend_when_off();
    scene.wait_recovered();
    assert_eq!((scene.acts("off"), scene.acts("on")), (1, 1), "{}", scene.told());
}

fn an_abort_before_power_off(cluster: &Cluster) {
    let scene = Scene::start(cluster, 73);
    // The machine answers: the record waits for evidence, with its taint and its cordon on the Node.
    scene.lost.node.hang(true);
    scene.until("it waits for evidence", |scene| scene.blocked_by().contains("EvidenceTooYoung") && !scene.is_clean());
    command(&scene, &["abort", LOST]);
    scene.until("what was done is taken back", Scene::is_clean);
    // All the evidence there is, and nothing is done any more.
    scene.lose();
    wait_evidence(&scene);
    scene.stays_untouched(FAR);
    assert!(scene.is_clean() && scene.blocked_by().contains("Aborted"), "{}", scene.told());
    // An abort cannot be taken back; without the record policies begin again.
    let path = format!("/apis/nodewell.dev/v1alpha1/nodefences/{LOST}");
    assert_eq!(cluster.admin(&Call::delete(&path)).0, 200);
    scene.mend_when_off();
    scene.wait_recovered();
}

fn after_power_off(cluster: &Cluster) {
    let scene = Scene::start(cluster, 76);
    let agents = scene.host(0).agents();
    agents.close("off");
    scene.lose();
    scene.until("the agent is about to turn it off", |_| agents.begun("off") > 0);
    command(&scene, &["pause", "people work on rack 4"]);
    scene.until("the leader has heard", |scene| scene.controller(0).log().contains("people work on rack 4"));
    // What is being done comes to its end, and nothing follows.
    agents.open("off");
    scene.until("it is turned off", |scene| !scene.lost.bmc.is_on());
    scene.until("that is recorded", |scene| scene.phase().as_deref() == Some("OffConfirmed"));
    // Nothing is written any more, not even why.
    let plan = scene.controller(0).command(&["plan", "--node", LOST]);
    assert!(plan.stdout.contains("KillSwitch"), "{plan:?}");
    scene.until("its pod stays", {
        let over = std::time::Instant::now() + FAR;
        move |scene| {
            assert!(scene.has_pod() && !scene.lost.bmc.is_on(), "{}", scene.told());
            std::time::Instant::now() > over
        }
    });
    command(&scene, &["abort", LOST]);
    // From its next boot on it would be well.
    scene.mend_when_off();
    command(&scene, &["resume"]);
    scene.until("it runs again", |scene| scene.lost.bmc.is_on());
    scene.until("everything is taken back", Scene::is_clean);
    assert!(scene.has_pod(), "an abort releases nothing\n{}", scene.told());
    assert_eq!((scene.acts("off"), scene.acts("on")), (1, 1), "{}", scene.told());
}
