//! Rewrites a log line by line: each line becomes one line, which may be empty.

use std::io::{self, BufRead, BufReader, Read};

use crate::replay::unread::UnreadLines;

/// A longer line is cut here, as the replay cuts it.
pub(super) const LINE_LIMIT_BYTES: usize = 2 << 20;

/// So much is answered at once, if it is there.
const ANSWER_BYTES: usize = 64 << 10;

/// What a wrapping makes of a line.
pub(super) trait Rewrite {
    /// Adds to the line before what is known to be complete now that `next` is seen.
    fn complete(&mut self, next: &[u8], out: &mut Vec<u8>) {
        let _ = (next, out);
    }

    /// Adds what `line` holds; nothing, if it is but a part of a record.
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>);

    /// Whether the last line was neither a record of this form nor a part of one.
    fn missed(&self) -> bool {
        false
    }

    /// Whether the next line is part of a value of any bytes, where a carriage return is one of them.
    fn is_raw(&self) -> bool {
        false
    }

    /// So many bytes of the line before were passed over, its newline among them: it was too long.
    fn skipped(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Adds to the last line what is left.
    fn end(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }
}

/// The rewritten log.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    rewrite: Box<dyn Rewrite>,
    line: Vec<u8>,
    out: Vec<u8>,
    given: usize,
    /// The newline of the line before is held back: more may be added to that line.
    held_newline: bool,
    ended: bool,
    /// Of the line that was read last.
    number: u64,
    unread: UnreadLines,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R, rewrite: Box<dyn Rewrite>, unread: UnreadLines) -> Self {
        let (line, out) = (Vec::new(), Vec::new());
        Self {
            input: BufReader::with_capacity(1 << 16, input),
            rewrite,
            line,
            out,
            given: 0,
            held_newline: false,
            ended: false,
            number: 0,
            unread,
        }
    }

    fn next_line(&mut self) -> io::Result<()> {
        self.line.clear();
        let limit = LINE_LIMIT_BYTES as u64;
        self.input.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            self.rewrite.end(&mut self.out);
            self.give_held_newline();
            self.ended = true;
            return Ok(());
        }
        let mut skipped = 0;
        let has_newline = match self.line.pop_if(|byte| *byte == b'\n') {
            Some(_) => true,
            None if self.line.len() < LINE_LIMIT_BYTES => false,
            None => {
                skipped = self.input.skip_until(b'\n')?;
                skipped > 0
            }
        };
        let bare = self.line.strip_suffix(b"\r").filter(|_| !self.rewrite.is_raw());
        let line = bare.unwrap_or(&self.line);
        self.rewrite.complete(line, &mut self.out);
        if std::mem::replace(&mut self.held_newline, has_newline) {
            self.out.push(b'\n');
        }
        self.rewrite.line(line, &mut self.out);
        self.number += 1;
        if self.rewrite.missed() {
            self.unread.note(self.number, line);
        }
        if skipped > 0 {
            self.rewrite.skipped(skipped);
        }
        Ok(())
    }

    /// Lines that have come already, some at once: each answer costs the replay a look at what it keeps.
    fn more_lines(&mut self) -> io::Result<()> {
        while !self.ended && self.out.len() < ANSWER_BYTES && memchr::memchr(b'\n', self.input.buffer()).is_some() {
            self.next_line()?;
        }
        Ok(())
    }

    fn give_held_newline(&mut self) {
        if std::mem::take(&mut self.held_newline) {
            self.out.push(b'\n');
        }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() && !self.ended {
            self.out.clear();
            self.given = 0;
            self.next_line()?;
            self.more_lines()?;
        }
        let count = buffer.len().min(self.out.len() - self.given);
        buffer[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
