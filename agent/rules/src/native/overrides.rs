//! `[override.REASON]`: what holds of every rule of a reason, wherever the rule stands.

use nodewell_model::Name;
use nodewell_settings::{Section, TableAt};

use super::{
    key::{RuleKey, RuleTable, choices, names},
    rule::SEVERITIES,
};
use crate::{
    draft::{Draft, EndDraft, KindDraft, OverrideDraft, Use},
    report::Report,
};

pub(super) const TABLE: RuleTable = RuleTable {
    name: "[override.REASON]",
    about: "What holds of every rule of a reason, wherever the rule stands. It changes one thing at least.",
    keys: LISTED,
};
pub(super) const CLEARS: RuleTable = RuleTable {
    name: "[override.REASON.clears]",
    about: "How its problems end, by at least one way; mostly written as `clears = { quiet = \"1h\" }`.",
    keys: ENDS,
};
const LISTED: &[RuleKey] = &[
    RuleKey::of("severity", || choices(&SEVERITIES), "Of its problems or Events."),
    RuleKey::of(
        "type",
        || choices(&KINDS),
        "`temporary`: its problems become Events. `permanent` needs `condition`, which alone does the same.",
    ),
    RuleKey::new(
        "condition",
        "a CamelCase name",
        "What its problems hold True from now on. Its Events become problems; these need `clears`.",
    ),
    RuleKey::new(
        "clears",
        "a table, `[override.REASON.clears]`",
        "In place of all ends that the rules had; needs `condition`.",
    ),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);
const ENDS: &[RuleKey] = &[
    RuleKey::new("quiet", "a duration", "Nothing new for so long."),
    RuleKey::new("boot", "true or false", "A new boot; if unset, true for rules of the kernel log."),
];
const END_KEYS: [&str; ENDS.len()] = names(ENDS);
const KINDS: [(&str, Kind); 2] = [("temporary", Kind::Temporary), ("permanent", Kind::Permanent)];

/// How long a report of the rule holds from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Temporary,
    Permanent,
}

/// All of one file.
pub(super) fn read(file: Section<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    let Some(found) = file.table("override", report) else { return };
    for (key, value) in found.table {
        let at = key.span().start;
        let Some(table) = value.get_ref().as_table() else {
            report.error(at, "[override] takes a table for each reason, such as [override.KernelOops]");
            continue;
        };
        match Name::new(key.get_ref()) {
            Ok(reason) => read_one(reason, TableAt { table, at }, draft, report),
            Err(error) => report.error(at, format!("[override.{}]: {error}", key.get_ref())),
        }
    }
}

fn read_one(reason: Name, found: TableAt<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    let before = report.count();
    let section = Section::new("[override]", found, &KEYS, report);
    if !KEYS.iter().any(|key| section.has(key)) {
        report.error(section.at, format!("[override.{reason}] changes nothing; it takes {}", KEYS.join(", ")));
    }
    let severity = section.choice("severity", &SEVERITIES, report);
    let kind = read_kind(section, draft, report);
    if report.count() == before {
        draft.overrides.push(OverrideDraft { reason, location: report.location(section.at), severity, kind });
    }
}

fn read_kind(section: Section<'_>, draft: &mut Draft, report: &mut Report<'_>) -> Option<KindDraft> {
    let kind = section.choice("type", &KINDS, report);
    let condition = section.has("condition").then(|| section.required_name("condition", report)).flatten();
    let clears = read_clears(section, report);
    match kind {
        Some(Kind::Temporary) => {
            for key in ["condition", "clears"].into_iter().filter(|key| section.has(key)) {
                report.error(section.position(key), format!("an event has no {key:?}; leave it or the type out"));
            }
            return Some(KindDraft::Temporary);
        }
        Some(Kind::Permanent) if !section.has("condition") => {
            report.error(
                section.position("type"),
                "type = \"permanent\" lacks \"condition\": the one that it turns True",
            );
        }
        None if section.has("clears") && !section.has("condition") => {
            report.error(section.position("clears"), "\"clears\" needs \"condition\" beside it");
        }
        Some(Kind::Permanent) | None => {}
    }
    let condition = condition?;
    draft.uses.push(Use::Condition(condition.clone(), report.location(section.position("condition"))));
    Some(KindDraft::Permanent { condition, clears })
}

/// The ways to end that need no look at the rule's own lines.
fn read_clears(section: Section<'_>, report: &mut Report<'_>) -> Option<EndDraft> {
    let found = section.table("clears", report)?;
    let ends = Section::new("clears", found, &END_KEYS, report);
    let (quiet, boot) = (ends.duration("quiet", report), ends.boolean("boot", report));
    if quiet.is_none() && boot != Some(true) {
        report.error(ends.at, "\"clears\" names no way to end; say quiet or boot = true");
    }
    Some(EndDraft { quiet, boot })
}
