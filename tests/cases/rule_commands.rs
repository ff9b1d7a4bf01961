//! `nodewell check`, `replay`, `explain` and `doctor`: what scripts and people rely on without a running agent.

use std::fs;

use nodewell_tests::{
    agent::Plan,
    book::{block, blocks},
    cli::{Outcome, nodewell},
    suite::Suite,
};
use serde_json::Value;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("rule_commands")
        .case("shipped_rules_have_no_error", shipped_rules_have_no_error)
        .case("the_page_shows_how_many_there_are", the_page_shows_how_many_there_are)
        .case("check_reports_every_error_at_once", check_reports_every_error_at_once)
        .case("check_knows_a_config_file", check_knows_a_config_file)
        .case("a_missing_file_has_no_line", a_missing_file_has_no_line)
        .case("a_log_that_cannot_be_read_has_its_own_exit_code", a_log_that_cannot_be_read_has_its_own_exit_code)
        .case("an_empty_subject_is_no_subject", an_empty_subject_is_no_subject)
        .case("replay_gives_one_object_a_finding", replay_gives_one_object_a_finding)
        .case("replay_reads_standard_formats", replay_reads_standard_formats)
        .case("explain_knows_every_shipped_reason", explain_knows_every_shipped_reason)
        .case("doctor_reports_what_is_missing", doctor_reports_what_is_missing);
}

const LOG: &str = "\
6,1,1000000,-;usb 1-1: Product: EXT4-fs error (device sda1): a stick's name
3,2,2000000,-;EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0
 SUBSYSTEM=block
12,3,3000000,-;EXT4-fs error (device sdz1): said by user space
3,4,4000000,-;BUG: kernel NULL pointer dereference, address: 0000000000000008
";

fn shipped_rules_have_no_error() {
    let outcome = nodewell(["check"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

/// With the page's own rule beside the shipped ones. No other figure of the book's examples is the same everywhere.
fn the_page_shows_how_many_there_are() {
    let plan = Plan::default();
    plan.file("rules.d/my-raid.toml", &block("rules.md", "toml", "[[condition]]\ntype = \"RaidUnhealthy\""));
    let config = plan.folder().join("nodewell.toml").display().to_string();
    let outcome = nodewell(["check", "--config", &config]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let counted = outcome.stdout.lines().last().unwrap();
    let is_shown = blocks("rules.md").iter().any(|block| block.text.lines().next() == Some(counted));
    assert!(is_shown, "docs/rules.md does not show what is printed today, after `nodewell check`: {counted}");
}

fn check_reports_every_error_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.toml");
    let rule = |reason: &str, more: &str| {
        format!("[[rule]]\nreason = \"{reason}\"\ntype = \"temporary\"\npattern = '^{reason}'\n{more}\n")
    };
    let text = rule("One", "colour = 1\nmatches = ['One']") + &rule("Two", "matches = ['none of it']");
    fs::write(&file, text).unwrap();
    let outcome = nodewell(["check".as_ref(), file.as_os_str()]);
    assert_eq!(outcome.code, 78, "{outcome:?}");
    let output = outcome.stdout + &outcome.stderr;
    for line in [5, 11] {
        assert!(output.contains(&format!("{}:{line}: ", file.display())), "nothing about line {line} in {output}");
    }
}

fn check_knows_a_config_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    fs::write(&file, "standalone = 1\n").unwrap();
    let outcome = nodewell(["check".as_ref(), file.as_os_str()]);
    assert_eq!(outcome.code, 78, "{outcome:?}");
    assert!((outcome.stdout + &outcome.stderr).contains(&format!("{}:1: \"standalone\" takes", file.display())));
}

fn a_missing_file_has_no_line() {
    let outcome = nodewell(["check", "/nonexistent/rules.toml"]);
    assert_eq!(outcome.code, 78, "{outcome:?}");
    assert!(outcome.stdout.starts_with("/nonexistent/rules.toml: cannot be read: "), "{outcome:?}");
}

fn a_log_that_cannot_be_read_has_its_own_exit_code() {
    for path in ["/nonexistent/kern.log", "/"] {
        let outcome = nodewell(["replay", path]);
        assert_eq!(outcome.code, 66, "{outcome:?}");
        assert!(outcome.stderr.contains(path), "{outcome:?}");
    }
}

fn an_empty_subject_is_no_subject() {
    let outcome = nodewell(["clear", "DiskUnhealthy", "--subject", ""]);
    assert_eq!(outcome.code, 64, "{outcome:?}");
    assert!(outcome.stderr.contains("a value is required for '--subject"), "{outcome:?}");
}

fn replayed(log: &str, more: &[&str]) -> Outcome {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), log).unwrap();
    let path = file.path().to_string_lossy().into_owned();
    let mut args = vec!["replay", "--json"];
    args.extend(more);
    args.push(&path);
    nodewell(args)
}

