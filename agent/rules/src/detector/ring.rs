//! The last few records, for rules that look back.

use std::{borrow::Cow, collections::VecDeque};

use jiff::Timestamp;
use nodewell_model::Record;

use crate::matcher::{PAST_LIMIT_BYTES, Past, PastLine};

/// Stores the last records, as many as the deepest rule needs. Buffers are reused.
#[derive(Default)]
pub(super) struct Ring {
    lines: VecDeque<Stored>,
    capacity: usize,
}

struct Stored {
    time: Timestamp,
    text: Vec<u8>,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Self {
        Self { lines: VecDeque::new(), capacity }
    }

    pub(super) fn push(&mut self, record: &Record<'_>) {
        if self.capacity == 0 {
            return;
        }
        let oldest = if self.lines.len() >= self.capacity { self.lines.pop_front() } else { None };
        let mut text = oldest.map(|line| line.text).unwrap_or_default();
        text.clear();
        text.extend_from_slice(&record.text[..record.text.len().min(PAST_LIMIT_BYTES)]);
        self.lines.push_back(Stored { time: record.time, text });
    }
}

impl Past for Ring {
    fn last(&self, limit: usize) -> Vec<PastLine<'_>> {
        let last = self.lines.iter().skip(self.lines.len().saturating_sub(limit));
        last.map(|line| PastLine { time: line.time, text: Cow::Borrowed(&line.text) }).collect()
    }
}
