//! The command line as a program: on a terminal of its own, and by its exit codes. The agent is played by these tests.

#![allow(clippy::unwrap_used)]

mod agent;
mod completes;
mod exit_codes;
mod follow;
mod forms;
mod replay;
mod run;
mod scan;
mod terminal;
mod watch;

use std::{
    thread,
    time::{Duration, Instant},
};

const DEADLINE: Duration = Duration::from_secs(30);

/// Looks until something is there.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}
