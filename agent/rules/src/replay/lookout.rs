//! What a record shows by itself, whatever stands before it: what it holds, and which patterns it may match. Nothing
//! here changes from line to line, so that two threads may look at two parts of a block.

use std::ops::Range;

use super::{
    Format,
    blocks::Block,
    dmesg,
    lane::{Lane, Room},
    saved::{Reading, Saved},
};
use crate::matcher::{Picked, Scan};

/// Looks for the records that some rule may care for.
pub(super) struct Lookout<'a> {
    pub(super) reading: Reading<'a>,
    pub(super) lanes: Vec<Lane>,
    scan: Scan,
    /// Some rule has to see every line.
    every_line: bool,
}

/// The records of a part of a block that some rule may care for, in their order.
#[derive(Default)]
pub(super) struct Notes<'b> {
    records: Vec<Noted<'b>>,
    /// Of one record after the other, and of each for one lane after the other.
    picked: Vec<Picked>,
    /// Where in `picked` those of each record and lane end.
    ends: Vec<usize>,
    /// Of the part.
    pub(super) newlines: u64,
}

/// One record.
pub(super) struct Noted<'b> {
    pub(super) place: Range<usize>,
    /// Where its line begins, which may have other records before it.
    pub(super) line: usize,
    /// Those before it in its part.
    pub(super) newlines: u64,
    pub(super) saved: Option<Saved<'b>>,
    /// It is of another form than the log, unless something is found in it.
    pub(super) is_strange: bool,
}

impl<'a> Lookout<'a> {
    pub(super) fn new(reading: Reading<'a>, lanes: Vec<Lane>, scan: Scan) -> Self {
        let every_line = lanes.iter().any(Lane::wants_every_line);
        Self { reading, lanes, scan, every_line }
    }

    /// How many records the deepest pattern looks at.
    pub(super) fn depth(&self) -> usize {
        self.lanes.iter().map(Lane::depth).max().unwrap_or(1)
    }

    /// Adds to `notes` what is in `part` of `block`, which is whole lines.
    pub(super) fn look_at<'b>(&self, block: &Block<'b>, part: Range<usize>, room: &mut Room, notes: &mut Notes<'b>) {
        let (counted, end) = (part.start, part.end);
        let mut look = Look { lookout: self, block, room, notes, counted };
        if self.every_line {
            look.at_every_line(part)
        } else {
            look.at_hits(part)
        }
        look.count_to(end);
    }
}

/// One look at a part of a block.
struct Look<'l, 'b> {
    lookout: &'l Lookout<'l>,
    block: &'l Block<'b>,
    room: &'l mut Room,
    notes: &'l mut Notes<'b>,
    /// Up to here newlines are counted.
    counted: usize,
}

impl Look<'_, '_> {
    fn at_every_line(&mut self, part: Range<usize>) {
        let mut start = part.start;
        while start < part.end {
            let end = self.block.line_end(start);
            self.see(start..end);
            self.note_line(start..end);
            start = end + 1;
        }
    }

    /// The scan goes over the part in one go: to begin again in each line costs as much as a part of one.
    fn at_hits(&mut self, part: Range<usize>) {
        let (Lookout { scan, .. }, block) = (self.lookout, self.block);
        let mut hits = std::mem::take(&mut self.room.hits);
        hits.clear();
        scan.each_place(&block.bytes[..part.end], part.start, |place, window| hits.push((place, window)));
        if !scan.is_in_order() {
            hits.sort_unstable();
        }
        let (mut left, mut begin) = (hits.iter().peekable(), part.start);
        while let Some((first, _)) = left.peek() {
            let line = block.line_start(begin, *first)..block.line_end(*first);
            let windows = std::iter::from_fn(|| left.next_if(|(place, _)| *place < line.end));
            self.room.windows.clear();
            self.room.windows.extend(windows.map(|(_, window)| *window));
            begin = line.end + 1;
            self.note_line(line);
        }
        self.room.hits = hits;
    }

