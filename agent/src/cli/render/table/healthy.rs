//! What is well, in one line.

use super::{
    super::{
        flow::{Layout, Piece, flow},
        look::Paint,
    },
    Table,
    hardware::{counted, is_well},
};
use crate::cli::health::is_well as condition_is_well;

const TITLE: &str = "Healthy: ";

pub(super) fn line(table: &Table<'_>) -> String {
    if table.shows_all() {
        return String::new();
    }
    let view = table.view;
    let healthy = view.conditions.iter().filter(|condition| condition_is_well(condition)).count();
    let conditions = match healthy {
        0 => None,
        1 => Some("1 condition".to_owned()),
        many => Some(format!("{many} conditions")),
    };
    let classes = view.hardware.iter().filter(|one| is_well(one)).map(counted);
    let mut parts: Vec<String> = conditions.into_iter().chain(classes).collect();
    let Some(last) = parts.last_mut() else { return String::new() };
    last.push_str(" (--all lists them)");
    let pieces: Vec<Piece> = parts.iter().map(|text| Piece::new(text)).collect();
    let layout = Layout { first: TITLE.len(), indent: 2, separator: ", " };
    format!("{}{}\n", table.look.paint(Paint::Good, TITLE), flow(&pieces, layout, table.look))
}
