//! More connections of one user at once than it may have.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use nodewell_tests::{
    agent::{Agent, Plan},
    intruder::Intruder,
    wait::until,
};

use super::survives;

const ALL: usize = 10_000;
/// More than the agent serves in all, and lets wait.
const SERVED: usize = 200;
/// As many as one peer may have.
const MOST: usize = 4;
const USER: Intruder = Intruder { uid: 60_003, capabilities: &[] };

/// Of a user that is not root. Those beyond what one peer may have are turned away, each with its answer.
pub(super) fn ten_thousand_that_stay() {
    survives(|agent| {
        fs::set_permissions(agent.plan().folder(), fs::Permissions::from_mode(0o755)).unwrap();
        let _crowd = USER.crowd(&agent.socket(), ALL);
        let open = fs::read_dir(format!("/proc/{}/fd", agent.pid())).unwrap().count();
        assert!(open < SERVED, "the agent has {open} descriptors");
        until("all others are turned away", || (turned_away(agent) >= ALL - SERVED).then_some(()));
    });
}

fn turned_away(agent: &Agent) -> usize {
    let metrics = agent.metrics();
    let refused = metrics.lines().filter(|line| line.starts_with("nodewell_socket_refused_total"));
    refused.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

/// By the agent's own words, and with the time after which it may come again.
pub(super) fn one_more_reads_which_limit() {
    let agent = Plan::default().start();
    fs::set_permissions(agent.plan().folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let answer = until("one more is refused", || {
        // What is served and idle ends after a while, so each look has a crowd of its own.
        let _crowd = USER.crowd(&agent.socket(), MOST);
        Some(asked(&agent)).filter(|answer| answer.starts_with("HTTP/1.1 429 "))
    });
    assert!(answer.contains("Retry-After: 1\r\n"), "{answer}");
    assert!(
        answer.contains("you have 4 connections open") && answer.contains("[socket] connections-per-peer"),
        "{answer}"
    );
}

/// The whole answer to this user's request.
fn asked(agent: &Agent) -> String {
    let argv = USER.enter();
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).args(["curl", "--silent", "--include", "--max-time", "20", "--unix-socket"]);
    let output = command.arg(agent.socket()).arg("http://localhost/v1/version").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
