//! The native rule format: TOML tables `[[condition]]`, `[[source]]`, `[[rule]]`, `[[plugin]]` and `[override]`, every error
//! reported at once.
//!
//! Keys are kebab-case and unknown ones are refused. What depends on other files (is this condition declared, is this
//! rule there twice) is checked by `load`.

mod condition;
mod key;
mod overrides;
mod plugin;
mod rule;
mod source;
#[cfg(test)]
mod tests;

use std::path::Path;

use nodewell_settings::{Report, Section, TableAt, tables};
use toml::de::DeTable;

use crate::draft::Draft;

pub use key::{RuleKey, RuleTable};

const KEYS: &[&str] = &["condition", "source", "rule", "plugin", "override"];

/// Every table of rule files, and the tables in them.
pub const TABLES: [RuleTable; 9] = [
    condition::TABLE,
    source::TABLE,
    rule::TABLE,
    rule::CLEARS,
    rule::INHIBIT,
    rule::EXAMPLE,
    plugin::TABLE,
    overrides::TABLE,
    overrides::CLEARS,
];

/// Reads one file's text.
pub(crate) fn read(file: &Path, text: &str) -> Draft {
    read_into(Report::new(file, text), text)
}

/// The same for a text that was proven before: its patterns are parsed once, by what matches them.
pub(crate) fn read_proven(file: &Path, text: &str) -> Draft {
    read_into(Report::of_proven(file, text), text)
}

fn read_into(mut report: Report<'_>, text: &str) -> Draft {
    let mut draft = Draft::default();
    let (document, errors) = DeTable::parse_recoverable(text);
    let sound = errors.iter().filter_map(|error| error.span()).map(|span| span.start).min();
    read_tables(document.get_ref(), &mut draft, &mut report);
    if let Some(first_error) = sound {
        keep_what_stands_before(first_error, text, &mut draft, &mut report);
    }
    for error in &errors {
        report.error(error.span().map_or(0, |span| span.start), format!("not TOML: {}", one_line(error.message())));
    }
    (draft.diagnostics, draft.notes) = report.finish();
    draft
}

fn read_tables<'a>(document: &'a DeTable<'a>, draft: &mut Draft, report: &mut Report<'_>) {
    let file = Section::new("a rule file", TableAt { table: document, at: 0 }, KEYS, report);
    for table in tables(file, "condition", report) {
        condition::read(table, draft, report);
    }
    for table in tables(file, "source", report) {
        source::read(table, draft, report);
    }
    for table in tables(file, "rule", report) {
        rule::read(table, draft, report);
    }
    for table in tables(file, "plugin", report) {
        plugin::read(table, draft, report);
    }
    overrides::read(file, draft, report);
}

/// After a syntax error the parser guesses what was meant. What it guessed is not judged, or one slip would be reported
/// as many; the tables before it are sound.
fn keep_what_stands_before(error: usize, text: &str, draft: &mut Draft, report: &mut Report<'_>) {
    let before = text.get(..error).unwrap_or(text);
    let table_start = before.rfind("\n[").map_or(0, |at| at + 1);
    let sound_lines = report.line(table_start);
    report.diagnostics.retain(|diagnostic| diagnostic.location.line < sound_lines);
    draft.rules.retain(|rule| rule.rule.location.line < sound_lines);
    draft.plugins.retain(|plugin| plugin.location.line < sound_lines);
    draft.overrides.retain(|over| over.location.line < sound_lines);
    draft.uses.retain(|used| used.location().line < sound_lines);
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
