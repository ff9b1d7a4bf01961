//! The fleet: what is wrong on top, what is unknown below it, and what is well in one line.

use std::collections::BTreeMap;

use nodewell_remediation::facts::FENCE_READY;

use super::{
    Page, controller, counted,
    fold::{self, Line},
    look::{Look, Paint, one_line},
    notes,
    table::Table,
};
use crate::view::{
    agent::{AgentState, AgentView},
    fleet::{Counts, FleetView, Group, READY, Row, SilentNode},
    health::Health,
    remediation::RemediationView,
};

/// Rows of one block before the rest is a number.
pub(super) const ROWS: usize = 10;
/// Names in a line, zones and racks of a title.
const NAMES: usize = 10;
const PLACES: usize = 4;
/// Conditions whose ages differ by more are not alike: one row shows the age of all.
const ALIKE_SECS: i64 = 300;
/// Conditions in the title of one block.
const TITLES: usize = 3;
const INDENT: usize = 2;

pub(crate) fn text(view: &FleetView, page: &Page) -> String {
    let head = format!("{}{}", header(view, page), controller::lines(&view.controller, page));
    let mut blocks = vec![head];
    blocks.extend(alike(&view.conditions, page).iter().map(|groups| of_groups(groups, page)));
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

/// Conditions of which the same is said of the same nodes are one block: an agent that is blind leaves a dozen Unknown.
/// Where all is asked for, each has its own.
fn alike<'a>(all: &'a [Group], page: &Page) -> Vec<Vec<&'a Group>> {
    if page.shows_all() {
        return all.iter().map(|group| vec![group]).collect();
    }
    let mut blocks: Vec<Vec<&Group>> = Vec::new();
    let mut places: BTreeMap<(bool, Vec<Said<'_>>), usize> = BTreeMap::new();
    for group in all {
        let mut rows: Vec<Said<'_>> = group.nodes.iter().map(said).collect();
        rows.sort();
        let place = *places.entry((group.health == Health::Problem, rows)).or_insert(blocks.len());
        match blocks.get_mut(place) {
            Some(block) => block.push(group),
            None => blocks.push(vec![group]),
        }
    }
    blocks
}

/// What a row shows; its age about.
type Said<'a> = (&'a str, &'a str, &'a str, Option<&'a str>, Option<i64>);

fn said(row: &Row) -> Said<'_> {
    let since = row.since.map(|since| since.as_second() / ALIKE_SECS);
    (&row.node, &row.reason, &row.message, row.reported_by.as_deref(), since)
}

fn of_groups(groups: &[&Group], page: &Page) -> String {
    let names: Vec<String> = groups.iter().take(TITLES).map(|group| name(group)).collect();
    let more = groups.len() - names.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more (--all)") };
    groups.first().map(|group| of_group(group, &format!("{}{more}", names.join(", ")), page)).unwrap_or_default()
}

fn of_group(group: &Group, name: &str, page: &Page) -> String {
    let paint = if group.health == Health::Problem { Paint::Bad } else { Paint::Warning };
    let places = [places("zone", &group.zones), places("rack", &group.racks)];
    let places: String = places.into_iter().filter(|_| group.nodes.len() > 1).collect();
    let title = format!("{name}: {}{places}", counted(group.nodes.len(), "node"));
    let mut table = Table::new(&["NODE", "ZONE", "RACK", "AGE", "REASON", "REPORTED BY", "MESSAGE"]);
    let hint = format!("--all, or --condition {} -o wide", one_line(&group.condition));
    let (rows, left) = fold::rows(group.nodes.iter().map(|row| of_row(row, page)).collect(), page, &hint);
    rows.into_iter().for_each(|cells| table.row(None, cells));
    format!("{}\n{}{left}", page.look.paint(paint, &title), table.text(INDENT, look(page)))
}

fn of_row(row: &Row, page: &Page) -> Line {
    Line {
        node: row.node.clone(),
        zone: row.zone.clone().unwrap_or_default(),
        rack: row.rack.clone().unwrap_or_default(),
        age: page.age(row.since),
        said: vec![row.reason.clone(), row.reported_by.clone().unwrap_or_default(), row.message.clone()],
    }
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
    let (rows, left) = fold::rows(nodes.iter().map(|one| of_silent(one, page)).collect(), page, "--all");
    rows.into_iter().for_each(|cells| table.row(None, cells));
    format!("{}\n{}{left}", page.look.paint(Paint::Warning, &title), table.text(INDENT, look(page)))
}

fn of_silent(one: &SilentNode, page: &Page) -> Line {
    Line {
        node: one.node.clone(),
        zone: one.zone.clone().unwrap_or_default(),
        rack: one.rack.clone().unwrap_or_default(),
        age: one.agent.last_seen.map_or_else(|| "never".to_owned(), |seen| page.age(Some(seen))),
        said: vec![silence(&one.agent)],
    }
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
        let restored = || one.restored_at.map(|_| "given back".to_owned());
        let next = one.next.clone().or_else(restored).unwrap_or_default();
        table.row(None, [one.node.clone(), phase, page.age(one.since), one.policy.clone(), next, cause, blockers(one)]);
    }
    let more = more(all.len() - shown(all.len(), page), "--all");
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

/// About so many that are left out.
pub(super) fn more(count: usize, hint: &str) -> String {
    if count == 0 { String::new() } else { format!("  … and {count} more ({hint})\n") }
}

