//! The first block of the status: conditions, those that need a person first, with the problems that hold them.

mod columns;
mod problem;

use nodewell_model::{ConditionStatus, view::ConditionView};
use nodewell_time::age;

use self::columns::{Columns, STATUS_WIDTH};
use super::{
    super::{
        flow::paragraph,
        look::{Paint, columns as columns_of, one_line},
    },
    Extent, Table,
};
use crate::cli::health::is_well;

/// Text that belongs to rows above it.
const INDENT: usize = 2;

pub(super) fn block(table: &Table<'_>) -> String {
    let mut shown: Vec<&ConditionView> = table.view.conditions.iter().map(AsRef::as_ref).collect();
    shown.retain(|condition| table.shows_all() || !is_well(condition));
    if shown.is_empty() {
        return String::new();
    }
    let texts = texts(&shown);
    // What needs a person comes first, and what has the same text stands together; else the order they came in.
    shown.sort_by_key(|condition| (rank(condition.status), position(&texts, condition)));
    let columns = Columns::of(&shown, table);
    // A reason below its row is a part of the text.
    let is_one = |one: &ConditionView, next: &ConditionView| {
        is_one_text(one, next) && (columns.has_reasons() || one.reason == next.reason)
    };
    let runs = shown.chunk_by(|one, next| table.extent != Extent::Wide && is_one(one, next));
    let rows: String = runs.map(|run| rows(run, &columns, table)).collect();
    format!("{}{rows}", columns.title(table.look))
}

fn rank(status: ConditionStatus) -> u8 {
    match status {
        ConditionStatus::True => 0,
        ConditionStatus::Unknown => 1,
        ConditionStatus::False => 2,
    }
}

/// Each text of an unknown condition once; the text of the others is their own.
fn texts<'a>(conditions: &[&'a ConditionView]) -> Vec<&'a str> {
    let mut texts: Vec<&str> = Vec::new();
    let unknown = conditions.iter().filter(|condition| condition.status == ConditionStatus::Unknown);
    for condition in unknown {
        if !texts.contains(&condition.message.as_str()) {
            texts.push(&condition.message);
        }
    }
    texts
}

fn position(texts: &[&str], condition: &ConditionView) -> usize {
    match condition.status {
        ConditionStatus::Unknown => texts.iter().position(|text| *text == condition.message).unwrap_or(texts.len()),
        ConditionStatus::True | ConditionStatus::False => 0,
    }
}

/// A monitor that sees nothing makes everything it watches unknown, with one text for all of it.
fn is_one_text(one: &ConditionView, next: &ConditionView) -> bool {
    let is_unknown = one.status == ConditionStatus::Unknown && next.status == one.status;
    is_unknown && one.message == next.message && one.problems.is_empty() && next.problems.is_empty()
}

/// A message stands beside its row if all of it does, else below.
fn rows(run: &[&ConditionView], columns: &Columns, table: &Table<'_>) -> String {
    let [first, ..] = run else { return String::new() };
    let message = one_line(&first.message);
    let is_beside = run.len() == 1 && columns.has_reasons() && columns_of(&message) <= columns.message;
    let beside = if is_beside { message.as_str() } else { "" };
    let mut text: String = run.iter().map(|condition| row(condition, beside, columns, table)).collect();
    if !columns.has_reasons() {
        text.push_str(&paragraph(first.reason.as_str(), INDENT, table.look));
    }
    if !is_beside && !message.is_empty() {
        text.push_str(&paragraph(&message, INDENT, table.look));
    }
    let problems = run.iter().flat_map(|condition| problem::lines(condition, table));
    problems.for_each(|line| text.push_str(&line));
    text
}

fn row(condition: &ConditionView, message: &str, columns: &Columns, table: &Table<'_>) -> String {
    let since = age(condition.transition, table.now);
    let status = table.look.paint(colour(condition.status), &format!("{:<STATUS_WIDTH$}", condition.status));
    columns.row([condition.condition.as_str(), &status, &since, condition.reason.as_str(), message], table.look)
}

fn colour(status: ConditionStatus) -> Paint {
    match status {
        ConditionStatus::True => Paint::Bad,
        ConditionStatus::Unknown => Paint::Warning,
        ConditionStatus::False => Paint::Good,
    }
}
