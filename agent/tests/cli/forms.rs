//! `--output`: which commands take it, and what those write in each form that need no rights and change nothing.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

use crate::agent::{agent, healthy, sick};

/// They find nothing out: what they write is a file of another form, or nothing.
const OTHERS: [&str; 4] = ["collect-pstore", "completion", "identity", "kubeconfig"];

/// Commands below this one, itself among them, that do something and do not take it.
fn without(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    let takes_it = command.get_arguments().any(|argument| argument.get_id().as_str() == "output");
    if !takes_it && !command.has_subcommands() {
        found.push(path.to_owned());
    }
    for below in command.get_subcommands() {
        without(below, &format!("{path} {}", below.get_name()), found);
    }
}

#[test]
fn every_command_that_finds_something_out_takes_it() {
    let (all, mut found) = (nodewell_agent::cli::command(), Vec::new());
    all.get_subcommands().for_each(|command| without(command, command.get_name(), &mut found));
    found.sort();
    assert_eq!(found, OTHERS);
}

/// One document, or one for each row.
fn json(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter::<Value>().collect::<Result<_, _>>().unwrap()
}

fn yaml(text: &str) -> Vec<Value> {
    let documents = text.split("---\n").filter(|document| !document.trim().is_empty());
    documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

#[test]
fn each_form_has_what_was_asked_for_and_the_same_code() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    agent(&at("socket"), &[healthy(), sick()]);
    let write = |name: &str, text: &str| {
        fs::write(at(name), text).unwrap();
        at(name).to_str().unwrap().to_owned()
    };
    let log =
        write("kern.log", "Nov 21 02:00:00 host kernel: EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2\n");
    let (good, bad) = (write("good.toml", "node-name = \"a\"\n"), write("bad.toml", "node-name = 1\n"));
    let monitor = r#"{"plugin": "kmsg", "source": "mine-monitor", "rules": [
        {"type": "temporary", "reason": "MyDriverSlow", "pattern": "mydrv: slow"}]}"#;
    let monitor = write("mine.json", monitor);
    for (words, code) in [
        (&["version"][..], 0),
        (&["status"], 0),
        (&["status", "--problems", "--exit-code"], 1),
        (&["events"], 0),
        (&["check", &good], 0),
        (&["check", &bad], 78),
        (&["config", "show", "--config", &good], 0),
        (&["import-npd", &monitor], 0),
        (&["explain", "Ext4Error"], 0),
        (&["explain", "--list"], 0),
        (&["replay", &log], 0),
    ] {
        let run = |form: &[&str]| -> String {
            let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell"));
            let Output { status, stdout, stderr } =
                command.arg("--socket").arg(at("socket")).args(words).args(form).output().unwrap();
            let said = String::from_utf8_lossy(&stderr);
            assert_eq!(status.code(), Some(code), "{words:?} {form:?}: {said}");
            String::from_utf8(stdout).unwrap()
        };
        let (document, rows) = (run(&["--output", "json"]), json(&run(&["--json"])));
        assert_eq!(json(&document), rows, "{words:?}");
        assert_eq!(yaml(&run(&["-o", "yaml"])), rows, "{words:?}");
        assert!(!rows.is_empty() && rows.iter().all(|row| row.is_object() || row.is_array()), "{words:?}: {document}");
        for form in ["text", "wide"] {
            let shown = run(&["-o", form]);
            assert!(!shown.is_empty() && serde_json::from_str::<Value>(&shown).is_err(), "{words:?}: {shown}");
        }
    }
}
