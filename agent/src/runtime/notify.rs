//! What the agent notifies systemd of: ready, one line of truth for `systemctl status`, and a sign of life for its
//! watchdog.

use std::{future, time::Duration};

pub(crate) use nodewell_journal::service_manager::{NotifyState, feed_watchdog, notify};
use nodewell_model::{
    ConditionStatus,
    view::{ApiserverState, ApiserverView, ConditionView, NodeView},
};

use crate::shared_state::SharedState;

/// More names than this make a line too long to read.
const NAMED: usize = 3;
/// A node that flaps must not make systemd busy.
const LINES_APART: Duration = Duration::from_millis(250);

/// Whether a service manager started this process: it sets where it listens, or which start this is. The latter is
/// inherited by whatever a service starts, such as a terminal's shell: it counts only from the manager itself.
#[must_use]
pub fn is_service() -> bool {
    let has = |name| std::env::var_os(name).is_some();
    has("NOTIFY_SOCKET") || (has("INVOCATION_ID") && nix::unistd::getppid().as_raw() == 1)
}

/// Reports that the agent works. Without systemd there is no listener, and that is fine.
pub fn ready() {
    notify(&[NotifyState::Ready]);
}

/// Reports that a reload began; [`ready`] ends it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}

/// Reports that the agent stops because it was asked to.
pub fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Keeps the status line true and the watchdog fed, until the task is dropped. It runs where the ledger runs: if the
/// loop hangs, the watchdog is not fed.
pub async fn run(shared_state: SharedState) {
    tokio::join!(update_line(shared_state), feed_watchdog());
}

async fn update_line(shared_state: SharedState) {
    let mut view = shared_state.watch();
    let mut last = String::new();
    loop {
        let summary = summary(&view.borrow_and_update());
        if summary != last {
            notify(&[NotifyState::Status(&summary)]);
            last = summary;
            tokio::time::sleep(LINES_APART).await;
        }
        if view.changed().await.is_err() {
            return future::pending().await;
        }
    }
}

/// One line for `systemctl status`: what is wrong, which monitors cannot see, and whether the cluster hears of it.
#[must_use]
pub fn summary(view: &NodeView) -> String {
    [Some(problems(view)), unknown(view), Some(cluster(&view.apiserver))]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

fn problems(view: &NodeView) -> String {
    let broken: Vec<_> = with_status(view, ConditionStatus::True).collect();
    let of_all = broken.iter().flat_map(|condition| &condition.problems);
    let problems = of_all.filter(|problem| problem.turns_condition()).count();
    let named = |condition: &&ConditionView| format!("{} ({})", condition.condition, condition.reason);
    match problems {
        0 => "no problem".to_owned(),
        1 => format!("1 problem: {}", listed(&broken, named)),
        more => format!("{more} problems: {}", listed(&broken, named)),
    }
}

fn unknown(view: &NodeView) -> Option<String> {
    let unknown: Vec<_> = with_status(view, ConditionStatus::Unknown).collect();
    if unknown.is_empty() {
        return None;
    }
    let (blind, all) = (unknown.len(), view.conditions.len());
    Some(format!(
        "{blind} of {all} conditions unknown: {}",
        listed(&unknown, |condition| condition.condition.to_string())
    ))
}

fn cluster(apiserver: &ApiserverView) -> String {
    let waiting = match apiserver.undelivered {
        0 => String::new(),
        1 => ", 1 event waits".to_owned(),
        more => format!(", {more} events wait"),
    };
    match apiserver.state {
        ApiserverState::Disabled => "standalone, no API server".to_owned(),
        ApiserverState::Connecting => format!("connecting to the API server{waiting}"),
        ApiserverState::Connected => format!("API server up to date{waiting}"),
        ApiserverState::Failing => format!("API server fails{waiting}: {}", apiserver.message),
    }
}

fn with_status(view: &NodeView, status: ConditionStatus) -> impl Iterator<Item = &ConditionView> {
    view.conditions.iter().map(|condition| &**condition).filter(move |condition| condition.status == status)
}

/// The first few by name, and how many more there are.
fn listed(conditions: &[&ConditionView], name: impl Fn(&&ConditionView) -> String) -> String {
    let first = conditions.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    match conditions.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use nodewell_model::Name;

    use super::*;

    fn condition(name: &'static str, status: ConditionStatus, problems: usize) -> ConditionView {
        let problem = serde_json::json!({
            "id": "0", "reason": "DockerHung", "severity": "error", "since": "2026-01-01T00:00:00Z",
            "last_seen": "2026-01-01T00:00:00Z", "count": 1, "message": "", "source": "kernel-monitor",
        });
        ConditionView {
            condition: Name::fixed(name),
            status,
            reason: Name::fixed("DockerHung"),
            message: String::new(),
            transition: Timestamp::UNIX_EPOCH,
            problems: vec![serde_json::from_value(problem).unwrap(); problems],
        }
    }

    fn line(conditions: Vec<ConditionView>, state: ApiserverState, undelivered: u64) -> String {
        let apiserver =
            ApiserverView { state, last_success: None, message: "connection refused".to_owned(), undelivered };
        let conditions = conditions.into_iter().map(Into::into).collect();
        let (daemons, refused, mutes, hardware) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (node, configuration) = ("n".to_owned(), None);
        summary(&NodeView { node, conditions, daemons, refused, apiserver, hardware, mutes, configuration })
    }

    #[test]
    fn the_line_names_the_problems_the_blind_monitors_and_the_state_of_the_api_server() {
        use ConditionStatus::{False, True, Unknown};
        let healthy = || vec![condition("A", False, 0)];
        assert_eq!(line(healthy(), ApiserverState::Disabled, 0), "no problem; standalone, no API server");
        assert_eq!(line(healthy(), ApiserverState::Connected, 0), "no problem; API server up to date");
        assert_eq!(
            line(vec![condition("A", True, 2), condition("B", Unknown, 0)], ApiserverState::Failing, 3),
            "2 problems: A (DockerHung); 1 of 2 conditions unknown: B; API server fails, 3 events wait: connection refused"
        );
        let many = ["A", "B", "C", "D", "E"].map(|name| condition(name, Unknown, 0)).to_vec();
        assert_eq!(
            line(many, ApiserverState::Connecting, 1),
            "no problem; 5 of 5 conditions unknown: A, B, C and 2 more; connecting to the API server, 1 event waits"
        );
    }
}
