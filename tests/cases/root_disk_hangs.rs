//! The root disk hangs under the agent, with its program, its libraries and its state on it: detection, the socket and
//! metrics go on, because all of the program is locked in memory.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_tests::{
    agent::Plan,
    check_process::{children_of, state},
    root_disk::RootDisk,
    suite::{Need, Suite},
    wait::until,
};

use crate::lines::{OOPS, STALL};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("root_disk_hangs")
        .case_with(NEEDS, "detection_and_the_socket_go_on", detection_and_the_socket_go_on)
        .case_with(
            NEEDS,
            "a_check_process_that_cannot_be_started_holds_nothing_up",
            a_check_process_that_cannot_be_started_holds_nothing_up,
        );
}

const NEEDS: &[Need] = &[Need::LoopDevice, Need::Controller("blkio"), Need::Controller("memory")];
const REPORT: &str = r#"{"source": "probe", "events": [
    {"severity": "warn", "timestamp": "2026-01-01T00:00:00Z", "reason": "ProbeFailed", "message": "first report of all"}]}"#;

fn tasks_of(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

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

/// The kernel reads its program from the disk, and the thread that starts it waits for that.
fn a_check_process_that_cannot_be_started_holds_nothing_up() {
    let root = RootDisk::new();
    let plan = Plan::default().with_check_processes();
    let wrapper = root.enter(&plan);
    let mut agent = plan.wrapped_in(wrapper).start();
    agent.wait_condition("KernelUnhealthy", "False");
    let ended = agent.check_process("disk");
    assert_ne!(agent.check_process("check"), ended);
    // That of GPUs runs where there is a driver.
    let others = children_of(agent.pid()).len() - 1;
    let send = |signal| kill(Pid::from_raw(ended.cast_signed()), signal).unwrap();
    // One that itself waited for the disk would not die.
    send(Signal::SIGSTOP);
    until("it has stopped", || (state(ended) == Some('T')).then_some(()));
    let mut hang = root.hang();
    send(Signal::SIGKILL);
    agent.wait_event("CheckProcessEnded");
    // It is a thread of the agent that waits, and no child that has copies of its descriptors.
    until("another one is being started", || {
        let is_it = |task: &u32| fs::read_to_string(format!("/proc/{task}/comm")).is_ok_and(|name| name == "spawner\n");
        tasks_of(agent.pid()).into_iter().find(|task| is_it(task) && state(*task) == Some('D'))
    });
    assert_eq!(children_of(agent.pid()).len(), others, "the other check processes");
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    hang.assert_holds();
    drop(hang);
    assert_ne!(agent.check_process("disk"), ended);
    assert!(agent.stop().success());
}
