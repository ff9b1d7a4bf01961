//! A person at a terminal: a table of the conditions that stays below, and a line for each event above it. Without a
//! terminal there are only the lines.

use std::io::{IsTerminal, Write};

use nodewell_model::view::{EventView, NodeView};

use crate::{
    board::Board,
    cli::render::{Look, event_line, status_table},
    exporters::journal::changed_conditions,
};

/// Shows until the task is dropped, or until nobody reads stdout any more.
pub async fn run(board: Board) {
    let mut screen = Screen::new(std::io::stdout(), std::io::stdout().is_terminal());
    let mut view = board.watch();
    let mut shown = view.borrow_and_update().clone();
    let mut last_event = 0;
    if screen.show(&[], &shown, &shown).is_err() {
        return std::future::pending().await;
    }
    loop {
        tokio::select! {
            () = board.events().changed(last_event) => {}
            changed = view.changed() => if changed.is_err() { return },
        }
        // A flood is shown as often as an eye can follow.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let events = board.events().since(last_event, usize::MAX);
        last_event = events.last().map_or(last_event, |event| event.id);
        let events: Vec<EventView> = events.iter().map(nodewell_model::EventRecord::view).collect();
        let now = view.borrow_and_update().clone();
        if screen.show(&events, &shown, &now).is_err() {
            return std::future::pending().await;
        }
        shown = now;
    }
}

/// Where it is shown.
struct Screen<W> {
    out: W,
    is_terminal: bool,
    /// How many lines of the last table have to be taken away.
    table_lines: usize,
}

impl<W: Write> Screen<W> {
    fn new(out: W, is_terminal: bool) -> Self {
        Self { out, is_terminal, table_lines: 0 }
    }

    fn show(&mut self, events: &[EventView], before: &NodeView, now: &NodeView) -> std::io::Result<()> {
        let look = Look::of_stdout();
        let mut text = String::new();
        if self.table_lines > 0 {
            // Up to the table's first line, and everything below away.
            text.push_str(&format!("\x1b[{}A\x1b[J", self.table_lines));
        }
        for event in events {
            text.push_str(&event_line(event, look));
            text.push('\n');
        }
        if self.is_terminal {
            let table = bounded(&status_table(now, look), look.height);
            self.table_lines = table.lines().count();
            text.push_str(&table);
        } else {
            for condition in changed_conditions(before, now) {
                let (kind, status) = (&condition.condition, condition.status);
                text.push_str(&format!("condition {kind} is {status}: {}: {}\n", condition.reason, condition.message));
            }
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// A table that is taller than the terminal could not be taken away again.
fn bounded(table: &str, height: usize) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let room = height.saturating_sub(2).max(4);
    if lines.len() <= room {
        return lines.join("\n") + "\n";
    }
    let hidden = lines.len() - room;
    format!("{}\n… {hidden} more lines: `nodewell status` shows them all\n", lines[..room].join("\n"))
}
