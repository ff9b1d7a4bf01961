//! What fence agents and plug-ins of providers print, and what of it a person gets to see.

use std::time::Duration;

use nodewell_remediation::snapshot::PowerState;

use crate::{
    agent::{complaint, state},
    provider::{is_gone, kind},
    scrub::scrub,
    supervisor::{Ending, Report},
};

/// A line of a journal, an Event or a record's log, and how the program ended.
const COMPLAINT_LIMIT_CHARS: usize = 480;
const PASSWORD: &str = "hunter2 xyzzy";

/// The first byte is the exit status. Off is believed by it and the line, gone by the one word, and never a password shown.
pub fn printed(input: &[u8]) {
    let Some((status, output)) = input.split_first() else { return };
    let output = String::from_utf8_lossy(output);
    let (stdout, stderr) = output.split_once('\0').unwrap_or((&output, ""));
    let (status, cut) = (i32::from(status & 0x7f), status & 0x80 != 0);
    let ending = if status == 0x7f { Ending::TimedOut } else { Ending::Exited(status) };
    let report = Report { ending, stdout: stdout.to_owned(), stderr: stderr.to_owned(), cut, took: Duration::ZERO };
    look(&report, status);
    secrets(&output, cut);
}

fn look(report: &Report, status: i32) {
    match state(report) {
        PowerState::On => assert_eq!(status, 0),
        PowerState::Off => {
            assert!(status == 2 && report.stdout.to_ascii_uppercase().contains("STATUS: OFF"), "{}", report.stdout);
        }
        PowerState::Unknown => {}
    }
    let mut contradicted = report.clone();
    contradicted.stdout.push_str("\nStatus: ON\nStatus: OFF");
    assert_eq!(state(&contradicted), PowerState::Unknown, "it contradicts itself");
    let words: Vec<&str> = report.stdout.split_whitespace().collect();
    match kind(report) {
        Some(kind) => assert!(status == 0 && words == [kind] && !kind.contains(':'), "{kind:?}"),
        None => assert!(status != 0 || words.len() != 1 || words[0].contains(':'), "{words:?}"),
    }
    match is_gone(report) {
        Some(true) => assert_eq!((status, words.as_slice()), (0, &["gone"][..])),
        Some(false) => assert_eq!((status, words.as_slice()), (0, &["present"][..])),
        None => {}
    }
}

/// Whatever stands around it, however it is broken into lines.
fn secrets(output: &str, cut: bool) {
    let secrets = [PASSWORD.to_owned(), "xyzzy".to_owned()];
    let text = format!("{output}{PASSWORD}{output}");
    for text in [&text, output] {
        let shown = scrub(text, cut, &secrets);
        assert!(!secrets.iter().any(|secret| shown.contains(secret.as_str())), "{shown:?}");
        assert!(!shown.contains(nodewell_printable::is_hidden), "{shown:?}");
        let report = Report {
            ending: Ending::TimedOut,
            stdout: text.to_owned(),
            stderr: String::new(),
            cut,
            took: Duration::ZERO,
        };
        assert!(complaint(&report, &secrets).chars().count() <= COMPLAINT_LIMIT_CHARS);
    }
}
