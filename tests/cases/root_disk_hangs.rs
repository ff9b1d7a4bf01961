//! The root disk hangs under the agent, with its program, its libraries and its state on it: detection, the socket and
//! metrics go on, because all of the program is locked in memory.

use nodewell_tests::{
    agent::Plan,
    root_disk::RootDisk,
    suite::{Need, Suite},
};

use crate::lines::{OOPS, STALL};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("root_disk_hangs").case_with(
        &[Need::LoopDevice, Need::Controller("blkio"), Need::Controller("memory")],
        "detection_and_the_socket_go_on",
        detection_and_the_socket_go_on,
    );
}

const REPORT: &str = r#"{"source": "probe", "events": [
    {"severity": "warn", "timestamp": "2026-01-01T00:00:00Z", "reason": "ProbeFailed", "message": "first report of all"}]}"#;

/// Nothing of this was done before the disk hangs: what it takes must be in memory all the same.
fn detection_and_the_socket_go_on() {
    let root = RootDisk::new();
    let plan = Plan::default();
    let wrapper = root.enter(&plan);
    let mut agent = plan.wrapped_in(wrapper).start();
    agent.wait_condition("KernelUnhealthy", "False");
    let mut hang = root.hang();
    agent.kmsg().write(STALL);
    agent.kmsg().write(OOPS);
    assert_eq!(agent.wait_event("RCUStall").count, 1);
    agent.wait_condition("KernelUnhealthy", "True");
    let taken = agent.post("/v1/status", REPORT);
    assert!(taken.status.is_success(), "{} {}", taken.status, taken.body);
    agent.wait_event("ProbeFailed");
    assert!(agent.metrics().contains("problem_counter"));
    assert!(agent.nodewell(&["clear", "KernelUnhealthy"]).code == 0);
    agent.wait_condition("KernelUnhealthy", "False");
    hang.assert_holds();
    drop(hang);
    assert!(agent.stop().success());
}
