//! Why a node is as it is: what holds now, then what happened, the newest first. Nothing is cut.

use nodewell_time::local;

use super::{
    Page, controller,
    look::{Paint, one_line},
    notes,
    table::Table,
};
use crate::view::why::{Entry, WhyView};

/// Entries before the rest is a number.
const ENTRIES: usize = 30;
/// Where else it is asked.
const NOTHING_LEFT: &str = "\
    No record of it and no Event is left: records that ended are kept for a day, Events for an hour. \
    The audit on the controller's hosts (/var/log/nodewell-controller/audit.jsonl) has all of them.\n";

pub(crate) fn text(view: &WhyView, page: &Page) -> String {
    let mut head = format!("{}\n", page.look.paint(Paint::Strong, &one_line(&view.node)));
    if !view.is_there {
        head.push_str("There is no Node of this name now.\n");
    } else if view.now.is_empty() {
        head.push_str("nodewell has set nothing on it, and does nothing about it now.\n");
    }
    view.now.iter().for_each(|sentence| head.push_str(&format!("{}\n", one_line(sentence))));
    head.push_str(&controller::lines(&view.controller, page));
    let history = if view.history.is_empty() { NOTHING_LEFT.to_owned() } else { history(&view.history, page) };
    let mut blocks = vec![head, history, notes(&view.notes)];
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

fn history(entries: &[Entry], page: &Page) -> String {
    let most = if page.shows_all() { entries.len() } else { entries.len().min(ENTRIES) };
    let mut table = Table::new(&["TIME", "AGE", "TERM", "SOURCE", "WHAT"]);
    for entry in &entries[..most] {
        let time = entry.at.map(|at| local(at, &page.zone)).unwrap_or_default();
        let source = if page.is_wide() { entry.source.clone() } else { String::new() };
        let count = if entry.count > 1 { format!(" (x{})", entry.count) } else { String::new() };
        let what = format!("{}{count}", entry.what);
        table.row(None, [time, page.age(entry.at), entry.term.clone(), source, what]);
    }
    let more = match entries.len() - most {
        0 => String::new(),
        more => format!("… and {more} older entries (--all)\n"),
    };
    format!("{}{more}", table.text(0, page.uncut()))
}
