//! The last block of the status table: which clients tried to report, clear or inject, and may not.

use std::fmt::Write;

use jiff::Timestamp;
use nodewell_model::view::RefusedView;

use super::{GAP, Look, MESSAGE_MIN, Paint, age, one_line};

pub(super) fn block(text: &mut String, refused: &[RefusedView], now: Timestamp, look: &Look) {
    if refused.is_empty() {
        return;
    }
    text.push_str("\nRefused on the socket:\n");
    let width = refused.iter().map(|one| one_line(&one.peer).chars().count()).max().unwrap_or_default();
    for RefusedView { peer, source, count, last, why } in refused {
        let times = format!("{}{count}", look.sign("×", "x"));
        let source = if source.is_empty() { String::new() } else { format!("as {}{GAP}", one_line(source)) };
        let row = format!("  {:<width$}{GAP}{source}{times}{GAP}{} ago{GAP}", one_line(peer), age(*last, now));
        let room = look.width.map_or(usize::MAX, |all| all.saturating_sub(row.chars().count()).max(MESSAGE_MIN));
        let _ = writeln!(text, "{}{}", look.paint(Paint::Warning, &row), look.fit(why, room));
    }
}
