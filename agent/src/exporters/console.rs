//! A person at a terminal: a table of the conditions that stays below, and a line for each event above it. Without a
//! terminal there are only the lines.

use std::{io, time::Duration};

use jiff::{Timestamp, tz::TimeZone};
use nodewell_model::{
    EventRecord,
    view::{EventView, NodeView},
};

use crate::{
    board::Board,
    cli::{events, out::Out, status},
    exporters::journal::changed_conditions,
};

/// A flood is shown as often as an eye can follow.
const FRAME: Duration = Duration::from_millis(20);
/// Ages in the table grow; while nothing else happens they are brought up to date so often.
const AGES: Duration = Duration::from_secs(10);

/// Shows until the task is dropped, or until nobody reads stdout any more.
pub async fn run(board: Board) {
    let mut view = board.watch();
    let mut screen = Screen { out: Out::stdout(), zone: TimeZone::system(), table_lines: 0 };
    let mut shown = view.borrow_and_update().clone();
    let mut last_event = 0;
    loop {
        tokio::time::sleep(FRAME).await;
        let records = board.events().since(last_event, usize::MAX);
        last_event = records.last().map_or(last_event, |record| record.id);
        let now = view.borrow_and_update().clone();
        if screen.show(&records, (&shown, &now)).is_err() {
            break;
        }
        shown = now;
        tokio::select! {
            () = board.events().changed(last_event) => {}
            changed = view.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(AGES), if screen.out.is_terminal() => {}
        }
    }
    // Stdout is closed: there is nobody to show anything to, and that is no failure.
    std::future::pending().await
}

/// Where it is shown.
struct Screen {
    out: Out,
    zone: TimeZone,
    /// How many lines of the last table have to be taken away.
    table_lines: usize,
}

impl Screen {
    fn show(&mut self, records: &[EventRecord], (before, now): (&NodeView, &NodeView)) -> io::Result<()> {
        if self.table_lines > 0 {
            // Up to the table's first line, and everything below away.
            self.out.text(&format!("\x1b[{}A\x1b[J", self.table_lines))?;
        }
        let look = self.out.look();
        for event in records.iter().map(EventRecord::view) {
            self.event(&event, &look)?;
        }
        if self.out.is_terminal() {
            let table = bounded(&status::table(now, Timestamp::now(), &look), self.out.height());
            self.table_lines = table.lines().count();
            self.out.text(&table)?;
        } else {
            for condition in changed_conditions(before, now) {
                let (kind, status) = (&condition.condition, condition.status);
                self.out.line(&format!("condition {kind} is {status}: {}: {}", condition.reason, condition.message))?;
            }
        }
        self.out.flush()
    }

    fn event(&mut self, event: &EventView, look: &crate::cli::out::Look) -> io::Result<()> {
        let line = events::line(event, look, &self.zone);
        // A line that wraps is scrolled up like any other: only the table's lines are counted.
        self.out.line(&line)
    }
}

/// A table that is taller than the terminal could not be taken away again.
fn bounded(table: &str, height: Option<usize>) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let room = height.map_or(usize::MAX, |height| height.saturating_sub(2).max(4));
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
        assert_eq!(bounded(&table, None).lines().count(), 40);
        let cut = bounded(&table, Some(24));
        assert_eq!(cut.lines().count(), 23);
        assert!(cut.ends_with("… 18 more lines: `nodewell status` shows them all\n"), "{cut}");
    }
}
