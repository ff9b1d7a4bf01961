//! What a line of a log file contains: its time, and the part of it that is the message.

use jiff::{Timestamp, tz::TimeZone};
use memchr::memmem::Finder;
use nodewell_rules::rule::{FileReader, Stamped, TimestampFormat};
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::{FileError, TimeParser};

/// A line, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// `None`: it has none; it belongs to the line before it.
    pub(crate) time: Option<Timestamp>,
    pub(crate) text: &'a [u8],
}

/// Reads the lines of one log's files.
pub(crate) struct LineReader {
    timestamp: TimestampFormat,
    /// Of a Go layout: where the time stands, and what reads it.
    go_time: Option<(Regex, TimeParser)>,
    message: Option<Regex>,
    skip: Vec<Finder<'static>>,
    zone: TimeZone,
}

impl LineReader {
    pub(crate) fn new(spec: &FileReader, go_time: Option<TimeParser>) -> Result<Self, FileError> {
        let timestamp = spec.timestamp.clone();
        let go_time = if let TimestampFormat::Go { pattern, layout } = &timestamp {
            Some((compiled(pattern)?, go_time.ok_or_else(|| FileError::Layout(layout.clone()))?))
        } else {
            None
        };
        let message = spec.message.as_deref().map(compiled).transpose()?;
        let skip = spec.skip.iter().map(|part| Finder::new(part.as_bytes()).into_owned()).collect();
        Ok(Self { timestamp, go_time, message, skip, zone: TimeZone::system() })
    }

    /// The zone may be set while we run.
    pub(crate) fn look_up_zone(&mut self) {
        self.zone = TimeZone::system();
    }

    pub(crate) fn has_times(&self) -> bool {
        self.timestamp != TimestampFormat::None
    }

    /// `None`: the line is to be passed over.
    pub(crate) fn read<'a>(&self, line: &'a [u8], now: Timestamp) -> Option<Line<'a>> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || self.skip.iter().any(|part| part.find(line).is_some()) {
            return None;
        }
        let stamped = self.stamped(line, now);
        let text = match &self.message {
            Some(pattern) => last_group(&pattern.captures(line)?)?,
            None => &line[stamped.map_or(0, |stamped| stamped.length)..],
        };
        Some(Line { time: stamped.map(|stamped| stamped.time.min(now)), text })
    }

    fn stamped(&self, line: &[u8], now: Timestamp) -> Option<Stamped> {
        let Some((pattern, parser)) = &self.go_time else { return self.timestamp.read(line, now, &self.zone) };
        let captures = pattern.captures(line)?;
        let time = parser(std::str::from_utf8(last_group(&captures)?).ok()?)?;
        Some(Stamped { time, length: captures.get(0)?.end() })
    }
}

/// ASCII classes, and `.` is any byte: a log line is not always UTF-8.
fn compiled(pattern: &str) -> Result<Regex, FileError> {
    let built = RegexBuilder::new(pattern).unicode(false).build();
    built.map_err(|error| FileError::Pattern { pattern: pattern.to_owned(), reason: error.to_string() })
}

/// The last group that took part; the whole match if the pattern has none.
fn last_group<'a>(captures: &Captures<'a>) -> Option<&'a [u8]> {
    captures.iter().flatten().last().map(|group| group.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(timestamp: TimestampFormat, message: Option<&str>, skip: &[&str]) -> FileReader {
        FileReader {
            name: "log".into(),
            paths: vec![],
            timestamp,
            message: message.map(str::to_owned),
            skip: skip.iter().map(|part| (*part).to_owned()).collect(),
        }
    }

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn the_message_is_what_follows_the_time_or_the_last_group() {
        let whole = LineReader::new(&spec(TimestampFormat::Rfc3339, None, &[]), None).unwrap();
        let line = b"2026-11-21T02:31:05Z node1 kernel: [1.5] oops\r";
        assert_eq!(whole.read(line, now()).unwrap().text, b"node1 kernel: [1.5] oops");
        let part = LineReader::new(&spec(TimestampFormat::Rfc3339, Some("kernel: (.*)"), &[]), None).unwrap();
        assert_eq!(part.read(line, now()).unwrap().text, b"[1.5] oops");
        assert_eq!(part.read(b"2026-11-21T02:31:05Z node1 cron: x", now()), None);
    }

    /// docs/rules.md has this pattern.
    #[test]
    fn of_a_kern_log_the_time_and_the_caller_are_no_message() {
        let pattern = r"^\S+ \S+ kernel: (?:(?:\[ *[\d.TC]+\])+ )?(.*)";
        let reader = LineReader::new(&spec(TimestampFormat::Rfc3339, Some(pattern), &[]), None).unwrap();
        let text = |rest: &str| {
            let line = format!("2026-11-21T02:31:05Z node1 {rest}");
            reader.read(line.as_bytes(), now()).map(|line| String::from_utf8_lossy(line.text).into_owned())
        };
        for before in ["", "[   12.345678] ", "[   12.345678][  T17] ", "[ T1772] ", "[   12.345678][    C0] "] {
            assert_eq!(text(&format!("kernel: {before} oops")).as_deref(), Some(" oops"), "{before}");
        }
        assert_eq!(text("kernel: [drm] oops").as_deref(), Some("[drm] oops"));
        assert_eq!(text("app: kernel: oops"), None);
        assert_eq!(text("app[7]: kernel: [   12.345678] oops"), None);
    }

    #[test]
    fn skipped_and_empty_lines_are_passed_over() {
        let reader = LineReader::new(&spec(TimestampFormat::None, None, &[" audit:"]), None).unwrap();
        assert_eq!(reader.read(b"a audit: b", now()), None);
        assert_eq!(reader.read(b"\r", now()), None);
        assert_eq!(reader.read(b"\xff\0%", now()), Some(Line { time: None, text: b"\xff\0%" }));
    }

    #[test]
    fn no_line_comes_from_the_future() {
        let reader = LineReader::new(&spec(TimestampFormat::Rfc3339, None, &[]), None).unwrap();
        assert_eq!(reader.read(b"2099-01-01T00:00:00Z x", now()).unwrap().time, Some(now()));
    }

    #[test]
    fn a_go_layout_is_read_by_the_parser_that_was_given() {
        let go = TimestampFormat::Go { pattern: r#"^time="(\S*)""#.into(), layout: "2006".into() };
        assert!(matches!(LineReader::new(&spec(go.clone(), None, &[]), None), Err(FileError::Layout(_))));
        let parser: TimeParser = Box::new(|text| format!("{text}-01-01T00:00:00Z").parse().ok());
        let reader = LineReader::new(&spec(go, Some("msg=(.*)"), &[]), Some(parser)).unwrap();
        let line = reader.read(br#"time="2020" msg=hello"#, now()).unwrap();
        assert_eq!((line.time.unwrap().to_string().as_str(), line.text), ("2020-01-01T00:00:00Z", &b"hello"[..]));
    }

    #[test]
    fn a_bad_pattern_is_an_error() {
        assert!(LineReader::new(&spec(TimestampFormat::None, Some("("), &[]), None).is_err());
    }
}
