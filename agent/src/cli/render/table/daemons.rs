//! Two blocks of the status: monitors of ours that do not see everything, and the daemons that report over the socket.

use nodewell_model::{
    text::{MESSAGE_LIMIT_BYTES, line},
    view::{DaemonState, DaemonView},
};
use nodewell_time::age;

use super::{
    super::{
        flow::{Layout, Piece, flow, paragraph},
        look::{Paint, columns, one_line, pad},
    },
    GAP, Table,
};

/// Ours that are not well, with what to do. Advice that is a condition's message above stands there alone.
pub(super) fn blind(table: &Table<'_>) -> String {
    let daemons = &table.view.daemons;
    let unwell = daemons.iter().filter(|daemon| daemon.state != DaemonState::Running && !daemon.is_external());
    rows(
        "Monitors that do not see everything:",
        &unwell.collect::<Vec<_>>(),
        |daemon| {
            let is_above = !table.shows_all() && stands_above(daemon, table);
            let message = if is_above { "" } else { daemon.message.as_str() };
            let why = [daemon.reason.as_str(), message].into_iter();
            let why = why.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
            (!why.is_empty()).then(|| Piece::new(&why)).into_iter().collect()
        },
        table,
    )
}

/// The message of a condition that a monitor does not see is the monitor's name and message.
fn stands_above(daemon: &DaemonView, table: &Table<'_>) -> bool {
    let shown = line(&format!("{}: {}", daemon.name, daemon.message), MESSAGE_LIMIT_BYTES);
    table.view.conditions.iter().any(|condition| condition.message == shown)
}

const REPORTERS: &str = "Daemons that report over the socket:";

/// All of others, healthy or not: an operator looks for the daemon that was just installed. Those that are well are one
/// line, or two.
pub(super) fn reporters(table: &Table<'_>) -> String {
    let external = table.view.daemons.iter().filter(|daemon| daemon.is_external());
    let is_folded = |daemon: &&DaemonView| !table.shows_all() && daemon.state == DaemonState::Running;
    let (well, others): (Vec<&DaemonView>, Vec<&DaemonView>) = external.partition(is_folded);
    let (once, running): (Vec<&DaemonView>, Vec<&DaemonView>) =
        well.into_iter().partition(|daemon| promises_nothing(daemon));
    let folded = [folded("running", &running, table), folded("reported", &once, table)].concat();
    let rows = rows(REPORTERS, &others, |daemon| heard(daemon, table), table);
    match (rows.is_empty(), folded.is_empty()) {
        (_, true) => rows,
        (true, false) => format!("{}{folded}", paragraph(REPORTERS, 0, table.look)),
        (false, false) => format!("{rows}{folded}"),
    }
}

/// One that reported and need not report again: whether it still runs is not known.
fn promises_nothing(daemon: &DaemonView) -> bool {
    daemon.is_external() && daemon.state == DaemonState::Running && daemon.ttl_secs.is_none()
}

fn folded(word: &str, daemons: &[&DaemonView], table: &Table<'_>) -> String {
    if daemons.is_empty() {
        return String::new();
    }
    let names: Vec<Piece> = daemons.iter().map(|daemon| Piece::new(&daemon.name)).collect();
    let title = format!("  {word}: ");
    let layout = Layout { first: title.len(), indent: 4, separator: ", " };
    format!("{title}{}\n", flow(&names, layout, table.look))
}

fn rows(title: &str, daemons: &[&DaemonView], about: impl Fn(&DaemonView) -> Vec<Piece>, table: &Table<'_>) -> String {
    if daemons.is_empty() {
        return String::new();
    }
    let room = table.look.room_beside(2 + 2 * GAP.len() + STATE_WIDTH);
    let width = daemons.iter().map(|daemon| columns(&one_line(&daemon.name))).max().unwrap_or_default().min(room);
    let row = |daemon: &&DaemonView| {
        let (word, paint) = if promises_nothing(daemon) { REPORTED } else { state(daemon.state) };
        let name = pad(&table.look.fit(&daemon.name, width), width);
        let head = format!("  {name}{GAP}{}{GAP}", table.look.paint(paint, word));
        let first = 2 + columns(&name) + GAP.len() + word.len() + GAP.len();
        let about = flow(&about(daemon), Layout { first, indent: 4, separator: GAP }, table.look);
        format!("{}\n", format!("{head}{about}").trim_end())
    };
    let rows: String = daemons.iter().map(row).collect();
    format!("{}{rows}", paragraph(title, 0, table.look))
}

/// How long its last report is valid, or since when it no longer is.
fn heard(daemon: &DaemonView, table: &Table<'_>) -> Vec<Piece> {
    let silent = daemon.silent_since.map(|since| format!("unconfirmed for {}", age(since, table.now)));
    let ttl = daemon.ttl_secs.map(|secs| format!("ttl {}", span(secs)));
    let ttl = ttl.or_else(|| promises_nothing(daemon).then(|| "no ttl, holds until its next report".to_owned()));
    let text = [silent, ttl].into_iter().flatten().collect::<Vec<_>>().join(", ");
    if text.is_empty() { Vec::new() } else { vec![Piece::new(&text)] }
}

/// In its largest whole unit: `90s`, `3m`, `1d`.
fn span(secs: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let whole = units.into_iter().find(|(unit, _)| secs >= *unit && secs.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{secs}s"), |(unit, letter)| format!("{}{letter}", secs / unit))
}

const STATE_WIDTH: usize = 8;
/// In place of the state of one that promises nothing.
const REPORTED: (&str, Paint) = ("reported", Paint::Faint);

/// As wide as the widest of them.
fn state(state: DaemonState) -> (&'static str, Paint) {
    match state {
        DaemonState::Starting => ("starting", Paint::Faint),
        DaemonState::Running => ("running ", Paint::Good),
        DaemonState::Blind => ("blind   ", Paint::Warning),
        DaemonState::Stale => ("silent  ", Paint::Warning),
        DaemonState::Dead => ("dead    ", Paint::Bad),
    }
}
