//! A log-counter becomes a counting rule: no program, no journal reopened every five minutes, and a count that goes
//! down with time.

use std::time::Duration;

use super::{
    super::{json::Text, plugin, rules},
    flags::{Flags, Known},
    task::Meaning,
};
use crate::{
    Reader,
    draft::{ReaderDraft, RuleDraft},
    explain,
    report::Report,
    rule::{Clears, Counting, Examples, FieldFilter, Format, Proof, Rule},
};

const KNOWN: Known<'_> = Known {
    program: "log-counter",
    values: &["journald-source", "log-path", "lookback", "delay", "pattern", "revert-pattern", "count"],
    switches: &[],
};
/// Its buffer; a pattern over several lines sees no more of them here.
const MOST_LINES: usize = 64;
const MOST_COUNTED: u32 = 10_000;

/// The rule; `None` after an error.
pub(super) fn read(args: &[Text], meaning: &Meaning<'_>, report: &mut Report<'_>) -> Option<RuleDraft> {
    let flags = Flags::read(args, &KNOWN, report);
    let pattern = pattern(&flags, meaning.at, report);
    let counting = counting(&flags, meaning, report);
    let boot_delay = flags.duration("delay", report).filter(|delay| !delay.is_zero());
    let (reader, fields) = source(&flags, meaning.at, report)?;
    let (pattern, lines) = pattern?;
    let counting = counting?;
    note(&counting, meaning, report);
    let rule = Rule {
        location: report.location(meaning.at),
        overridden: None,
        format: Format::Npd,
        monitor: meaning.source.clone(),
        reader: 0,
        reason: meaning.reason.clone(),
        severity: meaning.severity,
        condition: meaning.condition.clone(),
        decoder: None,
        shows_healthy_condition: true,
        patterns: vec![pattern.text],
        lines,
        fields,
        proof: Proof::None,
        clears: clears(meaning),
        lookback: Some(counting.window),
        counting: Some(counting),
        inhibition: None,
        action: None,
        message_suffix: None,
        boot_delay,
        origin: format!("Node Problem Detector configuration {}", report.file().display()),
        explain: String::new(),
        examples: Examples::default(),
    };
    Some(RuleDraft { rule, reader, pattern_lines: vec![report.line(pattern.at)] })
}

/// A count that is not reached any more ends the problem; so does a new boot.
fn clears(meaning: &Meaning<'_>) -> Clears {
    Clears { boot: meaning.condition.is_some(), ..Clears::default() }
}

fn note(counting: &Counting, meaning: &Meaning<'_>, report: &mut Report<'_>) {
    let window = crate::duration::shown(counting.window);
    let mut message = format!(
        "log-counter is not run: {} is a rule that counts lines as they come, to {} within {window}",
        meaning.reason, counting.count
    );
    if let Some(condition) = &meaning.condition {
        let ways = explain::ways(&clears(meaning)).join(", ");
        message += &format!("; {condition} ends when there were fewer within {window}, {ways}");
    }
    report.note(meaning.at, message);
}

fn source(flags: &Flags<'_>, at: usize, report: &mut Report<'_>) -> Option<(ReaderDraft, FieldFilter)> {
    let Some(source) = flags.text("journald-source") else {
        report.error(at, "log-counter needs --journald-source, the SYSLOG_IDENTIFIER to read");
        return None;
    };
    let directory = flags.text("log-path").and_then(|path| plugin::journal_in(path, report));
    if source.text == "kernel" && directory.is_none() {
        report.note(source.at, "the kernel's lines are read from the kernel log itself; user space cannot forge one");
        return Some((ReaderDraft::Known(Reader::Kmsg), FieldFilter::default()));
    }
    Some((ReaderDraft::Known(Reader::Journal { directory }), plugin::identified(source, report)))
}

fn pattern(flags: &Flags<'_>, at: usize, report: &mut Report<'_>) -> Option<(Text, usize)> {
    let Some(found) = flags.text("pattern") else {
        report.error(at, "log-counter needs --pattern");
        return None;
    };
    let pattern = Text { text: found.text.clone(), at: found.at };
    let lines = rules::judge_pattern(&pattern, MOST_LINES, report)?;
    Some((pattern, lines))
}

fn counting(flags: &Flags<'_>, meaning: &Meaning<'_>, report: &mut Report<'_>) -> Option<Counting> {
    let count = count(flags, report);
    let window = flags.duration("lookback", report).filter(|lookback| !lookback.is_zero());
    let revert = flags.text("revert-pattern");
    let revert_is_sound = revert.is_none_or(|revert| rules::judge_pattern(revert, 1, report).is_some());
    let window = window.unwrap_or_else(|| without_lookback(meaning, report));
    let revert = revert.map(|revert| revert.text.clone()).into_iter().collect();
    revert_is_sound.then_some(Counting { count: count?, window, revert })
}

fn without_lookback(meaning: &Meaning<'_>, report: &mut Report<'_>) -> Duration {
    let interval = crate::duration::shown(meaning.interval);
    let message =
        format!("without --lookback log-counter counts nothing; here it counts over the interval, {interval}");
    report.note(meaning.at, message);
    meaning.interval
}

/// One is its default.
fn count(flags: &Flags<'_>, report: &mut Report<'_>) -> Option<u32> {
    let Some(text) = flags.text("count") else { return Some(1) };
    let count = text.text.parse().ok().filter(|count| (1..=MOST_COUNTED).contains(count));
    if count.is_none() {
        report.error(text.at, format!("--count takes a number from 1 to {MOST_COUNTED}"));
    }
    count
}
