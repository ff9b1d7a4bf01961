//! `[[rule]]`: what one kind of line means.

mod clears;
mod decoder;
mod examples;
mod filter;
mod inhibit;
mod keys;
mod patterns;

use nodewell_faults::Decoder;
use nodewell_model::{Action, Name, Severity};

use crate::{
    draft::{Draft, ReaderDraft, RuleDraft, Use},
    reader::built_in,
    report::Report,
    rule::{Counting, FieldFilter, Format, Inhibition, Proof, Rule},
};
use clears::Raises;
use keys::{COUNTS, KEYS, LINES, SOURCE};
use nodewell_settings::{Section, StringAt, TableAt};
use patterns::Patterns;

pub(super) use clears::TABLE as CLEARS;
pub(super) use examples::TABLE as EXAMPLE;
pub(super) use inhibit::TABLE as INHIBIT;
pub(super) use keys::TABLE;

pub(super) const SEVERITIES: [(&str, Severity); 4] =
    [("info", Severity::Info), ("warn", Severity::Warn), ("error", Severity::Error), ("critical", Severity::Critical)];
const KINDS: [(&str, RuleKind); 2] = [("temporary", RuleKind::Temporary), ("permanent", RuleKind::Permanent)];
const PROOFS: [(&str, Proof); 3] =
    [("node-plumbing", Proof::NodePlumbing), ("filesystem", Proof::Filesystem), ("pod", Proof::Pod)];

/// How long a rule's report holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleKind {
    Temporary,
    Permanent,
}

/// What a rule states of itself, beside its patterns.
struct Head<'a> {
    reason: Option<Name>,
    kind: Option<RuleKind>,
    condition: Option<Name>,
    source: StringAt<'a>,
    severity: Option<Severity>,
    action: Option<Action>,
    decoder: Option<Decoder>,
    shows_healthy_condition: bool,
}

pub(super) fn read<'a>(found: TableAt<'a>, draft: &mut Draft, report: &mut Report<'_>) {
    let before = report.count();
    let section = Section::new("[[rule]]", found, &KEYS, report);
    let head = read_head(section, report);
    note_uses(&head, section, draft, report);
    let rule = read_rule(section, head, report);
    if report.count() == before {
        draft.rules.extend(rule);
    }
}

fn read_head<'a>(section: Section<'a>, report: &mut Report<'_>) -> Head<'a> {
    let reason = section.required_name("reason", report);
    let decoder = decoder::read(section, report);
    let kind = if section.has("decoder") { None } else { read_kind(section, report) };
    let actions = Action::ALL.map(|action| (action.as_str(), action));
    Head {
        reason,
        kind,
        condition: read_condition(section, kind, report),
        source: section.string("source", report).unwrap_or(StringAt { text: SOURCE, at: section.at }),
        severity: section.choice("severity", &SEVERITIES, report),
        action: section.choice("action", &actions, report),
        decoder,
        shows_healthy_condition: section.boolean("shows-healthy-condition", report).unwrap_or(true),
    }
}

fn read_kind(section: Section<'_>, report: &mut Report<'_>) -> Option<RuleKind> {
    if !section.has("type") {
        report.error(section.at, "[[rule]] lacks \"type\"; it takes temporary or permanent");
    }
    section.choice("type", &KINDS, report)
}

fn read_condition(section: Section<'_>, kind: Option<RuleKind>, report: &mut Report<'_>) -> Option<Name> {
    match (kind, section.has("condition")) {
        (Some(RuleKind::Permanent), false) => {
            report.error(section.at, "a permanent rule lacks \"condition\": the condition that it turns True");
        }
        (Some(RuleKind::Temporary), true) => {
            let message = "a temporary rule has no \"condition\"; leave it out or write type = \"permanent\"";
            report.error(section.position("condition"), message);
        }
        _ => {}
    }
    if section.has("condition") { section.required_name("condition", report) } else { None }
}

/// What other files may have to declare; looked up when all are read.
fn note_uses(head: &Head<'_>, section: Section<'_>, draft: &mut Draft, report: &Report<'_>) {
    if let Some(condition) = &head.condition {
        draft.uses.push(Use::Condition(condition.clone(), report.location(section.position("condition"))));
    }
    if head.decoder.is_some() {
        draft.uses.extend(decoder::conditions().map(|name| Use::Condition(name, report.location(section.at))));
    }
    if let ReaderDraft::Named(name) = reader(head.source) {
        draft.uses.push(Use::Source(name, report.location(head.source.at)));
    }
}

