//! CPUs that come and go.

use super::*;

#[test]
fn a_cpu_that_went_offline_is_a_problem_in_the_second_round_and_until_it_is_back() {
    let mut node = Node::new();
    node.look();
    node.cpu("online", "0-2,4-7");
    assert_eq!(reasons(&node.look(), "CPU 3"), ["absent"]);
    let findings = node.look();
    assert_eq!(reasons(&findings, "CPU 3"), ["CpuOffline"]);
    assert_eq!((findings.hardware[0].total, findings.hardware[0].states["offline"]), (8, 1));
    node.cpu("online", "0-7");
    assert_eq!(reasons(&node.look(), "CPU 3"), ["healthy"]);
}

#[test]
fn a_restart_neither_forgets_nor_takes_back() {
    let mut node = Node::new();
    node.look();
    node.restart();
    node.cpu("online", "0-2,4-7");
    assert_eq!(reasons(&node.looks(2), "CPU 3"), ["CpuOffline"]);
    node.restart();
    assert_eq!(reasons(&node.look(), "CPU 3"), ["CpuOffline"]);
    assert!(node.judge.save().is_none(), "nothing changed");
}

#[test]
fn a_new_boot_begins_with_what_is_online_then() {
    let mut node = Node::new();
    node.look();
    node.cpu("online", "0-2,4-7");
    node.looks(2);
    node.now.boot_id = "boot-2".to_owned();
    node.now.boottime = Duration::from_secs(30);
    let findings = node.looks(3);
    assert_eq!((findings.verdicts.len(), findings.hardware[0].total), (1, 7));
}

#[test]
fn siblings_that_are_switched_off_and_cpus_that_are_unplugged_are_no_fault() {
    let mut node = Node::new();
    node.look();
    node.cpu("online", "0-3").cpu("smt/control", "off");
    (4..8)
        .for_each(|cpu| fs::remove_dir_all(node.root.path().join(format!("sys/devices/system/cpu/cpu{cpu}"))).unwrap());
    assert_eq!(node.looks(3).verdicts.len(), 1);
    node.cpu("online", "0-2").cpu("present", "0-2,4-7");
    assert_eq!(node.looks(3).verdicts.len(), 1);
    node.cpu("online", "0-1");
    assert_eq!(reasons(&node.looks(2), "CPU 2"), ["CpuOffline"], "it is the first of its core");
}

#[test]
fn a_list_that_is_garbage_is_no_verdict() {
    let mut node = Node::new();
    node.look();
    node.cpu("online", "banana");
    assert_eq!(reasons(&node.looks(3), "CPU"), ["unknown: DeviceUnreadable"]);
    node.cpu("online", "0-7");
    assert_eq!(node.look().verdicts.len(), 1);
}
