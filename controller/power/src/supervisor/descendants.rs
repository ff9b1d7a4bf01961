//! An agent and all that it has started.

use std::{fs, time::Duration};

use nix::{
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, gettid},
};
use tokio::time::{Instant, sleep};

/// A process that waits in the kernel for longer than this may wait for ever.
const KILL_TIMEOUT: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Signals the agent's process group, which is its session's.
pub(super) fn signal(agent: Pid, signal: Signal) {
    // Before its setsid it has no group of its own; afterwards this is one of the group.
    let _ = kill(agent, signal);
    let _ = killpg(agent, signal);
}

/// Kills what is left once the agent itself has ended and was waited for. False if something would not die.
pub(super) async fn end(agent: Pid) -> bool {
    let _ = killpg(agent, Signal::SIGKILL);
    let give_up = Instant::now() + KILL_TIMEOUT;
    loop {
        let children = children();
        for child in &children {
            let _ = kill(*child, Signal::SIGKILL);
        }
        if !reap() && children.is_empty() {
            return true;
        }
        if Instant::now() > give_up {
            return false;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Waits for all that have ended. False if there is no child at all.
fn reap() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Ours (`CONFIG_PROC_CHILDREN`, in every distribution's kernel): orphans of the agent among them.
fn children() -> Vec<Pid> {
    let listed = fs::read_to_string(format!("/proc/self/task/{}/children", gettid())).unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}