    /// Takes note of the windows in `place`.
    fn see(&mut self, place: Range<usize>) {
        let windows = &mut self.room.windows;
        windows.clear();
        self.lookout.scan.each(&self.block.bytes[place], 0, |window| windows.push(window));
    }

    /// A console shows lines of two processors that it was given at once as one. Each part is judged by its own
    /// windows: by those of all parts a line of very many would take the square of them.
    fn note_line(&mut self, line: Range<usize>) {
        let mut start = line.start;
        while let Some(length) = self.part_behind(&self.block.bytes[start..line.end]) {
            self.see(start..start + length);
            self.note_record(line.start, start..start + length);
            start += length;
        }
        if start > line.start {
            self.see(start..line.end);
        }
        self.note_record(line.start, start..line.end);
    }

    /// Where the next part of a torn line begins.
    fn part_behind(&self, line: &[u8]) -> Option<usize> {
        if self.lookout.reading.format != Format::Dmesg {
            return None;
        }
        let next = dmesg::second_stamp(line);
        #[cfg(test)]
        super::work::searched(next.unwrap_or(line.len()));
        next
    }

    fn note_record(&mut self, line: usize, place: Range<usize>) {
        self.count_to(place.start);
        let (Lookout { reading, lanes, .. }, bytes) = (self.lookout, self.block.bytes);
        let saved = reading.read(bytes, place.start, place.end);
        let is_strange = reading.is_unread(&bytes[place.clone()], saved.as_ref());
        let Notes { records, picked, ends, newlines } = &mut *self.notes;
        for lane in lanes {
            if let Some(saved) = &saved {
                lane.pick(saved, self.room, picked);
            }
            ends.push(picked.len());
        }
        records.push(Noted { place, line, newlines: *newlines, saved, is_strange });
    }

    fn count_to(&mut self, end: usize) {
        let newlines = memchr::memchr_iter(b'\n', &self.block.bytes[self.counted..end]).count();
        self.notes.newlines += newlines as u64;
        self.counted = end;
    }
}

impl<'b> Notes<'b> {
    /// Room for some more than `other` has, which is of the same log.
    pub(super) fn like(other: Option<&Self>) -> Self {
        let Some(Self { records, picked, ends, .. }) = other else { return Self::default() };
        let more = |count: usize| count + count / 8;
        Self {
            records: Vec::with_capacity(more(records.len())),
            picked: Vec::with_capacity(more(picked.len())),
            ends: Vec::with_capacity(more(ends.len())),
            newlines: 0,
        }
    }

    /// So many records and patterns.
    pub(super) fn size(&self) -> usize {
        self.records.len() + self.picked.len()
    }

    /// Forgets all records.
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.picked.clear();
        self.ends.clear();
        self.newlines = 0;
    }

    /// The records, each with where in [`Self::picked`] its patterns are for each lane.
    pub(super) fn records(&self) -> impl Iterator<Item = (&Noted<'b>, Patterns<'_>)> {
        let lanes = self.ends.len() / self.records.len().max(1);
        self.records.iter().enumerate().map(move |(index, record)| {
            let first = index * lanes;
            let begin = first.checked_sub(1).map_or(0, |last| self.ends[last]);
            (record, Patterns { picked: &self.picked, begin, ends: &self.ends[first..first + lanes] })
        })
    }
}

/// The patterns that one record may match.
#[derive(Clone, Copy)]
pub(super) struct Patterns<'n> {
    picked: &'n [Picked],
    begin: usize,
    ends: &'n [usize],
}

impl<'n> Patterns<'n> {
    pub(super) fn is_any(self) -> bool {
        self.ends.last().is_some_and(|end| *end > self.begin)
    }

    /// Those of each lane.
    pub(super) fn of_lanes(self) -> impl Iterator<Item = &'n [Picked]> {
        let Self { picked, begin, ends } = self;
        ends.iter().scan(begin, move |begin, end| Some(&picked[std::mem::replace(begin, *end)..*end]))
    }
}
