//! Check processes that look after hardware: what a made-up machine reports is emitted, a device that hangs blocks no
//! other check, and what was wrong stays wrong over restarts. The machine is a tree of files like /sys; where a FIFO
//! takes the place of one, its reader hangs.

use std::{ffi::OsString, fs, os::unix::fs::symlink, path::Path};

use nix::{
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, mkfifo},
};
use nodewell_model::view::ConditionView;
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::{CheckProcess, code_kib, runs, threads_of},
    root_disk::RootDisk,
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("check-process-hardware")
        .case("a_fault_is_reported_counted_and_survives_restarts", a_fault_is_reported_counted_and_survives_restarts)
        .case("a_device_that_hangs_takes_no_other_with_it", a_device_that_hangs_takes_no_other_with_it)
        .case("more_devices_than_a_report_holds_hang_at_once", more_devices_than_a_report_holds_hang_at_once)
        .case("a_stopped_worker_is_replaced", a_stopped_worker_is_replaced)
        .case("a_worker_ends_with_its_check_process", a_worker_ends_with_its_check_process)
        .case_with(
            ROOT_DISK,
            "the_first_faults_are_found_while_the_root_disk_hangs",
            the_first_faults_are_found_while_the_root_disk_hangs,
        )
        .case_with(
            ROOT_DISK,
            "the_first_device_that_hangs_is_reported_while_the_root_disk_hangs",
            the_first_device_that_hangs_is_reported_while_the_root_disk_hangs,
        )
        .case("what_is_turned_off_is_not_read", what_is_turned_off_is_not_read)
        .case("a_worker_by_hand_explains_what_it_is", a_worker_by_hand_explains_what_it_is);
}

const ROOT_DISK: &[Need] = &[Need::LoopDevice, Need::Controller("blkio"), Need::Controller("memory")];
const MODULE: &str = "sys/devices/system/edac/mc/mc0/dimm0";
const NAME: &str = "sys/devices/system/edac/mc/mc0/mc_name";
const ONLINE: &str = "sys/devices/system/cpu/online";

/// A machine with one memory module and four CPUs.
fn machine() -> Plan {
    let plan = Plan::default();
    for (file, content) in
        [("dimm_label", "DIMM_A1\n"), ("dimm_ce_count", "0\n"), ("dimm_ue_count", "0\n"), ("size", "16384\n")]
    {
        plan.file(&format!("{MODULE}/{file}"), content);
    }
    plan.file(NAME, "skx_edac\n");
    plan.file("sys/devices/system/edac/mc/mc0/ce_noinfo_count", "0\n");
    plan.file("sys/devices/system/edac/mc/mc0/ue_noinfo_count", "0\n");
    plan.file("sys/devices/system/edac/mc/mc0/seconds_since_reset", "100\n");
    plan.file(ONLINE, "0-3\n");
    plan.file("sys/devices/system/cpu/present", "0-3\n");
    for cpu in 0..4 {
        plan.file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{cpu}\n"));
    }
    plan.file("proc/meminfo", "MemTotal: 16777216 kB\nHardwareCorrupted:     0 kB\n");
    plan.file("proc/cpuinfo", "");
    plan
}

/// Asks twice a second, and gives a device `deadline`.
fn started(plan: &Plan, deadline: &str) -> CheckProcess {
    started_in(Vec::new(), plan, deadline)
}

/// By a program that starts another one.
fn started_in(wrapper: Vec<OsString>, plan: &Plan, deadline: &str) -> CheckProcess {
    let path = |name: &str| plan.folder().join(name);
    CheckProcess::wrapped(
        wrapper,
        plan,
        "check",
        &[
            ("--sys", &path("sys")),
            ("--proc", &path("proc")),
            ("--dev", &path("dev")),
            ("--tracing", &path("tracing")),
            ("--interval", Path::new("500ms")),
            ("--deadline", Path::new(deadline)),
        ],
    )
}

/// Nothing here takes so long.
const PLENTY: &str = "60s";

/// Replaces `name` whole: a reader sees one or the other.
fn write(agent: &Agent, name: &str, content: &str) {
    let folder = agent.plan().folder();
    fs::write(folder.join("draft"), content).unwrap();
    fs::rename(folder.join("draft"), folder.join(name)).unwrap();
}

fn hang(agent: &Agent, name: &str) {
    let folder = agent.plan().folder();
    mkfifo(&folder.join("fifo"), Mode::S_IRWXU).unwrap();
    fs::rename(folder.join("fifo"), folder.join(name)).unwrap();
}

