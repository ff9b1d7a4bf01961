//! Node Problem Detector's stock files load as they are; everything else is reported with its line.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nodewell_model::Severity;
use proptest::prelude::*;
use regex::bytes::Regex;

use super::translate_re2;
use crate::{
    Loaded, Reader,
    draft::ReaderDraft,
    load_path,
    rule::{Format, RecoveryCheck, TimestampFormat},
};

fn stock(name: &str) -> Loaded {
    let loaded = load_path(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/npd").join(name));
    assert_eq!(loaded.diagnostics, [], "{name}");
    loaded
}

/// What is reported of `text`: errors, then notes.
fn messages(text: &str) -> (Vec<String>, Vec<String>) {
    let draft = super::read(Path::new("m.json"), text);
    let shown = |line: usize, message: &str| format!("{line}: {message}");
    (
        draft.diagnostics.iter().map(|m| shown(m.location.line, &m.message)).collect(),
        draft.notes.iter().map(|n| shown(n.location.line, &n.message)).collect(),
    )
}

fn kmsg(rest: &str) -> String {
    format!("{{\"plugin\": \"kmsg\", \"source\": \"x\",\n{rest}}}")
}

/// The reasons of `loaded` that fire on `line`, matched as the detector matches them.
fn fired(loaded: &Loaded, line: &str) -> Vec<String> {
    let fires = |pattern: &str| {
        let anchored = format!("(?:{})\\z", translate_re2(pattern).unwrap());
        Regex::new(&anchored).unwrap().is_match(line.as_bytes())
    };
    let rules = loaded.set.rules.iter().filter(|rule| fires(&rule.patterns[0]));
    rules.map(|rule| rule.reason.as_str().to_owned()).collect()
}

#[test]
fn the_stock_files_load_unchanged() {
    for (name, rules, conditions) in [
        ("kernel-monitor.json", 14, 3),
        ("readonly-monitor.json", 1, 1),
        ("docker-monitor.json", 3, 1),
        ("systemd-monitor.json", 3, 0),
        ("abrt-adaptor.json", 5, 0),
        ("kernel-monitor-filelog.json", 6, 1),
        ("disk-log-message-filelog.json", 1, 1),
        ("docker-monitor-filelog.json", 1, 0),
        ("custom-plugin-monitor.json", 0, 1),
        ("system-stats-monitor.json", 0, 0),
    ] {
        let set = stock(name).set;
        assert_eq!((set.rules.len(), set.conditions.len()), (rules, conditions), "{name}");
        assert!(set.rules.iter().all(|rule| rule.format == Format::Npd));
    }
}

#[test]
fn the_kernel_rules_fire_on_their_own_lines() {
    let loaded = stock("kernel-monitor.json");
    for (line, reasons) in [
        ("Killed process 1012 (heapster) total-vm:327128kB, anon-rss:306328kB, file-rss:11132kB", &["OOMKilling"][..]),
        ("INFO: task docker:20744 blocked for more than 120 seconds.", &["TaskHung", "DockerHung"]),
        ("INFO: task kworker/u4:0 x:12 blocked for more than 120 seconds.", &["TaskHung"]),
        ("unregister_netdevice: waiting for eth0 to become free. Usage count = 2", &["UnregisterNetDevice"]),
        ("BUG: unable to handle kernel NULL pointer dereference at 00000000", &["KernelOops"]),
        ("divide error: 0000 [#1] SMP", &["KernelOops"]),
        ("{1}[Hardware Error]: event severity: fatal", &["CperHardwareErrorFatal"]),
        ("XFS (sda1): Log I/O Error Detected. Shutting down filesystem", &["XfsHasShutdown"]),
        ("divide error: 0000 [#1] SMP NOPTI", &[]),
    ] {
        assert_eq!(fired(&loaded, line), reasons, "{line}");
    }
}

#[test]
fn permanent_rules_get_a_recovery_and_severity() {
    let loaded = stock("kernel-monitor.json");
    let rule = |reason: &str| loaded.set.rules.iter().find(|rule| rule.reason.as_str() == reason).unwrap();
    assert_eq!(rule("DockerHung").clears.quiet, Some(Duration::from_secs(1800)));
    assert_eq!(rule("XfsHasShutdown").clears.check, Some(RecoveryCheck::FilesystemWritable));
    assert!(rule("CperHardwareErrorFatal").clears.boot);
    assert_eq!((rule("DockerHung").severity, rule("OOMKilling").severity), (Severity::Error, Severity::Warn));
    assert_eq!((rule("OOMKilling").lookback, rule("OOMKilling").boot_delay), (Some(Duration::from_secs(300)), None));
    assert_eq!((rule("OOMKilling").lines, &*rule("OOMKilling").monitor), (1, "kernel-monitor"));
    let ends = "KernelDeadlock ends when nothing repeats it for 30m, with a new boot, by `nodewell clear`";
    assert!(loaded.notes.iter().any(|note| note.message.starts_with(ends)), "{:?}", loaded.notes);
    assert!(loaded.notes.iter().any(|note| note.message.contains("facility 0")));
}

#[test]
fn a_journal_monitor_asks_for_its_identifier() {
    let loaded = stock("docker-monitor.json");
    assert_eq!(loaded.set.readers, [Reader::Journal { directory: None }]);
    let require = &loaded.set.rules[0].fields.require;
    assert_eq!(require, &[("SYSLOG_IDENTIFIER".to_owned(), vec!["dockerd".to_owned()])]);
}

#[test]
fn a_file_monitor_becomes_a_reader_with_its_layout() {
    let loaded = stock("disk-log-message-filelog.json");
    let Reader::File(file) = &loaded.set.readers[0] else { panic!("not a file") };
    let expected = TimestampFormat::Go { pattern: "(?-u)^.{15}".to_owned(), layout: "Jan _2 15:04:05".to_owned() };
    assert_eq!((&*file.name, &file.timestamp), ("disk-monitor", &expected));
    assert_eq!((file.paths.as_slice(), file.skip.len()), (&["/var/log/messages".to_owned()][..], 2));
}

#[test]
fn the_stock_disk_rule_finds_the_number_that_its_message_regex_drops() {
    let loaded = stock("disk-log-message-filelog.json");
    let Reader::File(file) = &loaded.set.readers[0] else { panic!("not a file") };
    let line = b"Nov 21 02:31:05 host smartd[7]: Device: /dev/sda [SAT], 104 Currently unreadable (pending) sectors";
    let found = Regex::new(file.message.as_ref().unwrap()).unwrap().captures(line).unwrap();
    let message = std::str::from_utf8(&found[1]).unwrap();
    assert_eq!(message, "host smartd[7]: Device: /dev/sda [SAT], 104 Currently unreadable (pending) sectors");
    assert_eq!(fired(&loaded, message), ["DiskBadBlock"]);
    let note = "\"message\" has no capture group";
    assert!(loaded.notes.iter().any(|messages| messages.message.starts_with(note) && messages.location.line == 3));
}

#[test]
fn keys_count_in_any_case_and_the_last_one_wins() {
    let text = r#"{"PLUGIN": "filelog", "Plugin": "kmsg", "BufferSize": 3, "LOOKBACK": null, "delay": "1m0s",
        "RULES": [{"TYPE": "temporary", "Reason": "A", "PATTERN": "a\\nb"}]}"#;
    let draft = super::read(Path::new("dir/mine.json"), text);
    assert_eq!(draft.diagnostics, []);
    let rule = &draft.rules[0].rule;
    assert_eq!((rule.lines, rule.lookback, &*rule.monitor), (3, Some(Duration::ZERO), "mine"));
    assert_eq!(rule.boot_delay, Some(Duration::from_secs(60)));
}