fn reader(source: StringAt<'_>) -> ReaderDraft {
    match built_in(source.text) {
        Some(one) => ReaderDraft::Known(one.reader.clone()),
        None => ReaderDraft::Named(source.text.to_owned()),
    }
}

/// What a rule looks for and how it proves it, beside its clearing and examples.
struct Body<'a> {
    patterns: Patterns<'a>,
    lines: usize,
    fields: FieldFilter,
    proof: Proof,
    counting: Option<Counting>,
    inhibition: Option<Inhibition>,
    origin: String,
    explain: String,
}

/// All of a rule is read before anything is given up, so that all of its errors are reported.
fn read_rule(section: Section<'_>, head: Head<'_>, report: &mut Report<'_>) -> Option<RuleDraft> {
    let body = read_body(section, report);
    let clears =
        clears::read(section, head.kind, Raises { patterns: &body.patterns, reader: &reader(head.source) }, report);
    let examples = examples::read(section, &clears, report);
    let rule = Rule {
        location: report.location(section.at),
        overridden: None,
        format: Format::Native,
        monitor: monitor(head.source).into(),
        reader: 0,
        reason: head.reason?,
        severity: head.severity.unwrap_or(if head.decoder.is_some() {
            Severity::Warn
        } else {
            default_severity(head.kind?)
        }),
        decoder: head.decoder,
        shows_healthy_condition: head.shows_healthy_condition,
        condition: head.condition,
        patterns: body.patterns.texts(),
        lines: body.lines,
        fields: body.fields,
        proof: body.proof,
        counting: body.counting,
        inhibition: body.inhibition,
        clears,
        action: head.action,
        message_suffix: None,
        lookback: None,
        boot_delay: None,
        origin: body.origin,
        explain: body.explain,
        examples,
    };
    let pattern_lines = body.patterns.words.iter().map(|word| report.line(word.at)).collect();
    Some(RuleDraft { rule, reader: reader(head.source), pattern_lines })
}

fn read_body<'a>(section: Section<'a>, report: &mut Report<'_>) -> Body<'a> {
    let patterns = read_patterns(section, report);
    Body {
        proof: read_proof(section, &patterns, report),
        patterns,
        lines: section.number("lines", LINES, report).map_or(1, |lines| lines as usize),
        fields: filter::read(section, report),
        counting: read_counting(section, report),
        inhibition: inhibit::read(section, report),
        origin: read_prose(section, "origin", report),
        explain: read_prose(section, "explain", report),
    }
}

fn monitor(source: StringAt<'_>) -> &str {
    built_in(source.text).map_or(source.text, |one| one.monitor)
}

/// What lasts is worse than what passed, unless the rule sets a severity.
fn default_severity(kind: RuleKind) -> Severity {
    match kind {
        RuleKind::Temporary => Severity::Warn,
        RuleKind::Permanent => Severity::Error,
    }
}

fn read_patterns<'a>(section: Section<'a>, report: &mut Report<'_>) -> Patterns<'a> {
    if !section.has("pattern") {
        report.error(section.at, "[[rule]] lacks \"pattern\"");
    }
    Patterns::read(section, "pattern", report)
}

fn read_proof(section: Section<'_>, patterns: &Patterns<'_>, report: &mut Report<'_>) -> Proof {
    let proof = section.choice("proof", &PROOFS, report).unwrap_or_default();
    match proof {
        Proof::None => {}
        Proof::NodePlumbing => patterns.must_capture("pid", "proof = \"node-plumbing\"", report),
        Proof::Filesystem => patterns.must_capture("subject", "proof = \"filesystem\"", report),
        Proof::Pod => patterns.must_capture("pod", "proof = \"pod\"", report),
    }
    proof
}

fn read_counting(section: Section<'_>, report: &mut Report<'_>) -> Option<Counting> {
    for (key, needed) in [("count", "window"), ("window", "count"), ("revert", "count")] {
        if section.has(key) && !section.has(needed) {
            report.error(section.position(key), format!("{key:?} needs {needed:?} beside it"));
        }
    }
    let count = section.number("count", COUNTS, report);
    let window = section.duration("window", report);
    let revert = Patterns::read(section, "revert", report).texts();
    Some(Counting { count: count?, window: window?, revert })
}

fn read_prose(section: Section<'_>, key: &str, report: &mut Report<'_>) -> String {
    section.string(key, report).map(|word| word.text.trim().to_owned()).unwrap_or_default()
}
