//! The input in blocks of whole lines.

use std::{
    io::{self, ErrorKind, Read},
    ops::Range,
};

/// So much is read at once: enough for two threads, beside which the start of one is little, and no more than a
/// processor's caches have room for.
const BLOCK_BYTES: usize = 1 << 20;
/// A longer line is cut here; what follows up to its newline is passed over.
const LINE_LIMIT_BYTES: usize = 2 << 20;
/// So much shows the form of a log.
const PEEKED_BYTES: usize = 4096;
/// So much is stored behind a block for rules that look back.
const BEHIND_BYTES: usize = 128 << 10;

/// Reads blocks.
pub(super) struct Blocks<R> {
    input: R,
    buffer: Vec<u8>,
    filled: usize,
    /// Up to here the lines have been handed out.
    done: usize,
    ended: bool,
    /// The rest of a line that was too long is still to come.
    skipping: bool,
    look_back: bool,
    /// Lines that begin with a blank belong to the one before (raw kmsg).
    continued: bool,
}

/// Whole lines, and some of those before them.
pub(super) struct Block<'a> {
    pub(super) bytes: &'a [u8],
    /// The lines that have not been seen yet.
    pub(super) fresh: Range<usize>,
}

impl Block<'_> {
    /// Where the line around `at` begins, but not before `from`.
    pub(super) fn line_start(&self, from: usize, at: usize) -> usize {
        memchr::memrchr(b'\n', &self.bytes[from..at]).map_or(from, |newline| from + newline + 1)
    }

    /// Where the line around `at` ends: at its newline or at the end of the block.
    pub(super) fn line_end(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.bytes[at..self.fresh.end]).map_or(self.fresh.end, |newline| at + newline)
    }
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: R) -> Self {
        let (buffer, filled, done) = Default::default();
        Self { input, buffer, filled, done, ended: false, skipping: false, look_back: false, continued: false }
    }

    /// The beginning of the input, which is handed out again. The blank lines that a wrapping leaves show nothing.
    pub(super) fn peek(&mut self) -> io::Result<&[u8]> {
        let shows = |bytes: &[u8]| bytes.iter().filter(|byte| !byte.is_ascii_whitespace()).take(PEEKED_BYTES).count();
        while shows(&self.buffer[..self.filled]) < PEEKED_BYTES && self.filled < LINE_LIMIT_BYTES && !self.ended {
            self.read_more()?;
        }
        Ok(&self.buffer[..self.filled])
    }

    /// What later blocks have to bring along.
    pub(super) fn keep_behind(&mut self, look_back: bool, continued: bool) {
        self.look_back = look_back;
        self.continued = continued;
    }

    /// The next block; `None` at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Block<'_>>> {
        self.drop_done();
        let start = self.done;
        let mut looked = start;
        loop {
            let end = self.complete_end(start, looked);
            if end > start {
                self.done = end;
                return Ok(Some(Block { bytes: &self.buffer[..self.filled], fresh: start..end }));
            }
            if self.ended {
                return Ok(None);
            }
            looked = self.filled;
            self.read_more()?;
            self.skip_rest(start);
        }
    }

    /// Where the whole lines behind `start` end; `start` if there is none yet.
    fn complete_end(&mut self, start: usize, looked: usize) -> usize {
        if self.ended {
            return self.filled;
        }
        if self.filled - start >= LINE_LIMIT_BYTES {
            return self.cut_line(start);
        }
        if self.continued {
            return self.last_record(start);
        }
        memchr::memrchr(b'\n', &self.buffer[looked..self.filled]).map_or(start, |newline| looked + newline + 1)
    }

    /// Where the last record begins: its continuation lines may still be to come.
    fn last_record(&self, start: usize) -> usize {
        let mut end = self.filled;
        while let Some(newline) = memchr::memrchr(b'\n', &self.buffer[start..end]) {
            let next = start + newline + 1;
            if self.buffer[next..self.filled].first().is_some_and(|byte| *byte != b' ') {
                return next;
            }
            end = start + newline;
        }
        start
    }

    fn cut_line(&mut self, start: usize) -> usize {
        if let Some(newline) = memchr::memrchr(b'\n', &self.buffer[start..self.filled]) {
            return start + newline + 1;
        }
        self.buffer[self.filled - 1] = b'\n';
        self.skipping = true;
        self.filled
    }

    fn skip_rest(&mut self, start: usize) {
        if !self.skipping {
            return;
        }
        match memchr::memchr(b'\n', &self.buffer[start..self.filled]) {
            Some(newline) => {
                self.buffer.copy_within(start + newline + 1..self.filled, start);
                self.filled -= newline + 1;
                self.skipping = false;
            }
            None => self.filled = start,
        }
    }

    fn drop_done(&mut self) {
        let overlap = if self.look_back { self.done.min(BEHIND_BYTES) } else { 0 };
        let from = self.done - overlap;
        self.buffer.copy_within(from..self.filled, 0);
        self.filled -= from;
        self.done = overlap;
    }

    fn read_more(&mut self) -> io::Result<()> {
        if self.buffer.len() < self.filled + BLOCK_BYTES {
            self.buffer.resize(self.filled + BLOCK_BYTES, 0);
        }
        match self.input.read(&mut self.buffer[self.filled..self.filled + BLOCK_BYTES]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
