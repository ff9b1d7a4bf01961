//! What a pattern is searched in: the newest record, and for multi-line patterns the records before it.

use std::cell::OnceCell;

use jiff::Timestamp;

use crate::rule::Format;

/// A record before the newest, stored for rules that look back.
#[derive(Debug, Clone)]
pub(crate) struct PastLine {
    pub(crate) time: Timestamp,
    pub(crate) text: Vec<u8>,
}

/// So much of a record is stored to look back at.
pub(crate) const PAST_LIMIT_BYTES: usize = 16 << 10;

/// The records before the newest; asked only when a multi-line pattern's window was seen.
pub(crate) trait Past {
    /// The last `limit` records or fewer, oldest first.
    fn last(&self, limit: usize) -> Vec<PastLine>;
}

/// No record before this one.
impl Past for () {
    fn last(&self, _limit: usize) -> Vec<PastLine> {
        Vec::new()
    }
}

/// The newest record and the way to those before it.
pub(crate) struct Haystack<'a> {
    newest: &'a [u8],
    past: &'a dyn Past,
    depth: usize,
    lines: OnceCell<Vec<PastLine>>,
    joined: [OnceCell<Joined>; 2],
}

/// Records joined by newlines.
pub(crate) struct Joined {
    pub(crate) bytes: Vec<u8>,
    /// Where each record begins; the newest is the last.
    pub(crate) starts: Vec<usize>,
}

/// Whether blanks around a record count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blanks {
    Kept,
    /// Node Problem Detector trims what it reads.
    Trimmed,
}

impl From<Format> for Blanks {
    fn from(format: Format) -> Self {
        match format {
            Format::Native => Self::Kept,
            Format::Npd => Self::Trimmed,
        }
    }
}

impl Blanks {
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        match self {
            Self::Kept => text,
            Self::Trimmed => text.trim_ascii(),
        }
    }
}

impl<'a> Haystack<'a> {
    /// `newest`, with at most `depth` records in all.
    pub(crate) fn new(newest: &'a [u8], past: &'a dyn Past, depth: usize) -> Self {
        Self { newest, past, depth, lines: OnceCell::new(), joined: [OnceCell::new(), OnceCell::new()] }
    }

    pub(crate) fn newest(&self, blanks: Blanks) -> &'a [u8] {
        blanks.of(self.newest)
    }

    pub(crate) fn joined(&self, blanks: Blanks) -> &Joined {
        self.joined[usize::from(blanks == Blanks::Trimmed)].get_or_init(|| {
            let past = self.lines().iter().map(|line| blanks.of(&line.text));
            Joined::new(past.chain([self.newest(blanks)]))
        })
    }

    /// The time of the record `back` places before the newest; `None` for the newest itself.
    pub(crate) fn time_back(&self, back: usize) -> Option<Timestamp> {
        // Nearly every match is in the newest alone: those before it are not even read.
        let lines = if back == 0 { return None } else { self.lines() };
        lines.get(lines.len().checked_sub(back)?).map(|line| line.time)
    }

    fn lines(&self) -> &[PastLine] {
        self.lines.get_or_init(|| self.past.last(self.depth.saturating_sub(1)))
    }
}

impl Joined {
    fn new<'a>(records: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut joined = Self { bytes: Vec::new(), starts: Vec::new() };
        for record in records {
            if !joined.starts.is_empty() {
                joined.bytes.push(b'\n');
            }
            joined.starts.push(joined.bytes.len());
            joined.bytes.extend_from_slice(record);
        }
        joined
    }
}
