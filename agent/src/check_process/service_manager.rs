//! What a check process sends to its service manager: the [`StatusLine`] and a sign of life.

use std::future;

use crate::{
    check_process::status_line::StatusLine,
    runtime::notify::{self, NotifyState},
};

/// Sends both; never returns. It runs where the work runs: if that hangs, the watchdog is not fed.
pub(super) async fn run(status_line: StatusLine) {
    tokio::join!(send_line(status_line), notify::feed_watchdog());
}

async fn send_line(status_line: StatusLine) {
    let mut content = status_line.watch();
    loop {
        content.mark_unchanged();
        notify::notify(&[NotifyState::Status(&status_line.line())]);
        if content.changed().await.is_err() {
            return future::pending().await;
        }
    }
}
