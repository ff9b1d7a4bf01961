//! `inhibit`: lines that show that what the rule finds is meant to happen.

use super::{super::source::owned, filter::check_name, patterns::Patterns};
use crate::{report::Report, rule::Inhibition};
use nodewell_settings::Section;

const KEYS: &[&str] = &["pattern", "field", "all", "until", "window"];
const NEEDED: [&str; 3] = ["pattern", "field", "window"];

pub(super) fn read(rule: Section<'_>, report: &mut Report<'_>) -> Option<Inhibition> {
    let section = Section::new("inhibit", rule.table("inhibit", report)?, KEYS, report);
    for key in NEEDED.into_iter().filter(|key| !section.has(key)) {
        report.error(section.at, format!("\"inhibit\" lacks {key:?}"));
    }
    let field = section.string("field", report);
    if let Some(field) = field {
        check_name(field, report);
    }
    let patterns = Patterns::read(section, "pattern", report).texts();
    let until = Patterns::read(section, "until", report).texts();
    let all = owned(&section.strings("all", report));
    let window = section.duration("window", report);
    Some(Inhibition { patterns, until, field: field?.text.to_owned(), all, window: window? })
}
