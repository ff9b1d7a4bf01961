//! CXL devices, by what they report themselves.

use super::*;
use crate::{
    memory::cxl::tests::{corrected, lost, module, poison},
    probe::{DeviceEvent, NoAnswer},
};

const DEVICE: &str = "CXL memory 0000:35:00.0";

/// What one look finds of what the kernel printed since the one before.
fn look_at(node: &mut Node, lines: &str) -> Findings {
    node.trace(lines);
    let findings = node.look();
    node.trace("");
    findings
}

fn fault(findings: &Findings) -> &str {
    match state(findings, DEVICE) {
        Some(State::Faulty(faults)) => &faults[0].message,
        other => panic!("{other:?}"),
    }
}

fn event(findings: &Findings) -> (&str, &str, &str) {
    let [DeviceEvent { reason, subject, message, .. }] = &findings.events[..] else { panic!("{findings:?}") };
    (reason.as_str(), subject.as_deref().unwrap(), message.as_str())
}

#[test]
fn a_device_that_lost_data_is_a_problem_until_the_next_boot() {
    let mut node = Node::new();
    assert_eq!(reasons(&node.look(), DEVICE), ["absent"], "it has not reported anything");
    let findings = look_at(&mut node, &format!("{}\n{}", lost(), lost().replace("dpa=10000040", "dpa=20000040")));
    assert_eq!((reasons(&findings, DEVICE), findings.events.len()), (vec!["MemoryUncorrectedError".to_owned()], 0));
    let expected = "uncorrected errors of mem0 in this boot: 2, the last: ECC Error at 0x20000040; drain the node and \
                    replace the CXL device";
    assert_eq!(fault(&findings), expected);
    assert_eq!(findings.hardware[0].total, 2, "EDAC's modules");
    node.restart();
    assert_eq!(fault(&node.look()), expected);
    node.reboot(60);
    assert_eq!(reasons(&node.look(), DEVICE), ["absent"]);
}

#[test]
fn a_page_that_failed_with_it_is_the_devices() {
    let mut node = Node::without_edac();
    node.look();
    node.lost_pages(1);
    let findings = look_at(&mut node, &lost());
    assert_eq!(reasons(&findings, "Memory"), ["healthy"]);
    assert_eq!(findings.recoveries.len(), 1);
    assert!(findings.recoveries[0].evidence.contains(DEVICE), "{findings:?}");
}

#[test]
fn other_errors_are_one_event_of_a_look_and_many_within_a_day_a_problem() {
    let mut node = Node::new();
    node.look();
    let findings = look_at(&mut node, &[corrected(), corrected(), corrected()].join("\n"));
    let message = "mem0 reported 3 errors since the last look that lost no data, the last: Scrub Media ECC Error at \
                   0x18680; nothing to do if it is rare";
    assert_eq!(event(&findings), ("CxlMemoryError", DEVICE, message));
    assert_eq!(reasons(&findings, DEVICE), ["healthy"]);
    let findings = look_at(&mut node, &vec![corrected(); 7].join("\n"));
    assert_eq!(reasons(&findings, DEVICE), ["MemoryCorrectedError"]);
    node.restart();
    node.reboot(600);
    assert_eq!(reasons(&node.look(), DEVICE), ["MemoryCorrectedError"], "a reboot does not end it");
    node.reboot(26 * 3600);
    assert_ne!(reasons(&node.look(), DEVICE), ["MemoryCorrectedError"]);
}

#[test]
fn health_is_a_problem_while_the_device_wants_to_be_replaced() {
    let mut node = Node::new();
    node.look();
    let findings = look_at(&mut node, &module("MAINTENANCE_NEEDED"));
    let message =
        "mem0: Temperature Change, its health: maintenance needed; media normal, life normal; see cxl list -M -H";
    assert_eq!(event(&findings), ("CxlMemoryHealthChanged", DEVICE, message));
    assert_eq!(reasons(&findings, DEVICE), ["healthy"]);
    // Of several in one look the last holds.
    let findings = look_at(&mut node, &format!("{}\n{}", module(""), module("REPLACEMENT_NEEDED")));
    assert_eq!(reasons(&findings, DEVICE), ["CxlMemoryFailing"]);
    assert_eq!(findings.events.len(), 1);
    assert!(fault(&findings).starts_with("mem0 reports its health: replacement needed; media normal"));
    node.restart();
    assert_eq!(reasons(&node.look(), DEVICE), ["CxlMemoryFailing"]);
    assert_eq!(reasons(&look_at(&mut node, &module("")), DEVICE), ["healthy"]);
}

#[test]
fn lost_addresses_that_are_listed_are_an_event() {
    let mut node = Node::new();
    let findings = look_at(&mut node, &format!("{}\n{}", poison(), poison().replace("0x40000000", "0x40000040")));
    let (reason, subject, message) = event(&findings);
    assert_eq!((reason, subject), ("CxlMemoryPoison", "CXL memory 0000:c1:00.0"));
    assert!(
        message.starts_with("mem1 listed 2 addresses that lost their data since the last look, the last 0x40000040")
    );
    assert_eq!(reasons(&findings, subject), ["healthy"]);
}

#[test]
fn without_a_reading_nothing_is_known_of_it() {
    let mut node = Node::new();
    look_at(&mut node, &lost());
    let silent = PollError::NoAnswer(NoAnswer::asked(node.now.wall, "no answer within 10 s"));
    let round = Round {
        now: node.now.clone(),
        listed: Ok(vec!["Memory".to_owned()]),
        answers: vec![("Memory".to_owned(), Err(silent))],
    };
    assert_eq!(reasons(&node.judge.judge(round), DEVICE), ["unknown: DeviceNotAnswering"]);
    assert_eq!(reasons(&node.look(), DEVICE), ["MemoryUncorrectedError"]);
}

#[test]
fn more_devices_than_a_machine_has_are_left_out() {
    let mut node = Node::new();
    let lines: Vec<String> = (0..200).map(|n| lost().replace("0000:35:00.0", &format!("0000:{n:02x}:00.0"))).collect();
    let findings = look_at(&mut node, &lines.join("\n"));
    let devices = findings.verdicts.iter().filter(|verdict| verdict.subject.starts_with("CXL memory "));
    assert_eq!(devices.count(), 64);
}
