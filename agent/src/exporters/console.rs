//! A person at a terminal, or a file: a line for each event and each condition that changes. `nodewell status --watch` has
//! the screen.

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use nodewell_model::{
    EventRecord,
    view::{ConditionView, DaemonState, NodeView},
};

use crate::{
    cli::render::{EventStyle, Look, event_row, one_line},
    shared_state::SharedState,
};

/// A flood is shown as often as an eye can follow.
const FRAME: Duration = Duration::from_millis(20);

/// Shows until the task is dropped, or until stdout is closed.
pub async fn run(shared_state: SharedState) {
    let mut view = shared_state.watch();
    // No condition has been reported yet.
    let mut shown = Arc::new(NodeView { conditions: Vec::new(), ..NodeView::clone(&view.borrow_and_update()) });
    let mut last_event = 0;
    loop {
        tokio::time::sleep(FRAME).await;
        let records = shared_state.events().since(last_event, usize::MAX);
        last_event = records.last().map_or(last_event, |record| record.id);
        let mut now = view.borrow_and_update().clone();
        // "Unknown" a moment before the monitors have reported would only be noise.
        if now.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting) {
            now = Arc::clone(&shown);
        }
        if show(&records, &shown, &now).is_err() {
            // Stdout is closed: there is no reader to show anything to, and that is no failure.
            return std::future::pending().await;
        }
        shown = now;
        tokio::select! {
            () = shared_state.events().changed(last_event) => {}
            changed = view.changed() => if changed.is_err() { return },
        }
    }
}

fn show(records: &[EventRecord], before: &NodeView, now: &NodeView) -> io::Result<()> {
    let text = lines(records, before, now, Look::of_stdout());
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn lines(records: &[EventRecord], before: &NodeView, now: &NodeView, look: Look) -> String {
    let events = records.iter().map(|event| event_row(&event.view(), EventStyle::Time, look) + "\n");
    events.chain(changed_conditions(before, now).map(condition_line)).collect()
}

/// The conditions whose status differs from before.
fn changed_conditions<'a>(before: &'a NodeView, after: &'a NodeView) -> impl Iterator<Item = &'a ConditionView> {
    after.conditions.iter().map(AsRef::as_ref).filter(move |new| {
        let old = before.conditions.iter().find(|old| old.condition == new.condition);
        old.is_none_or(|old| old.status != new.status)
    })
}

fn condition_line(condition: &ConditionView) -> String {
    let ConditionView { condition, status, reason, message, .. } = condition;
    format!("condition {condition} is {status}: {reason}: {}\n", one_line(message))
}
