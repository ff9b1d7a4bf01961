//! Screens of several sizes, as text.

use std::sync::Arc;

use nodewell_model::{
    ConditionStatus, Name, Severity,
    view::{ApiserverState, ApiserverView, ConditionView, NodeView, ProblemView},
};

use super::*;

fn at(ago_secs: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 - ago_secs).unwrap()
}

fn look(columns: usize, rows: usize) -> Look {
    Look { width: Some(columns), height: rows, ..Look::PLAIN }
}

/// A condition with as many problems, an unknown one, and 30 that are well.
fn node(problems: usize) -> NodeView {
    let condition = |status, reason, problems| ConditionView {
        condition: Name::fixed("DiskUnhealthy"),
        status,
        reason: Name::fixed(reason),
        message: "critical medium error".to_owned(),
        transition: at(7200),
        problems,
    };
    let problem = |n: usize| ProblemView {
        id: n.to_string(),
        reason: Name::fixed("IOError"),
        subject: Some(format!("sd{n}")),
        severity: Severity::Error,
        since: at(7200),
        last_seen: at(125),
        count: 7,
        message: format!("critical medium error, dev sd{n}, sector 42"),
        source: "kernel-monitor".to_owned(),
        action: None,
        unconfirmed_since: None,
        test: false,
        muted_until: None,
        false_positive: None,
    };
    let well: Vec<Arc<ConditionView>> = vec![condition(ConditionStatus::False, "DiskIsHealthy", Vec::new()).into(); 30];
    let unknown = condition(ConditionStatus::Unknown, "MonitorStale", Vec::new()).into();
    let sick = condition(ConditionStatus::True, "IOError", (0..problems).map(problem).collect()).into();
    let conditions = if problems == 0 { well } else { [well, vec![unknown, sick]].concat() };
    let message = String::new();
    NodeView {
        node: "node-1".to_owned(),
        conditions,
        daemons: Vec::new(),
        apiserver: ApiserverView { state: ApiserverState::Disabled, last_success: None, message, undelivered: 0 },
        hardware: Vec::new(),
        refused: Vec::new(),
        mutes: Vec::new(),
        configuration: None,
    }
}

fn event(id: u64) -> EventView {
    EventView {
        id,
        severity: Severity::Warn,
        timestamp: at(60 - i64::try_from(id).unwrap()),
        reason: Name::fixed("OOMKilling"),
        message: format!("event {id} \u{1b}[2J\u{202e} of many words that go on and on"),
        subject: None,
        source: "kernel-monitor".to_owned(),
        condition: None,
        count: 1,
        test: false,
    }
}

fn frame(view: &NodeView, failure: Option<&str>, look: Look) -> Frame {
    let events: Vec<EventView> = (1..=20).map(event).collect();
    framed(view, &events, failure, Extent::Folded, look)
}

fn framed(view: &NodeView, events: &[EventView], failure: Option<&str>, extent: Extent, look: Look) -> Frame {
    let account = Account::whole(view.clone());
    Frame::new(&Content { account: &account, events, failure, asked: at(12), extent }, at(0), look)
}

/// Without colours, as many columns as a terminal counts.
fn is_within(line: &str, columns: usize) -> bool {
    line.chars().count() <= columns
}

#[test]
fn every_field_is_shown_within_the_terminal() {
    let frame = framed(&node(40), &[], None, Extent::Wide, look(60, 20));
    assert!(frame.body.iter().all(|line| is_within(line, 60)), "{:#?}", frame.body);
    assert!(frame.body.iter().any(|line| line.contains("by kernel-monitor, id")), "{:#?}", frame.body);
}

#[test]
fn events_without_room_are_not_denied() {
    let small = frame(&node(40), Some("gone"), look(80, 9)).lines(0);
    assert!(small.iter().any(|line| line == "No room for events"), "{small:#?}");
    let none = framed(&node(0), &[], None, Extent::Folded, look(80, 24)).lines(0);
    assert!(none.iter().any(|line| line == "No event since the agent started"), "{none:#?}");
}

