//! Ten thousand connections of one user at once.

use std::{fs, os::unix::fs::PermissionsExt};

use nodewell_tests::{agent::Agent, intruder::Intruder, wait::until};

use super::survives;

const ALL: usize = 10_000;
/// More than the agent serves in all, and lets wait.
const SERVED: usize = 200;
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
