//! Native rules, plug-ins, sources and conditions as the TOML of a rule file.

use nodewell_model::{ConditionSpec, Severity};
use nodewell_printable::is_hidden;
use nodewell_settings::kind::quoted;

use super::convert::NativePlugin;
use crate::{
    duration,
    plugin::Task,
    rule::{Clears, Example, FileReader, Rule},
};

/// A table under construction: a line for each key.
struct TableText(String);

impl TableText {
    fn new(name: &str) -> Self {
        Self(format!("[[{name}]]\n"))
    }

    fn set(&mut self, key: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!("{key} = {value}\n"));
    }

    fn set_if(&mut self, is_set: bool, key: &str, value: impl std::fmt::Display) {
        if is_set {
            self.set(key, value);
        }
    }
}

pub(super) fn condition(spec: &ConditionSpec) -> String {
    let mut table = TableText::new("condition");
    table.set("type", string(spec.condition.as_str()));
    table.set("healthy-reason", string(spec.healthy_reason.as_str()));
    table.set("healthy-message", string(&spec.healthy_message));
    table.0
}

pub(super) fn source(file: &FileReader) -> String {
    let mut table = TableText::new("source");
    table.set("name", string(&file.name));
    table.set("paths", list(&file.paths, |path| string(path)));
    table.set("timestamp", string(file.timestamp.name()));
    if let Some(message) = &file.message {
        table.set("message", literal(message));
    }
    table.set_if(!file.skip.is_empty(), "skip", list(&file.skip, |part| string(part)));
    table.0
}

pub(super) fn rule(rule: &Rule, source: &str) -> String {
    let mut table = TableText::new("rule");
    table.set("reason", string(rule.reason.as_str()));
    table.set("type", string(if rule.condition.is_some() { "permanent" } else { "temporary" }));
    if let Some(condition) = &rule.condition {
        table.set("condition", string(condition.as_str()));
    }
    table.set("source", string(source));
    table.set("severity", string(rule.severity.as_str()));
    table.set("pattern", list(&rule.patterns, |pattern| literal(pattern)));
    table.set_if(rule.lines > 1, "lines", rule.lines);
    table.set_if(!rule.fields.require.is_empty(), "where", fields(&rule.fields.require));
    if let Some(counting) = &rule.counting {
        table.set("count", counting.count);
        table.set("window", string(&duration::shown(counting.window)));
        table.set_if(!counting.revert.is_empty(), "revert", list(&counting.revert, |pattern| literal(pattern)));
    }
    table.set_if(rule.condition.is_some(), "clears", clears(&rule.clears));
    table.set("origin", string(&rule.origin));
    table.set_if(!rule.explain.is_empty(), "explain", string(&rule.explain));
    table.set("matches", list_of(&rule.examples.matches, example));
    table.0
}

fn clears(clears: &Clears) -> String {
    let ways = [
        clears.quiet.map(|quiet| format!("quiet = {}", string(&duration::shown(quiet)))),
        clears.check.map(|check| format!("check = {}", string(check.as_str()))),
        Some(format!("boot = {}", clears.boot)),
    ];
    format!("{{ {} }}", ways.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn fields(require: &[(String, Vec<String>)]) -> String {
    let field = |(name, values): &(String, Vec<String>)| format!("{name} = {}", list(values, |value| string(value)));
    format!("{{ {} }}", require.iter().map(field).collect::<Vec<_>>().join(", "))
}

fn example(example: &Example) -> String {
    if example.fields.is_empty() {
        return string(&example.text);
    }
    let fields: Vec<String> =
        example.fields.iter().map(|(name, value)| format!("{name} = {}", string(value))).collect();
    format!("{{ text = {}, fields = {{ {} }} }}", string(&example.text), fields.join(", "))
}

pub(super) fn plugin(plugin: &NativePlugin) -> String {
    let NativePlugin { task, skip_initial, follows_message } = plugin;
    let mut table = TableText::new("plugin");
    table.set("name", string(&task.name));
    if let Task::Run { path, args, .. } = &task.task {
        let command: Vec<String> = std::iter::once(path.display().to_string()).chain(args.iter().cloned()).collect();
        table.set("command", format!("[{}]", command.iter().map(|word| string(word)).collect::<Vec<_>>().join(", ")));
    }
    table.set("interval", string(&duration::shown(task.interval)));
    table.set("timeout", string(&duration::shown(task.timeout)));
    if let Some(condition) = &task.condition {
        table.set("condition", string(condition.as_str()));
    }
    table.set("reason", string(task.reason.as_str()));
    table.set_if(
        task.severity != default_severity(task.condition.is_some()),
        "severity",
        string(task.severity.as_str()),
    );
    table.set("output-limit", task.output_limit_bytes);
    table.set_if(*skip_initial, "skip-initial", true);
    table.set_if(*follows_message, "follow-message", true);
    table.0
}

fn default_severity(holds_condition: bool) -> Severity {
    if holds_condition { Severity::Error } else { Severity::Warn }
}

/// A basic string. What is hidden in it is an escape: the text is foreign, and people review what is written.
pub(super) fn string(text: &str) -> String {
    let shown = |sign: char| match u32::from(sign) {
        _ if !is_hidden(sign) => sign.to_string(),
        code if code > 0xffff => format!("\\U{code:08X}"),
        code => format!("\\u{code:04X}"),
    };
    quoted(text).chars().map(shown).collect()
}

/// A literal string, in which a pattern stands as it is, where it can be one.
fn literal(text: &str) -> String {
    if text.contains('\'') || text.contains(is_hidden) { string(text) } else { format!("'{text}'") }
}

fn list(items: &[String], written: impl Fn(&String) -> String) -> String {
    match items {
        [one] => written(one),
        items => list_of(items, written),
    }
}

fn list_of<T>(items: &[T], written: impl Fn(&T) -> String) -> String {
    match items {
        [one] => format!("[{}]", written(one)),
        items => format!("[\n{}]", items.iter().map(|item| format!("    {},\n", written(item))).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_back_as_they_were() {
        let hidden = "\u{85}\u{202e}\u{200b}\u{2028}\\\u{feff}\u{e0041}";
        for text in ["", "plain", "it's", "a\\d+\"x\"", "tab\tnewline\n", "\u{7f}\u{1b}", "'''", "é中", "\\", hidden]
        {
            for written in [string(text), literal(text)] {
                assert!(!written.contains(is_hidden), "{written:?}");
                let table: toml::Table = format!("a = {written}").parse().unwrap();
                assert_eq!(table["a"].as_str(), Some(text), "{written}");
            }
        }
        assert_eq!(literal(r"\d+ (x)"), r"'\d+ (x)'");
    }
}
