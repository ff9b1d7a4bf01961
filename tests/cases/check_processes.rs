//! Check processes: `nodewell-checks run NAME` works beside the agent, outlives it or is started again by it, and ends
//! clean.

use std::path::Path;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_model::view::{DaemonState, DaemonView};
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::{CheckProcess, runs},
    cli::nodewell_checks,
    disk::Disk,
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    let disk = &[Need::LoopDevice];
    suite
        .behaviour("check-processes")
        .case_with(disk, "a_filesystem_that_takes_writes_again_is_well", a_filesystem_that_takes_writes_again_is_well)
        .case_with(disk, "a_filesystem_that_is_unmounted_is_over", a_filesystem_that_is_unmounted_is_over)
        .case_with(disk, "one_started_by_hand_outlives_the_agent", one_started_by_hand_outlives_the_agent)
        .case_with(&[Need::Root], "one_that_is_killed_is_started_again", one_that_is_killed_is_started_again)
        .case("one_ends_with_its_agent", one_ends_with_its_agent)
        .case_with(&[Need::Root], "one_stops_when_asked", one_stops_when_asked)
        .case("doctor_names_those_that_do_not_run", doctor_names_those_that_do_not_run)
        .case("other_names_are_reported", other_names_are_reported);
}

/// A check process of root's, in no service.
const CHECK: &str = "check@root";

fn remounted_read_only(disk: &Disk) -> String {
    format!("EXT4-fs ({}): Remounting filesystem read-only", disk.name())
}

/// The agent knows it, and the disk is as the kernel reports.
fn break_disk(agent: &Agent, disk: &Disk) {
    disk.mount("remount,ro");
    agent.kmsg().write(&remounted_read_only(disk));
    let broken = agent.wait_condition("ReadonlyFilesystem", "True");
    assert_eq!(broken.problems[0].subject.as_deref(), Some(disk.name()));
}

/// The agent knows it.
fn wait_running(agent: &Agent) {
    until("the check process is listed", || agent.daemon(CHECK).filter(|check| check.state == DaemonState::Running));
}

fn wait_over(agent: &Agent, evidence: &str) {
    agent.wait_condition("ReadonlyFilesystem", "False");
    let event = agent.wait_event("FilesystemIsNotReadOnly");
    assert!(event.message.ends_with(evidence), "{}", event.message);
}

fn a_filesystem_that_takes_writes_again_is_well() {
    let disk = Disk::mounted();
    let agent = Plan::default().with_check_processes().start();
    break_disk(&agent, &disk);
    disk.mount("remount,rw");
    wait_over(&agent, "is over: it takes writes again");
}

fn a_filesystem_that_is_unmounted_is_over() {
    let disk = Disk::mounted();
    let agent = Plan::default().with_check_processes().start();
    break_disk(&agent, &disk);
    disk.unmount();
    wait_over(&agent, "is over: it is not mounted any more");
}

fn one_started_by_hand_outlives_the_agent() {
    let (disk, plan) = (Disk::mounted(), Plan::default());
    let check_process = CheckProcess::check_of(&plan);
    check_process.wait_logged("the agent is away", 1);
    let mut agent = plan.start();
    check_process.wait_logged("follows the agent", 1);
    wait_running(&agent);
    agent.restart();
    check_process.wait_logged("follows the agent", 2);
    // Long before its next heartbeat.
    wait_running(&agent);
    break_disk(&agent, &disk);
    disk.unmount();
    wait_over(&agent, "is over: it is not mounted any more");
}

fn one_that_is_killed_is_started_again() {
    let agent = Plan::default().with_check_processes().start();
    let first = agent.check_process("check");
    wait_running(&agent);
    kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL).unwrap();
    let event = agent.wait_event("CheckProcessEnded");
    assert!(event.message.contains("run check ended (signal: 9 (SIGKILL)) and restarts in "), "{}", event.message);
    until("another runs", || (agent.check_process("check") != first).then_some(()));
    wait_running(&agent);
}

fn one_ends_with_its_agent() {
    let mut agent = Plan::default().with_check_processes().start();
    let stopped = agent.check_process("check");
    assert!(agent.stop().success());
    assert!(!runs(stopped), "a stop takes it along");
    agent.restart();
    let orphan = agent.check_process("check");
    agent.restart();
    until("a kill takes it along", || (!runs(orphan)).then_some(()));
}

fn one_stops_when_asked() {
    let agent = Plan::default().start();
    let mut check_process = CheckProcess::check_of(agent.plan());
    wait_running(&agent);
    assert!(check_process.stop().success(), "{}", check_process.log());
    // What it has found well by then stays for a minute.
    let left = agent.daemon(CHECK);
    let is_stopped = |daemon: &DaemonView| daemon.message.starts_with("stopped; its conditions go in ");
    assert!(left.as_ref().is_none_or(is_stopped), "{left:?}");
}

/// Names and advice of the check processes that `nodewell doctor` misses.
fn missed(agent: &Agent) -> Vec<(String, String)> {
    let config = agent.plan().folder().join("nodewell.toml");
    let checks = agent.nodewell(&["doctor", "--json", "--config", config.to_str().unwrap()]).json();
    let missed = checks.as_array().unwrap().iter().filter(|check| check["verdict"] == "warn");
    let of = |check: &serde_json::Value| ["name", "advice"].map(|key| check[key].as_str().unwrap().to_owned());
    let missed = missed.map(of).map(|[name, advice]| (name, advice));
    missed.filter(|(name, _)| ["check", "disk", "gpu"].contains(&name.as_str())).collect()
}

fn doctor_names_those_that_do_not_run() {
    let agent = Plan::default().start();
    let names = |agent: &Agent| missed(agent).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let has_driver = ["nvidia", "amdgpu"].iter().any(|name| Path::new("/sys/module").join(name).is_dir());
    let expected = if has_driver { vec!["check", "disk", "gpu"] } else { vec!["check", "disk"] };
    assert_eq!(names(&agent), expected);
    assert!(missed(&agent)[1].1.starts_with("systemctl enable --now nodewell-disk"), "{:?}", missed(&agent));
    let nothing = agent.plan().folder().join("nothing");
    let _disk = CheckProcess::of(agent.plan(), "disk", &[("--sys", &nothing), ("--dev", &nothing)]);
    until("the one for disks is not missed", || (!names(&agent).contains(&"disk".to_owned())).then_some(()));
    agent.plan().file("nodewell.toml.d/gpu.toml", "[gpu]\nenabled = false\n");
    assert_eq!(names(&agent), ["check"]);
}

fn other_names_are_reported() {
    let unknown = nodewell_checks(["run", "network"]);
    assert_eq!(unknown.code, 64, "{unknown:?}");
    assert!(unknown.stderr.contains("check, disk, gpu"), "{unknown:?}");
    assert!(nodewell_checks(["run", "--help"]).stdout.contains("nodewell-checks run check --socket"));
}
