//! The check processes as services: what each may open, what is left of them after a stop, and a driver that comes
//! late.
//!
//! Not shown here, because the container has neither: that `MemoryMax=` is enforced and its kill is counted
//! (no memory controller; a guest has one, `tests/vm/cases/plugin_limits.rs`), and that nodewell-check reads tracefs
//! (the kernel has none).

use std::{path::Path, process::Stdio};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_model::view::NodeView;
use nodewell_tests::{
    cgroup::{Cgroup, controller_unmet},
    check_process::runs,
    gpus::Gpus,
    machine::as_root,
    suite::leave_out,
    wait::until,
};

use super::Node;

const DISK: &str = "nodewell-disk.service";
const GPU: &str = "nodewell-gpu.service";
/// Where the simulated library and its sysfs lie in the machine.
const FOLDER: &str = "/opt/gpus";
/// At the pace of a test; for the rest the unit is as it is shipped.
const HURRY: &str = "[Service]
RestartSec=200ms
ExecStart=
ExecStart=/usr/bin/nodewell-checks run gpu --sys /opt/gpus --interval 1s
";

/// The rules of the unit's own cgroup, asked by a process in it: a process that is refused gets EPERM; one that is
/// allowed, and finds no device behind the number, gets ENXIO. The loop device is there, and is none of theirs.
pub(super) fn devices_are_those_of_the_unit(node: &Node) {
    let machine = &node.machine;
    let open = |unit: &str, way: &str| {
        let group = machine.property(unit, "ControlGroup");
        let script = format!("echo $$ >/sys/fs/cgroup{group}/cgroup.procs && : {way}");
        // From the cgroup of the machine's PID 1: a border of delegation (`nsdelegate`, cgroups(7)) lets nothing in from outside.
        let mut inside = as_root(machine.leader(), &["sh", "-c", &script].map(str::to_owned));
        let output = inside.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // In /dev: systemd mounts the other places so that no node in them can be opened.
    machine.sh("mknod /dev/extended b 259 1048575 && mknod /dev/loop b 7 0 && mknod /dev/memory c 1 1");
    let outcome = |unit: &str, way: &str, words: &str| {
        let output = open(unit, way);
        assert!(output.contains(words), "{unit} {way}: {output}");
    };
    outcome(DISK, "</dev/extended", "No such device");
    for way in [">/dev/extended", "</dev/loop", "</dev/memory"] {
        outcome(DISK, way, "not permitted");
    }
    for unit in ["nodewell-check.service", GPU] {
        outcome(unit, "</dev/extended", "not permitted");
    }
    machine.sh("rm /dev/extended /dev/loop /dev/memory");
}

/// By what each service may: its users, rights and mounts. The agent's memory and files are its own.
pub(super) fn none_has_a_way_into_the_agent(node: &Node) {
    let machine = &node.machine;
    machine.sh("mkdir -p /run/nodewell/identity && echo secret >/run/nodewell/identity/probe");
    // As the kubelet has it: for root alone, which the disks' service passes.
    machine.sh("umask 077 && mkdir -p /var/lib/kubelet && echo secret >/var/lib/kubelet/probe");
    let agent = machine.property("nodewell.service", "MainPID");
    let script = format!(
        "for file in /proc/{agent}/mem /proc/{agent}/environ /var/lib/nodewell/state.db /run/nodewell/identity/probe \
         /var/lib/kubelet/probe; do \
         (: <$file) 2>/dev/null && echo $file; done; id -un"
    );
    for (unit, user) in [(GPU, "nodewell-gpu"), (DISK, "nodewell-disk")] {
        let outcome = machine.as_unit("probe.service", &strs(&rights(node, unit)), &script);
        assert_eq!(outcome.stdout, format!("{user}\n"), "{unit}: {outcome:?}");
    }
    let found = machine.sh(&script);
    assert_eq!(found.lines().count(), 6, "root has every way: {found}");
    // A controller's node is root's alone, and the device cgroup lets it be opened.
    machine.sh("mknod -m 600 /dev/extended b 259 1048575");
    let opened = machine.as_unit("probe.service", &strs(&rights(node, DISK)), "</dev/extended");
    assert!(opened.stderr.contains("No such device"), "{opened:?}");
    machine.sh("rm /dev/extended /run/nodewell/identity/probe /var/lib/kubelet/probe");
}

fn strs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// What the unit gives and takes, for a service beside it.
fn rights(node: &Node, unit: &str) -> Vec<String> {
    const NAMES: [&str; 13] = [
        "User",
        "Group",
        "CapabilityBoundingSet",
        "AmbientCapabilities",
        "InaccessiblePaths",
        "DevicePolicy",
        "DeviceAllow",
        "NoNewPrivileges",
        "ProtectSystem",
        "ProtectHome",
        "PrivateTmp",
        "ProtectProc",
        "SystemCallFilter",
    ];
    let text = node.machine.sh(&format!("cat /usr/lib/systemd/system/{unit}"));
    let is_right = |line: &&str| line.split_once('=').is_some_and(|(name, _)| NAMES.contains(&name));
    text.lines().filter(is_right).map(str::to_owned).collect()
}

/// There is no driver where these tests run, mostly; from here on its unit does as if there were one.
pub(super) fn it_runs_where_there_is_a_gpu_driver(node: &Node) {
    let machine = &node.machine;
    if !["nvidia", "amdgpu"].iter().any(|driver| Path::new("/sys/module").join(driver).exists()) {
        assert_eq!(machine.property(GPU, "ConditionResult"), "no");
        assert_eq!(machine.property(GPU, "ActiveState"), "inactive");
    }
    for driver in ["nvidia", "amdgpu"] {
        let wanted = format!("/etc/systemd/system/sys-module-{driver}.device.wants/{GPU}");
        machine.sh(&format!("test -L {wanted}"));
    }
    machine.sh("test -f /usr/lib/udev/rules.d/80-nodewell.rules");
    machine.write(&format!("/etc/systemd/system/{GPU}.d/driver.conf"), "[Unit]\nConditionPathExists=\n");
    machine.sh(&format!("systemctl daemon-reload && systemctl start {GPU}"));
    machine.wait_property(GPU, "SubState", "running");
}

/// Without a driver it sleeps and holds nothing; with one it restarts, for the rights to its devices.
pub(super) fn a_gpu_driver_comes_late(node: &Node) {
    let machine = &node.machine;
    let gpus = Gpus::new(2, "ecc=0,0,0,0");
    gpus.unload_driver();
    machine.copy_folder(gpus.root(), FOLDER);
    machine
        .write("/etc/nodewell/nodewell.toml.d/gpu.toml", format!("[gpu]\nlibrary = \"{FOLDER}/{}\"\n", Gpus::LIBRARY));
    machine.write(&format!("/etc/systemd/system/{GPU}.d/hurry.conf"), HURRY);
    machine.sh(&format!("systemctl daemon-reload && systemctl restart {GPU}"));
    machine.wait_property(GPU, "StatusText", "gpu: none");
    let before = machine.main_pid(GPU).unwrap();
    until("it lets go of its reader", || worker(node).is_none().then_some(()));
    machine.sh(&format!("mkdir -p {FOLDER}/module/nvidia && echo 580.65.06 >{FOLDER}/module/nvidia/version"));
    until("the GPUs are counted", || are_healthy(node).then_some(()));
    assert_ne!(machine.main_pid(GPU), Some(before), "it restarted");
    assert_eq!(machine.property(GPU, "Result"), "success");
}

/// By the kernel, for memory: by a limit of ours, because the machine's units have none that is enforced.
pub(super) fn a_reader_over_its_memory_is_replaced(node: &Node) {
    if let Some(missing) = controller_unmet("memory") {
        leave_out("booted_service: a_reader_over_its_memory_is_replaced", missing);
        return;
    }
    let machine = &node.machine;
    let (check_process, old) = (machine.main_pid(GPU), until("it has a reader", || worker(node)));
    let cgroup = Cgroup::with_controller("memory", &format!("nodewell-reader-{old}")).unwrap();
    cgroup.limit_memory(4096);
    cgroup.take(old);
    until("the kernel kills it", || (!runs(old)).then_some(()));
    assert_eq!(cgroup.memory_kills(), 1, "for its memory");
    until("another one reads", || worker(node).filter(|new| *new != old));
    until("the GPUs are well", || are_healthy(node).then_some(()));
    assert_eq!(machine.main_pid(GPU), check_process, "the service went on");
    assert_eq!(machine.property(GPU, "OOMPolicy"), "continue");
    let log = machine.sh(&format!("journalctl --no-pager -o cat -u {GPU}"));
    assert!(log.contains("worker ended"), "{log}");
}

/// Its reader does not even take SIGTERM; nothing is left, and the stop did not have to wait for a limit.
pub(super) fn a_stop_leaves_no_reader(node: &Node) {
    let machine = &node.machine;
    let reader = until("it has a reader", || worker(node));
    kill(Pid::from_raw(reader.cast_signed()), Signal::SIGSTOP).unwrap();
    machine.sh(&format!("systemctl stop {GPU}"));
    assert_eq!(machine.property(GPU, "Result"), "success", "within its time");
    assert!(!runs(reader), "pid {reader} is left");
    machine
        .sh(&format!("rm -r /etc/systemd/system/{GPU}.d/hurry.conf {FOLDER} /etc/nodewell/nodewell.toml.d/gpu.toml"));
    machine.sh(&format!("systemctl daemon-reload && systemctl start {GPU}"));
}

/// Both of them, as the agent reports them.
fn are_healthy(node: &Node) -> bool {
    let answer = node.machine.ask("/v1/status").map_or_else(String::new, |answer| answer.body);
    let hardware = serde_json::from_str::<NodeView>(&answer).map(|view| view.hardware).unwrap_or_default();
    hardware.iter().any(|one| one.class == "GPUs" && (one.total, one.healthy) == (2, 2))
}

/// The process that reads for the check process, as this machine numbers it.
fn worker(node: &Node) -> Option<u32> {
    nodewell_tests::check_process::worker_of(node.machine.main_pid(GPU)?, "gpu")
}
