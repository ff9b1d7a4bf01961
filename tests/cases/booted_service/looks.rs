//! What people and the kernel see of the running service.

use std::fs;

use nodewell_tests::{kmsg::RealKmsg, wait::until};

use super::Node;

pub(super) fn any_user_may_read(node: &Node) {
    let outcome = node.machine.as_unit("other.service", &["User=nobody"], "nodewell status && nodewell doctor");
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains(": no problem, standalone"), "{outcome:?}");
}

pub(super) fn least_privilege(node: &Node) {
    let pid = node.machine.agent_pid();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000")), "{set} in {status}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert!(!status.contains("Uid:\t0"), "{status}");
    let open: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .collect();
    assert!(open.iter().any(|file| file.ends_with("kmsg")), "{open:?}");
    let socket = fs::metadata(node.machine.socket()).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&socket) & 0o7777, 0o666);
    // It has a view of the host's mounts, and none of its own devices.
    let devices = fs::read_dir(format!("/proc/{pid}/root/dev")).unwrap().count();
    assert!(devices < 30, "{devices} names in /dev");
    let mounts = |pid: &str| fs::read_link(node.machine.path(&format!("/proc/{pid}/ns/mnt"))).unwrap();
    let check = node.machine.property("nodewell-check.service", "MainPID");
    assert_eq!(mounts(&check), mounts("1"), "the writing check sees the host's own mounts");
}

/// Though it may not even open what it copies it through, once it runs. It may lock memory by a capability here: a test
/// machine whose root may not raise limits has no other way.
pub(super) fn program_in_memory(node: &Node) {
    let machine = &node.machine;
    let lock = "[Service]\nCapabilityBoundingSet=CAP_IPC_LOCK\nAmbientCapabilities=CAP_IPC_LOCK\n";
    machine.write("/etc/systemd/system/nodewell.service.d/lock.conf", lock);
    machine.sh("systemctl daemon-reload && systemctl restart nodewell.service");
    let smaps = fs::read_to_string(format!("/proc/{}/smaps", machine.agent_pid())).unwrap();
    // Its code, and its data, which are written to in another way.
    for may in [" r-xp ", " rw-p "] {
        let part = smaps.lines().skip_while(|line| !line.contains(may) || !line.ends_with("/nodewelld"));
        let kib = |field: &str| part.clone().find_map(|line| line.strip_prefix(field)).unwrap().trim().to_owned();
        assert_eq!((kib("Anonymous:"), kib("Locked:")), (kib("Size:"), kib("Size:")), "{may}");
    }
    machine.sh(
        "rm -r /etc/systemd/system/nodewell.service.d && systemctl daemon-reload && systemctl restart nodewell.service",
    );
}

/// Also listed in docs/units.md.
pub(super) fn exposure(node: &Node) {
    let figure = |unit: &str| -> f64 {
        let table = node.machine.sh(&format!("systemd-analyze security --no-pager {unit} | tail -1"));
        let figure = table.split(": ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        eprintln!("    exposure of {unit}: {figure}");
        figure.parse().unwrap_or_else(|error| panic!("{unit}: {error} in {table:?}"))
    };
    assert!(figure("nodewell.service") <= 1.5);
    // It runs plug-ins, which need the network, and reads the clock.
    assert!(figure("nodewell-check.service") <= 4.4);
    let others =
        ["identity", "pstore-collector", "disk", "gpu", "repair"].map(|name| format!("nodewell-{name}.service"));
    for unit in &others {
        assert!(figure(unit) <= 3.0, "{unit}");
    }
    let units = "cd /usr/lib/systemd/system && systemd-analyze verify nodewell*.service nodewell*.socket nodewell*.path nodewell*.timer nodewell.slice";
    let output = node.machine.sh(&format!("{units} 2>&1 || true"));
    // There is no man in a minimal system.
    let complaints: Vec<&str> =
        output.lines().filter(|line| line.contains("nodewell") && !line.contains("'man ")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
}

/// What root alone may read is copied for the agent alone, and stays.
pub(super) fn pstore_records(node: &Node) {
    let machine = &node.machine;
    let record = "/var/lib/systemd/pstore/1763592123/001/dmesg.txt";
    machine.sh(&format!("mkdir -p $(dirname {record}) && (umask 077; echo 'Panic#1 Part1' >{record}) && systemctl restart nodewell-pstore-collector"));
    let copy = "/run/nodewell/pstore/archive/1763592123/001/dmesg.txt";
    assert_eq!(machine.sh(&format!("stat -c '%U:%G %a' {copy} && test -e {record}")), "root:nodewell 640");
    machine.sh(&format!("runuser -u nodewell -- cat {copy} && ! runuser -u nobody -- cat {copy}"));
    machine.sh("rm -r /var/lib/systemd/pstore/1763592123");
}

pub(super) fn a_kernel_line_turns_a_condition(node: &Node) {
    node.write(&RealKmsg::take(), "fault on sda");
    let condition = node.machine.wait_condition("TestUnhealthy", "True");
    assert_eq!(condition.problems[0].subject.as_deref(), Some("sda"));
    until("the status line shows it", || {
        let line = node.machine.property("nodewell.service", "StatusText");
        line.starts_with("1 problem: TestUnhealthy (TestFault)").then_some(())
    });
}

pub(super) fn the_journal_explains(node: &Node) {
    let machine = &node.machine;
    let entry = |filter: &str| {
        until(filter, || {
            let found = machine.sh(&format!("journalctl --no-pager -u nodewell -o json {filter} | tail -1"));
            serde_json::from_str::<serde_json::Value>(&found).ok()
        })
    };
    let condition = entry("NODEWELL_CONDITION=TestUnhealthy MESSAGE_ID=d5f2c7b09a1e4b7c8e5a3f60b1c2d902");
    assert_eq!((&condition["NODEWELL_STATUS"], &condition["NODEWELL_REASON"]), (&"True".into(), &"TestFault".into()));
    assert_eq!((&condition["PRIORITY"], &condition["_SYSTEMD_UNIT"]), (&"3".into(), &"nodewell.service".into()));
    let event = entry("NODEWELL_REASON=TestFault MESSAGE_ID=d5f2c7b09a1e4b7c8e5a3f60b1c2d901");
    assert_eq!((&event["NODEWELL_SUBJECT"], &event["NODEWELL_SEVERITY"]), (&"sda".into(), &"error".into()));
    let explained = machine.sh("journalctl --no-pager -x -u nodewell NODEWELL_CONDITION=TestUnhealthy");
    assert!(explained.contains("Subject: Condition TestUnhealthy is True"), "{explained}");
    assert!(explained.contains("Subject: A node problem was found: TestFault"), "{explained}");
    eprintln!("{}", machine.sh("journalctl --no-pager -u nodewell -o short"));
}
