//! A block of the status table: how many devices of each class there are, and how they are.

use std::fmt::Write;

use jiff::Timestamp;
use nodewell_model::view::HardwareView;

use super::{GAP, Look, Paint, age, one_line};

pub(super) fn block(text: &mut String, hardware: &[HardwareView], now: Timestamp, look: &Look) {
    if hardware.is_empty() {
        return;
    }
    text.push_str("\nHardware:\n");
    let digits = hardware.iter().map(|one| one.total.to_string().len()).max().unwrap_or_default();
    let width = hardware.iter().map(|one| class(one).chars().count()).max().unwrap_or_default();
    for one in hardware {
        let head = format!("  {:>digits$} {:<width$}{GAP}", one.total, one_line(class(one)));
        let room = look.width.map_or(usize::MAX, |all| all.saturating_sub(head.chars().count()));
        let _ = writeln!(text, "{head}{}", look.paint(colour(one), &look.fit(&how(one, now), room)));
    }
}

/// Classes are plurals that take an s, `disks` or `GPUs`: one is a `disk`.
fn class(one: &HardwareView) -> &str {
    if one.total == 1 { one.class.strip_suffix('s').unwrap_or(&one.class) } else { &one.class }
}

/// What is not well first: `1 lost, 7 ok`.
fn how(one: &HardwareView, now: Timestamp) -> String {
    let mut parts: Vec<String> = one.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    match (parts.is_empty(), one.healthy) {
        (true, 0) => parts.push("none".to_owned()),
        (true, _) => parts.push("ok".to_owned()),
        (false, 0) => {}
        (false, healthy) => parts.push(format!("{healthy} ok")),
    }
    let silent = one.unconfirmed_since.map(|since| format!("{GAP}unconfirmed for {}", age(since, now)));
    parts.join(", ") + &silent.unwrap_or_default()
}

fn colour(one: &HardwareView) -> Paint {
    match (one.states.is_empty(), one.unconfirmed_since) {
        (false, _) => Paint::Bad,
        (true, Some(_)) => Paint::Warning,
        (true, None) => Paint::Good,
    }
}
