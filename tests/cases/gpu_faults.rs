//! GPUs that fail by their own report, through the simulated NVML: counted, lost, refused, unsupported, back again.

use nodewell_model::view::HardwareView;
use nodewell_tests::{
    agent::{Agent, Plan},
    gpus::{GpuMonitor, Gpus},
    suite::{Need, Suite},
    wait::{stable, until},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("gpu_faults")
        .case("one_of_sixteen_that_is_lost_is_reported_and_back", one_of_sixteen_that_is_lost_is_reported_and_back)
        .case("gpus_that_support_nothing_are_healthy", gpus_that_support_nothing_are_healthy)
        .case("an_older_drivers_library_is_enough", an_older_drivers_library_is_enough)
        .case("several_faults_of_one_gpu_are_several_problems", several_faults_of_one_gpu_are_several_problems)
        .case("another_order_after_a_reset_is_no_fault", another_order_after_a_reset_is_no_fault)
        .case("a_missing_gpu_stays_missing_across_restarts", a_missing_gpu_stays_missing_across_restarts)
        .case_with(
            &[Need::NvidiaGpu],
            "a_real_gpu_is_healthy_by_its_own_library",
            a_real_gpu_is_healthy_by_its_own_library,
        );
}

/// An agent and its GPU monitor.
pub(crate) fn start(gpus: &Gpus) -> (Agent, GpuMonitor) {
    let agent = Plan::default().config(&gpus.config()).start();
    let monitor = GpuMonitor::start(agent.plan(), gpus);
    (agent, monitor)
}

/// Its problems, as `subject reason`.
pub(crate) fn problems(agent: &Agent, condition: &str) -> Vec<String> {
    let problems = agent.condition(condition).map(|condition| condition.problems).unwrap_or_default();
    let subject = |subject: &Option<String>| subject.clone().unwrap_or_default();
    let mut reported: Vec<_> =
        problems.iter().map(|problem| format!("{} {}", subject(&problem.subject), problem.reason)).collect();
    reported.sort();
    reported
}

pub(crate) fn wait_problems(agent: &Agent, condition: &str, expected: &[&str]) {
    until(&format!("{condition} is held by {expected:?}"), || (problems(agent, condition) == expected).then_some(()));
}

fn hardware(agent: &Agent) -> Option<HardwareView> {
    agent.view().hardware.into_iter().find(|line| line.class == "GPUs")
}

/// It comes with the same report as the conditions, and may be shown after them.
fn wait_counted(agent: &Agent, total: u32, healthy: u32) {
    until(&format!("{healthy} of {total} GPUs are well"), || {
        hardware(agent).filter(|line| (line.total, line.healthy) == (total, healthy)).map(|_| ())
    });
}

fn one_of_sixteen_that_is_lost_is_reported_and_back() {
    let gpus = Gpus::new(16, "ecc=0,0,0,0");
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    wait_counted(&agent, 16, 16);
    gpus.add("fail all 15 0000:09:00.0");
    let lost = agent.wait_condition("GpuUnhealthy", "True");
    assert_eq!(problems(&agent, "GpuUnhealthy"), ["0000:09:00.0 GpuXid79FallenOffBus"]);
    assert!(lost.problems[0].message.contains("GPU-0000:09:00.0"), "{}", lost.problems[0].message);
    assert_eq!(lost.problems[0].action.as_deref(), Some("reboot"));
    let line = until("it is counted", || hardware(&agent).filter(|line| !line.states.is_empty()));
    assert_eq!((line.total, line.states.get("lost")), (16, Some(&1)));
    gpus.script(&gpus.healthy("ecc=0,0,0,0"));
    agent.wait_condition("GpuUnhealthy", "False");
}

fn gpus_that_support_nothing_are_healthy() {
    let gpus = Gpus::new(2, "no-events");
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    assert_eq!(agent.condition("GpuFabricUnhealthy"), None, "they have none");
    wait_counted(&agent, 2, 2);
}

fn an_older_drivers_library_is_enough() {
    let gpus = Gpus::new(2, "ecc=0,0,0,0 mig=0,1 field-230=1");
    gpus.blot_out(&["nvmlDeviceGetFieldValues", "nvmlDeviceGetMigMode", "nvmlEventSetWait_v2"]);
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    gpus.script(&gpus.healthy("ecc=0,2,0,2"));
    let both = ["0000:00:00.0 GpuEccUncorrectable", "0000:01:00.0 GpuEccUncorrectable"];
    wait_problems(&agent, "GpuUnhealthy", &both);
}

fn several_faults_of_one_gpu_are_several_problems() {
    let gpus = Gpus::new(1, "links=11 ecc=0,0,0,0 field-144=0 field-145=0");
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    agent.wait_condition("GpuFabricUnhealthy", "False");
    gpus.script(&gpus.healthy("links=10 ecc=0,1,0,1 field-144=1 field-145=1"));
    let faults = ["GpuRowRemapFailed", "GpuRowRemapPending"];
    wait_problems(
        &agent,
        "GpuUnhealthy",
        &faults.map(|fault| format!("0000:00:00.0 {fault}")).each_ref().map(String::as_str),
    );
    wait_problems(&agent, "GpuFabricUnhealthy", &["0000:00:00.0 GpuNvlinkDown"]);
    agent.wait_event("GpuEccContained");
    // A reset: the row is replaced, the counters begin at zero again, the link is up.
    gpus.script(&gpus.healthy("links=11 ecc=0,0,0,1 field-144=0 field-145=1"));
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuRowRemapFailed"]);
    agent.wait_condition("GpuFabricUnhealthy", "False");
}

fn another_order_after_a_reset_is_no_fault() {
    let gpus = Gpus::new(3, "ecc=0,0,0,0");
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    let mut lines: Vec<_> = gpus.healthy("ecc=0,0,0,0").lines().map(str::to_owned).collect();
    lines.rotate_left(1);
    gpus.script(&lines.join("\n"));
    stable("nothing is reported", || problems(&agent, "GpuUnhealthy"));
    // It still knows which one it is about.
    gpus.add("fail all 15 0000:00:00.0");
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid79FallenOffBus"]);
}

fn a_missing_gpu_stays_missing_across_restarts() {
    let gpus = Gpus::new(2, "ecc=0,0,0,0");
    let (agent, monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    gpus.unplug("0000:01:00.0");
    wait_problems(&agent, "GpuUnhealthy", &["0000:01:00.0 GpuMissing"]);
    drop(monitor);
    let _monitor = GpuMonitor::start(agent.plan(), &gpus);
    // The new monitor, which has looked at all, reports what the other GPU has.
    gpus.add("fail all 15 0000:00:00.0");
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid79FallenOffBus", "0000:01:00.0 GpuMissing"]);
    wait_counted(&agent, 2, 0);
    assert_eq!(agent.events("GpuMissing").len(), 1, "the problem never ended");
    gpus.plug("0000:01:00.0");
    gpus.script(&gpus.healthy("ecc=0,0,0,0"));
    agent.wait_condition("GpuUnhealthy", "False");
}

fn a_real_gpu_is_healthy_by_its_own_library() {
    let agent = Plan::default().start();
    let _monitor = GpuMonitor::on_this_machine(agent.plan());
    agent.wait_condition("GpuUnhealthy", "False");
    assert!(hardware(&agent).is_some_and(|line| line.total > 0 && line.healthy == line.total));
}
