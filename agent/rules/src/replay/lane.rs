//! The rules of one reader, and which saved lines they listen to.

use std::{borrow::Cow, ops::Range, sync::Arc};

use jiff::Timestamp;
use nodewell_model::{Finding, Origin, Record};
use regex::bytes::Regex;

use super::{
    Format,
    saved::{Reading, Saved},
    syslog,
    time::since_1970,
};
use crate::{
    Diagnostic,
    detector::{Context, Detector},
    matcher::{Matcher, PAST_LIMIT_BYTES, Past, PastLine, Picked, Scan, Seen, Selected, Selects, Trial, Way},
    pattern,
    rule::{FileReader, Reader, Rule, RuleSet},
};

/// Lines looked at for each record that the deepest pattern may want, where other lines stand between.
const LINES_FOR_EACH_RECORD: usize = 64;

/// What of one reader's rules is the same for every line.
pub(super) struct Lane {
    set: Arc<RuleSet>,
    matcher: Arc<Matcher>,
    listens: Listens,
    /// For the scan of all lanes.
    selects: Selects,
}

/// The lanes that lines of one format can reach, the detector of each, and the one scan that hits wherever a pattern of
/// any may match.
pub(super) struct Lanes {
    pub(super) all: Vec<Lane>,
    pub(super) detectors: Vec<Detector>,
    pub(super) scan: Scan,
}

/// What a thread picks patterns with.
pub(super) struct Room {
    trial: Trial,
    /// That the scan has seen in the part of a block, each with a place in it.
    pub(super) hits: Vec<(usize, u32)>,
    /// Those of the line.
    pub(super) windows: Vec<u32>,
    selected: Selected,
    ways: Vec<Way>,
}

impl Room {
    pub(super) fn new(trial: Trial) -> Self {
        let (hits, windows, selected, ways) = Default::default();
        Self { trial, hits, windows, selected, ways }
    }
}

/// Which lines a lane reads.
enum Listens {
    Kernel,
    /// The journal holds the kernel's lines too.
    Journal,
    File {
        message: Option<Regex>,
        skip: Vec<String>,
    },
}

/// The current line.
pub(super) struct Line<'a> {
    pub(super) saved: &'a Saved<'a>,
    /// The patterns of the lane that it may match.
    pub(super) picked: &'a [Picked],
    pub(super) number: u64,
    /// Whether the end of what a rule raises would be reported.
    pub(super) hears_end: &'a dyn Fn(&Rule) -> bool,
}

/// What stands before the current record.
pub(super) struct Behind<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the line of the current record begins, which may have other records before it.
    pub(super) line: usize,
    pub(super) reading: Reading<'a>,
    /// The kernel's number of the current line: one before it with a larger number is of another boot.
    pub(super) sequence: Option<u64>,
}

impl Lanes {
    /// Those of `set`.
    pub(super) fn of(set: &Arc<RuleSet>, format: Format) -> Result<Self, Vec<Diagnostic>> {
        let (mut detectors, mut heard, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        for (index, reader) in set.readers.iter().enumerate() {
            let used = set.rules.iter().any(|rule| rule.reader == index);
            let Some(listens) = Listens::to(reader, format).filter(|_| used) else { continue };
            match Detector::new(Arc::clone(set), index) {
                Ok(detector) => {
                    heard.push((Arc::clone(detector.matcher()), listens));
                    detectors.push(detector);
                }
                Err(more) => diagnostics.extend(more),
            }
        }
        if !diagnostics.is_empty() {
            return Err(diagnostics);
        }
        let scan = Scan::joined(heard.iter().map(|(matcher, _)| matcher.scan()), format.own_windows());
        let lane = |(matcher, listens): (Arc<Matcher>, Listens)| {
            let selects = matcher.selects_in(&scan);
            Lane { set: Arc::clone(set), matcher, listens, selects }
        };
        let all = heard.into_iter().map(lane).collect();
        Ok(Self { all, detectors, scan })
    }
}

impl Lane {
    /// Whether every line has to be looked at, as a pattern of some rule holds no literal.
    pub(super) fn wants_every_line(&self) -> bool {
        self.matcher.slow_lane(&self.set).next().is_some()
    }

    /// How many records the deepest pattern looks at.
    pub(super) fn depth(&self) -> usize {
        self.matcher.depth()
    }

    /// Adds to `picked` the patterns that the text of `saved` may match, if this lane reads it.
    pub(super) fn pick(&self, saved: &Saved<'_>, room: &mut Room, picked: &mut Vec<Picked>) {
        let Some(text) = self.listens.text(saved) else { return };
        let Room { trial, windows, selected, ways, hits: _ } = room;
        let seen = self.listens.is_as_written(saved).then_some(Seen { windows, selects: &self.selects });
        if !self.matcher.select(text, seen, selected) {
            return;
        }
        match trial {
            Trial::AtOnce => {
                let tried = |id| self.matcher.tried(&self.set, id, text, ways);
                picked.extend(selected.iter().filter_map(tried));
            }
            Trial::Later => picked.extend(selected.iter().map(Picked::untried)),
        }
    }

