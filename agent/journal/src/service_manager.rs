//! What a daemon sends to its service manager: how it is, and a sign of life for the watchdog.

use std::future;

pub use sd_notify::NotifyState;
use tokio::time::{Instant, interval_at};

/// Does nothing where no service manager listens.
pub fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd was not notified");
    }
}

/// Gives systemd's watchdog its sign of life, whatever else happens; never returns. Run where the work runs, it stops with
/// that: a loop that hangs feeds no watchdog.
pub async fn feed_watchdog() {
    // A limit of nothing at all would be no limit.
    let half = sd_notify::watchdog_enabled().map(|limit| limit / 2).filter(|half| !half.is_zero());
    let Some(half) = half else { return future::pending().await };
    let mut due = interval_at(Instant::now() + half, half);
    loop {
        due.tick().await;
        notify(&[NotifyState::Watchdog]);
    }
}
