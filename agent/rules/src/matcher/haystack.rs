//! What a pattern is searched in: the newest record, and for multi-line patterns the records before it.

use std::{borrow::Cow, cell::OnceCell};

use jiff::Timestamp;

use crate::rule::Format;

/// A record before the newest, for rules that look back.
#[derive(Debug)]
pub(crate) struct PastLine<'a> {
    pub(crate) time: Timestamp,
    pub(crate) text: Cow<'a, [u8]>,
}

/// So much of a record is there to look back at.
pub(crate) const PAST_LIMIT_BYTES: usize = 16 << 10;

/// The records before the newest; asked only when a multi-line pattern's window was seen.
pub(crate) trait Past {
    /// The last `limit` records or fewer, oldest first.
    fn last(&self, limit: usize) -> Vec<PastLine<'_>>;
}

/// No record before this one.
impl Past for () {
    fn last(&self, _limit: usize) -> Vec<PastLine<'_>> {
        Vec::new()
    }
}

/// Nearly every pattern of several lines looks at so many records: one that looks at dozens is no reason to read those
/// for all.
const NEAR: usize = 8;

/// The newest record and the way to those before it.
pub(crate) struct Haystack<'a> {
    newest: &'a [u8],
    past: &'a dyn Past,
    near: Reach<'a>,
    far: Reach<'a>,
}

/// So many records, read when one of them is first asked for.
struct Reach<'a> {
    depth: usize,
    lines: OnceCell<Vec<PastLine<'a>>>,
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
        Self { newest, past, near: Reach::new(depth.min(NEAR)), far: Reach::new(depth) }
    }

    pub(crate) fn newest(&self, blanks: Blanks) -> &'a [u8] {
        blanks.of(self.newest)
    }

    /// At least `depth` records with the newest, if there are so many.
    pub(crate) fn joined(&self, blanks: Blanks, depth: usize) -> &Joined {
        let reach = self.reach(depth);
        reach.joined[usize::from(blanks == Blanks::Trimmed)].get_or_init(|| {
            let past = self.lines(reach).iter().map(|line| blanks.of(&line.text));
            Joined::new(past.chain([self.newest(blanks)]))
        })
    }

    /// The time of the record `back` places before the newest; `None` for the newest itself.
    pub(crate) fn time_back(&self, back: usize) -> Option<Timestamp> {
        // Nearly every match is in the newest alone: those before it are not even read.
        let lines = if back == 0 { return None } else { self.lines(self.reach(back + 1)) };
        lines.get(lines.len().checked_sub(back)?).map(|line| line.time)
    }

    /// The shorter one that has `depth` records.
    fn reach(&self, depth: usize) -> &Reach<'a> {
        if depth <= self.near.depth { &self.near } else { &self.far }
    }

    fn lines<'h>(&self, reach: &'h Reach<'a>) -> &'h [PastLine<'a>] {
        let past = self.past;
        reach.lines.get_or_init(|| past.last(reach.depth.saturating_sub(1)))
    }
}

impl Reach<'_> {
    fn new(depth: usize) -> Self {
        Self { depth, lines: OnceCell::new(), joined: [OnceCell::new(), OnceCell::new()] }
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Ten records, and how many were asked for each time.
    #[derive(Default)]
    struct Ten(RefCell<Vec<usize>>);

    impl Past for Ten {
        fn last(&self, limit: usize) -> Vec<PastLine<'_>> {
            self.0.borrow_mut().push(limit);
            let time = |nth: u8| Timestamp::from_second(nth.into()).unwrap();
            let line = |nth: u8| PastLine { time: time(nth), text: vec![b'0' + nth].into() };
            (0..10).skip(10_usize.saturating_sub(limit)).map(line).collect()
        }
    }

    #[test]
    fn not_many_more_records_are_read_than_a_pattern_looks_at() {
        let ten = Ten::default();
        let haystack = Haystack::new(b"new", &ten, 64);
        let joined = |depth| String::from_utf8(haystack.joined(Blanks::Kept, depth).bytes.clone()).unwrap();
        let second_back = |back| haystack.time_back(back).map(Timestamp::as_second);
        assert_eq!((second_back(0), ten.0.borrow().len()), (None, 0));
        assert_eq!((joined(2), joined(NEAR)), ("3\n4\n5\n6\n7\n8\n9\nnew".to_owned(), joined(2)));
        assert_eq!((second_back(2), second_back(NEAR - 1)), (Some(8), Some(3)));
        assert_eq!(*ten.0.borrow(), [NEAR - 1]);
        assert_eq!(joined(NEAR + 1), "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nnew");
        assert_eq!((second_back(9), second_back(11)), (Some(1), None));
        assert_eq!(*ten.0.borrow(), [NEAR - 1, 63]);
    }
}
