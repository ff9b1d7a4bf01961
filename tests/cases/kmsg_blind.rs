//! A kernel log that cannot be read: Unknown with its reason, and the rest works.

use std::{fs, os::unix::fs::PermissionsExt};

use nodewell_model::view::DaemonState;
use nodewell_tests::{
    agent::{Agent, Plan},
    suite::{Need, Suite},
};

use crate::log_files::{FILE_RULES, wait_fault, write_line};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("kmsg_blind")
        .case("a_missing_kernel_log_is_unknown", a_missing_kernel_log_is_unknown)
        .case("a_kernel_log_that_appears_is_read", a_kernel_log_that_appears_is_read)
        .case_with(&[Need::Root], "no_permission_is_unknown", no_permission_is_unknown);
}

fn expect_blind(agent: &Agent, reason: &str) {
    let unknown = agent.wait_condition("KernelDeadlock", "Unknown");
    assert!(unknown.message.contains("kmsg"), "{}", unknown.message);
    let monitor = agent.daemon("kernel-monitor").unwrap();
    assert_eq!((monitor.state, monitor.reason.as_str()), (DaemonState::Blind, reason));
    let ready = agent.get("/readyz").unwrap();
    assert_eq!(ready.status, 200, "{}", ready.body);
}

fn a_missing_kernel_log_is_unknown() {
    let plan = Plan::default();
    let rules = FILE_RULES.replace("FOLDER", &plan.folder().display().to_string());
    plan.file("rules.d/app.toml", &rules);
    let nowhere = plan.folder().join("no-kmsg");
    let agent = plan.kernel_log(nowhere).start();
    expect_blind(&agent, "KmsgMissing");
    write_line(&agent, "fault alpha");
    wait_fault(&agent, "alpha");
}

fn a_kernel_log_that_appears_is_read() {
    let plan = Plan::default();
    let later = plan.folder().join("later-kmsg");
    let agent = plan.kernel_log(&later).start();
    expect_blind(&agent, "KmsgMissing");
    fs::write(&later, "").unwrap();
    let back = agent.wait_condition("KernelDeadlock", "False");
    assert_eq!(back.reason.as_str(), "KernelHasNoDeadlock");
}

/// Root without the right to pass over file modes.
fn no_permission_is_unknown() {
    let plan = Plan::default();
    let locked = plan.file("locked-kmsg", "");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"];
    let agent = plan.kernel_log(locked).wrapped_in(without.map(Into::into).to_vec()).start();
    expect_blind(&agent, "PermissionDenied");
}
