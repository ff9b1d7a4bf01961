//! `rules`: patterns and what they mean.

use nodewell_model::{Name, Severity};
use regex_syntax::{
    ast::{self, Ast},
    hir::{Hir, Look},
};

use super::{
    Monitor,
    json::{Object, Text},
    names, recovery, translate_re2,
};
use crate::{
    draft::RuleDraft,
    explain, pattern,
    report::Report,
    rule::{Clears, Examples, Format, Proof, Rule},
};

const KEYS: [&str; 5] = ["type", "condition", "reason", "pattern", "patternGeneratedMessageSuffix"];

/// The good rules of a file.
pub(super) fn read(file: &Object<'_>, monitor: &Monitor, report: &mut Report<'_>) -> Vec<RuleDraft> {
    let objects = file.objects("rules", report);
    objects.iter().filter_map(|object| read_rule(object, monitor, report)).collect()
}

fn read_rule(object: &Object<'_>, monitor: &Monitor, report: &mut Report<'_>) -> Option<RuleDraft> {
    object.note_unknown(&KEYS, report);
    let reason = names::read("reason", &object.text("reason", report), report);
    let condition = read_condition(object, report);
    let pattern = object.text("pattern", report);
    let lines = judge_pattern(&pattern, monitor.lines, report);
    let suffix = object.text("patternGeneratedMessageSuffix", report).text;
    let clears = condition.as_ref().map(|condition| recovers(object, condition, report)).unwrap_or_default();
    let pattern_lines = vec![report.line(pattern.at)];
    let rule = Rule {
        location: report.location(object.at),
        overridden: None,
        format: Format::Npd,
        monitor: monitor.name.clone(),
        reader: 0,
        reason: reason?,
        severity: if condition.is_some() { Severity::Error } else { Severity::Warn },
        condition,
        decoder: None,
        shows_healthy_condition: true,
        patterns: vec![pattern.text],
        lines: lines?,
        fields: monitor.plugin.fields.clone(),
        proof: Proof::None,
        counting: None,
        inhibition: None,
        clears,
        action: None,
        message_suffix: (!suffix.is_empty()).then_some(suffix),
        lookback: Some(monitor.lookback),
        boot_delay: monitor.boot_delay,
        origin: format!("Node Problem Detector configuration {}", report.file().display()),
        explain: String::new(),
        examples: Examples::default(),
    };
    Some(RuleDraft { rule, reader: monitor.plugin.reader.clone(), pattern_lines })
}

/// The condition of a permanent rule. Anything that is not `temporary` is permanent.
fn read_condition(object: &Object<'_>, report: &mut Report<'_>) -> Option<Name> {
    let kind = object.text("type", report);
    if kind.text == "temporary" {
        return None;
    }
    if kind.text != "permanent" {
        let shown: String = kind.text.chars().take(64).collect();
        report.note(kind.at, format!("type {shown:?} counts as permanent, as Node Problem Detector has it"));
    }
    let condition = object.text("condition", report);
    if condition.text.is_empty() {
        report.note(kind.at, "a permanent rule without a condition: reported as an event only");
        return None;
    }
    names::read("condition", &condition, report)
}

fn recovers(object: &Object<'_>, condition: &Name, report: &mut Report<'_>) -> Clears {
    let clears = recovery::of(condition.as_str());
    let ways = explain::ways(&clears).join(", ");
    report.note(
        object.position("type"),
        format!("{condition} ends {ways}; in Node Problem Detector it stays True until that restarts"),
    );
    clears
}

/// How many lines the pattern must see, at most `window`; `None` after an error.
pub(super) fn judge_pattern(text: &Text, window: usize, report: &mut Report<'_>) -> Option<usize> {
    if text.text.is_empty() {
        report.error(text.at, "an empty \"pattern\" matches every line");
        return None;
    }
    let parsed = pattern::parse(Format::Npd, &text.text);
    let hir =
        parsed.inspect_err(|error| report.error(text.at, format!("invalid regex in \"pattern\": {error}"))).ok()?;
    if pattern::matches_everything(&hir) {
        report.note(text.at, format!("the pattern matches every line: {:?}", text.text));
    }
    if is_bare_alternation(&text.text) {
        let message = "an earlier branch of a|b fires once, for the line it is in; Node Problem Detector finds that line \
                    again with every further one until it leaves the buffer";
        report.note(text.at, message);
    }
    // A pattern that cannot cross a newline sees the newest line only: the same matches for less work.
    let several = pattern::may_match_newline(&hir);
    if !several && window > 1 && is_anchored(&hir) {
        let message =
            "^ is the start of the line; in Node Problem Detector it is the start of the oldest line of the buffer";
        report.note(text.at, message);
    }
    Some(if several { window } else { 1 })
}

fn is_anchored(hir: &Hir) -> bool {
    hir.properties().look_set().contains(Look::Start)
}

fn is_bare_alternation(pattern: &str) -> bool {
    let Ok(translated) = translate_re2(pattern) else { return false };
    matches!(ast::parse::Parser::new().parse(&translated), Ok(Ast::Alternation(_)))
}
