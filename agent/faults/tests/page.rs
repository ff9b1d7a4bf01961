//! `docs/xids.md`, held to the tables.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use nodewell_faults::{Tables, codes::Codes, xid::Meaning};

const PAGE: &str = include_str!("../../../docs/xids.md");

fn row(meaning: &Meaning) -> String {
    let conditions: Vec<String> = meaning.conditions().iter().map(ToString::to_string).collect();
    let by_line = if meaning.fatal.is_some() { " (when its line says so)" } else { "" };
    let action = meaning.fatal.as_ref().map_or(meaning.action, |fatal| fatal.action).as_str();
    format!("| {} | `{}` | {}{by_line} | {action} |", meaning.code, meaning.reason, conditions.join(", "))
}

/// The codes that hold a condition.
fn table(codes: &Codes) -> String {
    let mut text = "| code | reason | holds | action |\n|---|---|---|---|\n".to_owned();
    for meaning in codes.all().filter(|meaning| !meaning.conditions().is_empty()) {
        writeln!(text, "{}", row(&meaning)).unwrap();
    }
    text
}

fn part(name: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("<!-- {name} -->\n")).unwrap();
    rest.split_once("<!-- end -->").unwrap().0
}

#[test]
fn the_page_shows_every_xid_that_holds_a_condition() {
    let expected = table(Tables::shipped().xids.codes());
    assert_eq!(part("xids"), expected, "docs/xids.md should have:\n{expected}");
}

#[test]
fn the_page_shows_the_switches_codes_that_are_fatal_by_themselves() {
    let always = |meaning: &Meaning| meaning.condition.is_some();
    let codes: Vec<String> =
        Tables::shipped().sxids.codes().all().filter(always).map(|meaning| meaning.code.to_string()).collect();
    assert_eq!(part("sxids").split_whitespace().collect::<String>(), codes.join(","));
}
