//! What systemd is told: ready, one line of truth for `systemctl status`, and a sign of life for its watchdog.

use std::time::Duration;

use nodewell_model::{ConditionStatus, view::NodeView};
use sd_notify::NotifyState;

use crate::board::Board;

/// Whether a service manager started this process: it tells its services where it listens, or which start this is.
#[must_use]
pub fn is_service() -> bool {
    ["NOTIFY_SOCKET", "INVOCATION_ID"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Says that the agent works. Without systemd nobody listens, and that is fine.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Says that a reload began; [`ready`] ends it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// Says that the agent stops because it was asked to.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Keeps the status line true and the watchdog fed, until the task is dropped. It runs where the ledger runs: if the
/// loop hangs, the watchdog is not fed.
pub async fn run(board: Board) {
    let mut view = board.watch();
    let mut last = String::new();
    let interval = sd_notify::watchdog_enabled().map(|limit| limit / 2);
    loop {
        let summary = summary(&view.borrow_and_update());
        if summary != last {
            tell(&[NotifyState::Status(&summary)]);
            last = summary;
        }
        tokio::select! {
            changed = view.changed() => if changed.is_err() { return },
            () = pause(interval) => tell(&[NotifyState::Watchdog]),
        }
    }
}

async fn pause(interval: Option<Duration>) {
    match interval {
        Some(interval) => tokio::time::sleep(interval).await,
        None => std::future::pending().await,
    }
}

/// Where nobody listens, nobody is told.
pub(crate) fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd was not told");
    }
}

/// One line: how many problems, the worst of them, and who cannot see.
#[must_use]
pub fn summary(view: &NodeView) -> String {
    let broken: Vec<_> = view.conditions.iter().filter(|c| c.status == ConditionStatus::True).collect();
    let unknown = view.conditions.iter().filter(|c| c.status == ConditionStatus::Unknown).count();
    let problems: usize = broken.iter().map(|c| c.problems.len()).sum();
    let mut line = match broken.first() {
        None => "no problem known".to_owned(),
        Some(first) => format!("{problems} problem(s); {}: {}", first.condition, first.reason),
    };
    if unknown > 0 {
        line.push_str(&format!("; {unknown} of {} conditions cannot be seen", view.conditions.len()));
    }
    line
}
