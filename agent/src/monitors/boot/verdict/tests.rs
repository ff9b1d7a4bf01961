//! Every kind of end that a boot can have, and what is reported of it.

use super::*;

const PANIC: &str = "<0>[   12.5] Kernel panic - not syncing: lab panic";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn mark(stopped: bool) -> Mark {
    Mark { boot_id: BootId::from_bytes([1; 16]), stopped, alive: at("2026-11-20T10:00:00Z"), reported: Vec::new() }
}

/// A boot that began at 10:20.
fn evidence(mark: Option<Mark>) -> Evidence {
    Evidence {
        mark,
        pstore: PstoreDumps::default(),
        journal: None,
        now: at("2026-11-20T10:21:00Z"),
        up: Duration::from_mins(1),
    }
}

fn dump(reason: DumpReason, time: Option<&str>, text: &str) -> Dump {
    Dump { reason, time: time.map(at), text: text.into(), id: nodewell_model::problem::stable_hash(&[text]) }
}

fn with(dumps: Vec<Dump>, evidence: Evidence) -> Evidence {
    Evidence { pstore: PstoreDumps { dumps, compressed: Vec::new() }, ..evidence }
}

fn ended(last: &str, shutdown: bool, kernel: &[&str]) -> Option<JournalEnd> {
    Some(JournalEnd { last: at(last), shutdown, kernel: kernel.iter().map(|&line| line.to_owned()).collect() })
}

fn reasons(evidence: &Evidence) -> Vec<String> {
    evidence.findings().iter().map(|finding| finding.reason.to_string()).collect()
}

#[test]
fn a_first_start_reports_nothing_of_a_boot_that_it_did_not_see() {
    assert_eq!(reasons(&evidence(None)), [""; 0]);
}

#[test]
fn a_stop_that_was_asked_for_is_no_surprise() {
    assert_eq!(reasons(&evidence(Some(mark(true)))), [""; 0]);
    let journal = ended("2026-11-20T10:00:20Z", false, &[]);
    assert_eq!(reasons(&Evidence { journal, ..evidence(Some(mark(true))) }), [""; 0], "its last messages were lost");
}

#[test]
fn an_agent_that_was_not_stopped_saw_an_unexpected_reboot() {
    let findings = evidence(Some(mark(false))).findings();
    assert_eq!((findings.len(), findings[0].reason.as_str()), (1, "UnexpectedReboot"));
    assert_eq!((findings[0].severity, findings[0].time), (Severity::Error, at("2026-11-20T10:20:00Z")));
    let expected = "no shutdown before the reboot: last seen alive at 2026-11-20T10:00:00Z (the agent's own note, \
                    written once an hour), back at 2026-11-20T10:20:00Z; no panic and no kernel message is left, check power, \
                    watchdog and the BMC's log";
    assert_eq!(findings[0].message, expected);
}

#[test]
fn a_clock_that_was_set_does_not_bring_it_back_before_it_went() {
    let journal = ended("2026-11-20T10:20:40Z", false, &[]);
    let findings = Evidence { journal, ..evidence(Some(mark(false))) }.findings();
    assert_eq!(findings[0].time, at("2026-11-20T10:20:40Z"));
}

#[test]
fn the_journal_overrules_the_agents_own_note() {
    let journal = ended("2026-11-20T10:19:00Z", true, &[]);
    assert_eq!(reasons(&Evidence { journal, ..evidence(Some(mark(false))) }), [""; 0], "only the agent was killed");
    let journal = ended("2026-11-20T10:19:00Z", false, &["nvme0: controller is down"]);
    let findings = Evidence { journal, ..evidence(Some(mark(true))) }.findings();
    assert!(findings[0].message.contains("last seen alive at 2026-11-20T10:19:00Z (the journal's last entry)"));
    assert!(
        findings[0].message.contains("; the last kernel messages: nvme0: controller is down; check"),
        "{findings:?}"
    );
}

#[test]
fn a_panic_is_reported_with_its_time_and_explains_the_reboot() {
    let panicked = dump(DumpReason::Panic, Some("2026-11-20T10:18:00Z"), PANIC);
    let findings = with(vec![panicked], evidence(Some(mark(false)))).findings();
    let reported: Vec<_> = findings.iter().map(|finding| (finding.reason.as_str(), finding.severity)).collect();
    assert_eq!(reported, [("KernelPanic", Severity::Critical), ("UnexpectedReboot", Severity::Error)]);
    assert_eq!(findings[0].time, at("2026-11-20T10:18:00Z"));
    let line = "Kernel panic - not syncing: lab panic (12 s after boot)";
    let advice = "get the dump with `nodewell collect-pstore --to DIR`";
    assert_eq!(findings[0].message, format!("the previous boot ended in a panic: {line}; {advice}"));
    let why = format!("; the kernel panicked: {line}; see the Event KernelPanic");
    assert!(findings[1].message.ends_with(&why), "{}", findings[1].message);
    assert!(findings[1].message.contains("last seen alive at 2026-11-20T10:18:00Z"));
}

#[test]
fn a_panic_in_a_shutdown_is_a_panic_and_no_surprise() {
    let panicked = dump(DumpReason::Panic, Some("2026-11-20T10:18:00Z"), PANIC);
    let journal = ended("2026-11-20T10:17:59Z", true, &[]);
    assert_eq!(reasons(&with(vec![panicked], Evidence { journal, ..evidence(Some(mark(true))) })), ["KernelPanic"]);
}

