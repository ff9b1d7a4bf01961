//! Whole logs through the rules.

mod json_messages;
mod property;
mod quiet;
mod unread;

use std::io::Read;

use super::*;
use crate::{
    LoadPlan, load,
    rule::{FieldFilter, FileReader, Proof, Reader, Rule, TimestampFormat},
    testing::*,
};

const SYSLOG: &str = "2026-11-21T02:31:05Z host kernel: ";

fn ext4() -> Rule {
    lasting(rule("Ext4Error", r"^EXT4-fs error \(device (?P<subject>[^)]+)\)"), "DiskUnhealthy")
}

fn found(rules: Vec<Rule>, format: Format, log: impl AsRef<[u8]>) -> Vec<ReplayFinding> {
    found_by(Ahead::default(), &set_of(rules), format, log.as_ref())
}

fn found_by(ahead: Ahead, set: &Arc<RuleSet>, format: Format, log: &[u8]) -> Vec<ReplayFinding> {
    let mut findings = Vec::new();
    let replay = Replay::new(Arc::clone(set), format);
    let Replayed { lines, .. } = replay.run_by(ahead, log, |finding| findings.push(finding.clone())).unwrap();
    let newlines = log.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(lines, newlines + u64::from(log.last().is_some_and(|byte| *byte != b'\n')));
    findings
}

/// Another thread looks ahead at parts of so many bytes, or where it is worth one.
fn ahead(part_bytes: Option<usize>) -> Ahead {
    part_bytes.map_or_else(Ahead::default, Ahead::always)
}

fn lines(findings: &[ReplayFinding]) -> Vec<u64> {
    findings.iter().map(|finding| finding.line).collect()
}

#[test]
fn each_format_is_recognised_and_read() {
    let logs = [
        "6,1,1000,-;booted\n3,2,2000,-;EXT4-fs error (device sda1): x\n DEVICE=b8:1\n",
        "[    0.000001] booted\r\n[    0.000002] EXT4-fs error (device sda1): x\r\n",
        "kern  :info  : [    0.000001] booted\nkern  :err   : [    0.000002] EXT4-fs error (device sda1): x",
        "[Jan13 04:31] [Tue Jan 13 04:31:07 2026] [T1] booted\n\
         [  +0.000001] [Tue Jan 13 04:31:07 2026] [  T2] EXT4-fs error (device sda1): x\n",
        "[Ter Set 19 06:01:41 2017] booted\n[Ter Set 19 06:01:41 2017] EXT4-fs error (device sda1): x\n",
        "2026-01-19 16:20:19.613 host cron[3]: x\n2026-01-19 16:20:19 host kernel: EXT4-fs error (device sda1): x\n",
        "LAB: ready\n[    0.000002] EXT4-fs error (device sda1): x",
        "Nov 21 02:31:05 host cron[3]: x\nNov 21 02:31:05 host kernel: [  12.3] EXT4-fs error (device sda1): x\n",
        "2026-11-21T02:31:05Z host cron: x\n2026-11-21T02:31:05Z host kernel: EXT4-fs error (device sda1): x\n",
        "[    0.000001] kernel: booted\n[    0.000002] kernel: EXT4-fs error (device sda1): x\n",
        "[    0.000001] app[7]: x\n[    0.000002] kernel: EXT4-fs error (device sda1): x\n[    0.000002] app[7]: x\n",
        "Nov 21 02:31:05 host kernel: [ T1772] booted\n\
         Nov 21 02:31:05 host kernel: [ T1772] EXT4-fs error (device sda1): x\n",
        "kernel: booted\nkernel: EXT4-fs error (device sda1): x\n",
        "6月 04 19:30:33 host kernel: booted\n6月 04 19:30:33 host kernel: EXT4-fs error (device sda1): x\n",
        "00: [    0.000001] booted\n01: [    0.000002] EXT4-fs error (device sda1): x\n",
        "{\"MESSAGE\":\"x\"}\n{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"EXT4-fs error (device sda1): x\"}\n",
    ];
    for log in logs {
        let findings = found(vec![ext4()], Format::Auto, log);
        assert_eq!(lines(&findings), [2], "{log}");
        assert_eq!(findings[0].message, "EXT4-fs error (device sda1): x");
    }
}