fn with_subject(agent: &Agent, condition: &str, status: &str, subject: &str) -> ConditionView {
    until(&format!("{condition} is {status} of {subject}"), || {
        let found = agent.condition(condition).filter(|found| found.status.as_str() == status)?;
        found.problems.iter().any(|problem| problem.subject.as_deref() == Some(subject)).then_some(found)
    })
}

fn wait_counted(agent: &Agent, class: &str, total: u32) {
    until(&format!("{total} {class} are counted"), || {
        agent.view().hardware.iter().find(|one| one.class == class && one.total == total).map(|_| ())
    });
}

fn a_fault_is_reported_counted_and_survives_restarts() {
    let mut agent = machine().start();
    let mut check_process = started(agent.plan(), PLENTY);
    wait_counted(&agent, "CPUs", 4);
    write(&agent, &format!("{MODULE}/dimm_ue_count"), "1\n");
    let broken = with_subject(&agent, "MemoryUnhealthy", "True", "DIMM_A1");
    let (id, since) = (broken.problems[0].id.clone(), broken.problems[0].since);
    assert!(check_process.stop().success(), "{}", check_process.log());
    let is_the_same = |agent: &Agent| {
        let problem = with_subject(agent, "MemoryUnhealthy", "True", "DIMM_A1").problems.remove(0);
        assert_eq!((&problem.id, problem.since, problem.count), (&id, since, 1));
    };
    is_the_same(&agent);
    let mut check_process = started(agent.plan(), PLENTY);
    wait_counted(&agent, "CPUs", 4);
    is_the_same(&agent);
    check_process.kill();
    agent.restart();
    is_the_same(&agent);
    let _check_process = started(agent.plan(), PLENTY);
    wait_counted(&agent, "CPUs", 4);
    is_the_same(&agent);
}

/// More than the agent holds of one daemon by their names.
const MANY: u32 = 300;

fn more_devices_than_a_report_holds_hang_at_once() {
    let plan = machine();
    for n in 1..MANY {
        let module = format!("sys/devices/system/edac/mc/mc0/dimm{n}");
        plan.file(&format!("{module}/dimm_label"), &format!("DIMM_B{n}\n"));
        for (file, content) in [("dimm_ce_count", "0\n"), ("dimm_ue_count", "0\n"), ("size", "16384\n")] {
            plan.file(&format!("{module}/{file}"), content);
        }
    }
    let agent = plan.start();
    let check_process = started(agent.plan(), "2s");
    wait_counted(&agent, "memory modules", MANY);
    hang(&agent, NAME);
    let unknown = agent.wait_condition("MemoryUnhealthy", "Unknown");
    assert!(unknown.message.contains("300 are unknown, such as DIMM_A1: no answer within 2 s"), "{unknown:?}");
    write(&agent, NAME, "skx_edac\n");
    agent.wait_condition("MemoryUnhealthy", "False");
    write(&agent, &format!("{MODULE}/dimm_ue_count"), "1\n");
    with_subject(&agent, "MemoryUnhealthy", "True", "DIMM_A1");
    hang(&agent, NAME);
    let is_unconfirmed = || {
        let problem = with_subject(&agent, "MemoryUnhealthy", "True", "DIMM_A1").problems.remove(0);
        problem.unconfirmed_since.is_some()
    };
    until("what was wrong is unconfirmed", || is_unconfirmed().then_some(()));
    write(&agent, NAME, "skx_edac\n");
    until("it is confirmed", || (!is_unconfirmed()).then_some(()));
    assert!(!check_process.log().contains("does not take our report"), "{}", check_process.log());
}

fn a_device_that_hangs_takes_no_other_with_it() {
    let agent = machine().start();
    let check_process = started(agent.plan(), "2s");
    wait_counted(&agent, "CPUs", 4);
    hang(&agent, NAME);
    let unknown = agent.wait_condition("MemoryUnhealthy", "Unknown");
    assert_eq!(unknown.reason.as_str(), "DeviceNotAnswering");
    assert!(unknown.message.contains("no answer within 2 s"), "{}", unknown.message);
    write(&agent, ONLINE, "0-2\n");
    with_subject(&agent, "CpuUnhealthy", "True", "CPU 3");
    write(&agent, NAME, "skx_edac\n");
    agent.wait_condition("MemoryUnhealthy", "False");
    assert!(check_process.log().contains("its worker is killed"), "{}", check_process.log());
}

