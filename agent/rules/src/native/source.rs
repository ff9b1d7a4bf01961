//! `[[source]]`: log files to follow.

use super::key::{RuleKey, RuleTable, choices, names};
use crate::{
    draft::{Draft, SourceDraft},
    pattern,
    reader::built_in,
    report::Report,
    rule::{FileReader, Format, TimestampFormat},
    timestamp::NAMED,
};
use nodewell_settings::{Section, StringAt, TableAt, kind::quoted};

pub(super) const TABLE: RuleTable = RuleTable { name: "[[source]]", about: "Log files to follow.", keys: LISTED };
const LISTED: &[RuleKey] = &[
    RuleKey::of("name", spelling, "What rules call it.").required(),
    RuleKey::new(
        "paths",
        "an absolute path or a list of them",
        "Globs. Rotation by rename loses nothing; copytruncate may: then it is said.",
    )
    .required(),
    RuleKey::of(
        "timestamp",
        || choices(&NAMED),
        "The form of a line's time; `audit` is auditd's log, of which the whole record is the message.",
    )
    .without(|| Some(quoted(TimestampFormat::Syslog.name()))),
    RuleKey::new("message", "a regex", "Its last capture is the message; if unset, what follows the time."),
    RuleKey::new("skip", "a string or a list of strings", "A line that has one of these in it is passed over."),
];
const KEYS: [&str; LISTED.len()] = names(LISTED);
/// Longer names fit no metric label.
const NAME_LIMIT_BYTES: usize = 64;

pub(super) fn read<'a>(found: TableAt<'a>, draft: &mut Draft, report: &mut Report<'_>) {
    let before = report.count();
    let section = Section::new("[[source]]", found, &KEYS, report);
    let name = section.required("name", report).inspect(|name| check_name(*name, report));
    let reader = read_reader(section, name.map_or("", |name| name.text), report);
    let Some(name) = name else { return };
    if report.count() == before {
        draft.sources.push(SourceDraft { reader, location: report.location(section.at) });
    } else {
        draft.broken.push(name.text.to_owned());
    }
}

fn read_reader(section: Section<'_>, name: &str, report: &mut Report<'_>) -> FileReader {
    if !section.has("paths") {
        report.error(section.at, "[[source]] lacks \"paths\"");
    }
    let paths = section.strings("paths", report);
    for path in paths.iter().filter(|path| !path.text.starts_with('/')) {
        report.error(path.at, format!("{:?} must be an absolute path", path.text));
    }
    let timestamps = NAMED.each_ref().map(|(name, format)| (*name, format));
    let message = section.string("message", report).inspect(|message| check_message(*message, report));
    let timestamp = section.choice("timestamp", &timestamps, report).cloned();
    FileReader {
        name: name.into(),
        paths: owned(&paths),
        timestamp: timestamp.unwrap_or(TimestampFormat::Syslog),
        message: message.map(|message| message.text.to_owned()),
        skip: owned(&section.strings("skip", report)),
    }
}

fn check_name(name: StringAt<'_>, report: &mut Report<'_>) {
    check_spelling(name, report);
    let word = name.text;
    if built_in(word).is_some() {
        report.error(name.at, format!("the source {word:?} exists already; give this one another name"));
    }
}

pub(super) fn check_spelling(name: StringAt<'_>, report: &mut Report<'_>) {
    let word = name.text;
    let fine = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'_'));
    if !fine || word.len() > NAME_LIMIT_BYTES || !word.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        report.error(name.at, format!("\"name\" takes {}, not {word:?}", spelling()));
    }
}

pub(super) fn spelling() -> String {
    format!("at most {NAME_LIMIT_BYTES} lower-case letters, digits, -, . and _, the first a letter or digit")
}

fn check_message(message: StringAt<'_>, report: &mut Report<'_>) {
    if let Err(error) = pattern::parse(Format::Native, message.text) {
        report.error(message.at, format!("invalid regex in \"message\": {error}"));
    }
}

pub(super) fn owned(words: &[StringAt<'_>]) -> Vec<String> {
    words.iter().map(|word| word.text.to_owned()).collect()
}
