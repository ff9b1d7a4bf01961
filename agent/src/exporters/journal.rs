//! The journal: one entry for each event and each change of a condition, with fields to filter on and a MESSAGE_ID
//! that the catalog explains (`journalctl -x`).

mod writer;

use std::{collections::BTreeMap, future::Future, path::Path, pin::pin, time::Duration};

use libsystemd::logging::Priority;
use nodewell_journal::native::{Entry, SOCKET};
use nodewell_model::{
    ConditionStatus, EventRecord, Name, Severity,
    text::headed,
    view::{ConditionView, NodeView},
};
use tokio::time::timeout;

use self::writer::Writer;
use crate::shared_state::{EventLog, SharedState};

/// An event or the start of a problem. These ids are in `systemd/nodewell.catalog` too.
pub const PROBLEM_ID: &str = "d5f2c7b09a1e4b7c8e5a3f60b1c2d901";
/// A condition changed its state.
pub const CONDITION_ID: &str = "d5f2c7b09a1e4b7c8e5a3f60b1c2d902";

/// Events were left out.
pub const SKIPPED_ID: &str = "d5f2c7b09a1e4b7c8e5a3f60b1c2d903";

/// Events read from the shared state's event log at once.
const BATCH: usize = 256;
/// The reason of a condition whose monitors have not reported yet.
const STARTING: &str = "MonitorStarting";
/// At a stop, for the ledger (the agent's account of problems and conditions) to apply the last reports of the
/// monitors.
const SETTLE: Duration = Duration::from_millis(20);
/// A journal that hangs must not hold up the stop.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// Whether journald listens on this machine.
#[must_use]
pub fn is_available() -> bool {
    Path::new(SOCKET).exists()
}

/// Writes entries until `stop` ends, and then what is left. What the journal refuses is in the other exporters all the
/// same.
pub async fn run(shared_state: SharedState, stop: impl Future<Output = ()>) {
    let mut exporter = Exporter { last_event: 0, shared_state, reported: BTreeMap::new(), writer: Writer::default() };
    let mut view = exporter.shared_state.watch();
    let mut stop = pin!(stop);
    loop {
        // In a line of its own: the borrow must not last as long as the write, or the ledger's next publication would
        // wait for ever.
        let now = view.borrow_and_update().clone();
        exporter.write_all(&now).await;
        tokio::select! {
            () = exporter.shared_state.events().changed(exporter.last_event) => {}
            changed = view.changed() => if changed.is_err() { return },
            () = &mut stop => break,
        }
    }
    // The ledger may still be applying the last reports of the monitors.
    tokio::time::sleep(SETTLE).await;
    let last = exporter.shared_state.view();
    let _ = timeout(FLUSH_TIME, exporter.write_all(&last)).await;
}

/// What was written so far, and the way to write more.
struct Exporter {
    shared_state: SharedState,
    last_event: u64,
    reported: BTreeMap<Name, ConditionStatus>,
    writer: Writer,
}

impl Exporter {
    async fn write_all(&mut self, view: &NodeView) {
        while self.write_events().await {}
        for condition in &view.conditions {
            if is_news(self.reported.get(&condition.condition).copied(), condition) {
                self.send(&condition_entry(condition)).await;
            }
            if condition.status != ConditionStatus::Unknown || condition.reason.as_str() != STARTING {
                self.reported.insert(condition.condition.clone(), condition.status);
            }
        }
    }

    /// True if there may be more.
    async fn write_events(&mut self) -> bool {
        let log = self.shared_state.events();
        let events = log.since(self.last_event, BATCH);
        let skipped = skipped(log, self.last_event, &events);
        if skipped > 0 {
            self.send(&skipped_entry(skipped)).await;
        }
        for event in &events {
            self.send(&event_entry(event)).await;
            self.last_event = event.id;
        }
        events.len() == BATCH
    }

    async fn send(&mut self, entry: &Entry) {
        if let Err(error) = self.writer.send(entry).await {
            tracing::warn!(%error, "the journal refused an entry");
        }
    }
}

/// How many events above `after` the log has lost before `events`, its next ones, were read. Ids go on where an earlier
/// run ended, and jump there when its state is read late: those are no losses.
fn skipped(log: &EventLog, after: u64, events: &[EventRecord]) -> u64 {
    if log.is_full() { missing(after.max(log.first_id().saturating_sub(1)), events) } else { 0 }
}

/// How many ids above `after` are not among `events`: the log loses those of peers first, which may be between others.
fn missing(after: u64, events: &[EventRecord]) -> u64 {
    events.last().map_or(0, |last| last.id.saturating_sub(after + events.len() as u64))
}

/// At the start a condition that is False, or whose monitors have not reported yet, is not worth a line.
fn is_news(reported: Option<ConditionStatus>, now: &ConditionView) -> bool {
    match reported {
        Some(reported) => reported != now.status,
        None => match now.status {
            ConditionStatus::True => true,
            ConditionStatus::Unknown => now.reason.as_str() != STARTING,
            ConditionStatus::False => false,
        },
    }
}

