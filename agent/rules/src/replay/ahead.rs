//! A block, looked at part by part: by the thread that judges from the first on, by another one from the last back. Of
//! a quiet log each has half of the work, and of one in which much is found the other has all that may be done ahead.
//! What a part shows does not depend on who looks at it, so the findings and their order are those of one thread.

use std::{
    cell::OnceCell,
    ops::Range,
    panic::resume_unwind,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use super::{
    blocks::Block,
    lane::Room,
    lookout::{Lookout, Notes},
};
use crate::matcher::Trial;

/// Small enough that neither thread waits long for the other's last one.
const PART_BYTES: usize = 16 << 10;
/// A thread begins about as soon as half of this is looked at.
const WORTH_BYTES: usize = 128 << 10;
/// So many records and patterns may wait to be judged: some megabytes, and more than whole blocks of common lines have.
const AHEAD_LIMIT: usize = 32 << 10;

/// How the parts of blocks are looked at.
pub(super) struct Ahead {
    part_bytes: usize,
    /// A smaller block is looked at by one thread.
    worth_bytes: usize,
    /// Whether another thread has a processor of its own; asked when that first matters.
    has_processor: OnceCell<bool>,
    room: Room,
}

impl Default for Ahead {
    fn default() -> Self {
        let has_processor = OnceCell::new();
        Self { part_bytes: PART_BYTES, worth_bytes: WORTH_BYTES, has_processor, room: Room::new(Trial::Later) }
    }
}

impl Ahead {
    /// Another thread looks at every block, in parts of so many bytes.
    #[cfg(test)]
    pub(super) fn always(part_bytes: usize) -> Self {
        Self { part_bytes, worth_bytes: 0, has_processor: OnceCell::from(true), ..Self::default() }
    }

    #[cfg(test)]
    pub(super) fn never() -> Self {
        Self { has_processor: OnceCell::from(false), ..Self::default() }
    }

    /// The windows that this thread saw in the last part of a line.
    #[cfg(test)]
    pub(super) fn last_windows(&self) -> &[u32] {
        &self.room.windows
    }

    /// Gives what is in each part of `block` to `judge`, in their order.
    pub(super) fn each_part<'b>(
        &mut self,
        lookout: &Lookout<'_>,
        block: &Block<'b>,
        judge: &mut dyn FnMut(&Notes<'b>),
    ) {
        let parts = Parts::of(block, self.part_bytes);
        if !self.is_worth_a_thread(block) {
            return parts.judge_first(lookout, block, &mut self.room, judge);
        }
        thread::scope(|scope| {
            let other = thread::Builder::new().name("ahead".to_owned());
            let other = other.spawn_scoped(scope, || parts.look_at_last(lookout, block));
            parts.judge_first(lookout, block, &mut self.room, judge);
            // If none could be started, nothing is left.
            if let Ok(other) = other {
                let ahead = other.join().unwrap_or_else(|panic| resume_unwind(panic));
                for notes in ahead.iter().rev() {
                    judge(notes);
                }
            }
        });
    }

    fn is_worth_a_thread(&self, block: &Block<'_>) -> bool {
        let has_processor = || thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        block.fresh.len() >= self.worth_bytes && *self.has_processor.get_or_init(has_processor)
    }
}

/// The parts of a block, each of whole lines.
struct Parts {
    all: Vec<Range<usize>>,
    /// Those that no thread has taken yet.
    left: Mutex<Range<usize>>,
}

impl Parts {
    fn of(block: &Block<'_>, part_bytes: usize) -> Self {
        let Range { mut start, end } = block.fresh;
        let mut all = Vec::new();
        while start < end {
            let last = (start + part_bytes.max(1)).min(end) - 1;
            let next = (block.line_end(last) + 1).min(end);
            all.push(start..next);
            start = next;
        }
        let left = Mutex::new(0..all.len());
        Self { all, left }
    }

    fn left(&self) -> MutexGuard<'_, Range<usize>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_first(&self) -> Option<Range<usize>> {
        let index = self.left().next()?;
        Some(self.all[index].clone())
    }

    fn take_last(&self) -> Option<Range<usize>> {
        let index = self.left().next_back()?;
        Some(self.all[index].clone())
    }

    /// Looks at the first part that is left and has it judged, until none is left.
    fn judge_first<'b>(
        &self,
        lookout: &Lookout<'_>,
        block: &Block<'b>,
        room: &mut Room,
        judge: &mut dyn FnMut(&Notes<'b>),
    ) {
        let mut notes = Notes::default();
        while let Some(part) = self.take_first() {
            notes.clear();
            lookout.look_at(block, part, room, &mut notes);
            judge(&notes);
        }
    }

    /// Looks at the last part that is left, until none is or enough waits to be judged. The last part is the first
    /// here.
    fn look_at_last<'b>(&self, lookout: &Lookout<'_>, block: &Block<'b>) -> Vec<Notes<'b>> {
        let (mut room, mut all, mut waiting) = (Room::new(Trial::AtOnce), Vec::new(), 0);
        while waiting < AHEAD_LIMIT
            && let Some(part) = self.take_last()
        {
            let mut notes = Notes::like(all.last());
            lookout.look_at(block, part, &mut room, &mut notes);
            waiting += notes.size();
            all.push(notes);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(log: &[u8], fresh: Range<usize>, part_bytes: usize) -> Vec<Range<usize>> {
        Parts::of(&Block { bytes: log, fresh }, part_bytes).all
    }

    #[test]
    fn a_part_is_whole_lines() {
        let log = b"one\ntwo\n\nthree\nfour";
        assert_eq!(parts(log, 0..19, 1), [0..4, 4..8, 8..9, 9..15, 15..19]);
        assert_eq!(parts(log, 4..19, 4), [4..8, 8..15, 15..19]);
        assert_eq!(parts(log, 4..15, 5), [4..9, 9..15]);
        assert_eq!(parts(log, 0..19, 100).as_slice(), std::slice::from_ref(&(0..19)));
        assert!(parts(log, 19..19, 4).is_empty());
    }

    #[test]
    fn each_part_is_taken_once() {
        let parts = Parts::of(&Block { bytes: b"a\nb\nc\n", fresh: 0..6 }, 1);
        assert_eq!((parts.take_last(), parts.take_first()), (Some(4..6), Some(0..2)));
        assert_eq!((parts.take_last(), parts.take_first(), parts.take_last()), (Some(2..4), None, None));
    }

    #[test]
    fn a_small_block_is_not_worth_a_thread() {
        let log = vec![b'\n'; WORTH_BYTES];
        let is_worth = |ahead: &Ahead, bytes: usize| ahead.is_worth_a_thread(&Block { bytes: &log, fresh: 0..bytes });
        let two = Ahead { has_processor: OnceCell::from(true), ..Ahead::default() };
        assert!(is_worth(&two, WORTH_BYTES) && !is_worth(&two, WORTH_BYTES - 1));
        assert!(!is_worth(&Ahead::never(), WORTH_BYTES));
    }
}
