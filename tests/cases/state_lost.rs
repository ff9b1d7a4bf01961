//! State that is not there, not ours to read, damaged, or taken away under us: reported, and made again where that can
//! be.

use std::{fs, os::unix::fs::symlink, path::Path};

use nodewell_tests::{agent::Plan, suite::Suite, wait::until};

use crate::{
    lines::OOPS,
    report_api,
    state::{UNWRITABLE, arrays, plan_on, report_array, report_durably, wait_save_error, wait_saved},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("state_lost")
        .case("a_missing_directory_is_waited_for", a_missing_directory_is_waited_for)
        .case("a_file_removed_under_us_is_made_again", a_file_removed_under_us_is_made_again)
        .case("a_damaged_file_is_moved_aside_and_reported", a_damaged_file_is_moved_aside_and_reported)
        .case("a_second_agent_does_not_start", a_second_agent_does_not_start);
}

fn a_missing_directory_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("lib/nodewell");
    let mut agent = plan_on(&directory).start();
    wait_save_error(&agent, "StateMissing");
    assert!(!report_array(&agent, "early"));
    fs::create_dir_all(&directory).unwrap();
    wait_saved(&agent);
    until("what waited is saved", || report_array(&agent, "early").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["early"]);
}

fn a_file_removed_under_us_is_made_again() {
    let mut agent = report_api::agent();
    report_durably(&agent, "early");
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let state = agent.plan().folder().join("state");
    fs::remove_file(state.join("state.db")).unwrap();
    fs::remove_file(state.join("state.db-wal")).unwrap();
    report_array(&agent, "late");
    until("all of it is saved", || (report_array(&agent, "late") && state.join("state.db").exists()).then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["early", "late"]);
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "True");
}

fn a_damaged_file_is_moved_aside_and_reported() {
    let mut agent = report_api::agent();
    report_durably(&agent, "early");
    let state = agent.plan().folder().join("state");
    agent.stop_and_start(|| {
        // It is closed when its log is empty.
        let closed = || fs::metadata(state.join("state.db-wal")).is_ok_and(|log| log.len() == 0);
        until("the file is closed", || closed().then_some(()));
        fs::write(state.join("state.db"), "no database at all".repeat(1000)).unwrap();
    });
    let reported = agent.wait_event("StateCorrupt");
    assert!(reported.message.contains("state.db.corrupt-"), "{}", reported.message);
    wait_saved(&agent);
    assert_eq!(aside(&state), 1);
    until("a new file is there", || report_array(&agent, "late").then_some(()));
    agent.restart();
    assert_eq!(arrays(&agent), ["late"]);
    assert_eq!(agent.events("StateCorrupt").len(), 0, "it is reported once");
}

fn aside(state: &Path) -> usize {
    let names = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("state.db.corrupt-") && !name.ends_with("-wal")).count()
}

fn a_second_agent_does_not_start() {
    let first = report_api::agent();
    report_durably(&first, "early");
    let second: Plan = report_api::plan("");
    symlink(first.plan().folder().join("state"), second.folder().join("state")).unwrap();
    let second = second.start();
    wait_save_error(&second, "StateInUse");
    report_durably(&first, "late");
    assert_eq!(first.condition(UNWRITABLE).unwrap().status.as_str(), "False");
}
