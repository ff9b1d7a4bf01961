//! The fleet: what is wrong on top, what is unknown below it, and what is well in one line.

use std::collections::BTreeMap;

use nodewell_remediation::facts::FENCE_READY;

use super::{
    Page, controller, counted,
    look::{Look, Paint, one_line},
    notes,
    table::Table,
};
use crate::view::{
    agent::{AgentState, AgentView},
    fleet::{Counts, FleetView, Group, READY, SilentNode},
    health::Health,
    remediation::RemediationView,
};

/// Rows of one block before the rest is a number.
const ROWS: usize = 10;
/// Names in a line, zones and racks of a title.
const NAMES: usize = 10;
const PLACES: usize = 4;
const INDENT: usize = 2;

pub(crate) fn text(view: &FleetView, page: &Page) -> String {
    let head = format!("{}{}", header(view, page), controller::lines(&view.controller, page));
    let mut blocks = vec![head];
    blocks.extend(view.conditions.iter().map(|group| of_group(group, page)));
    blocks.extend([
        silent(&view.silent, page),
        named("No agent", Paint::Warning, &view.without_agent, page),
        remediation(&view.remediation, page),
        healthy(&view.healthy, page),
        notes(&view.notes),
    ]);
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

fn header(view: &FleetView, page: &Page) -> String {
    let Counts { nodes, healthy, problems, unknown, not_ready, cordoned, under_remediation } = view.counts;
    let parts = [
        (healthy, "healthy", Paint::Good),
        (problems, "with problems", Paint::Bad),
        (unknown, "unknown", Paint::Warning),
    ];
    let shown = parts.map(|(count, what, paint)| {
        let text = format!("{count} {what}");
        if count == 0 { text } else { page.look.paint(paint, &text) }
    });
    let also = [(not_ready, "not Ready"), (cordoned, "cordoned"), (under_remediation, "under remediation")];
    let also: Vec<String> =
        also.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let also = if also.is_empty() { String::new() } else { format!("; {}", also.join(", ")) };
    let cluster = view.controller.cluster.as_deref();
    let cluster = cluster.map_or_else(String::new, |name| format!("cluster {}, ", one_line(name)));
    format!("{cluster}{}: {}{also}\n", counted(nodes, "node"), shown.join(", "))
}

fn of_group(group: &Group, page: &Page) -> String {
    let paint = if group.health == Health::Problem { Paint::Bad } else { Paint::Warning };
    let places = [places("zone", &group.zones), places("rack", &group.racks)];
    let places: String = places.into_iter().filter(|_| group.nodes.len() > 1).collect();
    let title = format!("{}: {}{places}", name(group), counted(group.nodes.len(), "node"));
    let mut table = Table::new(&["NODE", "ZONE", "RACK", "AGE", "REASON", "REPORTED BY", "MESSAGE"]);
    for row in &group.nodes[..shown(group.nodes.len(), page)] {
        let reported_by = row.reported_by.clone().unwrap_or_default();
        let reason = row.reason.clone();
        let (zone, rack) = (row.zone.clone().unwrap_or_default(), row.rack.clone().unwrap_or_default());
        let cells = [row.node.clone(), zone, rack, page.age(row.since), reason, reported_by, row.message.clone()];
        table.row(None, cells);
    }
    let hint = format!("--all, or --condition {} -o wide", one_line(&group.condition));
    format!(
        "{}\n{}{}",
        page.look.paint(paint, &title),
        table.text(INDENT, look(page)),
        more(group.nodes.len(), page, &hint)
    )
}

/// All but one are named for the problem.
fn name(group: &Group) -> String {
    match (group.condition.as_str(), group.health) {
        (READY, _) => "NotReady".to_owned(),
        (FENCE_READY, Health::Problem) => format!("{FENCE_READY} is False"),
        (name, Health::Problem) => one_line(name),
        (name, Health::Unknown | Health::Healthy) => format!("{} unknown", one_line(name)),
    }
}

/// `; zone a 12, b 3`: those with most nodes first.
fn places(what: &str, counts: &BTreeMap<String, usize>) -> String {
    let mut sorted: Vec<(&String, &usize)> = counts.iter().collect();
    sorted.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
    let first: Vec<String> =
        sorted.iter().take(PLACES).map(|(name, count)| format!("{} {count}", one_line(name))).collect();
    match (first.is_empty(), sorted.len().saturating_sub(PLACES)) {
        (true, _) => String::new(),
        (false, 0) => format!("; {what} {}", first.join(", ")),
        (false, more) => format!("; {what} {} and {more} more", first.join(", ")),
    }
}

fn silent(nodes: &[SilentNode], page: &Page) -> String {
    if nodes.is_empty() {
        return String::new();
    }
    let title = format!("Silent agents: {}", counted(nodes.len(), "node"));
    let mut table = Table::new(&["NODE", "ZONE", "RACK", "LAST SEEN", "WHAT"]);
    for one in &nodes[..shown(nodes.len(), page)] {
        let last = one.agent.last_seen.map_or_else(|| "never".to_owned(), |_| page.age(one.agent.last_seen));
        let (zone, rack) = (one.zone.clone().unwrap_or_default(), one.rack.clone().unwrap_or_default());
        table.row(None, [one.node.clone(), zone, rack, last, silence(&one.agent)]);
    }
    let more = more(nodes.len(), page, "--all");
    format!("{}\n{}{more}", page.look.paint(Paint::Warning, &title), table.text(INDENT, look(page)))
}

/// What is known of an agent that does not report.
pub(super) fn silence(agent: &AgentView) -> String {
    match (&agent.message, agent.state, agent.has_lease) {
        (Some(message), ..) => message.clone(),
        (None, AgentState::Starts, _) => "its Lease is renewed, and it has reported no condition yet".to_owned(),
        (None, _, true) => "its Lease is not renewed; see systemctl status nodewell on the node".to_owned(),
        (None, _, false) => {
            "its conditions are not written any more; see systemctl status nodewell on the node".to_owned()
        }
    }
}

fn remediation(all: &[RemediationView], page: &Page) -> String {
    if all.is_empty() {
        return String::new();
    }
    let title = format!("Remediation: {}", counted(all.len(), "node"));
    let mut table = Table::new(&["NODE", "PHASE", "AGE", "POLICY", "NEXT", "CAUSE", "BLOCKED BY"]);
    for one in &all[..shown(all.len(), page)] {
        let phase = one.phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
        let cause = if page.is_wide() { one.cause.clone() } else { String::new() };
        let next = one.next.clone().unwrap_or_default();
        table.row(None, [one.node.clone(), phase, page.age(one.since), one.policy.clone(), next, cause, blockers(one)]);
    }
    let more = more(all.len(), page, "--all");
    let why = format!("  kubectl nodewell why {} has the whole story\n", one_line(&all[0].node));
    format!(
        "{}\n{}{more}{}",
        page.look.paint(Paint::Strong, &title),
        table.text(INDENT, look(page)),
        page.look.paint(Paint::Faint, &why)
    )
}

fn blockers(one: &RemediationView) -> String {
    let mut reasons: Vec<&str> = one.blocked_by.iter().map(|blocker| blocker.reason.as_str()).collect();
    reasons.dedup();
    reasons.join(",")
}

/// A title and names in its line; of many the first.
fn named(title: &str, paint: Paint, names: &[String], page: &Page) -> String {
    if names.is_empty() {
        return String::new();
    }
    let most = if page.shows_all() { names.len() } else { NAMES };
    let first: Vec<String> = names.iter().take(most).map(|name| one_line(name)).collect();
    let more = names.len() - first.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more (--all)") };
    let title = format!("{title}: {}", counted(names.len(), "node"));
    format!("{}: {}{more}\n", page.look.paint(paint, &title), first.join(", "))
}

fn healthy(names: &[String], page: &Page) -> String {
    if names.is_empty() || page.shows_all() {
        return named("Healthy", Paint::Good, names, page);
    }
    format!("{}\n", page.look.paint(Paint::Good, &format!("Healthy: {}", counted(names.len(), "node"))))
}

/// How many rows of so many are shown.
fn shown(count: usize, page: &Page) -> usize {
    if page.shows_all() { count } else { count.min(ROWS) }
}

fn more(count: usize, page: &Page, hint: &str) -> String {
    match count - shown(count, page) {
        0 => String::new(),
        more => format!("  … and {more} more ({hint})\n"),
    }
}

fn look(page: &Page) -> Look {
    if page.is_wide() { page.uncut() } else { page.look }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, tz::TimeZone};

    use super::*;
    use crate::{text::Extent, view::fleet::Row};

    /// Types of conditions are whatever a Node has.
    #[test]
    fn no_part_of_a_group_drives_a_terminal() {
        let row = |n: usize| Row {
            node: format!("n{n}"),
            zone: None,
            rack: None,
            since: None,
            reason: "R\u{1b}[2J".to_owned(),
            message: "m\u{9b}2J".to_owned(),
            reported_by: Some("x\u{1b}c".to_owned()),
        };
        let (zones, racks) = (BTreeMap::from([("a\u{1b}[m".to_owned(), 11)]), BTreeMap::new());
        let condition = "Disk\u{1b}[2J".to_owned();
        let group = Group { condition, health: Health::Problem, zones, racks, nodes: (0..11).map(row).collect() };
        let look = Look { colours: false, width: None };
        let page = Page { look, extent: Extent::Folded, now: Timestamp::UNIX_EPOCH, zone: TimeZone::UTC };
        let text = of_group(&group, &page);
        assert!(text.contains("and 1 more (--all, or --condition Disk"), "{text}");
        assert!(text.lines().flat_map(str::chars).all(|sign| !nodewell_printable::is_hidden(sign)), "{text:?}");
    }
}
