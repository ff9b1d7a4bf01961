//! What scripts see of `nodewell status`.

use std::{
    io,
    process::{Command, Output, Stdio},
};

use crate::agent::{agent, healthy, sick, unknown};

/// `nodewell` with `words`, where an agent has these conditions, or none answers.
fn run(conditions: Option<&[String]>, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    conditions.iter().for_each(|conditions| agent(&socket, conditions));
    Command::new(env!("CARGO_BIN_EXE_nodewell")).arg("--socket").arg(&socket).args(words).output().unwrap()
}

#[test]
fn the_exit_code_is_the_health_where_it_is_asked_for() {
    for (conditions, code) in [
        (Some(vec![healthy()]), 0),
        (Some(vec![healthy(), unknown(), sick()]), 1),
        (Some(vec![healthy(), unknown()]), 2),
        (Some(vec![]), 2),
        (None, 69),
    ] {
        let conditions = conditions.as_deref();
        let of = |words: &[&str]| run(conditions, words).status.code();
        assert_eq!(of(&["status", "--exit-code"]), Some(code), "{conditions:?}");
        assert_eq!(of(&["status", "--exit-code", "--problems", "-o", "json"]), Some(code), "{conditions:?}");
        assert_eq!(of(&["status"]), Some(if code == 69 { 69 } else { 0 }), "{conditions:?}");
    }
}

/// The exit code where the reader of stdout has closed the pipe.
fn unread(conditions: &[String], words: &[&str]) -> Option<i32> {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    agent(&socket, conditions);
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell"));
    command.arg("--socket").arg(&socket).args(words).stdout(writer).stderr(Stdio::null());
    command.status().unwrap().code()
}

#[test]
fn a_reader_that_closes_the_pipe_changes_no_code() {
    // More than a buffer holds: the first write fails, not the last one.
    let many = [vec![sick()], vec![healthy(); 1000]].concat();
    for (conditions, code) in [(vec![sick()], 1), (vec![healthy(), unknown()], 2), (vec![healthy()], 0), (many, 1)] {
        for form in [&["-o", "json"][..], &["-o", "yaml"], &["--all"]] {
            let of = |words: &[&str]| unread(&conditions, &[words, form].concat());
            assert_eq!(of(&["status", "--exit-code"]), Some(code), "{form:?}, {} conditions", conditions.len());
            assert_eq!(of(&["status"]), Some(0), "{form:?}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("nodewell.toml");
    std::fs::write(&bad, "no-such-key = 1\n").unwrap();
    for form in ["json", "text"] {
        assert_eq!(unread(&[], &["check", bad.to_str().unwrap(), "-o", form]), Some(78), "{form}");
    }
}

#[test]
fn what_is_wrong_alone_is_not_what_an_agent_has_that_has_not_looked() {
    let of = |conditions: &[String], words: &[&str]| {
        String::from_utf8(run(Some(conditions), &[&["status", "--problems"], words].concat()).stdout).unwrap()
    };
    assert!(of(&[healthy()], &[]).starts_with("node-1: no problem, "));
    assert!(of(&[], &[]).starts_with("node-1: no known problem, "));
    let healthy: serde_json::Value = serde_json::from_str(&of(&[healthy()], &["--json"])).unwrap();
    assert_eq!(healthy["healthy"], serde_json::json!({"conditions": 1, "hardware": 0, "daemons": 0}));
    assert_ne!(of(&[], &["--json"]), serde_json::to_string_pretty(&healthy).unwrap() + "\n");
}

#[test]
fn every_form_is_written_and_has_what_was_asked_for() {
    let all = [healthy(), unknown(), sick()];
    let text = |words: &[&str]| String::from_utf8(run(Some(&all), words).stdout).unwrap();
    let json = text(&["status", "--json"]);
    assert_eq!(json, text(&["status", "-o", "json"]), "a synonym");
    let of =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["conditions"].as_array().unwrap().len();
    assert_eq!((of(&json), of(&text(&["status", "--problems", "-o", "json"]))), (3, 2));
    let yaml = text(&["status", "-o", "yaml"]);
    assert!(yaml.contains("type: DiskUnhealthy") && yaml.contains("node: node-1"), "{yaml}");
    for (words, is_listed) in
        [(&["status"][..], false), (&["status", "--all"], true), (&["status", "-o", "wide"], true)]
    {
        assert_eq!(text(words).contains("KernelDeadlock"), is_listed, "{words:?}");
    }
    assert!(!text(&["status", "--problems"]).contains("Healthy:"));
    assert!(!json.contains('\u{1b}') && !text(&["status"]).contains('\u{1b}'), "no colour in a pipe");
}
