//! The guides and the shipped configuration, held to what the programs really take.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use nodewell_agent::config::Config;
use nodewell_settings::{Diagnostic, read_text};

const EVERY_KEY: &str = include_str!("../../../docs/reference/configuration.md");
const SOCKET: &str =
    concat!(include_str!("../../../docs/socket.md"), include_str!("../../../docs/reference/socket.md"));
const GRANTS: &str = include_str!("../../grants.toml");
const SHIPPED: &str = include_str!("../../nodewell.toml");
/// What the socket answers to an unknown path: every route it has.
const ROUTES: &str = include_str!("../../../agent/src/socket/golden/not-found.json");

fn parse(path: &Path, text: &str) -> Result<Config, Vec<Diagnostic>> {
    let mut config = Config::default();
    read_text(&mut config, path, text).map(|_| config)
}

/// The keys that the reader names when it is given one that it cannot know.
fn keys_of(table: &str) -> Vec<String> {
    let text = format!("{table}\nxyzxyzxyz = 1\n");
    let diagnostics = parse(Path::new("nodewell.toml"), &text).err().unwrap_or_default();
    let text = diagnostics.iter().map(ToString::to_string).find(|text| text.contains("xyzxyzxyz")).unwrap_or_default();
    let keys = text.split_once("it takes ").map(|(_, keys)| keys.to_owned()).unwrap_or_default();
    keys.split(", ").filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

/// Each table, with its keys; the first is the file itself.
fn tables() -> Vec<(String, Vec<String>)> {
    let top = keys_of("");
    assert!(top.contains(&"node-name".to_owned()), "{top:?}");
    let mut tables = vec![(String::new(), top.clone())];
    for key in top {
        for head in [format!("[{key}]"), format!("[[{key}]]")] {
            let keys = keys_of(&head);
            if !keys.is_empty() && !keys.contains(&"node-name".to_owned()) {
                tables.push((head, keys));
            }
        }
    }
    assert!(tables.len() > 3, "{tables:?}");
    tables
}

/// The page's chapter on a table; of a table of both programs the agent's is the first.
fn chapter(table: &str) -> &'static str {
    let title = if table.is_empty() { "On top".to_owned() } else { format!("`{table}`") };
    let of_table = |chapter: &'static str| chapter.strip_prefix(title.as_str())?.strip_prefix('\n');
    EVERY_KEY.split("\n### ").find_map(of_table).unwrap_or_else(|| panic!("no page of docs has a chapter on {table}"))
}

/// Whether the page has a chapter on a table of that name, which is in `table`.
fn is_table(table: &str, key: &str) -> bool {
    let place = table.trim_matches(['[', ']']);
    let path = if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    [format!("\n### `[{path}]`\n"), format!("\n### `[[{path}]]`\n")].iter().any(|title| EVERY_KEY.contains(title))
}

#[test]
fn every_key_is_explained_and_shipped_as_a_comment() {
    for (table, keys) in tables() {
        for key in keys {
            let is_listed = chapter(&table).contains(&format!("\n- `{key}`: ")) || is_table(&table, &key);
            assert!(is_listed, "no page of docs says anything of {table} {key}");
            let shipped = [format!("#{key} ="), format!("#[{key}]"), format!("#[[{key}]]")];
            let is_shipped = shipped.iter().any(|words| SHIPPED.contains(words.as_str()));
            assert!(is_shipped, "packaging/nodewell.toml says nothing of {table} {key}");
        }
    }
}

#[test]
fn the_shipped_configuration_changes_nothing_and_is_right_when_uncommented() {
    let path = Path::new("nodewell.toml");
    assert_eq!(parse(path, SHIPPED).unwrap(), Config::default());
    let uncommented: String = SHIPPED
        .lines()
        .map(|line| {
            line.strip_prefix('#').filter(|rest| !rest.starts_with([' ', ':'])).unwrap_or(line).to_owned() + "\n"
        })
        .collect();
    let config = parse(path, &uncommented).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    assert_eq!((config.checks.services.own.len(), config.repair.units.len(), config.grants.len()), (6, 1, 3));
    assert_eq!(config.mutes.len(), 1);
}

#[test]
fn the_example_of_grants_may_be_copied_as_it_is() {
    let settings = parse(Path::new("grants.toml"), GRANTS).unwrap();
    let loaded = nodewell_rules::load(&nodewell_rules::LoadPlan {
        rules: nodewell_rules::RulesFrom::BuiltIn,
        ..nodewell_rules::LoadPlan::default()
    });
    let known = |name: &nodewell_model::Name| loaded.set.conditions.iter().any(|spec| spec.condition == *name);
    let grants = settings.grants;
    assert!(!grants.is_empty());
    assert!(grants.iter().flat_map(nodewell_agent::config::Grant::named).all(known));
}

#[test]
fn every_route_is_explained_and_none_that_is_not_there() {
    let routes: Vec<&str> =
        ROUTES.split_once("there are: ").unwrap().1.split('"').next().unwrap().split(", ").collect();
    for route in &routes {
        assert!(SOCKET.contains(route), "docs/reference/socket.md has no {route}");
    }
    for method in ["GET ", "POST ", "PUT ", "DELETE "] {
        for (at, _) in SOCKET.match_indices(&format!("`{method}")) {
            let said: String = SOCKET[at + 1..].chars().take_while(|&c| c != '`' && c != '?').collect();
            assert!(routes.contains(&said.as_str()), "a page of the socket explains {said}, which is not there");
        }
    }
}