#[test]
fn errors_are_reported_with_their_lines() {
    for (text, expected) in [
        ("", "1: not JSON: EOF while parsing a value"),
        ("{\n\"plugin\": \"kmsg\",\n}", "3: not JSON: key must be a string"),
        ("{} x", "1: not JSON: trailing characters"),
        ("[]", "1: \"the file\" takes an object, not this array"),
        ("{}", "1: no \"plugin\": Node Problem Detector knows kmsg, journald, filelog and custom"),
        ("{\"plugin\": \"k\"}", "1: unknown plugin \"k\"; it takes kmsg, journald, filelog or custom"),
        (&kmsg("\"bufferSize\": -1"), "2: \"bufferSize\" must not be negative"),
        (&kmsg("\"bufferSize\": 1.5"), "2: \"bufferSize\" takes a whole number, not 1.5"),
        (&kmsg("\"lookback\": \"5\""), "2: \"lookback\": \"5\" is not a Go duration; write 86400s, 5m or 1m30s"),
        (&kmsg("\"delay\": 5"), "2: \"delay\" takes a string, not 5"),
        (&kmsg("\"rules\": {}"), "2: \"rules\" takes an array, not this object"),
        (&kmsg("\"rules\": [\n3]"), "3: \"rules\" takes an object, not 3"),
        (
            &kmsg("\"rules\": [{\"type\": \"temporary\", \"reason\": \"A\"}]"),
            "2: an empty \"pattern\" matches every line",
        ),
        (
            &kmsg("\"rules\": [{\"type\": \"temporary\", \"reason\": \"A\",\n\"pattern\": \"(a\"}]"),
            "3: invalid regex in \"pattern\": unclosed group",
        ),
        (
            &kmsg("\"rules\": [{\"type\": \"temporary\", \"pattern\": \"a\"}]"),
            "2: \"reason\": a name must not be empty",
        ),
        ("{\"plugin\": \"journald\"}", "1: journald needs pluginConfig.source, the SYSLOG_IDENTIFIER to read"),
        ("{\"plugin\": \"filelog\"}", "1: filelog needs pluginConfig with timestamp, message and timestampFormat"),
    ] {
        assert_eq!(messages(text).0, [expected], "{text}");
    }
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let text = "{\"plugin\": \"filelog\", \"logPath\": \"\",\n\"pluginConfig\": {\"timestamp\": \"(\", \"message\": \"\",\n\
                \"timestampFormat\": \"%b\"},\n\"skipList\": [\"\"],\n\"lookback\": \"x\",\n\"rules\": [{\"reason\": \"a\"},\n{}]}";
    let (diagnostics, _) = messages(text);
    let lines: Vec<&str> = diagnostics.iter().map(|messages| &messages[..1]).collect();
    assert_eq!(lines, ["1", "2", "2", "3", "4", "5", "6", "7", "7"], "{diagnostics:#?}");
}

