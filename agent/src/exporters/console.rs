//! A person at a terminal: a table of the conditions that stays below, and a line for each event above it. Without a
//! terminal there are only the lines.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
    time::Duration,
};

use nodewell_model::{
    EventRecord,
    view::{ConditionView, DaemonState, NodeView},
};

use crate::{
    cli::render::{EventStyle, Extent, Look, event_row, status_table},
    shared_state::SharedState,
};

/// A flood is shown as often as an eye can follow.
const FRAME: Duration = Duration::from_millis(20);
/// Ages in the table grow; while nothing else happens they are brought up to date so often.
const AGES: Duration = Duration::from_secs(10);

/// Shows until the task is dropped, or until stdout is closed.
pub async fn run(shared_state: SharedState) {
    let mut view = shared_state.watch();
    let mut screen = Screen { is_terminal: io::stdout().is_terminal(), table_lines: 0 };
    // No condition has been reported yet.
    let mut shown = Arc::new(NodeView { conditions: Vec::new(), ..NodeView::clone(&view.borrow_and_update()) });
    let mut last_event = 0;
    loop {
        tokio::time::sleep(FRAME).await;
        let records = shared_state.events().since(last_event, usize::MAX);
        last_event = records.last().map_or(last_event, |record| record.id);
        let mut now = view.borrow_and_update().clone();
        // In lines, "Unknown" a moment before the monitors have reported would only be noise.
        if !screen.is_terminal && now.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting) {
            now = Arc::clone(&shown);
        }
        if screen.show(&records, &shown, &now).is_err() {
            // Stdout is closed: there is no reader to show anything to, and that is no failure.
            return std::future::pending().await;
        }
        shown = now;
        tokio::select! {
            () = shared_state.events().changed(last_event) => {}
            changed = view.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(AGES), if screen.is_terminal => {}
        }
    }
}

/// The conditions whose status differs from before.
fn changed_conditions<'a>(before: &'a NodeView, after: &'a NodeView) -> impl Iterator<Item = &'a ConditionView> {
    after.conditions.iter().map(AsRef::as_ref).filter(move |new| {
        let old = before.conditions.iter().find(|old| old.condition == new.condition);
        old.is_none_or(|old| old.status != new.status)
    })
}

/// Where it is shown.
struct Screen {
    is_terminal: bool,
    /// How many lines of the last table have to be taken away.
    table_lines: usize,
}

impl Screen {
    fn show(&mut self, records: &[EventRecord], before: &NodeView, now: &NodeView) -> io::Result<()> {
        let look = Look::of_stdout();
        let mut text = String::new();
        if self.table_lines > 0 {
            // Up to the table's first line, and everything below away.
            text = format!("\x1b[{}A\x1b[J", self.table_lines);
        }
        for event in records {
            text.push_str(&event_row(&event.view(), EventStyle::Time, look));
            text.push('\n');
        }
        if self.is_terminal {
            let table = bounded(&status_table(now, Extent::Folded, look), look.height);
            self.table_lines = table.lines().count();
            text.push_str(&table);
        } else {
            changed_conditions(before, now).for_each(|condition| text.push_str(&condition_line(condition)));
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

fn condition_line(condition: &ConditionView) -> String {
    let ConditionView { condition, status, reason, message, .. } = condition;
    format!("condition {condition} is {status}: {reason}: {message}\n")
}

/// A table that is taller than the terminal could not be taken away again.
fn bounded(table: &str, height: usize) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let room = height.saturating_sub(2).max(4);
    if lines.len() <= room {
        return format!("{}\n", lines.join("\n"));
    }
    let hidden = lines.len() - room;
    format!("{}\n… {hidden} more lines: `nodewell status` shows them all\n", lines[..room].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_never_grows_taller_than_the_terminal() {
        let table = "line\n".repeat(40);
        assert_eq!(bounded(&table, usize::MAX).lines().count(), 40);
        let cut = bounded(&table, 24);
        assert_eq!(cut.lines().count(), 23);
        assert!(cut.ends_with("… 18 more lines: `nodewell status` shows them all\n"), "{cut}");
    }
}
