//! `make run`: the agent and its screen, by the real programs.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    terminal::{Terminal, screen},
    until,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/run");

fn programs() -> &'static Path {
    let (agent, client) = (env!("CARGO_BIN_EXE_nodewelld"), env!("CARGO_BIN_EXE_nodewell"));
    let folder = Path::new(agent).parent().unwrap();
    assert_eq!(Path::new(client).parent(), Some(folder));
    folder
}

/// An agent that looks at nothing but an empty kernel log.
fn flags(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    std::fs::write(at("kmsg"), "").unwrap();
    std::fs::write(at("config.toml"), "check-processes = \"none\"\n[journal]\nenabled = false\n").unwrap();
    let (config, kmsg, state) = (at("config.toml"), at("kmsg"), at("state"));
    format!("--config {config} --kmsg {kmsg} --state-dir {state} --metrics-address off")
}

#[test]
fn the_screen_is_shown_and_its_end_is_the_agents() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let (programs, flags) = (programs().display(), flags(folder.path()));
    let line = format!(
        "env PROGRAMS={programs} RUN_FOLDER={0} NODEWELL_SOCKET={0}/socket {SCRIPT} {flags}",
        folder.path().display()
    );
    let Some(mut terminal) = Terminal::open(80, 24, folder, &line) else { return };
    let header = || screen_of(&terminal).into_iter().find(|line| line.contains("standalone (no API server)"));
    until("the agent's account is on the screen", header);
    let answers =
        || Command::new(format!("{programs}/nodewell")).arg("--socket").arg(&socket).arg("status").output().unwrap();
    assert!(answers().status.success());
    terminal.press(b"q");
    terminal.is_restored("0");
    assert_eq!(answers().status.code(), Some(69), "the agent has ended");
}

fn screen_of(terminal: &Terminal) -> Vec<String> {
    let shown = terminal.shown();
    if shown.contains("\u{1b}[?2026l") { screen(&shown) } else { Vec::new() }
}

#[test]
fn an_agent_that_cannot_start_is_shown_with_its_code() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), "no-such-key = 1\n").unwrap();
    let (programs, at) = (programs().display(), folder.path().display());
    let line =
        format!("env PROGRAMS={programs} RUN_FOLDER={at} NODEWELL_SOCKET={at}/socket {SCRIPT} --config {at}/bad.toml");
    let Some(terminal) = Terminal::open(80, 24, folder, &line) else { return };
    assert_eq!(terminal.read("code"), "78");
    until("the key that is wrong is named", || terminal.shown().contains("no-such-key").then_some(()));
}

#[test]
fn without_a_terminal_it_is_the_agent_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Command::new(SCRIPT)
        .args(flags(folder.path()).split(' '))
        .env("PROGRAMS", programs())
        .env("NODEWELL_SOCKET", folder.path().join("socket"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let name = format!("/proc/{}/comm", agent.id());
    until("the script becomes the agent", || {
        std::fs::read_to_string(&name).ok().filter(|name| name.trim() == "nodewelld")
    });
    agent.kill().unwrap();
    agent.wait().unwrap();
}
