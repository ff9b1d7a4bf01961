//! A full state directory costs durability, is reported, and is caught up with.

use nodewell_tests::{
    disk::Disk,
    suite::{Need, Suite},
    wait::until,
};

use crate::{
    lines::OOPS,
    state::{arrays, plan_on, report_array, report_durably, wait_save_error, wait_saved},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("state_disk_full")
        .case_with(
            &[Need::LoopDevice],
            "the_agent_goes_on_in_memory_and_catches_up",
            the_agent_goes_on_in_memory_and_catches_up,
        )
        .case_with(&[Need::LoopDevice], "what_is_there_is_read", what_is_there_is_read);
}

/// An agent that is killed, or ended, and starts while the disk is full.
fn what_is_there_is_read() {
    let disk = Disk::mounted();
    let mut agent = plan_on(&disk.mount_point()).start();
    report_durably(&agent, "before");
    disk.fill();
    for is_killed in [true, false] {
        if is_killed {
            agent.restart()
        } else {
            agent.stop_and_start(|| {})
        }
        until("what was saved is known", || (arrays(&agent) == ["before"]).then_some(()));
        wait_save_error(&agent, "StateDiskFull");
    }
    disk.make_room();
    wait_saved(&agent);
    report_durably(&agent, "later");
    agent.restart();
    assert_eq!(arrays(&agent), ["before", "later"]);
}

fn the_agent_goes_on_in_memory_and_catches_up() {
    let disk = Disk::mounted();
    let mut agent = plan_on(&disk.mount_point()).start();
    wait_saved(&agent);
    report_durably(&agent, "before");
    disk.fill();
    let mut reported = vec!["before".to_owned()];
    until("a report is not promised to be saved", || {
        reported.push(format!("md{:03}", reported.len()));
        (!report_array(&agent, reported.last().unwrap())).then_some(())
    });
    wait_save_error(&agent, "StateDiskFull");
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    assert!(!report_array(&agent, "while it is full"));
    reported.push("while it is full".to_owned());
    reported.sort();
    disk.make_room();
    wait_saved(&agent);
    until("what waited is saved", || report_array(&agent, "before").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), reported);
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "True");
}
