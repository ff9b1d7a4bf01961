//! Node Problem Detector's stock configs load as they are and fire on their own lines.

use std::fs;

use nodewell_tests::{
    agent::{Agent, Plan},
    journal::Journal,
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("npd_stock_configs")
        .case("every_stock_config_loads", every_stock_config_loads)
        .case("the_kernel_monitor_fires_on_its_lines", the_kernel_monitor_fires_on_its_lines)
        .case("permanent_rules_turn_their_conditions", permanent_rules_turn_their_conditions)
        .case_with(&[Need::Journald], "journal_monitors_fire_on_their_lines", journal_monitors_fire_on_their_lines);
}

pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/rules/tests/npd");

/// A stock config, unchanged.
pub(crate) fn stock(name: &str) -> String {
    fs::read_to_string(format!("{FOLDER}/{name}")).unwrap()
}

/// An agent with these configs and no rules of ours.
fn with(names: &[&str]) -> Plan {
    let plan = Plan::default();
    let empty = plan.folder().join("no-rules");
    fs::create_dir(&empty).unwrap();
    names.iter().fold(plan.flag("--rules", empty), |plan, name| plan.flag("--npd-config", format!("{FOLDER}/{name}")))
}

fn fires(agent: &Agent, reason: &str, source: &str) {
    assert_eq!(agent.wait_event(reason).source, source, "{reason}");
}

fn every_stock_config_loads() {
    let names: Vec<String> = fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    assert!(names.len() >= 8, "{names:?}");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agent = with(&names).start();
    for condition in ["KernelDeadlock", "ReadonlyFilesystem", "CorruptDockerOverlay2", "XfsShutdown"] {
        until(condition, || agent.condition(condition));
    }
}

/// Of the stock monitor of the kernel's log: reasons and a line for each.
pub(crate) const KERNEL_LINES: [(&str, &str); 10] = [
    ("OOMKilling", "Killed process 1012 (heapster) total-vm:327128kB, anon-rss:306328kB, file-rss:11132kB"),
    ("TaskHung", "INFO: task docker daemon:20744 blocked for more than 120 seconds."),
    ("UnregisterNetDevice", "unregister_netdevice: waiting for eth0 to become free. Usage count = 3"),
    ("KernelOops", "BUG: unable to handle kernel NULL pointer dereference at 0000000000000008"),
    ("Ext4Error", "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory"),
    ("Ext4Warning", "EXT4-fs warning (device sda): ext4_end_bio:343: I/O error 10 writing to inode 14"),
    ("IOError", "Buffer I/O error on dev sda, logical block 7, lost async page write"),
    ("MemoryReadError", "CE memory read error on CPU_SrcID#0"),
    ("CperHardwareErrorCorrected", "{1}[Hardware Error]: event severity: corrected"),
    ("CperHardwareErrorRecoverable", "{1}[Hardware Error]: event severity: recoverable"),
];

fn the_kernel_monitor_fires_on_its_lines() {
    let agent = with(&["kernel-monitor.json"]).start();
    for (reason, line) in KERNEL_LINES {
        agent.kmsg().write(line);
        fires(&agent, reason, "kernel-monitor");
    }
}

fn permanent_rules_turn_their_conditions() {
    let agent = with(&["kernel-monitor.json", "readonly-monitor.json"]).start();
    let lines = [
        ("KernelDeadlock", "DockerHung", "task docker:7 blocked for more than 300 seconds."),
        (
            "XfsShutdown",
            "XfsHasShutdown",
            "XFS (dm-1): Corruption of in-memory data detected.  Shutting down filesystem",
        ),
        ("CperHardwareErrorFatal", "CperHardwareErrorFatal", "{1}[Hardware Error]: event severity: fatal"),
        ("ReadonlyFilesystem", "FilesystemIsReadOnly", "EXT4-fs (nodewell-test): Remounting filesystem read-only"),
    ];
    for (condition, reason, line) in lines {
        agent.kmsg().write(line);
        assert_eq!(agent.wait_condition(condition, "True").reason.as_str(), reason);
    }
}

fn journal_monitors_fire_on_their_lines() {
    let journal = Journal::start();
    let plan = with(&["docker-monitor.json", "systemd-monitor.json", "abrt-adaptor.json"]);
    let agent = plan.wrapped_in(journal.enter()).start();
    let image = "/var/lib/docker/image/overlay2";
    let docker =
        format!("Error trying v2 registry: failed to register layer: rename {image}/a {image}/b: directory not empty");
    let lines = [
        ("CorruptDockerImage", "docker-monitor", "dockerd", docker.as_str()),
        ("KubeletStart", "systemd-monitor", "systemd", "Started kubelet.service - Kubernetes kubelet."),
        ("DockerStart", "systemd-monitor", "systemd", "Starting Docker Application Container Engine..."),
        ("ContainerdStart", "systemd-monitor", "systemd", "Starting containerd container runtime..."),
        ("CCPPCrash", "abrt-adaptor", "abrt-notification", "Process 7 (sleep) crashed in __nanosleep()"),
    ];
    for (reason, source, identifier, line) in lines {
        journal.send(&[("SYSLOG_IDENTIFIER", identifier), ("MESSAGE", line)]);
        fires(&agent, reason, source);
    }
    let overlay = "returned error: readlink /var/lib/docker/overlay2/l: invalid argument";
    journal.send(&[("SYSLOG_IDENTIFIER", "dockerd"), ("MESSAGE", overlay)]);
    agent.wait_condition("CorruptDockerOverlay2", "True");
}
