//! `plugin`: where a file's lines come from.

use std::path::{Path, PathBuf};

use super::{
    golayout::Layout,
    json::{Object, Text},
    place, translate_re2,
};
use crate::{
    Reader,
    draft::ReaderDraft,
    pattern,
    report::Report,
    rule::{FieldFilter, FileReader, Format, TimestampFormat},
};

/// The two places of the system's own journal.
const SYSTEM_JOURNALS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// A file's source and what its records must be.
pub(super) struct Plugin {
    pub(super) reader: ReaderDraft,
    pub(super) fields: FieldFilter,
}

impl Plugin {
    /// For a file whose plugin has an error: its rules are read, but not used.
    pub(super) fn blind() -> Self {
        Self { reader: ReaderDraft::Known(Reader::Kmsg), fields: FieldFilter::default() }
    }
}

/// The source; `None` after an error.
pub(super) fn read(object: &Object<'_>, monitor: &str, report: &mut Report<'_>) -> Option<Plugin> {
    let plugin = object.text("plugin", report);
    let before = report.count();
    let found = match plugin.text.as_str() {
        "kmsg" => Some(kmsg(object, &plugin, report)),
        "journald" => journal(object, "", report),
        // The adaptor for ABRT is the journal under another name.
        "abrt" => journal(object, "abrt-notification", report),
        "filelog" => file(object, monitor, report),
        "" => {
            report.error(object.at, "no \"plugin\": Node Problem Detector knows kmsg, journald, filelog and custom");
            None
        }
        other => {
            let shown: String = other.chars().take(64).collect();
            report.error(plugin.at, format!("unknown plugin {shown:?}; it takes kmsg, journald, filelog or custom"));
            None
        }
    };
    found.filter(|_| report.count() == before)
}

fn kmsg(object: &Object<'_>, plugin: &Text, report: &mut Report<'_>) -> Plugin {
    let message = "kmsg: only lines of the kernel itself count (facility 0), not those that programs write to \
                   /dev/kmsg; Node Problem Detector takes both";
    report.note(plugin.at, message);
    note_skip_list(object, report);
    let path = object.text("logPath", report);
    if !path.text.is_empty() && path.text != "/dev/kmsg" {
        report.note(path.at, format!("\"logPath\" {:?} is passed over: kmsg reads /dev/kmsg", path.text));
    }
    Plugin { reader: ReaderDraft::Known(Reader::Kmsg), fields: FieldFilter::default() }
}

fn journal(object: &Object<'_>, default_identifier: &str, report: &mut Report<'_>) -> Option<Plugin> {
    let config = config(object, &["source"], report);
    let mut identifier = config.as_ref().map(|config| config.text("source", report)).unwrap_or(Text::none(object.at));
    if identifier.text.is_empty() {
        identifier.text = default_identifier.to_owned();
    }
    note_skip_list(object, report);
    if identifier.text.is_empty() {
        report.error(identifier.at, "journald needs pluginConfig.source, the SYSLOG_IDENTIFIER to read");
        return None;
    }
    let fields = identified(&identifier, report);
    let reader = ReaderDraft::Known(Reader::Journal { directory: journal_directory(object, report) });
    Some(Plugin { reader, fields })
}

/// `None` for the system's own journal, wherever it is stored.
fn journal_directory(object: &Object<'_>, report: &mut Report<'_>) -> Option<PathBuf> {
    journal_in(&object.text("logPath", report), report)
}

/// The directory of another journal than the system's own.
pub(super) fn journal_in(path: &Text, report: &mut Report<'_>) -> Option<PathBuf> {
    if path.text.is_empty() {
        return None;
    }
    let directory = place::absolute(path, report);
    if SYSTEM_JOURNALS.iter().any(|system| directory == Path::new(system)) {
        let message = "the system's journal is read wherever it is kept, in /var/log/journal or /run/log/journal";
        report.note(path.at, message);
        return None;
    }
    Some(directory)
}

/// What a record of the journal must be to count for `identifier`.
pub(super) fn identified(identifier: &Text, report: &mut Report<'_>) -> FieldFilter {
    let message = format!(
        "any process can write lines with SYSLOG_IDENTIFIER={} into the journal; a native rule can ask for trusted \
         fields instead, such as _SYSTEMD_UNIT",
        identifier.text
    );
    report.note(identifier.at, message);
    let require = vec![("SYSLOG_IDENTIFIER".to_owned(), vec![identifier.text.clone()])];
    FieldFilter { require, without: Vec::new() }
}

