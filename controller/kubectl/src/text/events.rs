//! Events, one a line, the newest last. Nothing is cut.

use nodewell_time::local;

use super::{Page, look::Paint, notes, table::Table};
use crate::view::events::EventsView;

const NONE: &str = "No such Event is there. The API server keeps Events for an hour, unless it is set otherwise.\n";

pub(crate) fn text(view: &EventsView, page: &Page) -> String {
    let mut table = Table::new(&["TIME", "AGE", "TYPE", "NODE", "REASON", "SOURCE", "COUNT", "MESSAGE"]);
    for event in &view.events {
        let paint = (event.kind == "Warning").then_some(Paint::Warning);
        let time = event.last.map(|at| local(at, &page.zone)).unwrap_or_default();
        let source = if page.is_wide() { format!("{}/{}", event.component, event.source) } else { String::new() };
        let count = if event.count > 1 { format!("x{}", event.count) } else { String::new() };
        let (kind, node, reason) = (event.kind.to_owned(), event.node.clone(), event.reason.clone());
        table.row(paint, [time, page.age(event.last), kind, node, reason, source, count, event.message.clone()]);
    }
    let rows = if view.events.is_empty() { NONE.to_owned() } else { table.text(0, page.uncut()) };
    let mut blocks = vec![rows, notes(&view.notes)];
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}