#[test]
fn a_panic_without_a_journal_overrules_the_note_of_a_stop() {
    let panicked = dump(DumpReason::Panic, Some("2026-11-20T10:18:00Z"), PANIC);
    let reported = reasons(&with(vec![panicked], evidence(Some(mark(true)))));
    assert_eq!(reported, ["KernelPanic", "UnexpectedReboot"]);
}

#[test]
fn what_was_judged_before_and_what_is_old_is_not_reported_again() {
    let known = dump(DumpReason::Panic, Some("2026-11-20T09:00:00Z"), PANIC);
    let old = dump(DumpReason::Panic, Some("2026-11-01T09:00:00Z"), "<0>[    1.0] Kernel panic - not syncing: old");
    let reported = Mark::ids([known.id].into_iter());
    let evidence = with(vec![known, old], evidence(Some(Mark { reported, ..mark(true) })));
    assert_eq!(reasons(&evidence), [""; 0]);
}

#[test]
fn a_first_start_reports_a_fresh_panic_and_a_late_one_does_not() {
    let panicked = dump(DumpReason::Panic, Some("2026-11-20T10:18:00Z"), PANIC);
    let first = with(vec![panicked], evidence(None));
    assert_eq!(reasons(&first), ["KernelPanic"]);
    assert_eq!(reasons(&Evidence { up: Duration::from_hours(2), ..first }), [""; 0]);
}

#[test]
fn panics_of_several_boots_are_reported_in_their_order_and_the_newest_explains() {
    let text = |n: u32| format!("<0>[   12.5] Kernel panic - not syncing: number {n}");
    let dumps = (0..12).rev().map(|n| dump(DumpReason::Panic, Some(&format!("2026-11-20T10:{n:02}:00Z")), &text(n)));
    let findings = with(dumps.collect(), evidence(Some(mark(false)))).findings();
    assert_eq!(findings.len(), 9);
    assert!(findings[0].message.contains("number 4") && findings[7].message.contains("number 11"));
    assert!(findings[8].message.contains("number 11"));
    let origins: std::collections::HashSet<_> = findings.iter().map(|finding| &finding.origin).collect();
    assert_eq!(origins.len(), 9);
}

#[test]
fn an_oops_alone_is_the_last_word_before_a_reset() {
    let oops = dump(DumpReason::Oops, Some("2026-11-20T10:18:00Z"), "<1>[    9.0] BUG: lab oops");
    let findings = with(vec![oops], evidence(Some(mark(false)))).findings();
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].message.contains("; the last kernel messages: BUG: lab oops; check"),
        "{}",
        findings[0].message
    );
}

#[test]
fn a_consoles_panic_counts_where_there_is_no_dump_of_it() {
    let console = dump(DumpReason::Console, Some("2026-11-20T10:18:00Z"), &format!("{PANIC}\n[   13.0] Rebooting"));
    let alone = with(vec![console.clone()], evidence(Some(mark(false))));
    assert_eq!(reasons(&alone), ["KernelPanic", "UnexpectedReboot"]);
    let both = with(vec![dump(DumpReason::Panic, None, PANIC), console], evidence(Some(mark(false))));
    assert_eq!(reasons(&both), ["KernelPanic", "UnexpectedReboot"]);
}

#[test]
fn a_panic_whose_line_is_cut_off_and_a_compressed_record_are_reported_as_such() {
    let cut = dump(DumpReason::Panic, Some("2026-11-20T10:18:00Z"), "<4>[   12.5]  do_exit+0x1/0x2");
    let mut evidence = with(vec![cut], evidence(Some(mark(false))));
    evidence.pstore.compressed = vec!["dmesg-efi-1.enc.z".to_owned()];
    let findings = evidence.findings();
    assert!(findings[0].message.contains("the record lacks its line and ends with: do_exit"), "{findings:?}");
    assert!(findings[1].message.ends_with("compressed records in pstore have more: dmesg-efi-1.enc.z"), "{findings:?}");
}

/// What the kernel logged is the kernel's: a long line is cut, and all that we add stays.
#[test]
fn a_message_is_one_line_with_its_advice_however_long_the_kernels_lines_are() {
    let long = format!("{PANIC} {}", "p".repeat(5000));
    let oops = format!("<1>[    9.0] BUG: {}", "o".repeat(5000));
    for text in [long, oops] {
        let findings =
            with(vec![dump(DumpReason::Oops, Some("2026-11-20T10:18:00Z"), &text)], evidence(Some(mark(false))))
                .findings();
        for message in findings.iter().map(|finding| &finding.message) {
            assert!(message.len() <= nodewell_message::EVENT_LIMIT && !message.contains('\n'), "{message}");
            let advice = ["--to DIR`", "see the Event KernelPanic", "the BMC's log"];
            assert!(advice.iter().any(|advice| message.ends_with(advice)), "{message}");
        }
    }
}

#[test]
fn the_same_evidence_has_the_same_origins() {
    let panicked = dump(DumpReason::Panic, Some("2026-11-20T10:18:00Z"), PANIC);
    let once = with(vec![panicked], evidence(Some(mark(false))));
    let again = Evidence { now: at("2026-11-20T10:25:00Z"), up: Duration::from_mins(5), ..once.clone() };
    assert_eq!(once.findings(), again.findings());
}
