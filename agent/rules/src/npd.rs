//! Node Problem Detector's JSON configuration: files of its system-log, custom-plugin and system-stats monitors load
//! unchanged.
//!
//! Where its behaviour is a defect ours is the fixed one, and a note reports it.

mod conditions;
mod custom;
pub mod golayout;
pub mod import;
mod json;
mod names;
mod place;
mod plugin;
mod re2;
mod recovery;
mod rules;
pub mod stats;
#[cfg(test)]
mod tests;

pub use re2::translate_re2;

use std::{path::Path, sync::Arc, time::Duration};

use crate::{draft::Draft, report::Report};
use json::{Document, Object};
use plugin::Plugin;

const KEYS: [&str; 10] = [
    "plugin",
    "pluginConfig",
    "skipList",
    "logPath",
    "lookback",
    "delay",
    "bufferSize",
    "source",
    "metricsReporting",
    "rules",
];
/// Its own default.
const DEFAULT_LINES: usize = 10;
/// A window of more lines would cost more than any multi-line rule is worth.
const MOST_LINES: usize = 1000;

/// What all rules of one file share.
struct Monitor {
    name: Arc<str>,
    plugin: Plugin,
    lines: usize,
    lookback: Duration,
    boot_delay: Option<Duration>,
}

/// Reads one file's text.
pub(crate) fn read(file: &Path, text: &str) -> Draft {
    let mut report = Report::new(file, text);
    let mut draft = Draft { npd: true, ..Draft::default() };
    let document = Document::parse(text, &mut report).and_then(|value| value.object("the file", &mut report));
    if let Some(object) = document {
        read_any(&object, &mut draft, &mut report);
    }
    (draft.diagnostics, draft.notes) = report.finish();
    draft
}

fn read_any(object: &Object<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    let kind = object.text("plugin", report);
    match kind.text.as_str() {
        "custom" => custom::read(object, draft, report),
        "" if stats::KEYS.iter().any(|key| object.value(key).is_some()) => stats::read(object, draft, report),
        _ => read_log_monitor(object, draft, report),
    }
}

/// All is read before anything is given up, so that all errors are reported.
fn read_log_monitor(object: &Object<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    object.note_unknown(&[&KEYS[..], &["conditions"]].concat(), report);
    let name = monitor_name(object, report);
    let plugin = plugin::read(object, &name, report);
    let lines = read_lines(object, report);
    let lookback = read_duration(object, "lookback", report).unwrap_or_default();
    let boot_delay = read_duration(object, "delay", report).filter(|delay| !delay.is_zero());
    note_metrics(object, report);
    conditions::read(object, draft, report);
    let Some(plugin) = plugin else {
        // Without a plugin the rules' own errors are still worth reporting.
        let plugin = Plugin::blind();
        rules::read(object, &Monitor { name, plugin, lines, lookback, boot_delay }, report);
        return;
    };
    let message = "a % in a line of the log stays as it is; Node Problem Detector takes the line for a format string, \
                   and garbles it in its Event";
    report.note(object.at, message);
    let monitor = Monitor { name, plugin, lines, lookback, boot_delay };
    draft.rules.extend(rules::read(object, &monitor, report));
}

/// Its `source`, which Node Problem Detector reports as the event's component; else the file's name.
fn monitor_name(object: &Object<'_>, report: &mut Report<'_>) -> Arc<str> {
    let source = object.text("source", report).text;
    if source.is_empty() {
        report.file().file_stem().unwrap_or_default().to_string_lossy().into()
    } else {
        nodewell_model::text::subject(source.as_bytes()).into()
    }
}

fn read_lines(object: &Object<'_>, report: &mut Report<'_>) -> usize {
    let Some(value) = object.value("bufferSize") else { return DEFAULT_LINES };
    match value.read::<i64>("bufferSize", "a whole number", report) {
        Some(negative) if negative < 0 => {
            report.error(value.at(), "\"bufferSize\" must not be negative");
            DEFAULT_LINES
        }
        Some(0) | None => DEFAULT_LINES,
        Some(lines) => match usize::try_from(lines) {
            Ok(lines) if lines <= MOST_LINES => lines,
            _ => {
                report.note(value.at(), format!("\"bufferSize\" is cut to {MOST_LINES} lines"));
                MOST_LINES
            }
        },
    }
}

fn read_duration(object: &Object<'_>, key: &str, report: &mut Report<'_>) -> Option<Duration> {
    let text = object.text(key, report);
    if text.text.is_empty() {
        return None;
    }
    let parsed = crate::duration::parse_go(&text.text);
    parsed.inspect_err(|error| report.error(text.at, format!("{key:?}: {error}"))).ok()
}

fn note_metrics(object: &Object<'_>, report: &mut Report<'_>) {
    let Some(value) = object.value("metricsReporting") else { return };
    if value.read::<bool>("metricsReporting", "a boolean", report) == Some(false) {
        report.note(value.at(), "\"metricsReporting\" is not used: every problem is counted");
    }
}