#[test]
fn differences_from_node_problem_detector_are_noted() {
    for (rest, expected) in [
        (
            "\"rules\": []",
            "1: a % in a line of the log stays as it is; Node Problem Detector takes the line for a format string, and \
             garbles it in its Event",
        ),
        ("\"bufferSzie\": 3", "2: unknown key \"bufferSzie\" is passed over; did you mean \"bufferSize\"?"),
        ("\"bufferSize\": 100000", "2: \"bufferSize\" is cut to 1000 lines"),
        ("\"metricsReporting\": false", "2: \"metricsReporting\" is not used: every problem is counted"),
        ("\"logPath\": \"/tmp/x\"", "2: \"logPath\" \"/tmp/x\" is passed over: kmsg reads /dev/kmsg"),
        ("\"skipList\": []", "2: \"skipList\" is for filelog only; it is passed over, as Node Problem Detector does"),
        (
            "\"rules\": [{\"type\": \"temporary\", \"reason\": \"oom-kill\", \"pattern\": \"a|b\"}]",
            "2: \"reason\" \"oom-kill\" is reported in CamelCase: OomKill",
        ),
        (
            "\"rules\": [{\"type\": \"temporary\", \"reason\": \"A\", \"pattern\": \"oom-kill|Out of memory\"}]",
            "2: an earlier branch of a|b fires once, for the line it is in; Node Problem Detector finds that line again \
             with every further one until it leaves the buffer",
        ),
        (
            "\"rules\": [{\"type\": \"temporary\", \"reason\": \"A\", \"pattern\": \"^a\"}]",
            "2: ^ is the start of the line; in Node Problem Detector it is the start of the oldest line of the buffer",
        ),
        (
            "\"rules\": [{\"type\": \"sometimes\", \"reason\": \"A\", \"pattern\": \"a\"}]",
            "2: type \"sometimes\" counts as permanent, as Node Problem Detector has it",
        ),
        (
            "\"rules\": [{\"type\": \"permanent\", \"reason\": \"A\", \"pattern\": \".*\"}]",
            "2: the pattern matches every line: \".*\"",
        ),
    ] {
        let (diagnostics, notes) = messages(&kmsg(rest));
        assert_eq!(diagnostics, [""; 0], "{rest}");
        assert!(notes.iter().any(|note| note == expected), "{rest}: {notes:#?}");
    }
}

