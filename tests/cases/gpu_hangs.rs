//! NVML that does not return, drivers that come late and go, and pauses that let go of everything.

use nodewell_tests::{
    agent::Agent,
    check_process::runs,
    gpus::Gpus,
    suite::{Need, Suite},
    wait::{stable, until},
};

use crate::gpu_faults::{problems, start, wait_problems};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("gpu_hangs")
        .case("a_gpu_that_does_not_answer_is_unknown_and_back", a_gpu_that_does_not_answer_is_unknown_and_back)
        .case("a_library_that_hangs_does_not_hide_a_lost_gpu", a_library_that_hangs_does_not_hide_a_lost_gpu)
        .case("waiting_for_events_that_hangs_is_survived", waiting_for_events_that_hangs_is_survived)
        .case_with(&[Need::LongSuite], "a_hang_in_any_call_is_unknown_and_back", a_hang_in_any_call_is_unknown_and_back)
        .case("a_driver_may_come_late_and_go", a_driver_may_come_late_and_go)
        .case("a_release_closes_the_library", a_release_closes_the_library);
}

/// The messages of what is unknown.
fn wait_unknown(agent: &Agent) {
    let unknown = agent.wait_condition("GpuUnhealthy", "Unknown");
    assert_eq!(unknown.reason.as_str(), "DeviceNotAnswering", "{}", unknown.message);
}

fn a_gpu_that_does_not_answer_is_unknown_and_back() {
    let gpus = Gpus::new(2, "ecc=0,0,0,0");
    let (agent, monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    let before = monitor.workers();
    gpus.add("hang nvmlDeviceGetTotalEccErrors 0000:01:00.0");
    wait_unknown(&agent);
    until("its worker is killed", || before.iter().all(|worker| !runs(*worker)).then_some(()));
    // The other one is asked in a fresh process.
    gpus.add("fail all 15 0000:00:00.0");
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid79FallenOffBus"]);
    gpus.script(&gpus.healthy("ecc=0,0,0,0"));
    agent.wait_condition("GpuUnhealthy", "False");
}

/// Some half a minute for each: what hangs is asked less and less often.
fn a_hang_in_any_call_is_unknown_and_back() {
    let supported = "ecc=0,0,0,0 links=1 mig=0,0 fabric=3,0,2 field-230=0 persistence=1 energy=1";
    let calls = [
        "nvmlDeviceGetHandleByPciBusId_v2",
        "nvmlDeviceGetName",
        "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetPersistenceMode",
    ];
    let gpus = Gpus::new(2, supported);
    let (agent, _monitor) = start(&gpus);
    for call in calls {
        agent.wait_condition("GpuUnhealthy", "False");
        gpus.add(&format!("hang {call} 0000:01:00.0"));
        wait_unknown(&agent);
        gpus.script(&gpus.healthy(supported));
    }
    agent.wait_condition("GpuUnhealthy", "False");
}

fn a_library_that_hangs_does_not_hide_a_lost_gpu() {
    let gpus = Gpus::new(2, "ecc=0,0,0,0");
    let (agent, monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    gpus.fall_off("0000:01:00.0");
    gpus.add("hang nvmlInit_v2");
    gpus.add("hang nvmlDeviceGetHandleByPciBusId_v2 0000:00:00.0");
    wait_problems(&agent, "GpuUnhealthy", &["0000:01:00.0 GpuXid79FallenOffBus"]);
    assert!(runs(monitor.pid()));
}

fn waiting_for_events_that_hangs_is_survived() {
    let gpus = Gpus::new(1, "ecc=0,0,0,0");
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    gpus.add("hang nvmlEventSetWait_v2");
    gpus.add("fail all 15 0000:00:00.0");
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid79FallenOffBus"]);
}

fn a_driver_may_come_late_and_go() {
    let gpus = Gpus::new(2, "ecc=0,0,0,0");
    gpus.unload_driver();
    let (agent, monitor) = start(&gpus);
    until("it has looked", || monitor.log().contains("follows the agent").then_some(()));
    assert_eq!(stable("nothing is published", || agent.condition("GpuUnhealthy")), None);
    gpus.load_driver();
    agent.wait_condition("GpuUnhealthy", "False");
    gpus.unload_driver();
    monitor.wait_released();
    until("nothing is published", || agent.condition("GpuUnhealthy").is_none().then_some(()));
    gpus.load_driver();
    agent.wait_condition("GpuUnhealthy", "False");
    assert!(agent.events("GpuMissing").is_empty() && problems(&agent, "GpuUnhealthy").is_empty());
}

fn a_release_closes_the_library() {
    let gpus = Gpus::new(1, "ecc=0,0,0,0");
    let (agent, monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    assert_eq!(agent.nodewell(&["release", "gpu", "--for", "10m", "--only-this-agent"]).code, 0);
    let released = agent.wait_condition("GpuUnhealthy", "Unknown");
    assert_eq!(released.reason.as_str(), "DevicesReleased", "{}", released.message);
    monitor.wait_released();
    gpus.add("fail all 15 0000:00:00.0");
    stable("no worker looks", || problems(&agent, "GpuUnhealthy"));
    assert!(monitor.workers().is_empty());
    assert_eq!(agent.nodewell(&["reclaim", "gpu"]).code, 0);
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid79FallenOffBus"]);
}
