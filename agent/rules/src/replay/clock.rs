//! What time it is in a saved log, by its own lines.

use jiff::Timestamp;

use super::{
    blocks::Block,
    saved::{Reading, Saved},
    time::since_1970,
};

/// So many lines without a time may end a block: continuation lines, those of another program on the same console.
const LINES_BACK: usize = 64;

/// Of one kind from the first line with a time on: times of the other kind cannot be compared with its.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The time of day, or one that counts from boot.
    is_dated: Option<bool>,
    last: Option<Timestamp>,
}

impl Clock {
    /// The time of `saved`; one that counts from boot is given as if that had been in 1970.
    pub(super) fn read(&mut self, saved: &Saved<'_>) -> Option<Timestamp> {
        let from_boot = || since_1970(saved.since_boot?);
        let time = match self.is_dated {
            None => saved.time.or_else(from_boot),
            Some(true) => saved.time,
            Some(false) => from_boot(),
        }?;
        self.is_dated.get_or_insert(saved.time.is_some());
        self.last = Some(time);
        Some(time)
    }

    pub(super) fn is_dated(&self) -> bool {
        self.is_dated == Some(true)
    }

    /// The time of the last line that was read.
    pub(super) fn last(&self) -> Option<Timestamp> {
        self.last
    }

    /// Reads the last line of `block` that has a time.
    pub(super) fn look_at_end_of(&mut self, block: &Block<'_>, reading: Reading<'_>) {
        let fresh = block.fresh.start;
        let mut end = block.fresh.end;
        for _ in 0..LINES_BACK {
            // Blank lines cost nothing.
            let written = block.bytes[fresh..end].trim_ascii_end().len();
            if written == 0 {
                return;
            }
            let last = fresh + written - 1;
            let (start, line_end) = (block.line_start(fresh, last), block.line_end(last));
            if reading.read(block.bytes, start, line_end).is_some_and(|saved| self.read(&saved).is_some()) {
                return;
            }
            end = start;
        }
    }
}
