//! Configurations as their keys declare them: the files that the packages install, the reference, and the schemas.

use nodewell_agent::config::Config;
use nodewell_controller::config::Settings as ControllerSettings;
use nodewell_settings::{ListedTable, Shown};
use serde_json::{Value, json};

use crate::schema;

const AGENT_HEAD: &str = "\
#:schema file:///usr/share/nodewell/nodewell.schema.json

# nodewelld's configuration: every key, with its default. nodewell.toml(5) explains them.
# Set yours in a file of its own, /etc/nodewell/nodewell.toml.d/NAME.toml, and upgrades never ask about this one. A key
# of a table stands below the table's line there, too.
# `nodewell check` reports every error, `nodewell config show` what holds; `systemctl reload nodewell` reads rules,
# grants and mutes again, a restart everything.
";
const CONTROLLER_HEAD: &str = "\
#:schema file:///usr/share/nodewell-controller/nodewell-controller.schema.json

# The controller's configuration: every key, with its default or an example.
# Set yours in a file of its own, /etc/nodewell/nodewell-controller.toml.d/NAME.toml, and upgrades never ask about this
# one. A key of a table stands below the table's line there, too: kubeconfig, namespace and cluster mean something else
# without it. `nodewell-controller check` reports every error with its line.
";
const PAGE_HEAD: &str = "\
# Configuration: every key

**For:** people who set a key of the agent or the controller.\\
**Afterwards:** you know what each is for, what it takes, and what holds without it.

`nodewell-pages reference` writes this page from the keys as the programs declare them; `nodewell config show -o wide`
shows the agent's on a node, with their values. [configuration.md](../configuration.md) says how files are read.
";
/// What stands there any number of times: behind which table, its name, and how the shipped file shows it.
const LISTS: [(&str, &str, &str); 4] = [
    ("[services]", "service", include_str!("../lists/services.toml")),
    ("[repair]", "repair.unit", include_str!("../lists/repair.toml")),
    ("[socket]", "grant", include_str!("../lists/grant.toml")),
    ("[socket]", "mute", include_str!("../lists/mute.toml")),
];
/// As wide as all that is read in a terminal.
const WIDTH: usize = 118;
/// What a value shows by itself.
const PLAIN: [&str; 6] = ["true or false", "a path", "a string", "a duration", "a list of paths", "a list of strings"];

/// packaging/nodewell.toml.
pub(crate) fn agents_file() -> String {
    format!("{AGENT_HEAD}{}", file(&agents()))
}

/// packaging/nodewell-controller.toml.
pub(crate) fn controllers_file() -> String {
    format!("{CONTROLLER_HEAD}{}", file(&controllers()))
}

/// docs/reference/configuration.md.
pub(crate) fn page() -> String {
    let (agent, controller) = (section(&agents(), &Config::listed()), section(&controllers(), &[]));
    format!("{PAGE_HEAD}\n## nodewell.toml\n{agent}\n## nodewell-controller.toml\n{controller}")
}

/// packaging/schema/nodewell.schema.json.
pub(crate) fn agents_schema() -> String {
    let mut schema = schema::of("nodewell.toml", &agents(), &Config::listed());
    let socket = &mut schema["properties"]["socket"];
    // `socket = "PATH"` is short for its `path` alone.
    let (table, path): (Value, Value) = (socket.clone(), socket["properties"]["path"].clone());
    *socket = json!({ "anyOf": [table, path] });
    format!("{schema:#}\n")
}

/// packaging/schema/nodewell-controller.schema.json.
pub(crate) fn controllers_schema() -> String {
    format!("{:#}\n", schema::of("nodewell-controller.toml", &controllers(), &[]))
}

fn agents() -> Vec<Shown> {
    Config::default().entries(&[]).into_iter().map(|entry| entry.shown).collect()
}

fn controllers() -> Vec<Shown> {
    ControllerSettings::default().shown()
}

fn file(keys: &[Shown]) -> String {
    let mut text = String::new();
    for keys in keys.chunk_by(|one, next| one.table == next.table) {
        let table = keys[0].table;
        text.push('\n');
        if is_table(table) {
            text += &format!("{}#{table}\n", comment(keys[0].about));
        }
        for key in keys {
            text += &format!("{}#{} = {}\n", comment(&help(key)), key.key, value(key));
        }
        for (.., list) in LISTS.iter().filter(|(behind, ..)| *behind == table) {
            text += &format!("\n{list}");
        }
    }
    text
}

fn section(keys: &[Shown], listed: &[ListedTable]) -> String {
    let mut text = String::new();
    for keys in keys.chunk_by(|one, next| one.table == next.table) {
        let table = keys[0].table;
        let name = if is_table(table) { format!("`{table}`") } else { "On top".to_owned() };
        text += &format!("\n### {name}\n{}\n\n", keys[0].about);
        text.extend(keys.iter().map(|key| item(key.key, key.help, &key.takes, &default(key.usual.as_deref()))));
        for (_, name, _) in LISTS.iter().filter(|(behind, ..)| *behind == table) {
            text.extend(listed.iter().filter(|table| table.name == *name).map(chapter));
        }
    }
    text
}

fn chapter(table: &ListedTable) -> String {
    let mut text = format!("\n### `[[{}]]`\n{}\n\n", table.name, table.about);
    for key in &table.keys {
        let without = if key.is_required { "required".to_owned() } else { default(key.usual.as_deref()) };
        text += &item(key.name, key.help, &key.takes, &without);
    }
    text
}

/// A key of a page: what it is for, what it takes, and what is without it.
pub(crate) fn item(name: &str, help: &str, takes: &str, without: &str) -> String {
    format!("- `{name}`: {help} Takes {takes}; {without}.\n")
}

pub(crate) fn default(usual: Option<&str>) -> String {
    usual.map_or("default: none".to_owned(), |usual| format!("default: `{usual}`"))
}

/// Whether this is a table's name, and not that of what stands in none.
pub(crate) fn is_table(name: &str) -> bool {
    name.starts_with('[')
}

/// What it is for, and what it takes where its value does not show that.
fn help(key: &Shown) -> String {
    if PLAIN.contains(&key.takes.as_str()) {
        return key.help.to_owned();
    }
    format!("{} ({}).", key.help.trim_end_matches('.'), key.takes)
}

/// An example where nothing is usual, or too much to be read.
fn value(key: &Shown) -> &str {
    if key.example.is_empty() { key.usual.as_deref().unwrap_or("\"\"") } else { key.example }
}

fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = "#".to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &format!("{line}\n");
            line = "#".to_owned();
        }
        line += &format!(" {word}");
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_table_that_may_stand_several_times() {
        let page = page();
        for table in Config::listed() {
            assert!(page.contains(&chapter(&table)), "LISTS does not say behind which table [[{}]] is", table.name);
        }
    }

    #[test]
    fn the_files_of_the_packages_and_the_reference_are_these() {
        for (committed, made, how) in [
            (include_str!("../../nodewell.toml"), agents_file(), "config"),
            (include_str!("../../nodewell-controller.toml"), controllers_file(), "controller-config"),
            (include_str!("../../../docs/reference/configuration.md"), page(), "reference"),
            (include_str!("../../schema/nodewell.schema.json"), agents_schema(), "schema"),
            (include_str!("../../schema/nodewell-controller.schema.json"), controllers_schema(), "controller-schema"),
        ] {
            assert_eq!(committed, made, "write it: nodewell-pages {how}");
        }
    }
}
