//! `nodewell status --watch` on a terminal: what is on the screen, and what the terminal is left as.

use crate::{
    agent::{agent, healthy, sick},
    terminal::{Terminal, screen},
    until,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_nodewell");

fn open(columns: u16, rows: u16) -> Option<Terminal> {
    let folder = tempfile::tempdir().unwrap();
    agent(&folder.path().join("socket"), &[healthy(), sick()]);
    let terminal = Terminal::open(columns, rows, folder, &format!("\"{PROGRAM}\" --socket socket status --watch"))?;
    until("the screen is drawn", || terminal.shown().contains("DiskUnhealthy").then_some(()));
    Some(terminal)
}

#[test]
fn sixty_columns_show_problems_first_and_events_below() {
    let Some(terminal) = open(60, 20) else { return };
    let rows = screen(&terminal.shown());
    assert_eq!(rows.len(), 20, "{rows:#?}");
    assert!(rows.iter().all(|row| row.chars().count() <= 60), "{rows:#?}");
    let at = |text: &str| rows.iter().position(|row| row.contains(text)).unwrap_or_else(|| panic!("{text}: {rows:#?}"));
    assert!(at("DiskUnhealthy") < at("Healthy: 1 condition") && at("Healthy:") < at("OOMKilling"), "{rows:#?}");
    assert!(!rows.iter().any(|row| row.contains("KernelDeadlock")), "{rows:#?}");
}

#[test]
fn every_way_out_leaves_the_terminal_as_it_was() {
    for (signal, code) in [("TERM", "143"), ("INT", "130"), ("HUP", "129"), ("QUIT", "131")] {
        let Some(terminal) = open(80, 24) else { return };
        terminal.signal(signal);
        terminal.is_restored(code);
    }
    for keys in [&b"q"[..], b"\x03"] {
        let Some(mut terminal) = open(80, 24) else { return };
        terminal.press(keys);
        terminal.is_restored("0");
    }
}

#[test]
fn a_key_lists_what_is_well() {
    let Some(mut terminal) = open(80, 24) else { return };
    terminal.press(b"a");
    until("what is well is listed", || {
        screen(&terminal.shown()).iter().any(|row| row.starts_with("KernelDeadlock")).then_some(())
    });
}

/// Two processes, as `make run` is a script and what it starts: a shell comes back once both have stopped.
const JOB: &str = r#"
set -m
sh -c '"$0" --socket socket status --watch; exit $?' "$1"
echo $? >stopped
fg >/dev/null
"#;

#[test]
fn a_job_that_is_stopped_gives_its_shell_back_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    agent(&folder.path().join("socket"), &[healthy(), sick()]);
    std::fs::write(folder.path().join("job"), JOB).unwrap();
    let line = format!("bash job \"{PROGRAM}\"");
    let Some(mut terminal) = Terminal::open(80, 24, folder, &line) else { return };
    let entered = |times| move |shown: String| (shown.matches("\u{1b}[?1049h").count() == times).then_some(());
    until("the screen is drawn", || terminal.shown().contains("DiskUnhealthy").then_some(()));
    terminal.press(b"\x1a");
    // SIGTSTP, as shells count it.
    assert_eq!(terminal.read("stopped"), "148");
    until("it is shown again", || entered(2)(terminal.shown()));
    terminal.press(b"q");
    terminal.is_restored("0");
}
