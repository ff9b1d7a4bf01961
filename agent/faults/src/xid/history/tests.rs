//! Lines of a GPU over hours, and what they show together.

use super::*;
use crate::{Decoder, Host, Tables, reason};

const START: &str = "NVRM: GPU at PCI:0000:05:00: GPU-6f8e2a1c-1111-2222-3333-444455556666";
const CONTENT: &str =
    "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";
const FATAL: &str = "NVRM: Xid (PCI:0000:05:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response";
const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;

#[derive(Default)]
struct Log {
    history: XidHistory,
    boot_id: Option<BootId>,
}

impl Log {
    fn push(&mut self, secs: u64, text: &str) -> Vec<Repeated> {
        let decoded = Tables::shipped().decode(Decoder::Xid, text, &Host::default());
        let written = Written { boot_id: self.boot_id, at: Duration::from_secs(secs) };
        self.history.take(text, &decoded, written)
    }

    /// Whether anything was found while each of `lines` came `step` seconds after the one before.
    fn finds(&mut self, step: u64, lines: impl IntoIterator<Item = String>) -> bool {
        (1..).zip(lines).any(|(count, line)| !self.push(count * step, &line).is_empty())
    }
}

fn lines(lines: &[&str], times: usize) -> Vec<String> {
    lines.iter().cycle().take(lines.len() * times).map(|line| (*line).to_owned()).collect()
}

/// What is reported is what the catalogue explains.
fn assert_listed(decoded: &Decoded) {
    let known = reason::named(decoded.reason.as_str()).unwrap();
    assert_eq!((known.severity, known.action), (decoded.severity, decoded.action));
    assert_eq!(known.condition, decoded.condition.as_ref().map(nodewell_model::Name::as_str));
}

#[test]
fn five_failures_with_a_restart_between_them_are_the_gpus() {
    for restart in [START, CONTENT] {
        let mut log = Log::default();
        assert!(!log.finds(HOUR, lines(&[FATAL, restart], 4)));
        let [found] = <[Repeated; 1]>::try_from(log.push(9 * HOUR, FATAL)).unwrap();
        assert_eq!(found.decoded.reason.as_str(), "GpuFailsRepeatedly");
        assert_eq!(found.decoded.condition.as_ref().map(Name::as_str), Some("GpuUnhealthy"));
        assert_eq!((found.decoded.subject.as_str(), found.decoded.action), ("0000:05:00.0", Action::InspectHardware));
        assert_listed(&found.decoded);
        // The first was eight hours ago.
        assert_eq!(found.ends_after_quiet, Some(Duration::from_secs(16 * HOUR)));
        assert!(found.message.contains("119"), "{}", found.message);
        assert_eq!(log.push(9 * HOUR + 1, FATAL).len(), 1, "its lines go on to hold it");
    }
}

#[test]
fn a_gpu_that_stays_broken_has_failed_once() {
    assert!(!Log::default().finds(MINUTE, lines(&[FATAL], 1_000)));
    for restart in [START, CONTENT] {
        // Each program that tries starts it again.
        assert!(!Log::default().finds(MINUTE, lines(&[restart, FATAL], 500)));
        // A saved log without times.
        assert!(!Log::default().finds(0, lines(&[restart, FATAL], 500)));
    }
    let other_gpu = START.replace("05", "06");
    assert!(!Log::default().finds(HOUR, lines(&[FATAL, &other_gpu], 20)));
}

#[test]
fn a_start_right_after_a_failure_is_one() {
    let mut log = Log::default();
    for failure in 1..5 {
        assert!(log.push(failure * HOUR, FATAL).is_empty());
        assert!(log.push(failure * HOUR + MINUTE, START).is_empty());
    }
    assert_eq!(log.push(5 * HOUR, FATAL).len(), 1);
}

#[test]
fn another_driver_begins_a_history_of_its_own() {
    let load = |version: &str| format!("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release");
    let mut log = Log::default();
    assert!(log.push(0, &load("570.86.10")).is_empty());
    assert!(!log.finds(HOUR, lines(&[FATAL, START], 4)));
    assert!(log.push(8 * HOUR, &load("570.86.10")).is_empty());
    assert_eq!(log.push(9 * HOUR, FATAL).len(), 1, "the same one was loaded again");
    assert!(log.push(10 * HOUR, &load("580.65.06")).is_empty());
    assert!(log.push(11 * HOUR, FATAL).is_empty());
}

#[test]
fn what_is_no_failure_of_the_gpu_does_not_count() {
    let event = "NVRM: Xid (PCI:0000:05:00): 43, pid=1, name=x, channel 0x2";
    let link = "NVRM: Xid (PCI:0000:05:00): 74, NVLink: fatal error detected on link 6";
    let needs =
        "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
    for line in [event, link, needs] {
        assert!(!Log::default().finds(HOUR, lines(&[line, START], 20)), "{line}");
    }
}

