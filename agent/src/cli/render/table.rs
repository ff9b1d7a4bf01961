//! The table that `nodewell status` shows, laid out for the width there is.

mod hardware;
mod refused;

use std::{fmt::Write, sync::Arc};

use jiff::Timestamp;
use nodewell_model::{
    ConditionStatus,
    view::{ApiserverState, ApiserverView, ConditionView, DaemonState, DaemonView, NodeView, ProblemView},
};

use super::{
    event::colour,
    look::{Look, Paint, one_line},
};
use crate::cli::age::age;

const GAP: &str = "  ";
/// Below this a message is of no use.
const MESSAGE_MIN: usize = 16;
/// Below this reasons are no longer distinguishable.
const REASON_MIN: usize = 12;

/// The whole account as text, every line ended, with ages as of now.
#[must_use]
pub fn status_table(view: &NodeView, look: Look) -> String {
    table(view, Timestamp::now(), &look)
}

fn table(view: &NodeView, now: Timestamp, look: &Look) -> String {
    let mut text = header(view, now, look);
    text.push('\n');
    conditions(&mut text, &view.conditions, now, look);
    hardware::block(&mut text, &view.hardware, now, look);
    daemons(&mut text, &view.daemons, look);
    reporters(&mut text, &view.daemons, now, look);
    refused::block(&mut text, &view.refused, now, look);
    text
}

fn header(view: &NodeView, now: Timestamp, look: &Look) -> String {
    let problems: usize = view.conditions.iter().map(|condition| condition.problems.len()).sum();
    let unknown = view.conditions.iter().filter(|condition| condition.status == ConditionStatus::Unknown).count();
    let mut parts = vec![match problems {
        0 => look.paint(Paint::Good, "no problem"),
        1 => look.paint(Paint::Bad, "1 problem"),
        many => look.paint(Paint::Bad, &format!("{many} problems")),
    }];
    if unknown > 0 {
        parts.push(look.paint(Paint::Warning, &format!("{unknown} unknown")));
    }
    parts.push(apiserver(&view.apiserver, now, look));
    format!("{}: {}\n", look.paint(Paint::Strong, &one_line(&view.node)), parts.join(", "))
}

fn apiserver(view: &ApiserverView, now: Timestamp, look: &Look) -> String {
    let last =
        view.last_success.map_or("never reached".to_owned(), |time| format!("last reached {} ago", age(time, now)));
    let why = if view.message.is_empty() { String::new() } else { format!(": {}", one_line(&view.message)) };
    let waiting = match view.undelivered {
        0 => String::new(),
        1 => ", 1 event waits".to_owned(),
        many => format!(", {many} events wait"),
    };
    match view.state {
        ApiserverState::Disabled => "standalone (no API server)".to_owned(),
        ApiserverState::Connecting => format!("API server: connecting{why}{waiting}"),
        ApiserverState::Connected => format!("API server: connected, {last}{waiting}{why}"),
        ApiserverState::Failing => look.paint(Paint::Bad, &format!("API server: failing, {last}{waiting}{why}")),
    }
}

/// The rows before the message, as wide as their widest cell.
struct Columns {
    condition: usize,
    since: usize,
    reason: usize,
    message: usize,
}

/// `Unknown`, the longest.
const STATUS_WIDTH: usize = 7;

impl Columns {
    fn of(conditions: &[&ConditionView], now: Timestamp, look: &Look) -> Self {
        let widest = |title: &str, cell: &dyn Fn(&ConditionView) -> usize| {
            conditions.iter().map(|condition| cell(condition)).max().unwrap_or_default().max(title.len())
        };
        let condition = widest("CONDITION", &|view| view.condition.as_str().len());
        let since = widest("SINCE", &|view| age(view.transition, now).len());
        let reason = widest("REASON", &|view| view.reason.as_str().len());
        let whole = Self { condition, since, reason, message: usize::MAX };
        match look.width {
            Some(width) => whole.within(width),
            None => whole,
        }
    }

    /// What a narrow terminal lacks is taken from the messages first, then from the reasons (problems repeat theirs
    /// below), and the message goes altogether before a row is wrapped.
    fn within(self, width: usize) -> Self {
        let room = width.saturating_sub(self.condition + STATUS_WIDTH + self.since + 3 * GAP.len());
        let beside = |reason: usize| room.saturating_sub(reason + GAP.len());
        let reason = self.reason.min(beside(MESSAGE_MIN).max(REASON_MIN));
        if beside(reason) < MESSAGE_MIN {
            return Self { reason: self.reason.min(room), message: 0, ..self };
        }
        Self { reason, message: beside(reason), ..self }
    }

    fn row(&self, cells: [&str; 4], status: &str, look: &Look) -> String {
        let [condition, since, reason, message] = cells;
        let row = format!(
            "{condition:<cw$}{GAP}{status}{GAP}{since:<sw$}{GAP}{:<rw$}{GAP}{}",
            look.fit(reason, self.reason),
            look.fit(message, self.message),
            cw = self.condition,
            sw = self.since,
            rw = self.reason,
        );
        row.trim_end().to_owned() + "\n"
    }
}

