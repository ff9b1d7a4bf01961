//! A person stops what is under way: the kill switch and an abort, before a machine is off and after it.

use std::time::Duration;

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller_hosts::{self, LOST, Scenario},
    suite::{Need, Suite},
};

const NEEDS: &[Need] = &[Need::Other(nodewell_bmc::missing), Need::Other(controller_hosts::missing), Need::LongSuite];
/// Far past the moment at which the next act would have come.
const FAR: Duration = Duration::from_secs(20);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_stopped")
        .real_with(NEEDS, "a_pause_before_power_off_lasts_until_it_is_resumed", a_pause_before_power_off)
        .real_with(NEEDS, "an_abort_before_power_off_restores_everything", an_abort_before_power_off)
        .real_with(NEEDS, "a_pause_and_an_abort_after_power_off_turn_it_on_and_release_nothing", after_power_off);
}

/// A person's: what stops everything is no right of the service's.
#[track_caller]
fn command(scenario: &Scenario<'_>, args: &[&str]) {
    let outcome = scenario.controller(0).command(args);
    assert_eq!(outcome.code, 0, "{args:?}: {outcome:?}");
}

fn wait_evidence(scenario: &Scenario<'_>) {
    scenario.until("both hosts have seen enough", |scenario| {
        [0, 1].iter().all(|host| scenario.reported_reach(*host).flatten().is_some_and(|secs| secs >= 10))
    });
}

fn a_pause_before_power_off(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 70);
    command(&scenario, &["pause", "the BMC network is rebuilt"]);
    scenario
        .until("the leader has heard", |scenario| scenario.controller(0).log().contains("the BMC network is rebuilt"));
    scenario.lose();
    wait_evidence(&scenario);
    scenario.stays_untouched(FAR);
    assert!(scenario.is_clean(), "nothing at all is begun\n{}", scenario.report());
    command(&scenario, &["resume"]);
    scenario.mend_when_off();
    scenario.wait_recovered();
    assert_eq!((scenario.acts("off"), scenario.acts("on")), (1, 1), "{}", scenario.report());
}

fn an_abort_before_power_off(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 73);
    // The machine answers: the record waits for evidence, with its taint and its cordon on the Node.
    scenario.lost.node.hang(true);
    scenario.until("it waits for evidence", |scenario| {
        scenario.blocked_by().contains("WithinGracePeriod") && !scenario.is_clean()
    });
    command(&scenario, &["abort", LOST]);
    scenario.until("what was done is undone", Scenario::is_clean);
    // All the evidence there is, and nothing is done any more.
    scenario.lose();
    wait_evidence(&scenario);
    scenario.stays_untouched(FAR);
    assert!(scenario.is_clean() && scenario.blocked_by().contains("Aborted"), "{}", scenario.report());
    // An abort cannot be undone; without the record policies begin again.
    let path = format!("/apis/nodewell.dev/v1alpha1/nodefences/{LOST}");
    assert_eq!(cluster.admin(&Call::delete(&path)).0, 200);
    scenario.mend_when_off();
    scenario.wait_recovered();
}

fn after_power_off(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 76);
    let agents = scenario.host(0).agents();
    agents.close("off");
    scenario.lose();
    scenario.until("the agent is about to turn it off", |_| agents.begun("off") > 0);
    command(&scenario, &["pause", "people work on rack 4"]);
    scenario.until("the leader has heard", |scenario| scenario.controller(0).log().contains("people work on rack 4"));
    // What is being done comes to its end, and nothing follows.
    agents.open("off");
    scenario.until("it is turned off", |scenario| !scenario.lost.bmc.is_on());
    scenario.until("that is recorded", |scenario| scenario.phase().as_deref() == Some("OffConfirmed"));
    // Nothing is written any more, not even why.
    let plan = scenario.controller(0).command(&["plan", "--node", LOST]);
    assert!(plan.stdout.contains("KillSwitch"), "{plan:?}");
    scenario.until("its pod stays", {
        let over = std::time::Instant::now() + FAR;
        move |scenario| {
            assert!(scenario.has_pod() && !scenario.lost.bmc.is_on(), "{}", scenario.report());
            std::time::Instant::now() > over
        }
    });
    command(&scenario, &["abort", LOST]);
    // From its next boot on it would be well.
    scenario.mend_when_off();
    command(&scenario, &["resume"]);
    scenario.until("it runs again", |scenario| scenario.lost.bmc.is_on());
    scenario.until("everything is restored", Scenario::is_clean);
    assert!(scenario.has_pod(), "an abort releases nothing\n{}", scenario.report());
    assert_eq!((scenario.acts("off"), scenario.acts("on")), (1, 1), "{}", scenario.report());
}
