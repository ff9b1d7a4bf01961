//! `clears`: how a permanent rule's problem ends. A rule that cannot end is an error.

use super::{
    super::key::{RuleKey, RuleTable, names},
    RuleKind,
    patterns::Patterns,
};
use crate::{
    Reader,
    draft::ReaderDraft,
    report::Report,
    rule::{Clears, RecoveryCheck},
};
use nodewell_settings::{Section, kind::words};

pub(in crate::native) const TABLE: RuleTable = RuleTable {
    name: "[rule.clears]",
    about: "How a permanent problem ends, by at least one way; mostly written as `clears = { boot = true }`. A restart \
            of the agent ends none.",
    keys: LISTED,
};
const LISTED: &[RuleKey] = &[
    RuleKey::new(
        "pattern",
        "a regex or a list of them",
        "A recovery line: of the same subject, if it captures one. The rule's `where` holds for it, too.",
    ),
    RuleKey::new("quiet", "a duration", "Nothing new for so long."),
    RuleKey::new("boot", "true or false", "A new boot; if unset, true for rules of the kernel log."),
    RuleKey::of(
        "check",
        || words(&RecoveryCheck::ALL.map(RecoveryCheck::as_str)),
        "A look at the host; the pattern has to capture `subject`.",
    ),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);

/// How the rule raises what is to end.
#[derive(Clone, Copy)]
pub(super) struct Raises<'a> {
    pub(super) patterns: &'a Patterns<'a>,
    pub(super) reader: &'a ReaderDraft,
}

pub(super) fn read(rule: Section<'_>, kind: Option<RuleKind>, raises: Raises<'_>, report: &mut Report<'_>) -> Clears {
    if !rule.has("clears") && kind == Some(RuleKind::Permanent) {
        report.error(rule.at, "a permanent rule lacks \"clears\": how its problem ends (pattern, quiet, boot, check)");
    }
    if rule.has("clears") && kind == Some(RuleKind::Temporary) {
        report.error(rule.position("clears"), "a temporary rule has no \"clears\": an event does not last");
    }
    let Some(found) = rule.table("clears", report) else { return Clears::default() };
    let section = Section::new("clears", found, &KEYS, report);
    let (clears, has_way) = read_ways(section, raises.reader, report);
    if !has_way {
        report.error(section.at, "\"clears\" names no way to end; say pattern, quiet, boot = true or check");
    }
    if !rule.has("decoder") {
        check_subjects(section, raises.patterns, report);
    } else if section.has("pattern") {
        report.error(section.position("pattern"), "the decoder knows which lines end a problem: leave \"pattern\" out");
    }
    clears
}

/// The ways, and whether the rule itself named one.
fn read_ways(section: Section<'_>, reader: &ReaderDraft, report: &mut Report<'_>) -> (Clears, bool) {
    let checks = RecoveryCheck::ALL.map(|check| (check.as_str(), check));
    let boot = section.boolean("boot", report);
    let clears = Clears {
        patterns: Patterns::read(section, "pattern", report).texts(),
        quiet: section.duration("quiet", report),
        // What the kernel reported of itself does not outlive the kernel.
        boot: boot.unwrap_or(*reader == ReaderDraft::Known(Reader::Kmsg)),
        check: section.choice("check", &checks, report),
    };
    let has_way = ["pattern", "quiet", "check"].iter().any(|key| section.has(key)) || boot == Some(true);
    (clears, has_way)
}

/// A recovery that names a subject, or a check that looks at one, needs problems that have one.
fn check_subjects(section: Section<'_>, patterns: &Patterns<'_>, report: &mut Report<'_>) {
    if report.is_proven() {
        return;
    }
    if section.has("check") {
        patterns.must_capture("subject", "\"check\"", report);
    }
    // Its errors were reported when it was read.
    let recovery = Patterns::read(section, "pattern", &mut Report::new(report.file(), ""));
    if let Some(at) = recovery.with_subject()
        && patterns.with_subject().is_none()
    {
        report.error(at, "the recovery captures a subject, but the rule's pattern has no (?P<subject>…)");
    }
}
