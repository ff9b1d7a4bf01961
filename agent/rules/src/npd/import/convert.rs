//! One rule or plug-in of Node Problem Detector's as a native one, and what is different by that.

use std::time::Duration;

use regex_syntax::hir::Hir;

use super::pattern;
use crate::{
    draft::ReaderDraft,
    duration,
    pattern::{always_captures, parse},
    plugin::{PluginMonitor, PluginTask, Task},
    rule::{Counting, Example, Examples, FileReader, Format, Reader, Rule, TimestampFormat},
};

/// As many lines as a native rule may see.
const MOST_LINES: usize = 64;
/// What a native plug-in may ask for.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// Where a native rule's lines come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Kmsg,
    Journal,
    File(FileReader),
}

/// A native rule, or plug-in, and what people should know of it.
#[derive(Debug, Clone)]
pub(super) struct Converted<T> {
    pub(super) native: T,
    pub(super) changes: Vec<String>,
}

/// A native rule and its source.
#[derive(Debug, Clone)]
pub(super) struct NativeRule {
    pub(super) rule: Rule,
    pub(super) source: Source,
}

/// A native plug-in: what its table has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NativePlugin {
    pub(super) task: PluginTask,
    pub(super) skip_initial: bool,
    pub(super) follows_message: bool,
}

/// The native rule; `lines` are known to match it.
///
/// # Errors
/// Why there is none, and what to do.
pub(super) fn rule(npd: &Rule, reader: &ReaderDraft, lines: &[String]) -> Result<Converted<NativeRule>, String> {
    if npd.boot_delay.is_some() {
        return Err("a native rule has no \"delay\": it counts lines of the first minutes after a boot, too".to_owned());
    }
    let source = source(reader)?;
    let seen = npd.lines.min(MOST_LINES);
    let patterns = patterns(&npd.patterns, seen)?;
    check_subject(npd, &patterns)?;
    let (counting, quiet) = counting(npd, seen)?;
    let mut clears = npd.clears.clone();
    clears.quiet = quiet.or(clears.quiet);
    let examples = examples(npd, &patterns, lines)?;
    let suffix = npd.message_suffix.clone();
    let rule = Rule {
        format: Format::Native,
        lines: seen,
        patterns,
        counting,
        clears,
        message_suffix: None,
        lookback: None,
        explain: suffix.clone().unwrap_or_default(),
        examples,
        ..npd.clone()
    };
    let changes = [
        suffix.map(|_| {
            "patternGeneratedMessageSuffix is shown by `nodewell explain REASON`, and not in each message".to_owned()
        }),
        (npd.lines > seen).then(|| format!("it sees {MOST_LINES} lines, not {}", npd.lines)),
        (seen > 1).then(|| "where several lines match together, the message has as few of them as match".to_owned()),
    ];
    Ok(Converted { native: NativeRule { rule, source }, changes: changes.into_iter().flatten().collect() })
}

fn source(reader: &ReaderDraft) -> Result<Source, String> {
    match reader {
        ReaderDraft::Known(Reader::Kmsg) => Ok(Source::Kmsg),
        ReaderDraft::Known(Reader::Journal { directory: None }) => Ok(Source::Journal),
        ReaderDraft::Known(Reader::File(file)) => {
            let message = file.message.as_deref().map(|message| pattern::bare(message).to_owned());
            Ok(Source::File(FileReader { timestamp: timestamp(&file.timestamp)?, message, ..file.clone() }))
        }
        ReaderDraft::Known(other) => {
            Err(format!("it reads the {}; a native rule reads the system's own logs alone", other.described()))
        }
        ReaderDraft::Named(name) => Err(format!("its source {name:?} is in another file")),
    }
}

/// The layouts of Go that a `[[source]]` has a word for.
fn timestamp(format: &TimestampFormat) -> Result<TimestampFormat, String> {
    const RFC3339: [&str; 4] = [
        "2006-01-02T15:04:05Z07:00",
        "2006-01-02T15:04:05.999999999Z07:00",
        "2006-01-02T15:04:05-07:00",
        "2006-01-02T15:04:05.999999999-07:00",
    ];
    let TimestampFormat::Go { pattern, layout } = format else { return Ok(format.clone()) };
    match (pattern::bare(pattern), layout.as_str()) {
        ("^.{15}" | "^(.{15})", "Jan _2 15:04:05" | "Jan 2 15:04:05") => Ok(TimestampFormat::Syslog),
        (r"^\S+" | r"^(\S+)" | r"^[^\t\n\f\r ]+" | r"^([^\t\n\f\r ]+)", layout) if RFC3339.contains(&layout) => {
            Ok(TimestampFormat::Rfc3339)
        }
        (_, layout) => Err(format!(
            "the times of its lines ({layout:?}) are neither syslog's nor RFC 3339 at the start of the line, which is what \
             a native [[source]] reads"
        )),
    }
}

