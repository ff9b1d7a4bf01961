//! A state directory that became read-only, or is so from the start: what it holds is known, what is new is saved
//! later.

use std::fs;

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
        .behaviour("state_read_only")
        .case_with(&[Need::LoopDevice], "what_is_there_is_read", what_is_there_is_read)
        .case_with(&[Need::LoopDevice], "a_filesystem_that_broke_is_left_and_found_again", a_filesystem_that_broke);
}

fn what_is_there_is_read() {
    let disk = Disk::mounted();
    let mut agent = plan_on(&disk.mount_point()).start();
    report_durably(&agent, "before");
    agent.stop_and_start(|| until("the disk is free", || disk.try_remount("ro").then_some(())));
    assert_eq!(arrays(&agent), ["before"]);
    wait_save_error(&agent, "StateReadOnly");
    assert!(!report_array(&agent, "later"));
    assert!(disk.try_remount("rw"));
    wait_saved(&agent);
    until("what waited is saved", || report_array(&agent, "later").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["before", "later"]);
    wait_saved(&agent);
}

/// As a disk that fails under a running agent: the filesystem takes no more writes, and is mounted again.
fn a_filesystem_that_broke() {
    let mut disk = Disk::mounted();
    disk.unmount();
    disk.mount("errors=remount-ro");
    let mut agent = plan_on(&disk.mount_point()).start();
    report_durably(&agent, "before");
    disk.break_filesystem();
    assert!(!report_array(&agent, "later"));
    wait_save_error(&agent, "StateReadOnly");
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    // Meanwhile the agent may find the empty mount point, and later the disk again: it fills whatever it finds.
    disk.replace();
    wait_saved(&agent);
    // A log of before the failure may lie there: only one that holds the report is the new one.
    let is_on_the_disk = || {
        let files =
            ["state.db", "state.db-wal"].map(|name| fs::read(disk.mount_point().join(name)).unwrap_or_default());
        files.iter().any(|bytes| bytes.windows(5).any(|window| window == b"later"))
    };
    until("what waited is on the disk", || (report_array(&agent, "later") && is_on_the_disk()).then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["before", "later"]);
    agent.wait_condition("KernelUnhealthy", "True");
}
