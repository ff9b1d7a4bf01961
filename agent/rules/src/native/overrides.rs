//! `[override.REASON]`: what holds of every rule of a reason, wherever the rule stands.

use nodewell_model::Name;
use nodewell_settings::{Section, TableAt};

use super::rule::SEVERITIES;
use crate::{
    draft::{Draft, EndDraft, KindDraft, OverrideDraft, Use},
    report::Report,
};

const KEYS: &[&str] = &["severity", "type", "condition", "clears"];
const CLEARS: &[&str] = &["quiet", "boot"];

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
    let section = Section::new("[override]", found, KEYS, report);
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
    let kind = section.choice("type", &[("temporary", Kind::Temporary), ("permanent", Kind::Permanent)], report);
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
    let ends = Section::new("clears", found, CLEARS, report);
    let (quiet, boot) = (ends.duration("quiet", report), ends.boolean("boot", report));
    if quiet.is_none() && boot != Some(true) {
        report.error(ends.at, "\"clears\" names no way to end; say quiet or boot = true");
    }
    Some(EndDraft { quiet, boot })
}
