//! `[[plugin]]`: a program that is run at intervals.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use nodewell_model::{Name, Severity, text::MESSAGE_LIMIT_BYTES};
use nodewell_settings::{
    Kind, Section, StringAt, TableAt,
    kind::{Bool, Count, Number, Time, quoted, words},
};

use super::{
    key::{RuleKey, RuleTable, choices, names},
    rule::SEVERITIES,
    source::{check_spelling, owned, spelling},
};
use crate::{
    draft::{Draft, Use},
    plugin::{PluginMonitor, PluginTask, Protocol, Task},
    report::Report,
    rule::Format,
};

pub(super) const TABLE: RuleTable =
    RuleTable { name: "[[plugin]]", about: "A program that is run at intervals.", keys: LISTED };
const LISTED: &[RuleKey] = &[
    RuleKey::of("name", spelling, "Once on the node.").required(),
    RuleKey::new("command", "an absolute path, or a list of it and its arguments", "What is executed, by no shell.")
        .required(),
    RuleKey::of("protocol", || words(&PROTOCOLS.map(Protocol::as_str)), "What its exit status means.")
        .without(|| Some(quoted(PROTOCOL.as_str()))),
    RuleKey::of("interval", || Time::from(SHORTEST_INTERVAL).takes(), "Between two starts.")
        .without(|| Time::ANY.shown(&INTERVAL)),
    RuleKey::of(
        "timeout",
        || Time::ANY.to(LONGEST_TIMEOUT).takes(),
        "Then it is killed, with all that it has started.",
    )
    .without(|| Time::ANY.shown(&TIMEOUT)),
    RuleKey::new("condition", "a CamelCase name", "It turns True; without one a bad result is an Event."),
    RuleKey::new("reason", "a CamelCase name", "Of the problem or Event.").required(),
    RuleKey::of(
        "severity",
        || choices(&SEVERITIES),
        "If unset, error, of Events warn. Of a warning by Nagios' protocol it is never more than warn.",
    ),
    RuleKey::new("subject", "one plain line", "What of the node it is about; if unset, the node as a whole."),
    RuleKey::of("output-limit", || Count(output_limits()).takes(), "How many bytes of its output are shown.")
        .without(|| Count(output_limits()).shown(&OUTPUT_LIMIT_BYTES)),
    RuleKey::of("skip-initial", || Bool.takes(), "Whether nothing is reported before it was once ill.")
        .without(|| Bool.shown(&false)),
    RuleKey::of(
        "follow-message",
        || Bool.takes(),
        "Whether a problem's message changes with the output; else the first one stays.",
    )
    .without(|| Bool.shown(&false)),
    RuleKey::of("failures", || Number(IN_A_ROW).takes(), "So many bad results in a row begin a problem.")
        .without(|| Number(IN_A_ROW).shown(&1)),
    RuleKey::of("successes", || Number(IN_A_ROW).takes(), "So many good ones in a row end it.")
        .without(|| Number(IN_A_ROW).shown(&1)),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);
const PROTOCOLS: [Protocol; 2] = [Protocol::Npd, Protocol::Nagios];
const PROTOCOL: Protocol = Protocol::Npd;
/// The problem daemon that native plug-ins are.
const SOURCE: &str = "plugins";
const INTERVAL: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(10);
/// A start costs a few milliseconds of CPU; no state of health changes more often than this.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
/// One that runs for longer is a daemon, and reports over the socket.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
/// A line of a terminal or two; the most is what an Event's message holds.
const OUTPUT_LIMIT_BYTES: usize = 256;
const IN_A_ROW: RangeInclusive<u32> = 1..=1000;

pub(super) fn read<'a>(found: TableAt<'a>, draft: &mut Draft, report: &mut Report<'_>) {
    let before = report.count();
    let section = Section::new("[[plugin]]", found, &KEYS, report);
    let condition = section.has("condition").then(|| section.required_name("condition", report)).flatten();
    if let Some(condition) = &condition {
        draft.uses.push(Use::Condition(condition.clone(), report.location(section.position("condition"))));
    }
    let task = read_task(section, condition, report);
    let skip_initial = section.boolean("skip-initial", report).unwrap_or_default();
    let follows_message = section.boolean("follow-message", report).unwrap_or_default();
    let monitor = task.map(|task| PluginMonitor {
        location: report.location(section.at),
        format: Format::Native,
        source: SOURCE.into(),
        concurrency: 1,
        skip_initial,
        follows_message,
        tasks: vec![task],
    });
    if report.count() == before {
        draft.plugins.extend(monitor);
    }
}

