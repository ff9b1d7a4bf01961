//! Rewrites a log line by line: each line becomes one line, which may be empty.

use std::io::{self, BufRead, BufReader, Read};

/// A longer line is cut here, as the replay cuts it.
pub(super) const LINE_LIMIT_BYTES: usize = 2 << 20;

/// What a wrapping makes of a line.
pub(super) trait Rewrite {
    /// Adds to the line before what is known to be complete now that `next` is seen.
    fn complete(&mut self, next: &[u8], out: &mut Vec<u8>) {
        let _ = (next, out);
    }

    /// Adds what `line` holds; nothing, if it is but a part of a record.
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>);

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
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R, rewrite: Box<dyn Rewrite>) -> Self {
        let (line, out) = (Vec::new(), Vec::new());
        Self {
            input: BufReader::with_capacity(1 << 16, input),
            rewrite,
            line,
            out,
            given: 0,
            held_newline: false,
            ended: false,
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
        let has_newline = match self.line.pop_if(|byte| *byte == b'\n') {
            Some(_) => true,
            None => self.line.len() == LINE_LIMIT_BYTES && self.input.skip_until(b'\n')? > 0,
        };
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        self.rewrite.complete(line, &mut self.out);
        if std::mem::replace(&mut self.held_newline, has_newline) {
            self.out.push(b'\n');
        }
        self.rewrite.line(line, &mut self.out);
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
        }
        let count = buffer.len().min(self.out.len() - self.given);
        buffer[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
