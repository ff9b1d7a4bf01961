//! `matches`, `ignores` and `recovers`: the lines that prove a rule.

use toml::{Spanned, de::DeValue};

use super::super::key::{RuleKey, RuleTable, names};
use crate::{
    report::Report,
    rule::{Clears, Example, Examples},
};
use nodewell_settings::{Section, TableAt, section::wrong_type};

pub(in crate::native) const TABLE: RuleTable = RuleTable {
    name: "[[rule.matches]]",
    about: "An example as a table, mostly written as `{ text = 'the line' }`; the same in `ignores` and `recovers`.",
    keys: LISTED,
};
const LISTED: &[RuleKey] = &[
    RuleKey::new("text", "a string", "The line, or several.").required(),
    RuleKey::new("subject", "a string", "The subject that has to be found."),
    RuleKey::new("reason", "a string", "The reason that has to be found, where a decoder chooses it."),
    RuleKey::new("fields", "a table of strings", "Fields of the record, for rules that ask for them."),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);

pub(super) fn read(rule: Section<'_>, clears: &Clears, report: &mut Report<'_>) -> Examples {
    if !rule.has("matches") {
        report.error(rule.at, "[[rule]] lacks \"matches\": at least one line that it must find");
    }
    check_recovers(rule, clears, report);
    Examples {
        matches: read_list(rule, "matches", report),
        ignores: read_list(rule, "ignores", report),
        recovers: read_list(rule, "recovers", report),
    }
}

fn check_recovers(rule: Section<'_>, clears: &Clears, report: &mut Report<'_>) {
    match (rule.has("recovers"), clears.patterns.is_empty()) {
        // Its decoder knows what ends.
        _ if rule.has("decoder") => {}
        (true, true) => {
            report.error(rule.position("recovers"), "\"recovers\" needs a recovery: clears = { pattern = '…' }");
        }
        (false, false) => {
            let message = "a rule with a recovery pattern lacks \"recovers\": at least one line that ends the problem";
            report.error(rule.position("clears"), message);
        }
        _ => {}
    }
}

fn read_list(rule: Section<'_>, key: &str, report: &mut Report<'_>) -> Vec<Example> {
    let items = rule.array(key, report);
    if items.is_empty() && rule.value(key).is_some_and(|value| value.get_ref().is_array()) {
        report.error(rule.position(key), format!("{key:?} must not be empty"));
    }
    items.iter().filter_map(|item| read_example(item, key, report)).collect()
}

fn read_example(item: &Spanned<DeValue<'_>>, key: &str, report: &mut Report<'_>) -> Option<Example> {
    let at = item.span().start;
    match item.get_ref() {
        DeValue::String(text) if text.is_empty() => report.error(at, format!("{key:?} must not hold an empty line")),
        DeValue::String(text) => return Some(plain(text, report.line(at))),
        DeValue::Table(table) => return read_table(TableAt { table, at }, report),
        _ => wrong_type(key, "strings or tables { text = '…' }", item, report),
    }
    None
}

fn plain(text: &str, line: usize) -> Example {
    Example { text: text.to_owned(), subject: None, reason: None, fields: Vec::new(), line }
}

fn read_table<'a>(found: TableAt<'a>, report: &mut Report<'_>) -> Option<Example> {
    let section = Section::new("an example", found, &KEYS, report);
    let text = section.required("text", report);
    let subject = section.string("subject", report).map(|word| word.text.to_owned());
    let reason = section.string("reason", report).map(|word| word.text.to_owned());
    let fields = read_fields(section, report);
    let text = text?;
    Some(Example { subject, reason, fields, ..plain(text.text, report.line(text.at)) })
}

fn read_fields(section: Section<'_>, report: &mut Report<'_>) -> Vec<(String, String)> {
    let Some(found) = section.table("fields", report) else { return Vec::new() };
    let mut fields = Vec::new();
    for (name, value) in found.table {
        match value.get_ref().as_str() {
            Some(text) => fields.push((name.get_ref().to_string(), text.to_owned())),
            None => wrong_type(name.get_ref(), "a string", value, report),
        }
    }
    fields
}
