//! What systemd is notified of: ready, stopping, alive, and one line for `systemctl status`.

use std::time::Duration;

use nodewell_journal::service_manager::{NotifyState, feed_watchdog, notify};
use nodewell_reconcile::cache::Cache;
use nodewell_remediation::api::fence::Phase;

/// The line may be this old.
const LINES_APART: Duration = Duration::from_secs(2);

pub(crate) fn ready() {
    notify(&[NotifyState::Ready]);
}

pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping: what is under way is left to the next leader")]);
}

/// The last line: why it ends.
pub(crate) fn failed(why: &str) {
    notify(&[NotifyState::Status(why)]);
}

/// Updates the line and feeds the watchdog where the loop runs: if that hangs, feeding stops. Never returns.
pub(crate) async fn run(cache: &Cache, dry_run: bool) {
    tokio::join!(keep_line(cache, dry_run), feed_watchdog());
}

async fn keep_line(cache: &Cache, dry_run: bool) {
    let mut last = String::new();
    loop {
        let line = line(cache, dry_run);
        if line != last {
            notify(&[NotifyState::Status(&line)]);
            last = line;
        }
        tokio::time::sleep(LINES_APART).await;
    }
}

fn line(cache: &Cache, dry_run: bool) -> String {
    cache.with(|snapshot| {
        let role = match (dry_run, snapshot.epoch, snapshot.host.synced) {
            (_, _, false) => "waiting for the API server",
            (true, ..) => "dry run",
            (false, 0, _) => "standing by",
            _ => "leading",
        };
        let stopped = snapshot.stopped.as_ref().map(|why| format!("; stopped: {why}")).unwrap_or_default();
        let given_up = snapshot.fences.values().filter(|fence| fence.status.phase == Phase::Quarantined).count();
        let open = snapshot.fences.len();
        let quarantined = if given_up > 0 { format!(", {given_up} given up") } else { String::new() };
        if snapshot.nodes.is_empty() && open == 0 {
            return format!("{role}{stopped}");
        }
        format!("{role}; {} nodes, {open} under remediation{quarantined}{stopped}", snapshot.nodes.len())
    })
}

#[cfg(test)]
mod tests {
    use nodewell_reconcile::{cache::Limits, clock::Clock};

    use super::*;

    #[tokio::test]
    async fn the_line_says_who_leads_and_what_stops() {
        let cache = Cache::new(Clock::system(|| Duration::ZERO), Limits::default());
        assert_eq!(line(&cache, true), "waiting for the API server");
        cache.set_stopped(Some("rack 4".into()));
        assert!(line(&cache, false).ends_with("; stopped: rack 4"));
    }
}