    /// Judges `line` by its detector.
    pub(super) fn judge(&self, detector: &mut Detector, line: &Line<'_>, behind: &Behind<'_>, out: &mut Vec<Finding>) {
        let Line { saved, picked, number, hears_end } = *line;
        if picked.is_empty() {
            return;
        }
        let Some(text) = self.listens.text(saved) else { return };
        let past = PastOf { behind, listens: &self.listens, depth: self.depth() };
        let context = Context { set: &self.set, picked, past: &past, known: saved.known, hears_end };
        let record = Record {
            time: time_of(saved),
            since_boot: saved.since_boot,
            boot_id: saved.boot_id,
            origin: Origin::Line { number },
            text,
            fields: &saved.fields,
            test: false,
        };
        detector.judge(&record, &context, out);
    }
}

/// A line that only counts from boot is given a time that keeps the distances.
fn time_of(saved: &Saved<'_>) -> Timestamp {
    let from_boot = || saved.since_boot.and_then(since_1970);
    saved.time.or_else(from_boot).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Listens {
    fn to(reader: &Reader, format: Format) -> Option<Self> {
        match (reader, format) {
            (Reader::Kmsg, _) => Some(Self::Kernel),
            (Reader::Journal { .. }, Format::Syslog | Format::JournalJson) => Some(Self::Journal),
            (Reader::File(file), Format::Syslog) => Some(Self::file(file)),
            _ => None,
        }
    }

    fn file(file: &FileReader) -> Self {
        let message = file.message.as_ref().and_then(|message| pattern::build(message).ok());
        Self::File { message, skip: file.skip.clone() }
    }

    /// What this lane takes for the text of `saved`.
    fn text<'a>(&self, saved: &'a Saved<'_>) -> Option<&'a [u8]> {
        match self {
            Self::Kernel => saved.kernel.then_some(&*saved.text),
            Self::Journal => Some(&*saved.text),
            Self::File { message, skip } => file_text(saved.line, message.as_ref(), skip),
        }
    }

    /// The same without a copy, of a line of which nothing else is asked any more.
    fn text_alone<'a>(&self, saved: Saved<'a>) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Kernel => saved.kernel.then_some(saved.text),
            Self::Journal => Some(saved.text),
            Self::File { message, skip } => file_text(saved.line, message.as_ref(), skip).map(Cow::Borrowed),
        }
    }

    /// Whether that text stands in the line as it is.
    fn is_as_written(&self, saved: &Saved<'_>) -> bool {
        match self {
            Self::Kernel | Self::Journal => saved.is_as_written(),
            Self::File { .. } => true,
        }
    }
}

fn file_text<'a>(line: &'a [u8], message: Option<&Regex>, skip: &[String]) -> Option<&'a [u8]> {
    if skip.iter().any(|part| memchr::memmem::find(line, part.as_bytes()).is_some()) {
        return None;
    }
    let Some(message) = message else { return Some(syslog::after_time(line)) };
    let captures = message.captures(line)?;
    captures.iter().flatten().last().map(|capture| capture.as_bytes())
}

/// The lines before the current one that the same lane reads.
struct PastOf<'a> {
    behind: &'a Behind<'a>,
    listens: &'a Listens,
    /// How many records the deepest pattern looks at.
    depth: usize,
}

impl Past for PastOf<'_> {
    fn last(&self, limit: usize) -> Vec<PastLine<'_>> {
        let looked_at = self.depth.saturating_sub(1).saturating_mul(LINES_FOR_EACH_RECORD);
        let records = self.behind.records().take(looked_at);
        let mut lines: Vec<_> = records.map_while(|record| self.line(record)).flatten().take(limit).collect();
        lines.reverse();
        lines
    }
}

impl Behind<'_> {
    /// Where the records are, the last first.
    fn records(&self) -> impl Iterator<Item = Range<usize>> {
        let (bytes, reading) = (self.bytes, self.reading);
        // Its beginning is not searched for: a line of very many parts would be searched with each of them.
        let same_line = (self.line < bytes.len()).then_some(self.line..bytes.len());
        let mut end = self.line;
        let lines = std::iter::from_fn(move || {
            let newline = end.checked_sub(1)?;
            end = line_start(bytes, newline);
            Some(end..newline)
        });
        same_line.into_iter().chain(lines).flat_map(move |line| reading.records_back(bytes, line))
    }
}

/// Where the line of `bytes` that ends at `end` begins.
fn line_start(bytes: &[u8], end: usize) -> usize {
    let start = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |newline| newline + 1);
    #[cfg(test)]
    super::work::searched(end - start);
    start
}

impl<'a> PastOf<'a> {
    /// The record if this lane reads it; `None` at the border of a boot.
    fn line(&self, record: Range<usize>) -> Option<Option<PastLine<'a>>> {
        let saved = self.behind.reading.read(self.behind.bytes, record.start, record.end);
        let Some(saved) = saved else { return Some(None) };
        if saved.sequence.zip(self.behind.sequence).is_some_and(|(before, now)| before > now) {
            return None;
        }
        let time = time_of(&saved);
        Some(self.listens.text_alone(saved).map(|text| PastLine { time, text: beginning(text) }))
    }
}

/// As much of `text` as there is to look back at.
fn beginning(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..text.len().min(PAST_LIMIT_BYTES)]),
        Cow::Owned(mut text) => {
            text.truncate(PAST_LIMIT_BYTES);
            Cow::Owned(text)
        }
    }
}
