//! A full state directory costs durability, is reported, and is caught up with.

use nodewell_tests::{
    disk::Disk,
    suite::{Need, Suite},
    wait::until,
};

use crate::{
    lines::OOPS,
    state::{arrays, plan_on, report_array, wait_kept, wait_trouble},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("state_disk_full").case_with(
        &[Need::LoopDevice],
        "the_agent_goes_on_in_memory_and_catches_up",
        the_agent_goes_on_in_memory_and_catches_up,
    );
}

fn the_agent_goes_on_in_memory_and_catches_up() {
    let disk = Disk::mounted();
    let mut agent = plan_on(&disk.mount_point()).start();
    wait_kept(&agent);
    assert!(report_array(&agent, "before"));
    disk.fill();
    let mut told = vec!["before".to_owned()];
    until("a report is not promised to be kept", || {
        told.push(format!("md{:03}", told.len()));
        (!report_array(&agent, told.last().unwrap())).then_some(())
    });
    wait_trouble(&agent, "StateDiskFull");
    agent.kmsg().say(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    assert!(!report_array(&agent, "while it is full"));
    told.push("while it is full".to_owned());
    told.sort();
    disk.make_room();
    wait_kept(&agent);
    until("what waited is kept", || report_array(&agent, "before").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), told);
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "True");
}
