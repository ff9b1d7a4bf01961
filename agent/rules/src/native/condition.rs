//! `[[condition]]`: one entry of the catalogue.

use nodewell_model::ConditionSpec;

use super::key::{RuleKey, RuleTable, names};
use crate::{
    draft::{ConditionDraft, Draft},
    report::Report,
};
use nodewell_settings::{Section, TableAt};

pub(super) const TABLE: RuleTable = RuleTable {
    name: "[[condition]]",
    about: "A condition of the catalogue. Several files may declare one, in the same words.",
    keys: LISTED,
};
const LISTED: &[RuleKey] = &[
    RuleKey::new("type", "a CamelCase name", "Its type on the Node.").required(),
    RuleKey::new("healthy-reason", "a CamelCase name", "Its reason while nothing is wrong.").required(),
    RuleKey::new("healthy-message", "a string", "Its message while nothing is wrong.").required(),
    RuleKey::new("meaning", "a string", "What True means, for `nodewell explain`."),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);

pub(super) fn read<'a>(found: TableAt<'a>, draft: &mut Draft, report: &mut Report<'_>) {
    let section = Section::new("[[condition]]", found, &KEYS, report);
    let condition = section.required_name("type", report);
    let healthy_reason = section.required_name("healthy-reason", report);
    let healthy_message = section.required("healthy-message", report).map(|word| word.text.to_owned());
    let meaning = section.string("meaning", report).map(|word| word.text.trim().to_owned()).unwrap_or_default();
    match (condition, healthy_reason, healthy_message) {
        (Some(condition), Some(healthy_reason), Some(healthy_message)) => draft.conditions.push(ConditionDraft {
            spec: ConditionSpec { condition, healthy_reason, healthy_message },
            meaning,
            location: report.location(section.at),
        }),
        (Some(condition), ..) => draft.broken.push(condition.as_str().to_owned()),
        _ => {}
    }
}