fn look(page: &Page) -> Look {
    if page.is_wide() { page.uncut() } else { page.look }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, tz::TimeZone};

    use super::*;
    use crate::text::Extent;

    fn page(extent: Extent) -> Page {
        let look = Look { colours: false, width: Some(200) };
        Page { look, extent, now: Timestamp::UNIX_EPOCH, zone: TimeZone::UTC }
    }

    fn row(node: usize, message: &str) -> Row {
        Row {
            node: format!("n{node}"),
            zone: None,
            rack: None,
            since: None,
            reason: "R\u{1b}[2J".to_owned(),
            message: message.to_owned(),
            reported_by: Some("x\u{1b}c".to_owned()),
        }
    }

    fn group(nodes: Vec<Row>) -> Group {
        let (zones, racks) = (BTreeMap::from([("a\u{1b}[m".to_owned(), 11)]), BTreeMap::new());
        Group { condition: "Disk\u{1b}[2J".to_owned(), health: Health::Problem, zones, racks, nodes }
    }

    #[test]
    fn a_message_that_many_nodes_have_is_there_once() {
        let group = group((0..22).map(|node| row(node, "it hangs")).collect());
        let count = |extent: Extent| of_groups(&[&group], &page(extent)).matches("it hangs").count();
        assert_eq!((count(Extent::Folded), count(Extent::All), count(Extent::Wide)), (1, 1, 22));
        let all = of_groups(&[&group], &page(Extent::All));
        assert!((0..22).all(|node| all.contains(&format!("  n{node} "))), "{all}");
    }

    #[test]
    fn conditions_of_which_the_same_is_said_are_one_block() {
        let named = |name: &str, message: &str, since: i64| {
            let since = Some(Timestamp::from_second(since).unwrap());
            let nodes = [1, 2].map(|node| Row { since, ..row(node, message) }).into();
            Group { condition: name.to_owned(), health: Health::Unknown, nodes, ..group(Vec::new()) }
        };
        let mut all: Vec<Group> = ["A", "B", "C", "D"].map(|name| named(name, "no kernel log", -60)).into();
        all.insert(1, named("Other", "no disk", -60));
        all.push(named("Older", "no kernel log", -600));
        let blocks = |extent: Extent| {
            let page = page(extent);
            let titles = alike(&all, &page).into_iter().map(|groups| of_groups(&groups, &page));
            titles.map(|text| text.split(':').next().unwrap_or_default().to_owned()).collect::<Vec<String>>()
        };
        let folded = ["A unknown, B unknown, C unknown and 1 more (--all)", "Other unknown", "Older unknown"];
        assert_eq!(blocks(Extent::Folded), folded);
        assert_eq!(blocks(Extent::All).len(), 6);
    }

    #[test]
    fn what_is_said_of_many_silent_agents_is_there_once() {
        let agent = AgentView { state: AgentState::Silent, last_seen: None, has_lease: true, message: None };
        let one = |node: usize| SilentNode { node: format!("n{node}"), zone: None, rack: None, agent: agent.clone() };
        let nodes: Vec<SilentNode> = (0..22).map(one).collect();
        for extent in [Extent::Folded, Extent::All] {
            let text = silent(&nodes, &page(extent));
            assert_eq!(text.matches("its Lease is not renewed").count(), 1, "{text}");
        }
    }

    #[test]
    fn a_long_message_is_whole_in_each_row_of_a_pipe_and_as_long_as_the_line_on_a_terminal() {
        let message = ["word"; 60].join(" ");
        let group = group((0..2).map(|node| row(node, &message)).collect());
        let rows = |extent: Extent, width: Option<usize>| {
            let page = Page { look: Look { colours: false, width }, ..page(extent) };
            let shown = of_groups(&[&group], &page);
            shown.lines().filter(|line| line.starts_with("  n")).map(str::to_owned).collect::<Vec<String>>()
        };
        let are_whole =
            |rows: &[String]| rows.len() == 2 && rows.iter().all(|row| row.ends_with(&format!("  {message}")));
        for extent in [Extent::Folded, Extent::All, Extent::Wide] {
            let piped = rows(extent, None);
            assert!(are_whole(&piped), "{extent:?}: {piped:?}");
        }
        for width in [60, 80, 120] {
            for extent in [Extent::Folded, Extent::All] {
                let shown = rows(extent, Some(width));
                let [first, second] = shown.as_slice() else { panic!("{shown:?}") };
                assert_eq!((first.chars().count(), first.ends_with('…')), (width, true), "{extent:?}: {first}");
                assert!(second.ends_with("  as above"), "{extent:?}: {second}");
            }
            let wide = rows(Extent::Wide, Some(width));
            assert!(are_whole(&wide), "{width}: {wide:?}");
        }
    }

    /// Types of conditions are whatever a Node has.
    #[test]
    fn no_part_of_a_group_drives_a_terminal() {
        let group = group((0..11).map(|node| row(node, &format!("m{node}\u{9b}2J"))).collect());
        let text = of_groups(&[&group], &page(Extent::Folded));
        assert!(text.contains("and 1 more (--all, or --condition Disk"), "{text}");
        assert!(text.lines().flat_map(str::chars).all(|sign| !nodewell_printable::is_hidden(sign)), "{text:?}");
    }
}
