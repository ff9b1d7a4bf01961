//! Rules whose decoder decides what is found.

use std::collections::BTreeSet;

use nodewell_faults::{Branch, Decoder, Host};

use super::*;
use crate::rule::{Clears, RecoveryCheck};

fn xids() -> Rule {
    Rule {
        decoder: Some(Decoder::Xid),
        clears: Clears { boot: true, check: Some(RecoveryCheck::DeviceRecovered), ..Clears::default() },
        ..rule("GpuXid", r"^NVRM: (?:Xid \(|loading NVIDIA UNIX |GPU at PCI:)")
    }
}

fn found(detector: &mut Detector, text: &str) -> Vec<Finding> {
    push_all(detector, &[text]).remove(0)
}

#[test]
fn the_table_says_what_an_xid_is() {
    let mut detector = detector(vec![xids()]);
    let [fallen] = <[Finding; 1]>::try_from(found(&mut detector, "NVRM: Xid (PCI:0000:05:00): 79, fell")).unwrap();
    assert_eq!((fallen.reason.as_str(), fallen.subject.as_deref()), ("GpuXid79FallenOffBus", Some("0000:05:00.0")));
    assert_eq!(fallen.condition.as_ref().map(|name| name.as_str()), Some("GpuUnhealthy"));
    assert_eq!((fallen.ends_at_boot, fallen.message.as_str()), (true, "NVRM: Xid (PCI:0000:05:00): 79, fell"));
    let [event] = <[Finding; 1]>::try_from(found(&mut detector, "NVRM: Xid (PCI:0000:05:00): 31, fault")).unwrap();
    assert_eq!((event.condition, event.ends_at_boot), (None, false));
    assert!(found(&mut detector, "NVRM: Xid (PCI:0000:05:00): abc").is_empty());
}

#[test]
fn what_is_taken_back_ends_what_was_raised() {
    let mut detector = detector(vec![xids()]);
    let line = |from, to| format!("NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from {from} to {to}");
    let raised = found(&mut detector, &line("0x0 (None)", "0x1 (GPU Reset Required)")).remove(0);
    let ended = found(&mut detector, &line("0x1 (GPU Reset Required)", "0x0 (None)"));
    assert!(ended.iter().all(|finding| finding.kind == FindingKind::Clear && !finding.ends_at_boot));
    assert!(ended.iter().any(|finding| finding.key() == raised.key()));
    let keys: BTreeSet<_> = ended.iter().map(Finding::key).collect();
    assert_eq!(keys.len(), ended.len(), "each once");
}

#[test]
fn the_drivers_own_line_says_which_layout_its_nvlink_reports_have() {
    // Of the new layout: the old one has other bits for this unit, so that the cartridge's subcode is not believed.
    let line = "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x00402411 0x0 0x0)";
    let action = |detector: &mut Detector| found(detector, line)[0].action.unwrap().as_str();
    let load = |branch| format!("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {branch}  Release Build");
    let mut detector = detector(vec![xids()]).with_host(Host { branch: Some(Branch(570)), ..Host::default() });
    assert_eq!(action(&mut detector), "reset-gpu");
    assert!(found(&mut detector, &load("580.65.06")).is_empty());
    assert_eq!(action(&mut detector), "inspect-hardware");
    found(&mut detector, &load("570.86.10"));
    assert_eq!(action(&mut detector), "reset-gpu");
    detector.forget();
    assert_eq!(action(&mut detector), "inspect-hardware", "an unknown driver may be of either layout");
}

#[test]
fn events_of_before_the_start_are_history_and_what_lasts_is_not() {
    let late = Timestamp::from_second(1_000_000).unwrap();
    let mut detector = detector(vec![xids()]).with_start(late, Duration::ZERO);
    assert!(found(&mut detector, "NVRM: Xid (PCI:0000:05:00): 31, fault").is_empty());
    assert_eq!(found(&mut detector, "NVRM: Xid (PCI:0000:05:00): 79, fell").len(), 1);
}

#[test]
fn a_gpu_that_fails_after_each_restart_is_another_problem() {
    let mut detector = detector(vec![xids()]);
    let fatal = "NVRM: Xid (PCI:0000:05:00): 119, pid=1, name=x, Timeout after 6s";
    let started = "NVRM: GPU at PCI:0000:05:00: GPU-6f8e2a1c-1111-2222-3333-444455556666";
    let mut out = Vec::new();
    for (hour, text) in (0..).zip([fatal, started].repeat(4)) {
        detector.push(&record(text.as_bytes(), hour * 3_600), &mut out);
    }
    assert_eq!(out.len(), 4, "each failure is one Xid");
    out.clear();
    detector.push(&record(fatal.as_bytes(), 8 * 3_600), &mut out);
    let [xid, repeated] = <[Finding; 2]>::try_from(out).unwrap();
    assert_eq!((xid.message.as_str(), repeated.reason.as_str()), (fatal, "GpuFailsRepeatedly"));
    assert_eq!((repeated.condition, repeated.subject), (xid.condition, xid.subject));
    assert!(repeated.ends_at_boot && repeated.ends_after_quiet.is_some() && repeated.message != fatal);
    detector.forget();
    assert_eq!(found(&mut detector, fatal).len(), 1, "of another boot");
}

#[test]
fn test_records_are_no_failures() {
    let mut detector = detector(vec![xids()]);
    let fatal = "NVRM: Xid (PCI:0000:05:00): 119, pid=1, name=x, Timeout after 6s";
    let started = "NVRM: GPU at PCI:0000:05:00: GPU-6f8e2a1c-1111-2222-3333-444455556666";
    let mut out = Vec::new();
    for (hour, text) in (0..).zip([fatal, started].repeat(10)) {
        detector.push(&Record { test: true, ..record(text.as_bytes(), hour * 3_600) }, &mut out);
    }
    assert!(out.iter().all(|finding| finding.reason.as_str() == "GpuXid119GspRpcTimeout"));
    assert_eq!(out.len(), 10);
}

#[test]
fn a_decoded_problem_is_ended_by_its_rules_check() {
    let set = set_of(vec![xids(), lasting(rule("IOError", "^x"), "DiskUnhealthy")]);
    let check = |reason| set.check_of(&Name::new(reason).unwrap());
    assert_eq!(check("GpuXid79FallenOffBus"), Some(RecoveryCheck::DeviceRecovered));
    assert_eq!(check("GpuXid999Unlisted"), Some(RecoveryCheck::DeviceRecovered));
    assert_eq!(["IOError", "GpuXidiots", "NvSwitchSXid24007SourcetrackTimeout"].map(check), [None; 3]);
}