/// All of it is read before anything is given up, so that all errors are reported.
fn read_task(section: Section<'_>, condition: Option<Name>, report: &mut Report<'_>) -> Option<PluginTask> {
    let name = section.required("name", report).inspect(|name| check_spelling(*name, report));
    let reason = section.required_name("reason", report);
    let command = read_command(section, report);
    let default = if condition.is_some() { Severity::Error } else { Severity::Warn };
    let task = PluginTask {
        location: report.location(section.at),
        name: name.map(|name| name.text.to_owned()).unwrap_or_default(),
        task: Task::Run {
            path: PathBuf::from(command.first().map_or("", |word| word.text)),
            args: owned(command.get(1..).unwrap_or_default()),
            protocol: read_protocol(section, report),
        },
        reason: reason?,
        condition,
        severity: section.choice("severity", &SEVERITIES, report).unwrap_or(default),
        subject: read_subject(section, report),
        interval: read_interval(section, report),
        timeout: read_timeout(section, report),
        output_limit_bytes: read_output_limit(section, report),
        failures: section.number("failures", IN_A_ROW, report).unwrap_or(1),
        successes: section.number("successes", IN_A_ROW, report).unwrap_or(1),
    };
    Some(task)
}

/// No shell reads it.
fn read_command<'a>(section: Section<'a>, report: &mut Report<'_>) -> Vec<StringAt<'a>> {
    if !section.has("command") {
        report.error(section.at, "[[plugin]] lacks \"command\": [\"/path\", \"argument\", …]");
    }
    let command = section.strings("command", report);
    if let Some(path) = command.first().filter(|path| !path.text.starts_with('/')) {
        let hint = if path.text.contains(' ') { "; no shell reads it" } else { "" };
        report.error(path.at, format!("\"command\" begins with an absolute path, not {:?}{hint}", path.text));
    }
    for word in command.iter().filter(|word| word.text.contains('\0')) {
        report.error(word.at, "\"command\" must not hold a NUL");
    }
    command
}

fn read_protocol(section: Section<'_>, report: &mut Report<'_>) -> Protocol {
    let known = PROTOCOLS.map(|protocol| (protocol.as_str(), protocol));
    section.choice("protocol", &known, report).unwrap_or(PROTOCOL)
}

fn read_subject(section: Section<'_>, report: &mut Report<'_>) -> Option<String> {
    let word = section.has("subject").then(|| section.required("subject", report)).flatten()?;
    let shown = nodewell_model::text::subject(word.text.as_bytes());
    if shown != word.text {
        report.error(word.at, format!("\"subject\" is one plain line, such as {shown:?}"));
    }
    Some(shown)
}

fn read_interval(section: Section<'_>, report: &mut Report<'_>) -> Duration {
    let interval = section.duration("interval", report).unwrap_or(INTERVAL);
    if interval < SHORTEST_INTERVAL {
        report.error(section.position("interval"), "\"interval\" must be at least 1s");
    }
    interval
}

fn read_timeout(section: Section<'_>, report: &mut Report<'_>) -> Duration {
    let timeout = section.duration("timeout", report).unwrap_or(TIMEOUT);
    if timeout > LONGEST_TIMEOUT {
        let message = "\"timeout\" must be at most 1h; what runs for longer reports over the socket";
        report.error(section.position("timeout"), message);
    }
    timeout
}

fn read_output_limit(section: Section<'_>, report: &mut Report<'_>) -> usize {
    let limit = section.number("output-limit", output_limits(), report);
    limit.map_or(OUTPUT_LIMIT_BYTES, |limit| limit as usize)
}

fn output_limits() -> RangeInclusive<u32> {
    1..=u32::try_from(MESSAGE_LIMIT_BYTES).unwrap_or(u32::MAX)
}