#[test]
fn twenty_rows_show_problems_and_events_and_how_many_more_there_are() {
    let frame = frame(&node(40), None, look(80, 20));
    let lines = frame.lines(0);
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[0], "node-1: 40 problems, 1 unknown, standalone (no API server)");
    assert!(lines[3].starts_with("DiskUnhealthy  True "), "{lines:#?}");
    assert!(lines[4].contains("sd0"), "{lines:#?}");
    let more = lines.iter().position(|line| line.starts_with("↓ ")).unwrap();
    let seen = lines[2..more].len();
    assert!(seen >= 8, "{lines:#?}");
    let rest: usize = lines[more].split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(rest + seen, frame.body.len(), "none is left out: {lines:#?}");
    let events: Vec<&String> = lines.iter().filter(|line| line.contains("OOMKilling")).collect();
    assert!(events.len() >= EVENTS_MIN && events[0].contains("event 20 "), "the newest first: {lines:#?}");
    assert_eq!(lines[19], "q quit  ↑↓ scroll  a all");
}

#[test]
fn the_last_page_ends_with_the_last_line_and_every_line_can_be_seen() {
    let frame = frame(&node(40), None, look(80, 20));
    let last = frame.lines(frame.last_first_line());
    assert!(last.iter().any(|line| line.starts_with("Healthy: 30 conditions")), "{last:#?}");
    assert!(last.iter().any(|line| line.starts_with("↑ ")), "{last:#?}");
    let mut seen = String::new();
    let mut first = 0;
    while first <= frame.last_first_line() {
        seen += &frame.lines(first).join("\n");
        first += frame.page();
    }
    seen += &last.join("\n");
    (0..40).for_each(|n| assert!(seen.contains(&format!("  sd{n}  ")), "sd{n} is on no page"));
    assert!(frame.page() < 20);
}

#[test]
fn a_healthy_node_leaves_the_screen_to_events() {
    let lines = frame(&node(0), None, look(80, 24)).lines(0);
    assert_eq!(lines.len(), 24);
    assert_eq!(
        lines[..3],
        ["node-1: no problem, standalone (no API server)", "", "Healthy: 30 conditions (--all lists them)"]
    );
    assert!(lines.iter().filter(|line| line.contains("OOMKilling")).count() >= 15, "{lines:#?}");
}

#[test]
fn an_agent_that_went_away_is_reported_and_what_was_known_stays() {
    let lines = frame(&node(2), Some("nothing answers on /run/x"), look(60, 24)).lines(0);
    assert_eq!(lines[0], "as of 12s ago: nothing answers on /run/x");
    assert!(lines.iter().any(|line| line.contains("sd1")), "{lines:#?}");
}

#[test]
fn no_size_and_no_text_breaks_the_screen() {
    for columns in [20, 25, 30, 40, 60, 80, 120] {
        for rows in [0, 1, 2, 3, 5, 8, 9, 12, 20, 60] {
            for problems in [0, 1, 40] {
                let frame = frame(&node(problems), Some("\u{1b}[31mgone"), look(columns, rows));
                for first in [0, 1, frame.last_first_line()] {
                    let lines = frame.lines(first);
                    assert_eq!(lines.len(), rows, "{columns}x{rows}");
                    for line in lines {
                        assert!(!line.contains(nodewell_printable::is_hidden), "{line:?}");
                        assert!(is_within(&line, columns), "{columns}: {line}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_small_screen_shows_what_is_wrong_alone() {
    let lines = frame(&node(2), None, look(80, 6)).lines(0);
    assert!(lines[0].starts_with("node-1: 2 problems"), "{lines:#?}");
    assert!(lines[2].starts_with("DiskUnhealthy  True"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("OOMKilling")), "{lines:#?}");
}
