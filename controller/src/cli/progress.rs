//! What a command that takes long is waiting for: one line on standard error where that is a terminal, wiped before its
//! answer.

use std::io::{self, IsTerminal, Write};

use nodewell_command::split_at_column;

use super::look::{one_line, width};

/// Wiped when dropped.
pub(super) struct Progress {
    is_shown: bool,
}

impl Progress {
    /// Scripts, pipes and files get none.
    pub(super) fn of_stderr() -> Self {
        Self { is_shown: io::stderr().is_terminal() }
    }

    /// Takes each next line, which replaces the one before.
    pub(super) fn line(&self) -> Option<fn(&str)> {
        let show: fn(&str) = show;
        self.is_shown.then_some(show)
    }

    /// Before anything else is printed.
    pub(super) fn wipe(&self) {
        if self.is_shown {
            show("");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.wipe();
    }
}

fn show(text: &str) {
    // A terminal that is gone shows nothing more.
    let _ = io::stderr().write_all(drawn(text, width()).as_bytes());
}

/// In one line of the terminal: what is longer could not be wiped.
fn drawn(text: &str, width: usize) -> String {
    let line = one_line(text);
    format!("\r{}\x1b[K", split_at_column(&line, width.saturating_sub(1)).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_replaces_the_one_before_and_is_no_longer_than_the_terminal() {
        assert_eq!(drawn("asking\nfence_ipmilan at 10.0.9.11 …", 20), "\rasking fence_ipmila\x1b[K");
        assert_eq!(drawn("", 20), "\r\x1b[K");
    }

    #[test]
    fn scripts_get_none() {
        assert!(Progress { is_shown: false }.line().is_none());
        assert!(Progress { is_shown: true }.line().is_some());
    }
}