fn file(object: &Object<'_>, monitor: &str, report: &mut Report<'_>) -> Option<Plugin> {
    let config = config(object, &["timestamp", "message", "timestampFormat"], report);
    let Some(config) = config else {
        report.error(object.at, "filelog needs pluginConfig with timestamp, message and timestampFormat");
        return None;
    };
    let timestamp = regex(&config, "timestamp", report);
    let message = regex(&config, "message", report).zip(timestamp.as_deref());
    let message = message.map(|(message, timestamp)| whole_message(object, timestamp, message, report));
    let layout = layout(&config, report);
    let skip = skip_list(object, report);
    let path = log_file(object, report);
    let reader = FileReader {
        name: monitor.into(),
        paths: vec![literal_glob(&path?.to_string_lossy())],
        timestamp: TimestampFormat::Go { pattern: timestamp?, layout: layout? },
        message: Some(message?),
        skip,
    };
    Some(Plugin { reader: ReaderDraft::Known(Reader::File(reader)), fields: FieldFilter::default() })
}

fn log_file(object: &Object<'_>, report: &mut Report<'_>) -> Option<PathBuf> {
    let path = object.text("logPath", report);
    if path.text.is_empty() {
        report.error(path.at, "filelog needs \"logPath\", the file to read");
        return None;
    }
    Some(place::absolute(&path, report))
}

fn config<'a>(object: &Object<'a>, keys: &[&str], report: &mut Report<'_>) -> Option<Object<'a>> {
    let config = object.value("pluginConfig")?.object("pluginConfig", report)?;
    config.note_unknown(keys, report);
    Some(config)
}

/// A required regex, in our own syntax.
fn regex(config: &Object<'_>, key: &str, report: &mut Report<'_>) -> Option<String> {
    let text = config.text(key, report);
    if text.text.is_empty() {
        report.error(text.at, format!("filelog needs pluginConfig.{key}"));
        return None;
    }
    let translated = pattern::parse(Format::Npd, &text.text).and_then(|_| translate_re2(&text.text));
    translated.inspect_err(|error| report.error(text.at, format!("invalid regex in {key:?}: {error}"))).ok()
}

/// A `message` without a capture group keeps the matched words alone, and the stock rule for bad blocks then never finds
/// the number before them. Here such a message begins after the timestamp and ends with those words, which changes
/// nothing for a rule that is not bound to the message's start.
fn whole_message(object: &Object<'_>, timestamp: &str, message: String, report: &mut Report<'_>) -> String {
    let groups = pattern::parse(Format::Native, &message).map_or(1, |hir| hir.properties().explicit_captures_len());
    if groups > 0 || any_rule_is_bound_to_the_start(object, report) {
        return message;
    }
    let note = "\"message\" has no capture group: the line from the timestamp to the end of its match counts; Node \
                Problem Detector keeps the match alone";
    report.note(object.position("pluginConfig"), note);
    format!("(?-u)(?:(?:{timestamp})\\s*)?(.*?(?:{message}))")
}

/// Any `^` counts, even one in a class: then the message stays as it is.
fn any_rule_is_bound_to_the_start(object: &Object<'_>, report: &Report<'_>) -> bool {
    // Errors of the rules are reported when the rules are read.
    let mut unheard = Report::new(report.file(), "");
    let rules = object.objects("rules", &mut unheard);
    rules
        .iter()
        .map(|rule| rule.text("pattern", &mut unheard).text)
        .any(|text| text.contains('^') || text.contains("\\A"))
}

fn layout(config: &Object<'_>, report: &mut Report<'_>) -> Option<String> {
    let text = config.text("timestampFormat", report);
    let parsed = Layout::parse(&text.text);
    parsed.inspect_err(|error| report.error(text.at, format!("\"timestampFormat\": {error}"))).ok()?;
    Some(text.text)
}

fn skip_list(object: &Object<'_>, report: &mut Report<'_>) -> Vec<String> {
    let Some(value) = object.value("skipList") else { return Vec::new() };
    let skip: Vec<String> = value.read("skipList", "an array of strings", report).unwrap_or_default();
    if skip.iter().any(String::is_empty) {
        report.error(value.at(), "\"skipList\" holds an empty string, which is in every line");
    }
    skip
}

fn note_skip_list(object: &Object<'_>, report: &mut Report<'_>) {
    if let Some(value) = object.value("skipList") {
        report.note(value.at(), "\"skipList\" is for filelog only; it is passed over, as Node Problem Detector does");
    }
}

/// Node Problem Detector opens the path as it is; our reader takes globs.
fn literal_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']') { glob.extend(['[', c, ']']) } else { glob.push(c) }
    }
    glob
}
