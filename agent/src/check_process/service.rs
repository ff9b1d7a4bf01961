//! What a check process sends to systemd: the line of [`Words`] and a sign of life.

use std::future;

use sd_notify::NotifyState;

use crate::{check_process::words::Words, runtime::notify};

/// Sends both; never returns. It runs where the work runs: if that hangs, the watchdog is not fed.
pub(super) async fn run(words: Words) {
    tokio::join!(keep_line(words), notify::feed_watchdog());
}

async fn keep_line(words: Words) {
    let mut told = words.watch();
    loop {
        told.mark_unchanged();
        notify::notify(&[NotifyState::Status(&words.line())]);
        if told.changed().await.is_err() {
            return future::pending().await;
        }
    }
}