fn replay_gives_one_object_a_finding() {
    let found = replayed(LOG, &[]).json_lines();
    let reported: Vec<_> = found.iter().map(|f| (f["line"].as_u64().unwrap(), f["reason"].as_str().unwrap())).collect();
    assert_eq!(reported, [(2, "Ext4Error"), (5, "KernelOops")]);
    for key in ["line", "time", "source", "type", "condition", "reason", "severity", "subject", "message"] {
        assert!(found[0].get(key).is_some(), "no {key} in {}", found[0]);
    }
    assert_eq!(found[0]["subject"], "sda1");
    assert_eq!(found[1]["subject"], Value::Null);
}

fn replay_reads_standard_formats() {
    let oops = "BUG: kernel NULL pointer dereference, address: 0000000000000008";
    for (format, line) in [
        ("dmesg", format!("[   12.345678] {oops}\n")),
        ("syslog", format!("Nov 21 02:31:05 host kernel: [   12.345678] {oops}\n")),
        ("syslog", format!("2026-11-21T02:31:05.123456+00:00 host kernel: {oops}\n")),
        ("journal-json", format!("{{\"MESSAGE\":\"{oops}\",\"_TRANSPORT\":\"kernel\",\"PRIORITY\":\"1\"}}\n")),
    ] {
        let healthy = line.replace(oops, "all is well");
        for more in [&["--format", format][..], &[]] {
            let outcome = replayed(&format!("{healthy}{line}"), more);
            let reasons: Vec<Value> = outcome.json_lines().into_iter().map(|f| f["reason"].clone()).collect();
            assert_eq!(reasons, ["KernelOops"], "{format} {more:?}: {outcome:?}");
        }
    }
}

fn explain_knows_every_shipped_reason() {
    let listed = nodewell(["explain", "--list"]);
    let reasons: Vec<&str> = listed.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(reasons.len() > 200, "{reasons:?}");
    // Of every kind some: the others are asked without a process for each by a test of the command itself.
    for reason in reasons.iter().step_by(9) {
        let outcome = nodewell(["explain", reason, "--json"]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stdout.contains(reason));
    }
    assert_eq!(nodewell(["explain", "KernelOopz"]).code, 64);
    let fallen = nodewell(["explain", "xid:79", "--json"]).json();
    assert_eq!((&fallen["reason"], &fallen["code"]["action"]), (&"GpuXid79FallenOffBus".into(), &"reboot".into()));
    assert_eq!(nodewell(["explain", "xid:seventy"]).code, 64);
}

fn doctor_reports_what_is_missing() {
    let outcome = nodewell(["doctor", "--json", "--socket", "/nonexistent/nodewell.sock"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    let checks = outcome.json();
    let agent = checks.as_array().unwrap().iter().find(|check| check["name"] == "agent").unwrap();
    assert_eq!(agent["verdict"], "fail");
    assert_ne!(agent["advice"], "");
}
