//! The journal: one entry for each event and each change of a condition, with fields to filter on and a MESSAGE_ID
//! that the catalog explains (`journalctl -x`).

use std::path::Path;

use libsystemd::logging::{Priority, journal_send};
use nodewell_model::{
    ConditionStatus, EventRecord, Severity,
    view::{ConditionView, NodeView},
};

use crate::board::Board;

/// An event or the start of a problem. These ids are in `systemd/nodewell.catalog` too.
pub const PROBLEM_ID: &str = "d5f2c7b09a1e4b7c8e5a3f60b1c2d901";
/// A condition changed its state.
pub const CONDITION_ID: &str = "d5f2c7b09a1e4b7c8e5a3f60b1c2d902";

/// Whether journald listens on this machine.
#[must_use]
pub fn is_available() -> bool {
    Path::new("/run/systemd/journal/socket").exists()
}

/// Writes entries until the task is dropped. What the journal refuses is in the other exporters all the same.
pub async fn run(board: Board) {
    let mut view = board.watch();
    let mut known = view.borrow_and_update().clone();
    let mut last_event = board.events().last_id();
    loop {
        tokio::select! {
            () = board.events().changed(last_event) => {
                for event in board.events().since(last_event, usize::MAX) {
                    last_event = event.id;
                    send_event(&event);
                }
            }
            changed = view.changed() => {
                if changed.is_err() {
                    return;
                }
                let new = view.borrow_and_update().clone();
                changed_conditions(&known, &new).for_each(send_condition);
                known = new;
            }
        }
    }
}

/// The conditions whose status differs from before.
pub fn changed_conditions<'a>(before: &'a NodeView, after: &'a NodeView) -> impl Iterator<Item = &'a ConditionView> {
    after.conditions.iter().map(AsRef::as_ref).filter(move |new| {
        let old = before.conditions.iter().find(|old| old.condition == new.condition);
        old.is_none_or(|old| old.status != new.status)
    })
}

fn send_event(event: &EventRecord) {
    let count = event.count.to_string();
    let fields = [
        ("MESSAGE_ID", PROBLEM_ID),
        ("SYSLOG_IDENTIFIER", "nodewelld"),
        ("NODEWELL_REASON", event.reason.as_str()),
        ("NODEWELL_CONDITION", event.condition.as_ref().map_or("", |condition| condition.as_str())),
        ("NODEWELL_SUBJECT", event.subject.as_deref().unwrap_or_default()),
        ("NODEWELL_SEVERITY", event.severity.as_str()),
        ("NODEWELL_SOURCE", &event.source),
        ("NODEWELL_COUNT", &count),
    ];
    send(priority(event.severity), &format!("{}: {}", event.reason, event.message), &fields);
}

fn send_condition(condition: &ConditionView) {
    let fields = [
        ("MESSAGE_ID", CONDITION_ID),
        ("SYSLOG_IDENTIFIER", "nodewelld"),
        ("NODEWELL_CONDITION", condition.condition.as_str()),
        ("NODEWELL_STATUS", condition.status.as_str()),
        ("NODEWELL_REASON", condition.reason.as_str()),
    ];
    let priority = match condition.status {
        ConditionStatus::True => Priority::Error,
        ConditionStatus::Unknown => Priority::Warning,
        ConditionStatus::False => Priority::Notice,
    };
    let text = format!("{} is {}: {}: {}", condition.condition, condition.status, condition.reason, condition.message);
    send(priority, &text, &fields);
}

fn send(priority: Priority, text: &str, fields: &[(&str, &str)]) {
    let present = fields.iter().filter(|(_, value)| !value.is_empty());
    if let Err(error) = journal_send(priority, text, present.copied()) {
        tracing::debug!(%error, "the journal took no entry");
    }
}

fn priority(severity: Severity) -> Priority {
    match severity {
        Severity::Info => Priority::Info,
        Severity::Warn => Priority::Warning,
        Severity::Error => Priority::Error,
        Severity::Critical => Priority::Critical,
    }
}
