//! One log file, known by device and inode and read to its end again and again, whatever happens to its name.

use std::{
    fs::{File, Metadata},
    io,
    os::{
        fd::AsFd,
        unix::fs::{FileExt, MetadataExt},
    },
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use nodewell_model::{NoFields, Origin, Record};

use super::{FileCursor, FileStart, line::LineReader};
use crate::{
    runtime::clock,
    sources::{
        Gap, Sink,
        framer::{FRAME_LIMIT_BYTES, Flush, Frame, Framer, Joining},
    },
};

/// How far back a start with a lookback reads.
const LOOKBACK_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// So much before the first new line is shown, for rules that look back.
const SHOWN_BEFORE_BYTES: u64 = 64 * 1024;
/// Of one file at a time, so that a flood in one does not starve the others.
const TURN_BYTES: usize = 4 * 1024 * 1024;
/// A file whose first bytes change was truncated and rewritten, even if it is longer now.
const HEAD_BYTES: usize = 128;
/// A change is seen within this on a machine that is not overloaded: inotify reports it at once.
const PROMPT: Duration = Duration::from_millis(100);
/// An unterminated line counts as whole after this, and its writer is not busy.
const QUIET: Duration = Duration::from_secs(1);

/// What a file is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileKey {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl FileKey {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Where to begin in a file that is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Begin {
    /// It is new: everything.
    Top,
    /// It was there before us.
    At(FileStart),
    /// Behind the line of this cursor.
    Behind(FileCursor),
}

/// Lines that were there when the file was opened: only those since a time are passed on.
#[derive(Debug)]
struct Backlog {
    until: u64,
    since: Option<Timestamp>,
}

pub(crate) struct Tail {
    file: File,
    pub(crate) key: FileKey,
    pub(crate) name: String,
    framer: Framer,
    backlog: Option<Backlog>,
    /// Lines that begin at or before this were judged by an earlier run.
    known_through: Option<u64>,
    head: Vec<u8>,
    /// The time of the newest line that had one: lines without belong to it.
    time: Option<Timestamp>,
    grew_at: Duration,
    /// The last read ended at the file's end.
    caught_up: bool,
    /// Inotify reports each write.
    pub(crate) watched: bool,
    /// When no name that we watch led to it any more.
    pub(crate) detached_at: Option<Duration>,
}