#[test]
fn failures_count_for_a_day_and_in_their_boot() {
    assert!(!Log::default().finds(4 * HOUR, lines(&[FATAL, START], 20)), "one in eight hours");
    let mut log = Log::default();
    assert!(!log.finds(HOUR, lines(&[FATAL, START], 4)));
    log.boot_id = Some(BootId::default());
    assert!(log.push(9 * HOUR, FATAL).is_empty());
}

fn crash(program: &str, gpc: u8, tpc: u8) -> Vec<String> {
    vec![
        format!("NVRM: Xid (PCI:0000:05:00): 13, Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM 0): Illegal"),
        format!("NVRM: Xid (PCI:0000:05:00): 13, Graphics SM Global Exception on (GPC {gpc}, TPC {tpc}, SM 1): Many"),
        "NVRM: Xid (PCI:0000:05:00): 13, Graphics Exception: ESR 0x504648=0x114000e 0x504650=0x20".to_owned(),
        format!("NVRM: Xid (PCI:0000:05:00): 43, pid=77, name={program}, channel 0x00000002"),
    ]
}

/// Each crash within a second, and a quarter of an hour between them.
fn crashes(log: &mut Log, crashes: &[Vec<String>]) -> Vec<Repeated> {
    let each = (0..).step_by(900).zip(crashes);
    each.flat_map(|(secs, lines)| lines.iter().flat_map(|line| log.push(secs, line)).collect::<Vec<_>>()).collect()
}

#[test]
fn other_programs_that_crash_in_one_part_alone_are_an_event() {
    let same = [crash("train", 3, 1), crash("infer", 3, 1), crash("train", 3, 1), crash("train", 3, 1)];
    let [found] = <[Repeated; 1]>::try_from(crashes(&mut Log::default(), &same)).unwrap();
    assert_eq!(found.decoded.reason.as_str(), "GpuCrashesInOnePart");
    assert_listed(&found.decoded);
    assert_eq!((found.decoded.condition, found.ends_after_quiet), (None, None));
    assert!(found.message.contains("GPC 3, TPC 1") && found.message.contains('4'), "{}", found.message);
}

#[test]
fn a_pod_that_crashes_in_a_loop_is_no_evidence() {
    // Its kernel has one block, which runs on the first part; its processes change, its program does not.
    let looping = vec![crash("train", 0, 0); 100];
    assert_eq!(crashes(&mut Log::default(), &looping), []);
    // A large kernel crashes everywhere.
    let everywhere = |program| (0..7).flat_map(|gpc| crash(program, gpc, 1)).collect::<Vec<_>>();
    let large = [everywhere("a"), everywhere("b"), everywhere("a"), everywhere("b"), everywhere("a")];
    assert_eq!(crashes(&mut Log::default(), &large), []);
    // One of them was elsewhere.
    let mixed = [crash("a", 3, 1), crash("b", 2, 1), crash("a", 3, 1), crash("b", 3, 1), crash("a", 3, 1)];
    assert_eq!(crashes(&mut Log::default(), &mixed), []);
    // No program is named.
    let unnamed = vec![crash("<unknown>", 3, 1); 10];
    assert_eq!(crashes(&mut Log::default(), &unnamed), []);
    // No name is as long.
    let long = ["a", "b"].map(|name| crash(&name.repeat(101), 3, 1));
    assert_eq!(crashes(&mut Log::default(), &[&long[..], &long[..], &long[..]].concat()), []);
}

#[test]
fn instances_number_their_own_parts() {
    let instance = |program: &str| {
        let lines = crash(program, 0, 1).into_iter();
        lines.map(|line| line.replace("(PCI:0000:05:00)", "(PCI:0000:05:00 GPU-I:05)")).collect::<Vec<_>>()
    };
    let lines: Vec<_> = ["a", "b"].into_iter().cycle().take(10).map(instance).collect();
    assert_eq!(crashes(&mut Log::default(), &lines), []);
}

#[test]
fn page_faults_count_where_the_driver_names_the_part() {
    let fault = |program: &str, part: &str| {
        vec![format!(
            "NVRM: Xid (PCI:0000:05:00): 31, pid=4, name={program}, Ch 0000000a, intr 00000000. MMU Fault: ENGINE \
             GRAPHICS {part} faulted @ 0x2ae1_d6600000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE"
        )]
    };
    let faults = |part| ["a", "b", "a", "b", "a"].map(|program| fault(program, part));
    assert_eq!(crashes(&mut Log::default(), &faults("GPC5 GPCCLIENT_T1_5")).len(), 1);
    assert_eq!(crashes(&mut Log::default(), &faults("GPCCLIENT_T1_5")), []);
}

#[test]
fn made_up_addresses_do_not_fill_the_memory() {
    let mut log = Log::default();
    for domain in 0..2_000 {
        log.push(1, &format!("NVRM: Xid (PCI:{domain:04x}:05:00): 13, pid=1"));
    }
    assert_eq!(log.history.gpus.len(), MOST_GPUS);
}
