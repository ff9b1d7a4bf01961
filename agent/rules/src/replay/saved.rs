//! One line of a saved log, taken apart; only lines with a hit come this far.

use std::{borrow::Cow, collections::VecDeque, ops::Range, time::Duration};

use jiff::Timestamp;
use nodewell_model::{BootId, RecordFields};

use super::{Format, ReplayOptions, dmesg, format::recognise, journal, kmsg, syslog};
use crate::detector::Known;

/// Boots that are remembered.
const BOOTS: usize = 1024;

/// Field names and values.
pub(super) enum Fields<'a> {
    Read(Vec<(String, Vec<u8>)>),
    /// What follows a raw record: most are looked at by no rule that asks for a field.
    Behind(&'a [u8]),
}

impl RecordFields for Fields<'_> {
    fn field(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Read(fields) => fields.field(name),
            Self::Behind(after) => kmsg::field(after, name),
        }
    }
}

/// The content of a line.
pub(super) struct Saved<'a> {
    /// The whole line.
    pub(super) line: &'a [u8],
    pub(super) kernel: bool,
    pub(super) text: Cow<'a, [u8]>,
    pub(super) time: Option<Timestamp>,
    pub(super) since_boot: Option<Duration>,
    pub(super) sequence: Option<u64>,
    pub(super) boot_id: Option<BootId>,
    pub(super) fields: Fields<'a>,
    pub(super) known: Known<'static>,
    /// The line is as its format has them.
    pub(super) is_shaped: bool,
}

impl<'a> Saved<'a> {
    /// A kernel line of which nothing but its text is known.
    pub(super) fn kernel(line: &'a [u8], text: impl Into<Cow<'a, [u8]>>) -> Self {
        Self {
            line,
            kernel: true,
            text: text.into(),
            time: None,
            since_boot: None,
            sequence: None,
            boot_id: None,
            fields: Fields::Read(Vec::new()),
            known: Known::Everything,
            is_shaped: true,
        }
    }

    /// Whether the text is a part of the line, with nothing undone.
    pub(super) fn is_as_written(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }
}

/// How lines are read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) format: Format,
    /// Most lines have the kernel's label, and no more, before the text.
    pub(super) is_labelled: bool,
    pub(super) options: &'a ReplayOptions,
}

impl Reading<'_> {
    /// The record in the line of `bytes` from `start` to `end`; `None` if it holds none that may be believed.
    pub(super) fn read<'b>(&self, bytes: &'b [u8], start: usize, end: usize) -> Option<Saved<'b>> {
        let line = bytes[start..end].strip_suffix(b"\r").unwrap_or(&bytes[start..end]);
        match self.format {
            Format::Kmsg => kmsg::read(line, &bytes[end..], self.options.any_facility),
            Format::Dmesg | Format::Auto if self.is_labelled => dmesg::read_labelled(line, self.options),
            Format::Dmesg | Format::Auto => dmesg::read(line, self.options),
            Format::Syslog => Some(syslog::read(line, self.options)),
            Format::JournalJson => journal::read(line, self.options.any_facility),
        }
    }

    /// Where the records are in the line of `bytes` at `line`, the last first: a console may have torn it.
    pub(super) fn records_back(self, bytes: &[u8], line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let may_be_torn = self.format == Format::Dmesg;
        let (start, mut end) = (line.start, Some(line.end));
        std::iter::from_fn(move || {
            let until = end?;
            let last = if may_be_torn { dmesg::last_stamp(&bytes[start..until]) } else { None };
            end = last.map(|at| start + at);
            let begin = end.unwrap_or(start);
            #[cfg(test)]
            super::work::searched(until - begin);
            Some(begin..until)
        })
    }

    /// Whether `line`, in which nothing was found, is of another form than the log: neither a record, whether it may be
    /// believed or not, nor what stands between records. `saved` is what was read of it.
    pub(super) fn is_unread(&self, line: &[u8], saved: Option<&Saved<'_>>) -> bool {
        if line.trim_ascii().is_empty() {
            return false;
        }
        match self.format {
            Format::Kmsg => saved.is_none() && !line.starts_with(b" ") && !kmsg::is_record(line),
            Format::JournalJson => saved.is_none() && !journal::is_object(line),
            // A message's next lines are indented: one that looks like a record may be a part of a text.
            Format::Syslog => {
                let is_next = line[0].is_ascii_whitespace() && recognise(line) != Some(Format::Syslog);
                let is_between = is_next || line.starts_with(b"-- ");
                saved.is_none_or(|saved| !saved.is_shaped) && !is_between
            }
            // A line without a prefix is one as well, unless it has that of another form, or a time that is not read.
            Format::Dmesg | Format::Auto => {
                let has_time = |saved: &Saved<'_>| saved.time.is_some() || saved.since_boot.is_some();
                let is_other = || recognise(line).is_some_and(|form| form != Format::Dmesg);
                saved.is_some_and(|saved| !saved.is_shaped) || (!saved.is_some_and(has_time) && is_other())
            }
        }
    }
}

/// Distinguishes one boot from the next.
#[derive(Default)]
pub(super) struct Boots {
    /// The newest last: logs of several machines take turns.
    ids: VecDeque<BootId>,
    /// In logs that only count from boot.
    last: Option<(Option<u64>, Option<Duration>)>,
}

impl Boots {
    /// Whether `saved` is of another boot than the lines before it.
    pub(super) fn begins_with(&mut self, saved: &Saved<'_>) -> bool {
        if let Some(id) = saved.boot_id {
            return self.is_new(id);
        }
        if saved.sequence.is_none() && saved.since_boot.is_none() {
            return false;
        }
        let last = self.last.replace((saved.sequence, saved.since_boot));
        last.is_some_and(|(sequence, since_boot)| {
            let restarted = saved.sequence.zip(sequence).is_some_and(|(now, last)| now < last);
            // Lines of different processors may be a little out of order.
            let back = saved.since_boot.zip(since_boot).is_some_and(|(now, last)| now + Duration::from_secs(1) < last);
            restarted || (saved.sequence.is_none() && back)
        })
    }

    fn is_new(&mut self, id: BootId) -> bool {
        if self.ids.iter().rev().any(|known| *known == id) {
            return false;
        }
        if self.ids.len() == BOOTS {
            self.ids.pop_front();
        }
        let is_first = self.ids.is_empty();
        self.ids.push_back(id);
        !is_first
    }
}