impl Tail {
    pub(crate) fn open(file: File, name: String, begin: Begin, sink: &mut dyn Sink) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (framer, backlog) = beginning(begin, metadata.len());
        let known_through = match begin {
            Begin::Behind(cursor) => Some(cursor.offset),
            Begin::Top | Begin::At(_) => None,
        };
        let mut tail = Self {
            key: FileKey::of(&metadata),
            file,
            name,
            framer,
            backlog,
            known_through,
            head: Vec::new(),
            time: None,
            grew_at: clock::monotonic(),
            caught_up: false,
            watched: false,
            detached_at: None,
        };
        if tail.framer.end_offset() > 0 {
            tail.remember_head()?;
        }
        if known_through.is_some_and(|offset| offset >= metadata.len() || !tail.begins_line(offset)) {
            tail.restart("RecordsLost/file-truncated", sink);
        }
        Ok(tail)
    }

    /// Whether a line begins at `offset`: one that was rewritten hardly ever has one at the same offset.
    fn begins_line(&self, offset: u64) -> bool {
        let mut before = [0];
        offset == 0 || (self.file.read_at(&mut before, offset - 1).is_ok_and(|length| length == 1) && before == *b"\n")
    }

    pub(crate) fn fd(&self) -> impl AsFd + '_ {
        &self.file
    }

    /// When it was last written to.
    pub(crate) fn written(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Reads what is new; true if there is more than one turn's.
    pub(crate) fn read(&mut self, lines: &LineReader, sink: &mut dyn Sink) -> io::Result<bool> {
        self.notice_truncation(lines, sink)?;
        let mut turn = 0;
        while turn < TURN_BYTES {
            let length = self.read_once(lines, sink)?;
            self.caught_up = length == 0;
            if self.caught_up {
                self.framer.release();
                return Ok(false);
            }
            turn += length;
        }
        Ok(true)
    }

    /// One read; its length. What is read counts only if the file still is the one whose beginning we know.
    fn read_once(&mut self, lines: &LineReader, sink: &mut dyn Sink) -> io::Result<usize> {
        let offset = self.framer.end_offset();
        let room = self.framer.room();
        let length = self.file.read_at(room, offset)?;
        if length == 0 {
            return Ok(0);
        }
        if self.head.len() < HEAD_BYTES && offset == self.head.len() as u64 {
            self.head.extend(room[..length].iter().take(HEAD_BYTES - self.head.len()));
        }
        if self.head_changed()? {
            self.pass(lines, Flush::End, sink);
            self.restart("RecordsLost/file-rewritten", sink);
            return Ok(length);
        }
        self.framer.filled(length);
        self.grew_at = clock::monotonic();
        self.pass(lines, Flush::Quiet, sink);
        Ok(length)
    }

    fn notice_truncation(&mut self, lines: &LineReader, sink: &mut dyn Sink) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        if metadata.len() >= self.framer.end_offset() {
            return Ok(());
        }
        self.pass(lines, Flush::End, sink);
        if self.had_it_all(&metadata) {
            self.begin_anew();
        } else {
            self.restart("RecordsLost/file-truncated", sink);
        }
        Ok(())
    }

    /// Whether what was cut off is what we have read: it had come to rest before, and we looked as soon as it was cut.
    /// A line that was written just before it was cut off leaves no trace.
    fn had_it_all(&self, cut: &Metadata) -> bool {
        let at_rest = self.caught_up && self.grew_at + QUIET <= clock::monotonic();
        let ago = cut.modified().ok().and_then(|cut_at| cut_at.elapsed().ok());
        self.watched && at_rest && ago.is_some_and(|ago| ago < PROMPT)
    }

    /// How long until the unterminated line that is held counts as whole; `None` if none is.
    pub(crate) fn due_in(&self, now: Duration) -> Option<Duration> {
        self.framer.holds_back().then(|| (self.grew_at + QUIET).saturating_sub(now))
    }

    /// Nothing will come after what is held.
    pub(crate) fn finish_line(&mut self, lines: &LineReader, sink: &mut dyn Sink) {
        self.pass(lines, Flush::End, sink);
        self.framer.release();
    }

    fn pass(&mut self, lines: &LineReader, flush: Flush, sink: &mut dyn Sink) {
        let now = Timestamp::now();
        while let Some(span) = self.framer.advance(flush) {
            let frame = self.framer.frame(span);
            let Some(line) = lines.read(frame.bytes, now) else { continue };
            self.time = line.time.or(self.time);
            if self.backlog.as_ref().is_some_and(|backlog| backlog.holds(frame, self.time)) {
                continue;
            }
            let record = Record {
                time: self.time.unwrap_or(now),
                since_boot: None,
                boot_id: None,
                origin: Origin::File { device: self.key.device, inode: self.key.inode, offset: frame.offset },
                text: line.text,
                fields: &NoFields,
                test: false,
            };
            if self.known_through.is_some_and(|known| frame.offset <= known) {
                sink.known(&record);
            } else {
                sink.record(&record);
            }
        }
    }

    /// Whether the file no longer begins with what it began with.
    fn head_changed(&self) -> io::Result<bool> {
        let mut head = [0; HEAD_BYTES];
        let length = self.file.read_at(&mut head[..self.head.len()], 0)?;
        Ok(head[..length] != *self.head)
    }

    /// Where reading begins further on, the beginning is remembered beforehand.
    fn remember_head(&mut self) -> io::Result<()> {
        let mut head = [0; HEAD_BYTES];
        let length = self.file.read_at(&mut head, 0)?;
        self.head = head[..length].to_vec();
        Ok(())
    }

    fn restart(&mut self, key: &str, sink: &mut dyn Sink) {
        self.begin_anew();
        sink.gap(Gap::of(key, &[("file", &self.name)], None, Timestamp::now()));
    }

    fn begin_anew(&mut self) {
        self.framer = Framer::new(Joining::Lines, 0);
        (self.backlog, self.known_through) = (None, None);
        self.head.clear();
    }
}

impl Backlog {
    /// Whether a line was there at the start, and is older than what is asked for.
    fn holds(&self, frame: Frame<'_>, time: Option<Timestamp>) -> bool {
        let old = frame.offset + frame.bytes.len() as u64 <= self.until;
        let asked_for = self.since.is_some_and(|since| time.is_some_and(|time| time >= since));
        old && !asked_for
    }
}

fn beginning(begin: Begin, size: u64) -> (Framer, Option<Backlog>) {
    match begin {
        Begin::Top => (Framer::new(Joining::Lines, 0), None),
        // With what comes before the new lines, for rules that look back.
        Begin::Behind(cursor) => (last(cursor.offset, SHOWN_BEFORE_BYTES), None),
        // The last line may be unfinished: we must have its beginning.
        Begin::At(FileStart::End) => (last(size, FRAME_LIMIT_BYTES as u64), Some(Backlog { until: size, since: None })),
        Begin::At(FileStart::Since(since)) => {
            (last(size, LOOKBACK_LIMIT_BYTES), Some(Backlog { until: size, since: Some(since) }))
        }
    }
}

/// The whole lines among the last `bytes`.
fn last(size: u64, bytes: u64) -> Framer {
    match size.checked_sub(bytes) {
        Some(offset) if offset > 0 => Framer::mid_line(Joining::Lines, offset - 1),
        _ => Framer::new(Joining::Lines, 0),
    }
}
