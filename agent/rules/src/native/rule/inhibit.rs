//! `inhibit`: lines that show that what the rule finds is meant to happen.

use super::{
    super::{
        key::{RuleKey, RuleTable, names},
        source::owned,
    },
    filter::check_name,
    patterns::Patterns,
};
use crate::{report::Report, rule::Inhibition};
use nodewell_settings::Section;

pub(in crate::native) const TABLE: RuleTable = RuleTable {
    name: "[rule.inhibit]",
    about: "Lines that show that what the rule finds is meant to happen. Of their subject it is not reported from a \
            line of `pattern` on to one of `until`, a new boot, or for `window`.",
    keys: LISTED,
};
const LISTED: &[RuleKey] = &[
    RuleKey::new("pattern", "a regex or a list of them", "Lines that begin it.").required(),
    RuleKey::new("field", "a journal field", "It names the subject of these lines.").required(),
    RuleKey::new("all", "a string or a list of strings", "Subjects that stand for every one."),
    RuleKey::new("until", "a regex or a list of them", "Lines that end it."),
    RuleKey::new("window", "a duration", "It ends by itself after so long.").required(),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);
const NEEDED: [&str; 3] = ["pattern", "field", "window"];

pub(super) fn read(rule: Section<'_>, report: &mut Report<'_>) -> Option<Inhibition> {
    let section = Section::new("inhibit", rule.table("inhibit", report)?, &KEYS, report);
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