/// A test is no error: alerts watch the journal by priority.
fn event_entry(event: &EventRecord) -> Entry {
    let text = headed(event.reason.as_str(), &event.message);
    let (priority, text) = if event.test { as_test(&text) } else { (priority(event.severity), text) };
    entry(priority, PROBLEM_ID, &text)
        .field("NODEWELL_REASON", event.reason.as_str())
        .field("NODEWELL_CONDITION", event.condition.as_ref().map_or("", |condition| condition.as_str()))
        .field("NODEWELL_SUBJECT", event.subject.as_deref().unwrap_or_default())
        .field("NODEWELL_SEVERITY", event.severity.as_str())
        .field("NODEWELL_SOURCE", &event.source)
        .field("NODEWELL_COUNT", &event.count.to_string())
}

fn condition_entry(condition: &ConditionView) -> Entry {
    let priority = match condition.status {
        ConditionStatus::True => Priority::Error,
        ConditionStatus::Unknown => Priority::Warning,
        ConditionStatus::False => Priority::Notice,
    };
    // Where only muted problems and false positives are left it is about none of them.
    let worst = condition.problems.first().filter(|_| condition.status != ConditionStatus::False);
    let text = format!("{} is {}: {}: {}", condition.condition, condition.status, condition.reason, condition.message);
    let mut turning = condition.problems.iter().filter(|problem| problem.turns_condition()).peekable();
    let is_test = condition.status == ConditionStatus::True && turning.peek().is_some() && turning.all(|one| one.test);
    let (priority, text) = if is_test { as_test(&text) } else { (priority, text) };
    entry(priority, CONDITION_ID, &text)
        .field("NODEWELL_CONDITION", condition.condition.as_str())
        .field("NODEWELL_STATUS", condition.status.as_str())
        .field("NODEWELL_REASON", condition.reason.as_str())
        .field("NODEWELL_SUBJECT", worst.and_then(|worst| worst.subject.as_deref()).unwrap_or_default())
}

/// What `nodewell inject` has made.
fn as_test(text: &str) -> (Priority, String) {
    (Priority::Notice, format!("[test] {text}"))
}

fn skipped_entry(skipped: u64) -> Entry {
    let text = format!(
        "{skipped} events are not in the journal: they came faster than it took them; problem_counter has them"
    );
    entry(Priority::Warning, SKIPPED_ID, &text).field("NODEWELL_COUNT", &skipped.to_string())
}

fn entry(priority: Priority, id: &str, text: &str) -> Entry {
    Entry::default()
        .field("PRIORITY", &u8::from(priority).to_string())
        .field("MESSAGE", text)
        .field("MESSAGE_ID", id)
        .field("SYSLOG_IDENTIFIER", "nodewelld")
}

fn priority(severity: Severity) -> Priority {
    match severity {
        Severity::Info => Priority::Info,
        Severity::Warn => Priority::Warning,
        Severity::Error => Priority::Error,
        Severity::Critical => Priority::Critical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_state::{EVENT_LOG_LIMIT, testing::event};

    /// What counts as skipped of a log that was given these.
    fn skipped_of(ids: impl IntoIterator<Item = u64>) -> u64 {
        let log = EventLog::default();
        log.extend(ids.into_iter().map(event));
        skipped(&log, 0, &log.since(0, BATCH))
    }

    #[test]
    fn what_an_earlier_run_had_is_not_skipped() {
        let limit = EVENT_LOG_LIMIT as u64;
        assert_eq!(skipped_of(9..=10), 0, "after a restart");
        assert_eq!(skipped_of((1..=3).chain([101])), 0, "its state was read late");
        assert_eq!(skipped_of(1..=limit + 5), 5);
        assert_eq!(skipped_of(101..=limit + 105), 5, "after a restart");
    }

    #[test]
    fn a_test_is_marked_and_no_error() {
        let fault = EventRecord { severity: Severity::Error, ..event(1) };
        for (is_test, priority) in [(false, "PRIORITY=3\n"), (true, "PRIORITY=5\n")] {
            let entry = event_entry(&EventRecord { test: is_test, ..fault.clone() });
            let text = String::from_utf8_lossy(entry.bytes()).into_owned();
            assert!(text.contains(priority) && text.contains("MESSAGE=[test] ") == is_test, "{text}");
        }
    }

    #[test]
    fn every_gap_of_a_batch_counts() {
        for (after, ids, expected) in [
            (0, vec![1, 2, 3], 0),
            (0, vec![], 0),
            (5, vec![9], 3),
            (5, vec![6, 9, 10, 20], 11),
            (5, vec![8, 9, 12], 4),
        ] {
            let events: Vec<EventRecord> = ids.iter().copied().map(event).collect();
            assert_eq!(missing(after, &events), expected, "{after} {ids:?}");
        }
    }
}