fn patterns(npd: &[String], lines: usize) -> Result<Vec<String>, String> {
    let native = npd.iter().map(|written| pattern::native(written, lines));
    native.collect::<Result<_, _>>().map_err(|error| format!("its pattern cannot be a native one: {error}"))
}

/// A look at the host needs a subject to look at; Node Problem Detector's rules take the device from the message.
fn check_subject(npd: &Rule, patterns: &[String]) -> Result<(), String> {
    let names_it = |hir: &Hir| always_captures(hir, "subject");
    let all = || patterns.iter().all(|pattern| parse(Format::Native, pattern).is_ok_and(|hir| names_it(&hir)));
    match npd.clears.check {
        Some(check) if !all() => Err(format!(
            "its problem ends by a look at the host ({}), for which a native pattern has to name the device as \
             (?P<subject>…)",
            check.as_str()
        )),
        _ => Ok(()),
    }
}

/// What counts; of a count of one, how long the problem lasts.
fn counting(npd: &Rule, lines: usize) -> Result<(Option<Counting>, Option<Duration>), String> {
    let Some(counting) = &npd.counting else { return Ok((None, None)) };
    written(counting.window)?;
    if counting.count > 1 {
        let revert = patterns(&counting.revert, lines)?;
        return Ok((Some(Counting { revert, ..counting.clone() }), None));
    }
    if !counting.revert.is_empty() {
        return Err("a native rule with a count of 1 has no revert-pattern".to_owned());
    }
    Ok((None, npd.condition.as_ref().map(|_| counting.window)))
}

fn examples(npd: &Rule, patterns: &[String], lines: &[String]) -> Result<Examples, String> {
    let fields: Vec<(String, String)> = (npd.fields.require.iter())
        .filter_map(|(field, values)| Some((field.clone(), values.first()?.clone())))
        .collect();
    let example = |text: String| Example { text, subject: None, reason: None, fields: fields.clone(), line: 0 };
    if !lines.is_empty() {
        return Ok(Examples { matches: lines.iter().cloned().map(example).collect(), ..Examples::default() });
    }
    let made = patterns.iter().map(|pattern| pattern::sample(pattern).map(example));
    let matches = made.collect::<Option<Vec<Example>>>();
    let matches = matches
        .ok_or("a native rule shows a line that it finds, and none could be made of its pattern: write it yourself")?;
    Ok(Examples { matches, ..Examples::default() })
}

/// The native plug-in, named `name`.
///
/// # Errors
/// Why there is none, and what to do.
pub(super) fn plugin(
    monitor: &PluginMonitor,
    task: &PluginTask,
    name: String,
) -> Result<Converted<NativePlugin>, String> {
    let Task::Run { path, args, .. } = &task.task else { return Err("it is no program".to_owned()) };
    if args.iter().any(|arg| arg.is_empty() || arg.contains('\0')) {
        return Err("a native plug-in cannot have an empty argument".to_owned());
    }
    written(task.interval)?;
    written(task.timeout)?;
    if task.interval < SHORTEST_INTERVAL || task.timeout > LONGEST_TIMEOUT || task.output_limit_bytes == 0 {
        return Err(
            "a native plug-in has an interval of 1s or more, a timeout of 1h or less, and some output".to_owned()
        );
    }
    let native = NativePlugin {
        task: PluginTask { name, ..task.clone() },
        skip_initial: monitor.skip_initial,
        follows_message: monitor.follows_message,
    };
    let placed = format!(
        "{} is run on the node itself, not in a container: put it there, where only root may change it",
        path.display()
    );
    let changes = [Some(placed), hint(path.file_name().and_then(|name| name.to_str()).unwrap_or_default())];
    Ok(Converted { native, changes: changes.into_iter().flatten().collect() })
}

/// What of Node Problem Detector's own scripts is a check of ours.
fn hint(program: &str) -> Option<String> {
    let (check, condition) = match program {
        "check_ntp.sh" => ("the clock", "ClockUnhealthy"),
        "network_problem.sh" => ("the connections that are tracked", "ResourceExhausted"),
        "dns_problem.sh" => ("the resolver", "NetworkUnhealthy"),
        _ => return None,
    };
    Some(format!("the agent itself checks {check} ({condition}): this program may not be needed"))
}

/// Whether a duration can be written as TOML has it.
fn written(span: Duration) -> Result<(), String> {
    let is_same = duration::parse(&duration::shown(span)).is_ok_and(|parsed| parsed == span);
    if is_same { Ok(()) } else { Err(format!("{span:?} cannot be written as a native duration")) }
}