fn conditions(text: &mut String, conditions: &[Arc<ConditionView>], now: Timestamp, look: &Look) {
    let mut sorted: Vec<&ConditionView> = conditions.iter().map(AsRef::as_ref).collect();
    // What needs a person comes first; else the order they came in.
    sorted.sort_by_key(|condition| match condition.status {
        ConditionStatus::True => 0,
        ConditionStatus::Unknown => 1,
        ConditionStatus::False => 2,
    });
    let columns = Columns::of(&sorted, now, look);
    let title = columns.row(["CONDITION", "SINCE", "REASON", "MESSAGE"], &format!("{:<STATUS_WIDTH$}", "STATUS"), look);
    text.push_str(&look.paint(Paint::Faint, title.trim_end()));
    text.push('\n');
    for condition in sorted {
        let status = look.paint(status_colour(condition.status), &format!("{:<STATUS_WIDTH$}", condition.status));
        let since = age(condition.transition, now);
        let cells = [condition.condition.as_str(), &since, condition.reason.as_str(), &condition.message];
        text.push_str(&columns.row(cells, &status, look));
        for problem in &condition.problems {
            text.push_str(&problem_line(problem, condition, now, look));
        }
    }
}

fn status_colour(status: ConditionStatus) -> Paint {
    match status {
        ConditionStatus::True => Paint::Bad,
        ConditionStatus::Unknown => Paint::Warning,
        ConditionStatus::False => Paint::Good,
    }
}

fn problem_line(problem: &ProblemView, condition: &ConditionView, now: Timestamp, look: &Look) -> String {
    let mut parts = vec![problem.reason.to_string()];
    parts.extend(problem.subject.as_deref().map(one_line));
    parts.push(problem.severity.to_string());
    parts.push(format!("{}{}", look.sign("×", "x"), problem.count));
    parts.push(format!("seen {} ago", age(problem.last_seen, now)));
    parts.extend(problem.action.as_ref().map(|action| format!("{} {}", look.sign("→", "->"), one_line(action))));
    parts.extend(problem.unconfirmed_since.map(|time| format!("unconfirmed for {}", age(time, now))));
    parts.extend(problem.test.then(|| "[test]".to_owned()));
    if problem.message != condition.message {
        parts.push(one_line(&problem.message));
    }
    let mark = look.paint(colour(problem.severity), look.sign("└", "-"));
    let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(4));
    format!("  {mark} {}\n", look.fit(&parts.join(GAP), room))
}

fn daemons(text: &mut String, daemons: &[DaemonView], look: &Look) {
    let unhealthy: Vec<&DaemonView> =
        daemons.iter().filter(|daemon| daemon.state != DaemonState::Running && !daemon.is_external()).collect();
    if unhealthy.is_empty() {
        return;
    }
    text.push_str("\nMonitors that do not see everything:\n");
    let width = unhealthy.iter().map(|daemon| daemon.name.chars().count()).max().unwrap_or_default();
    for daemon in unhealthy {
        let (word, paint) = daemon_state(daemon.state);
        let why = [daemon.reason.as_str(), daemon.message.as_str()].into_iter().filter(|part| !part.is_empty());
        let why = one_line(&why.collect::<Vec<_>>().join(": "));
        let name = one_line(&daemon.name);
        // Advice is never cut: the terminal wraps it.
        let _ = writeln!(text, "{}", format!("  {name:<width$}{GAP}{}{GAP}{why}", look.paint(paint, word)).trim_end());
    }
}

/// All daemons, healthy or not: an operator looks for the daemon that was just installed.
fn reporters(text: &mut String, daemons: &[DaemonView], now: Timestamp, look: &Look) {
    let external: Vec<&DaemonView> = daemons.iter().filter(|daemon| daemon.is_external()).collect();
    if external.is_empty() {
        return;
    }
    text.push_str("\nDaemons that report over the socket:\n");
    let width = external.iter().map(|daemon| daemon.name.chars().count()).max().unwrap_or_default();
    for daemon in external {
        let (word, paint) = daemon_state(daemon.state);
        let name = one_line(&daemon.name);
        let line = format!("  {name:<width$}{GAP}{}{GAP}{}", look.paint(paint, word), heard(daemon, now));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// How long its last report is valid, or since when it no longer is.
fn heard(daemon: &DaemonView, now: Timestamp) -> String {
    let ttl = daemon.ttl_secs.map_or_else(String::new, |secs| format!("ttl {}", span(secs)));
    match daemon.silent_since {
        None => ttl,
        Some(since) => format!("unconfirmed for {}, {ttl}", age(since, now)),
    }
}

/// In its largest whole unit: `90s`, `3m`, `1d`.
fn span(secs: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let whole = units.into_iter().find(|(unit, _)| secs >= *unit && secs.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{secs}s"), |(unit, letter)| format!("{}{letter}", secs / unit))
}

fn daemon_state(state: DaemonState) -> (&'static str, Paint) {
    match state {
        DaemonState::Starting => ("starting", Paint::Faint),
        DaemonState::Running => ("running ", Paint::Good),
        DaemonState::Blind => ("blind   ", Paint::Warning),
        DaemonState::Stale => ("silent  ", Paint::Warning),
        DaemonState::Dead => ("dead    ", Paint::Bad),
    }
}

#[cfg(test)]
mod tests;
