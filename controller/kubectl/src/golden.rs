//! What is shown of two made-up clusters, held to files: `golden/CLUSTER/objects.json` is what the API server has, the
//! others are what people and programs see. `NODEWELL_GOLDEN=write` writes them from the code, for a person to read.

use std::{env, fs, path::PathBuf};

use jiff::{Timestamp, tz::TimeZone};
use nodewell_remediation::leader_report::KEY;
use serde_json::{Value, json};

use crate::{
    facts::{AgentLease, EventFacts, Facts, NodeFacts, Reading},
    text::{self, Extent, Look, Page},
    view::{
        events::{EventsView, Filter},
        fleet::FleetView,
        node::NodeView,
        why::WhyView,
    },
};

const FAULTS: &str = "faults";
const NO_CONTROLLER: &str = "no-controller";

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn page(extent: Extent, width: Option<usize>) -> Page {
    Page { look: Look { colours: false, width }, extent, now: now(), zone: TimeZone::UTC }
}

fn path(cluster: &str, name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "golden", cluster, name].iter().collect()
}

/// As the API server answers: kinds that are not there are null.
fn facts(cluster: &str) -> Facts {
    let objects: Value = serde_json::from_str(&fs::read_to_string(path(cluster, "objects.json")).unwrap()).unwrap();
    let all = |name: &str| objects[name].as_array().cloned().unwrap_or_default();
    let mut facts = Facts {
        nodes: all("nodes").iter().filter_map(|raw| NodeFacts::read(raw, None)).collect(),
        leases: all("leases").iter().filter_map(AgentLease::read).collect(),
        events: all("events").iter().filter_map(EventFacts::read).collect(),
        ..Facts::default()
    };
    all("nodeFences").into_iter().for_each(|raw| facts.add_record(raw));
    let has_kinds = !objects["nodeFences"].is_null();
    facts.controller.kinds = if has_kinds { Reading::There(()) } else { Reading::Absent };
    let data = if objects["plan"].is_null() { json!({}) } else { json!({ KEY: objects["plan"].to_string() }) };
    facts.set_report(&json!({ "data": data }));
    facts
}

#[track_caller]
fn check(cluster: &str, name: &str, shown: &str) {
    let path = path(cluster, name);
    if env::var_os("NODEWELL_GOLDEN").is_some_and(|mode| mode == "write") {
        fs::write(&path, shown).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, expected, "{} (NODEWELL_GOLDEN=write writes it)", path.display());
}

fn status(cluster: &str, condition: Option<&str>, page: &Page) -> String {
    text::fleet::text(&FleetView::of(&facts(cluster), condition, now()), page)
}

#[test]
fn a_fleet_is_shown_by_what_is_wrong() {
    check(FAULTS, "status.txt", &status(FAULTS, None, &page(Extent::Folded, None)));
    check(FAULTS, "status-wide.txt", &status(FAULTS, Some("KernelDeadlock"), &page(Extent::Wide, Some(40))));
    check(NO_CONTROLLER, "status.txt", &status(NO_CONTROLLER, None, &page(Extent::All, None)));
}

#[test]
fn no_line_of_a_fleet_is_longer_than_a_terminal_of_80_columns() {
    let shown = status(FAULTS, None, &page(Extent::Folded, Some(80)));
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{shown}");
    assert!(rows.iter().any(|row| row.ends_with('…')), "{shown}");
}

#[test]
fn programs_get_everything() {
    let view = FleetView::of(&facts(FAULTS), None, now());
    check(FAULTS, "status.json", &(serde_json::to_string_pretty(&view).unwrap() + "\n"));
}

#[test]
fn a_node_is_shown_in_full() {
    let facts = facts(FAULTS);
    let view = NodeView::of(&facts, facts.node("worker-2").unwrap(), now());
    check(FAULTS, "node-worker-2.txt", &text::node::text(&view, &page(Extent::Folded, Some(80))));
}

#[test]
fn why_it_is_so_is_answered_in_plain_words() {
    for (cluster, node) in [(FAULTS, "worker-2"), (NO_CONTROLLER, "worker-1")] {
        let view = WhyView::of(&facts(cluster), node, now());
        assert!(view.knows_it());
        check(cluster, &format!("why-{node}.txt"), &text::why::text(&view, &page(Extent::Folded, Some(80))));
    }
    assert!(!WhyView::of(&facts(FAULTS), "worker-77", now()).knows_it());
}

#[test]
fn events_are_those_of_nodewell_unless_all_are_asked_for() {
    let facts = facts(FAULTS);
    let shown = |filter: &Filter| EventsView::of(&facts, filter, now());
    check(FAULTS, "events.txt", &text::events::text(&shown(&Filter::default()), &page(Extent::Folded, Some(80))));
    let count = |filter: Filter| shown(&filter).events.len();
    assert_eq!(count(Filter { all: true, ..Filter::default() }), 5);
    assert_eq!(count(Filter { reasons: vec!["DiskFailing".to_owned()], ..Filter::default() }), 1);
    assert_eq!(count(Filter { since: Some(std::time::Duration::from_secs(150)), ..Filter::default() }), 1);
    assert_eq!(count(Filter { node: Some("worker-1".to_owned()), ..Filter::default() }), 0);
}

/// What docs/kubectl.md shows is in these files, line by line; it leaves some out, and cuts long ones by `…`.
#[test]
fn the_page_shows_what_is_printed() {
    let printed =
        ["status.txt", "why-worker-2.txt"].map(|name| fs::read_to_string(path(FAULTS, name)).unwrap()).concat();
    let is_printed = |line: &str| {
        let start = line.split('…').next().unwrap_or_default();
        printed.lines().any(|whole| if line.contains('…') { whole.starts_with(start) } else { whole == line })
    };
    let blocks: Vec<&str> = include_str!("../../../docs/kubectl.md").split("```").collect();
    let shown = blocks.iter().filter_map(|block| block.strip_prefix("text\n"));
    let lines: Vec<&str> = shown.flat_map(str::lines).collect();
    assert!(lines.len() > 20, "{lines:?}");
    let surplus: Vec<&&str> = lines.iter().filter(|line| !is_printed(line)).collect();
    assert!(surplus.is_empty(), "docs/kubectl.md shows what is not printed: {surplus:#?}");
}
