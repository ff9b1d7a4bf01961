//! Where a file's errors are collected while it is read: byte offsets become lines, and their number is bounded.

use std::path::Path;

use nodewell_model::text;

use crate::{Diagnostic, Location, Note, Places};

/// No person reads more of one file, and a file of garbage must not fill the memory.
const DIAGNOSTIC_LIMIT: usize = 100;

/// A line that a person can still read; what is quoted from the file may be of any length.
const MESSAGE_LIMIT_BYTES: usize = 1000;

/// A key that a file sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub table: &'static str,
    pub key: &'static str,
    pub at: Location,
}

/// One file's errors and notes.
pub struct Report<'a> {
    file: &'a Path,
    /// Byte offset of each line's start.
    line_starts: Vec<usize>,
    pub diagnostics: Vec<Diagnostic>,
    pub notes: Vec<Note>,
    pub set: Vec<Set>,
    /// See [`crate::Table::places_of`].
    pub(crate) places_of: fn(&str) -> Places,
    left_out: usize,
    proven: bool,
}

impl<'a> Report<'a> {
    pub fn new(file: &'a Path, text: &str) -> Self {
        let line_starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        Self {
            file,
            line_starts: line_starts.collect(),
            diagnostics: Vec::new(),
            notes: Vec::new(),
            set: Vec::new(),
            places_of: |_| Places::default(),
            left_out: 0,
            proven: false,
        }
    }

    /// Of a text that was proven before it came here: what is costly to prove is not proven again.
    #[must_use]
    pub fn of_proven(file: &'a Path, text: &str) -> Self {
        Self { proven: true, ..Self::new(file, text) }
    }

    pub fn is_proven(&self) -> bool {
        self.proven
    }

    pub fn file(&self) -> &'a Path {
        self.file
    }

    /// The line, counted from 1, of a byte offset.
    pub fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset).max(1)
    }

    pub fn location(&self, offset: usize) -> Location {
        Location { file: self.file.to_owned(), line: self.line(offset) }
    }

    pub fn error(&mut self, offset: usize, message: impl Into<String>) {
        if self.diagnostics.len() < DIAGNOSTIC_LIMIT {
            self.diagnostics.push(Diagnostic::new(self.location(offset), bounded(message.into())));
        } else {
            self.left_out += 1;
        }
    }

    pub fn note(&mut self, offset: usize, message: impl Into<String>) {
        self.notes.push(Note::new(self.location(offset), bounded(message.into())));
    }

    /// The file sets this key of a table.
    pub fn was_set(&mut self, table: &'static str, key: &'static str, offset: usize) {
        self.set.push(Set { table, key, at: self.location(offset) });
    }

    /// Errors of a file that this one names.
    pub fn take(&mut self, diagnostics: Vec<Diagnostic>) {
        self.diagnostics.extend(diagnostics);
    }

    /// Forgets the errors from the line of this offset on.
    pub fn keep_before(&mut self, offset: usize) {
        let line = self.line(offset);
        self.diagnostics.retain(|diagnostic| diagnostic.location.line < line);
        self.left_out = 0;
    }

    /// How many errors were found so far, reported or not: a part is good if this did not grow while reading it.
    pub fn count(&self) -> usize {
        self.diagnostics.len() + self.left_out
    }

    /// The errors and notes in the order of the lines; the last error counts those that were left out, if any.
    pub fn finish(mut self) -> (Vec<Diagnostic>, Vec<Note>) {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.location.line);
        if self.left_out > 0 {
            let message = format!("{} more errors in this file", self.left_out);
            let line = self.diagnostics.last().map_or(1, |last| last.location.line);
            self.diagnostics.push(Diagnostic::new(Location { file: self.file.to_owned(), line }, message));
        }
        (self.diagnostics, self.notes)
    }
}

fn bounded(message: String) -> String {
    match text::cut(&message, MESSAGE_LIMIT_BYTES) {
        whole if whole.len() == message.len() => message,
        head => format!("{head}…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_the_number_of_errors_is_bounded() {
        let mut report = Report::new(Path::new("a.toml"), "one\ntwo\n\nfour");
        let lines: Vec<usize> = [0, 3, 4, 8, 9, 13, 999].iter().map(|at| report.line(*at)).collect();
        assert_eq!(lines, [1, 1, 2, 3, 4, 4, 4]);
        report.note(0, "ä".repeat(5000));
        assert_eq!(report.notes[0].message.len(), MESSAGE_LIMIT_BYTES + "…".len());
        (0..150).for_each(|_| report.error(4, "bad"));
        let (diagnostics, _) = report.finish();
        assert_eq!(diagnostics.len(), 101);
        assert_eq!(diagnostics[100].to_string(), "a.toml:2: 50 more errors in this file");
    }
}
