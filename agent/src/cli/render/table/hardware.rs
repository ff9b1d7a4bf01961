//! Two blocks of the status: how many devices of each class there are and how they are, and facts about the host.

use nodewell_model::view::HardwareView;
use nodewell_time::age;

use super::{
    super::{
        flow::{Layout, Piece, flow},
        look::{Paint, columns, one_line, pad},
    },
    GAP, Table,
};

pub(super) fn block(table: &Table<'_>) -> String {
    let shown: Vec<&HardwareView> =
        table.view.hardware.iter().filter(|one| !one.informational && (table.shows_all() || !is_well(one))).collect();
    if shown.is_empty() {
        return String::new();
    }
    let digits = shown.iter().map(|one| one.total.to_string().len()).max().unwrap_or_default();
    let room = table.look.room_beside(2 + digits + 1 + GAP.len());
    let width = shown.iter().map(|one| columns(&class(one))).max().unwrap_or_default().min(room);
    let row = |one: &&HardwareView| {
        let head = format!("  {:>digits$} {}{GAP}", one.total, pad(&table.look.fit(&class(one), width), width));
        let layout = Layout { first: columns(&head), indent: digits + 3, separator: GAP };
        let states = flow(&states(one, table), layout, table.look);
        if states.starts_with('\n') { format!("{}{states}\n", head.trim_end()) } else { format!("{head}{states}\n") }
    };
    let rows: String = shown.iter().map(row).collect();
    format!("Hardware:\n{rows}")
}

/// What is worth knowing and no fault: `Host: 9 cgroup controllers of version 1, 1 reboot due`.
pub(super) fn facts(table: &Table<'_>) -> String {
    let classes = table.view.hardware.iter().filter(|one| one.informational);
    let facts = classes.flat_map(|one| one.states.iter().map(|(state, count)| fact(one, state, *count)));
    let pieces: Vec<Piece> = facts.map(|text| Piece::new(&text)).collect();
    if pieces.is_empty() {
        return String::new();
    }
    let title = "Host: ";
    let layout = Layout { first: title.len(), indent: 2, separator: ", " };
    format!("{title}{}\n", flow(&pieces, layout, table.look))
}

fn fact(one: &HardwareView, state: &str, count: u32) -> String {
    let of = if count == one.total { String::new() } else { format!("{count} of ") };
    format!("{of}{} {state}", counted(one))
}

/// All of them are there, work, and were counted lately.
pub(super) fn is_well(one: &HardwareView) -> bool {
    !one.informational && one.states.is_empty() && one.unconfirmed_since.is_none()
}

/// `8 GPUs`, `1 disk`.
pub(super) fn counted(one: &HardwareView) -> String {
    format!("{} {}", one.total, class(one))
}

/// Classes are plurals that take an s, `disks` or `GPUs`: one is a `disk`.
fn class(one: &HardwareView) -> String {
    let plural = &one.class;
    one_line(if one.total == 1 { plural.strip_suffix('s').unwrap_or(plural) } else { plural })
}

/// What is not well first: `1 lost, 7 ok`.
fn states(one: &HardwareView, table: &Table<'_>) -> Vec<Piece> {
    let mut parts: Vec<String> = one.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    match (parts.is_empty(), one.healthy) {
        (true, 0) => parts.push("none".to_owned()),
        (true, _) => parts.push("ok".to_owned()),
        (false, 0) => {}
        (false, healthy) => parts.push(format!("{healthy} ok")),
    }
    let silent = one.unconfirmed_since.map(|since| format!("unconfirmed for {}", age(since, table.now)));
    [Some(parts.join(", ")), silent].into_iter().flatten().map(|text| Piece::painted(colour(one), &text)).collect()
}

fn colour(one: &HardwareView) -> Paint {
    match (one.states.is_empty(), one.unconfirmed_since) {
        (false, _) => Paint::Bad,
        (true, Some(_)) => Paint::Warning,
        (true, None) => Paint::Good,
    }
}
