//! What systemd is told of a satellite: the line of [`Words`] and a sign of life.

use std::{future, time::Duration};

use sd_notify::NotifyState;
use tokio::time::{Instant, interval_at};

use crate::{runtime::notify, satellite::words::Words};

/// Keeps both true; never returns. It runs where the work runs: if that hangs, the watchdog is not fed.
pub(super) async fn run(words: Words) {
    tokio::join!(keep_line(words), feed_watchdog(sd_notify::watchdog_enabled()));
}

async fn keep_line(words: Words) {
    let mut told = words.watch();
    loop {
        told.mark_unchanged();
        notify::tell(&[NotifyState::Status(&words.line())]);
        if told.changed().await.is_err() {
            return future::pending().await;
        }
    }
}

async fn feed_watchdog(limit: Option<Duration>) {
    // A limit of nothing at all would be no limit.
    let Some(half) = limit.map(|limit| limit / 2).filter(|half| !half.is_zero()) else {
        return future::pending().await;
    };
    let mut due = interval_at(Instant::now() + half, half);
    loop {
        due.tick().await;
        notify::tell(&[NotifyState::Watchdog]);
    }
}
