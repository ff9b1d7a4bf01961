//! Xids by NVML and by the kernel log: one problem, one end, and storms that are counted.

use nodewell_tests::{
    agent::{Agent, Plan},
    gpus::{GpuMonitor, Gpus},
    suite::Suite,
    wait::{stable, until},
};

use crate::gpu_faults::{problems, start, wait_problems};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("gpu_xids")
        .case("an_xid_by_nvml_and_by_the_kernel_is_one_problem", an_xid_by_nvml_and_by_the_kernel_is_one_problem)
        .case("a_gpu_that_answers_ends_the_kernels_problem", a_gpu_that_answers_ends_the_kernels_problem)
        .case("an_xid_that_was_cleared_stays_cleared", an_xid_that_was_cleared_stays_cleared)
        .case("an_xid_that_only_ends_a_program_is_reported_once", an_xid_that_only_ends_a_program_is_reported_once)
        .case("a_storm_is_counted_where_the_kernel_log_is_blind", a_storm_is_counted_where_the_kernel_log_is_blind);
}

/// Its events arrive.
fn wait_listening(agent: &Agent, gpus: &Gpus) {
    agent.wait_condition("GpuUnhealthy", "False");
    until("Xids are heard", || {
        gpus.add("event 0000:00:00.0 163");
        (problems(agent, "GpuUnhealthy").len() == 1).then_some(())
    });
    gpus.add("event 0000:00:00.0 162");
    agent.wait_condition("GpuUnhealthy", "False");
}

fn an_xid_by_nvml_and_by_the_kernel_is_one_problem() {
    let gpus = Gpus::new(2, "field-230=0");
    let (agent, _monitor) = start(&gpus);
    wait_listening(&agent, &gpus);
    let problem = ["0000:00:00.0 GpuXid119GspRpcTimeout"];
    // The driver does not call it well in between.
    gpus.script(&gpus.healthy("field-230=0").replacen("field-230=0", "field-230=1", 1));
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid154RecoveryAction"]);
    agent.kmsg().write("NVRM: Xid (PCI:0000:00:00): 119, pid=77, name=python3, Timeout after 6s of waiting for RPC");
    wait_problems(&agent, "GpuUnhealthy", &[problem[0], "0000:00:00.0 GpuXid154RecoveryAction"]);
    gpus.add("event 0000:00:00.0 119");
    let one = until("both claim it", || {
        let problems = agent.condition("GpuUnhealthy")?.problems;
        problems.into_iter().find(|problem| problem.source.contains(','))
    });
    assert_eq!(one.reason.as_str(), "GpuXid119GspRpcTimeout");
    assert_eq!(one.subject.as_deref(), Some("0000:00:00.0"));
    assert!(one.source.contains("kernel-monitor") && one.source.contains("gpu@"), "{}", one.source);
    assert_eq!(agent.events("GpuXid119GspRpcTimeout").len(), 1);
    // It was reset: the driver reports so, and both claims are over.
    gpus.script(&gpus.healthy("field-230=0"));
    agent.wait_condition("GpuUnhealthy", "False");
}

fn a_gpu_that_answers_ends_the_kernels_problem() {
    let gpus = Gpus::new(1, "ecc=0,0,0,0");
    let (agent, _monitor) = start(&gpus);
    agent.wait_condition("GpuUnhealthy", "False");
    gpus.add("fail all 15 0000:00:00.0");
    agent.kmsg().write("NVRM: Xid (PCI:0000:00:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    until("both claim it", || {
        let problems = agent.condition("GpuUnhealthy")?.problems;
        problems.first().filter(|problem| problem.source.contains(',')).map(|_| ())
    });
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid79FallenOffBus"]);
    gpus.script(&gpus.healthy("ecc=0,0,0,0"));
    agent.wait_condition("GpuUnhealthy", "False");
}

fn an_xid_that_was_cleared_stays_cleared() {
    let gpus = Gpus::new(1, "ecc=0,0,0,0");
    let (agent, _monitor) = start(&gpus);
    wait_listening(&agent, &gpus);
    gpus.add("event 0000:00:00.0 119");
    agent.wait_condition("GpuUnhealthy", "True");
    let cleared = agent.nodewell(&["clear", "GpuUnhealthy"]);
    assert_eq!(cleared.code, 0, "{cleared:?}");
    assert_eq!(stable("its problems", || problems(&agent, "GpuUnhealthy")), [""; 0]);
}

fn an_xid_that_only_ends_a_program_is_reported_once() {
    let gpus = Gpus::new(1, "ecc=0,0,0,0");
    let (agent, _monitor) = start(&gpus);
    wait_listening(&agent, &gpus);
    agent.kmsg().write("NVRM: Xid (PCI:0000:00:00): 31, pid=77, name=python3, Ch 00000008, MMU Fault");
    gpus.add("event 0000:00:00.0 31");
    let event = agent.wait_event("GpuXid31MemoryPageFault");
    assert_eq!(event.subject.as_deref(), Some("0000:00:00.0"));
    // An Xid after it has come through by the same way.
    gpus.add("event 0000:00:00.0 119");
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid119GspRpcTimeout"]);
    assert_eq!(stable("the events", || agent.events("GpuXid31MemoryPageFault").len()), 1);
}

fn a_storm_is_counted_where_the_kernel_log_is_blind() {
    let gpus = Gpus::new(1, "ecc=0,0,0,0");
    let plan = Plan::default().config(&gpus.config());
    let nowhere = plan.folder().join("no-kmsg");
    let agent = plan.kernel_log(nowhere).start();
    let _monitor = GpuMonitor::start(agent.plan(), &gpus);
    wait_listening(&agent, &gpus);
    gpus.add("event 0000:00:00.0 31 2000");
    let event = agent.wait_event("GpuXid31MemoryPageFault");
    assert!(event.message.contains(" times: "), "{}", event.message);
    gpus.add("event 0000:00:00.0 62");
    wait_problems(&agent, "GpuUnhealthy", &["0000:00:00.0 GpuXid62MicrocontrollerHalt"]);
    assert_eq!(agent.events("GpuXid31MemoryPageFault").len(), 1, "once a minute");
}