#[test]
fn a_path_with_glob_characters_is_taken_as_it_is() {
    let text = r#"{"plugin": "filelog", "logPath": "/var/log/a[1]*.log", "pluginConfig":
        {"timestamp": "^.{15}", "message": "(.*)", "timestampFormat": "Jan _2 15:04:05"}, "rules":
        [{"type": "temporary", "reason": "A", "pattern": "a"}]}"#;
    let draft = super::read(Path::new("m.json"), text);
    let ReaderDraft::Known(Reader::File(file)) = &draft.rules[0].reader else { panic!("not a file") };
    assert_eq!(file.paths, ["/var/log/a[[]1[]][*].log"]);
}

/// As programs of plug-ins are: in the root directory, else beside the file or its folder.
#[test]
fn a_relative_log_is_found_beside_its_file_where_the_root_has_none() {
    let release = tempfile::tempdir().unwrap();
    let config = release.path().join("config");
    let log = config.join("logs/nodewell-has-none-in-its-root");
    std::fs::create_dir_all(&log).unwrap();
    let times = r#""timestamp": "^.{15}", "message": "(.*)", "timestampFormat": "Jan _2 15:04:05""#;
    let read = |(plugin, settings): (&str, &str), named: &str| {
        let text = format!(
            r#"{{"plugin": "{plugin}", "source": "x", "logPath": "{named}", "pluginConfig": {{{settings}}},
            "rules": [{{"type": "temporary", "reason": "A", "pattern": "a"}}]}}"#
        );
        let draft = super::read(&config.join("mine.json"), &text);
        assert_eq!(draft.diagnostics, [], "{plugin}: {named}");
        let notes: String = draft.notes.iter().map(|note| format!("{}\n", note.message)).collect();
        let found = match &draft.rules[0].reader {
            ReaderDraft::Known(Reader::File(file)) => Some(PathBuf::from(&file.paths[0])),
            ReaderDraft::Known(Reader::Journal { directory }) => directory.clone(),
            _ => panic!("{plugin} is neither a file nor the journal"),
        };
        (found, notes)
    };
    for plugin in [("filelog", times), ("journald", r#""source": "mine""#)] {
        let names = ["logs/", "./logs/", "config/logs/"].map(|folder| format!("{folder}nodewell-has-none-in-its-root"));
        for named in &names {
            let (found, notes) = read(plugin, named);
            assert_eq!(found.as_deref(), Some(&*log), "{named}");
            assert!(notes.contains("found beside this file"), "{notes}");
        }
        let (found, notes) = read(plugin, "logs/there-is-none");
        assert_eq!(found.as_deref(), Some(Path::new("/logs/there-is-none")));
        assert!(notes.contains("taken from the root directory"), "{notes}");
    }
}

proptest! {
    #[test]
    fn a_damaged_file_never_makes_it_panic(at in 0_usize..4000, length in 0_usize..40, junk in r#"[\[\]{}",:a0\\ä ]{0,8}"#) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/npd/kernel-monitor.json");
        let mut bytes = std::fs::read(path).unwrap();
        let start = at.min(bytes.len());
        bytes.splice(start..(start + length).min(bytes.len()), junk.bytes());
        let _ = super::read(Path::new("m.json"), &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn deep_nesting_is_refused_or_passed_over_and_never_overflows() {
    let deep = format!("{{\"plugin\": \"kmsg\", \"x\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let _ = super::read(Path::new("m.json"), &deep);
    let _ = super::read(Path::new("m.json"), &"[".repeat(100_000));
}