/// An agent, and a check process whose program, libraries and state are on `root`: nothing was ever wrong, and all of
/// the program is in memory.
fn started_on(root: &RootDisk, deadline: &str) -> (Agent, CheckProcess) {
    let plan = machine();
    // Where its state is, the root disk is mounted.
    symlink("state", plan.folder().join("hardware")).unwrap();
    let agent = plan.start();
    let check_process = started_in(root.enter(agent.plan()), agent.plan(), deadline);
    agent.wait_condition("MemoryUnhealthy", "False");
    wait_counted(&agent, "CPUs", 4);
    let pid = check_process.pid();
    until("all of its program is in memory", || {
        let (all, in_memory) = code_kib(pid);
        // It has read the code first, and then the libraries.
        let is_over = threads_of(pid).iter().all(|name| name != "keep-program");
        (in_memory == all && is_over).then_some(())
    });
    (agent, check_process)
}

/// Nothing of this ran before the disk hangs: what it takes must be in memory all the same.
fn the_first_faults_are_found_while_the_root_disk_hangs() {
    // What check processes lock is of files, and not copied.
    let root = RootDisk::without_large_folios();
    let (agent, mut check_process) = started_on(&root, PLENTY);
    let mut hang = root.hang();
    for count in 1..3 {
        write(&agent, &format!("{MODULE}/dimm_ue_count"), &format!("{count}\n"));
        until(&format!("{count} errors are counted"), || {
            let found = with_subject(&agent, "MemoryUnhealthy", "True", "DIMM_A1");
            found.problems[0].message.contains(&format!("in this boot: {count};")).then_some(())
        });
    }
    write(&agent, ONLINE, "0-2\n");
    wait_counted(&agent, "CPUs", 3);
    hang.assert_holds();
    drop(hang);
    assert!(check_process.stop().success(), "{}", check_process.log());
}

/// Its worker is killed, and the next one may wait for the disk.
fn the_first_device_that_hangs_is_reported_while_the_root_disk_hangs() {
    let root = RootDisk::without_large_folios();
    let (agent, mut check_process) = started_on(&root, "2s");
    let mut disk = root.hang();
    hang(&agent, NAME);
    let unknown = agent.wait_condition("MemoryUnhealthy", "Unknown");
    assert_eq!(unknown.reason.as_str(), "DeviceNotAnswering");
    disk.assert_holds();
    drop(disk);
    write(&agent, NAME, "skx_edac\n");
    agent.wait_condition("MemoryUnhealthy", "False");
    assert!(check_process.stop().success(), "{}", check_process.log());
}

fn a_stopped_worker_is_replaced() {
    let agent = machine().start();
    let check_process = started(agent.plan(), "2s");
    wait_counted(&agent, "CPUs", 4);
    let first = check_process.worker();
    kill(Pid::from_raw(first.cast_signed()), Signal::SIGSTOP).unwrap();
    until("another worker works", || (check_process.has_worker() && check_process.worker() != first).then_some(()));
    assert!(!runs(first));
    write(&agent, ONLINE, "0-2\n");
    with_subject(&agent, "CpuUnhealthy", "True", "CPU 3");
}

fn a_worker_ends_with_its_check_process() {
    let agent = machine().start();
    let mut check_process = started(agent.plan(), PLENTY);
    let worker = check_process.worker();
    check_process.kill();
    until("the worker is gone", || (!runs(worker)).then_some(()));
    let mut check_process = started(agent.plan(), PLENTY);
    let worker = check_process.worker();
    assert!(check_process.stop().success());
    until("the worker is gone", || (!runs(worker)).then_some(()));
}

fn what_is_turned_off_is_not_read() {
    let agent = machine().config("[memory]\nenabled = false\n").start();
    let _check_process = started(agent.plan(), PLENTY);
    wait_counted(&agent, "CPUs", 4);
    write(&agent, &format!("{MODULE}/dimm_ue_count"), "1\n");
    write(&agent, ONLINE, "0-2\n");
    with_subject(&agent, "CpuUnhealthy", "True", "CPU 3");
    assert_eq!(agent.condition("MemoryUnhealthy").unwrap().problems, []);
}

fn a_worker_by_hand_explains_what_it_is() {
    let parent = std::process::id().to_string();
    let outcome = nodewell_tests::cli::nodewell_checks(["worker", "disk", "--parent", &parent]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    let help = nodewell_tests::cli::nodewell_checks(["--help"]);
    assert!(!help.stdout.contains("worker"), "{}", help.stdout);
}