#[test]
fn a_finding_is_an_object_that_scripts_can_read() {
    let log = "2026-11-21T02:31:05Z host kernel: EXT4-fs error (device sda1): x\n";
    let json = serde_json::to_string(&found(vec![ext4()], Format::Syslog, log)).unwrap();
    assert_eq!(
        json,
        r#"[{"line":1,"time":"2026-11-21T02:31:05Z","source":"kernel-monitor","type":"permanent","condition":"DiskUnhealthy","reason":"Ext4Error","severity":"warn","subject":"sda1","message":"EXT4-fs error (device sda1): x","kind":"raise"}]"#
    );
    let json = serde_json::to_string(&found(vec![rule("Oops", "^Oops")], Format::Dmesg, "[ 1.0] Oops")).unwrap();
    assert!(json.contains(r#""time":null"#) && json.contains(r#""type":"temporary","condition":null"#), "{json}");
}

#[test]
fn user_space_cannot_forge_kernel_lines() {
    let log = "12,1,1,-;EXT4-fs error (device sda1)\n11,2,2,-;EXT4-fs error (device sda1)\n";
    assert!(found(vec![ext4()], Format::Kmsg, log).is_empty());
    let options = ReplayOptions { any_facility: true, ..ReplayOptions::default() };
    let mut count = 0;
    Replay::new(set_of(vec![ext4()]), Format::Kmsg).with_options(options).run(log.as_bytes(), |_| count += 1).unwrap();
    assert_eq!(count, 2);
}

#[test]
fn what_only_a_live_host_can_prove_is_left_out_unless_asked_for() {
    let mut hung = lasting(rule("TaskHung", r"^INFO: task \S+:(?P<pid>\d+) blocked"), "KernelDeadlock");
    hung.proof = Proof::NodePlumbing;
    let log = "[ 1.0] INFO: task systemd:1 blocked\n";
    assert!(found(vec![hung.clone()], Format::Dmesg, log).is_empty());
    let options = ReplayOptions { unproven: true, ..ReplayOptions::default() };
    let mut count = 0;
    Replay::new(set_of(vec![hung]), Format::Dmesg).with_options(options).run(log.as_bytes(), |_| count += 1).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn a_second_boot_starts_counting_again() {
    let storm = || vec![counting(rule("Storm", "^storm"), 3, 3600, &[])];
    let kmsg = "6,1,1,-;storm\n6,2,2,-;storm\n6,0,0,-;Linux version 6.1\n6,1,1,-;storm\n6,2,2,-;storm\n6,3,3,-;storm\n";
    assert_eq!(lines(&found(storm(), Format::Kmsg, kmsg)), [6]);
    let dmesg = "[ 50.0] storm\n[ 51.0] storm\n[ 0.0] Linux version 6.1\n[ 1.0] storm\n[ 2.0] storm\n[ 2.5] storm";
    assert_eq!(lines(&found(storm(), Format::Dmesg, dmesg)), [6]);
}

#[test]
fn other_programs_lines_reach_journal_rules_by_what_is_known() {
    let require = vec![("_PID".to_owned(), vec!["1".to_owned()]), ("UNIT".to_owned(), vec!["k.service".to_owned()])];
    let fields = FieldFilter { require, without: vec!["CONTAINER_ID".to_owned()] };
    let started = Rule { reader: 1, fields, ..rule("KubeletStart", "^Started") };
    let unit_only = vec![("_SYSTEMD_UNIT".to_owned(), vec!["k.service".to_owned()])];
    let failed =
        Rule { reader: 1, fields: FieldFilter { require: unit_only, without: vec![] }, ..rule("Bad", "failed") };
    let log = "Nov 21 02:31:05 host systemd[1]: Started k.service - K.\nNov 21 02:31:06 host systemd[77]: Started k.service - K.\n\
               Nov 21 02:31:06 host systemd[1]: Started k\n\
               Nov 21 02:31:06 host foo: failed\n";
    let rules = vec![started, failed];
    assert_eq!(lines(&found(rules.clone(), Format::Syslog, log)), [1]);
    let json = r#"{"MESSAGE":"Started k","_PID":"1","UNIT":"k.service"}
{"MESSAGE":"Started k","_PID":"1"}
{"MESSAGE":[102,97,105,108,101,100,0],"_SYSTEMD_UNIT":"k.service"}"#;
    assert_eq!(lines(&found(rules, Format::JournalJson, json)), [1, 3]);
}

/// A line that a rule of one reader looks at is one for those of the others, and the next line is none for any.
#[test]
fn a_line_is_judged_by_the_rules_of_all_readers() {
    let rules = vec![rule("Kernel", "^Oops"), Rule { reader: 1, ..rule("Journal", "^Oops") }];
    let log =
        "Nov 21 02:31:05 host kernel: Oops\nNov 21 02:31:06 host kernel: no Oops\nNov 21 02:31:07 host app[7]: Oops\n";
    let findings = found(rules, Format::Syslog, log);
    let seen: Vec<_> = findings.iter().map(|one| (one.line, one.reason.as_str())).collect();
    assert_eq!(seen, [(1, "Kernel"), (1, "Journal"), (3, "Journal")]);
}

/// rsyslog writes what it read of the journal in this way.
#[test]
fn a_line_of_json_whose_writer_escapes_the_slash_is_found() {
    let log = r#"{ "_TRANSPORT": "kernel", "MESSAGE": "Buffer I\/O error on dev sda1, logical block 0" }
{ "_TRANSPORT": "kernel", "MESSAGE": "Buffer I\/O is fine" }"#;
    assert_eq!(lines(&found(vec![rule("IoError", "^Buffer I/O error on dev ")], Format::Auto, log)), [1]);
}

/// What `rule` finds in a log that is read as `file`.
fn found_as(file: FileReader, rule: Rule, format: Format, log: &[u8]) -> Vec<ReplayFinding> {
    let mut set = (*set_of(vec![Rule { reader: 2, ..rule }])).clone();
    set.readers.push(Reader::File(file));
    let mut findings = Vec::new();
    Replay::new(set.into(), format).run(log, |finding| findings.push(finding.clone())).unwrap();
    findings
}

fn file_reader(timestamp: TimestampFormat) -> FileReader {
    FileReader { name: "log".into(), paths: Vec::new(), timestamp, message: None, skip: Vec::new() }
}

/// The lines that `rule` finds in a text log of which `message` is the message.
fn found_in_file(rule: Rule, message: &str, log: &[u8]) -> Vec<u64> {
    let file = FileReader {
        message: Some(message.to_owned()),
        skip: vec![" audit:".to_owned()],
        ..file_reader(TimestampFormat::Syslog)
    };
    lines(&found_as(file, rule, Format::Syslog, log))
}

#[test]
fn a_record_of_auditd_is_recognised_and_read_whole() {
    let log = b"type=SERVICE_START msg=audit(1795228264.001:455): pid=1 uid=0 unit=cron res=success\n\
        type=ANOM_ABEND msg=audit(1795228265.123:456): auid=4294967295 comm=\"kubelet\" sig=11 res=1\n";
    let abend = rule("Abend", r#"^type=ANOM_ABEND msg=audit\(\S+\): .* comm="(?P<subject>[^"]+)" "#);
    let found = found_as(file_reader(TimestampFormat::Audit), abend, Format::Auto, log);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((finding.line, finding.subject.as_deref()), (2, Some("kubelet")));
    assert_eq!(finding.time, "2026-11-21T02:31:05.123Z".parse().ok());
}

#[test]
fn log_file_rules_see_the_message_of_their_reader() {
    let log = b"Nov 21 02:31:05 host kernel: [ 1.0] Oops\nNov 21 02:31:05 host kernel: audit: Oops\nkernel: Oops\n";
    assert_eq!(found_in_file(rule("Oops", "^Oops$"), r"kernel: (?:\[[^\]]*\] )?(.*)", log), [1, 3]);
}

/// As the agent reads it: any byte is a character.
#[test]
fn the_message_of_a_log_file_need_not_be_utf_8() {
    let log = b"Nov 21 02:31:05 host app: caf\xe9 is on fire\n";
    assert_eq!(found_in_file(rule("OnFire", "is on fire$"), "app: (.*)", log), [1]);
}

#[test]
fn a_line_of_a_megabyte_and_one_far_too_long_lose_no_neighbour() {
    let mut log = b"[ 1.0] EXT4-fs error (device a)\n[ 1.1] ".to_vec();
    log.extend(vec![b'x'; 1 << 20]);
    log.extend(b" \0\xff EXT4-fs error\n[ 1.2] EXT4-fs error (device b)\n[ 1.3] EXT4-fs error (device c) ");
    log.extend(vec![b'y'; 5 << 20]);
    log.extend(b"\n[ 1.4] EXT4-fs error (device d)");
    let findings = found(vec![ext4()], Format::Auto, log);
    assert_eq!(lines(&findings), [1, 3, 4, 5]);
    assert_eq!(findings[3].subject.as_deref(), Some("d"));
}

/// A console shows lines of two processors that it was given at once as one.
#[test]
fn a_rule_of_several_lines_sees_the_parts_of_a_torn_line() {
    let two = Rule { lines: 2, ..rule("Two", r"^disk (?P<subject>\w) failed\nretrying$") };
    for (log, line) in [
        ("[    1.000000] usb 1-1[    1.000001] disk a failed\n[    1.000002] retrying\n", 2),
        ("[    1.000000] disk a failed[    1.000001] retrying\n", 1),
        ("[    1.000000] disk a failed[    1.000001] retrying[    1.000002] usb 1-1\n", 1),
        ("[    1.000000] disk a failed\n[    1.000001] retrying[    1.000002] usb 1-1\n", 2),
    ] {
        let findings = found(vec![two.clone()], Format::Dmesg, log);
        assert_eq!(lines(&findings), [line], "{log}");
        assert_eq!(findings[0].message, "disk a failed\nretrying", "{log}");
    }
    // What has a facility is of no console: its text is one.
    let whole = "kern  :err   : [    1.000000] usb 1-1[    1.000001] disk a failed\n[    1.000002] retrying\n";
    assert!(found(vec![two], Format::Dmesg, whole).is_empty());
}

#[test]
fn a_part_of_a_torn_line_is_judged_by_its_own_windows() {
    let parts = 1000;
    let log = "[    1.000000] EXT4-fs error (device sda1): x".repeat(parts);
    for rules in [vec![ext4()], vec![ext4(), rule("Slow", r"^\w{2}$")]] {
        let reading = Reading { format: Format::Dmesg, is_labelled: false, options: &ReplayOptions::default() };
        let mut run = Run::new(&set_of(rules), reading, Ahead::default(), UnreadLines::default()).unwrap();
        let mut count = 0;
        run.judge_block(&Block { bytes: log.as_bytes(), fresh: 0..log.len() }, &mut |_: &ReplayFinding| count += 1);
        assert_eq!((count, run.ahead.last_windows().len()), (parts, 1));
    }
}

/// A line has two MiB at most, and every part of it may be one that a rule looks back from.
#[test]
fn parts_of_a_torn_line_are_looked_back_at_without_the_whole_line() {
    let two = Rule { lines: 2, ..rule("Two", r"^disk (?P<subject>\w) failed\nretrying$") };
    let searched = |parts: usize| {
        let torn = "[    1.000000] disk a failed[    1.000001] retrying".repeat(parts);
        let mut lines = Vec::new();
        let bytes = work::of(|| {
            let replay = Replay::new(set_of(vec![two.clone()]), Format::Dmesg);
            let log = format!("[    0.000001] booted\n{torn}\n[    2.000000] retrying\n");
            replay.run(log.as_bytes(), |finding| lines.push(finding.line)).unwrap();
        });
        assert_eq!(lines, vec![2; parts], "and none in the line behind");
        bytes
    };
    let (some, twice) = (searched(500), searched(1000));
    assert!(some > 0 && twice < some * 5 / 2, "{some} bytes searched, {twice} for twice as many parts");
}

/// Several blocks of many parts, more of one than may wait to be judged, and problems that are raised, counted and
/// ended across all of them.
#[test]
fn two_threads_find_what_one_finds() {
    let mut down = lasting(rule("Down", r"^(?P<subject>\w+): down"), "LinkDown");
    down.clears.patterns = vec![r"^(?P<subject>\w+): up".to_owned()];
    let two = Rule { lines: 2, ..rule("Two", r"^(?P<subject>\w+): down\n\w+: up$") };
    let set = set_of(vec![down, two, counting(rule("Storm", "storm"), 7, 3600, &[])]);
    let line = |n: u32| {
        let text = ["a: down", "storm", "b: down", "b: up", "a: up", "x: up", "quiet"][(n % 31 % 7) as usize];
        format!("6,{n},{n},-;{text}\n")
    };
    let log: String = (0..80_000).map(line).collect();
    let one = found_by(Ahead::never(), &set, Format::Kmsg, log.as_bytes());
    let reasons = |reason: &str| one.iter().filter(|finding| finding.reason.as_str() == reason).count();
    assert!(["Down", "Two", "Storm"].iter().all(|reason| reasons(reason) > 1000), "{}", one.len());
    for part_bytes in [1000, 16 << 10] {
        assert!(found_by(Ahead::always(part_bytes), &set, Format::Kmsg, log.as_bytes()) == one, "{part_bytes}");
    }
}

/// Subjects, counts and lines before the newest, by patterns that are tried at once and by such as are not.
#[test]
fn two_threads_find_what_one_finds_in_the_shipped_examples() {
    let set = Arc::new(load(&LoadPlan::default()).set);
    let examples = set.rules.iter().map(|rule| &rule.examples);
    let all = examples.flat_map(|examples| examples.matches.iter().chain(&examples.ignores).chain(&examples.recovers));
    let texts: Vec<&str> = all.flat_map(|example| example.text.lines()).collect();
    for (format, before) in [(Format::Kmsg, "6,1,1,-;"), (Format::Dmesg, "[    1.000001] "), (Format::Syslog, SYSLOG)] {
        let log: String = texts.iter().map(|text| format!("{before}{text}\n")).collect();
        let one = found_by(Ahead::never(), &set, format, log.as_bytes());
        assert!(one.len() > 300 && found_by(Ahead::always(500), &set, format, log.as_bytes()) == one, "{format:?}");
    }
}

#[test]
fn an_empty_log_has_no_findings() {
    for format in [Format::Auto, Format::Kmsg, Format::Dmesg, Format::Syslog, Format::JournalJson] {
        assert!(found(vec![ext4(), rule("Any", "")], format, "").is_empty());
    }
}

#[test]
fn a_slow_rule_still_sees_every_line() {
    let rules = vec![rule("Any", r"^\w{2}$")];
    assert_eq!(lines(&found(rules, Format::Dmesg, "[ 1.0] ab\n[ 1.1] abc\n[ 1.2] cd")), [1, 3]);
}

#[test]
fn an_input_that_fails_is_told() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("gone"))
        }
    }
    let error = Replay::new(set_of(vec![ext4()]), Format::Auto).run(Broken, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the log: gone");
}
