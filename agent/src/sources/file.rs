//! Log files: followed by device and inode through rotation by rename and by copytruncate, new ones found by glob.

mod generations;
mod line;
mod tail;
mod watch;

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use nix::fcntl::OFlag;
use nodewell_message::MessageArgs;
use nodewell_model::Origin;
use nodewell_rules::rule::FileReader;

use self::{
    line::LineReader,
    tail::{Begin, FileKey, Tail},
    watch::{Watch, matching, renamed},
};
use super::{
    Gap, Sink, Source, SourceState,
    wait::{StateReporter, Woken, wait},
};
use crate::runtime::{Stop, clock};

/// How often the globs are looked at, beside inotify; without inotify how often everything is.
const RESCAN: Duration = Duration::from_secs(30);
const RESCAN_BLINDLY: Duration = Duration::from_secs(5);
/// Writers go on with a rotated file until they are notified (`logrotate`'s postrotate).
const DETACHED_GRACE: Duration = Duration::from_secs(60);

/// Reads the time out of what a Go layout's pattern captured.
pub type TimeParser = Box<dyn Fn(&str) -> Option<Timestamp> + Send>;

/// Which lines of files that are there at the start count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileStart {
    /// Only new ones.
    #[default]
    End,
    /// Those with a time at or after this, within the last 16 MiB.
    Since(Timestamp),
}

/// The line that was read last from a file, as its `Origin` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCursor {
    pub device: u64,
    pub inode: u64,
    pub offset: u64,
}

/// What to read.
pub struct FileOptions {
    pub reader: FileReader,
    pub start: FileStart,
    /// Where an earlier run stopped. Files without one are new since then, if there is any.
    pub cursors: Vec<FileCursor>,
    /// Needed for `TimestampFormat::Go` only.
    pub go_time: Option<TimeParser>,
}

/// Why a log cannot be followed as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("pattern {pattern:?}: {reason}")]
    Pattern { pattern: String, reason: String },
    #[error("glob {glob:?}: {reason}")]
    Glob { glob: String, reason: String },
    #[error("time layout {0:?} has no parser")]
    Layout(String),
}

/// The source: all files of one log.
pub struct LogFiles {
    patterns: Vec<String>,
    lines: LineReader,
    start: FileStart,
    cursors: Vec<FileCursor>,
    tails: Vec<Tail>,
    watch: Option<Watch>,
    /// Files that were there but must not be read: once they may be, their old lines are old.
    denied: HashSet<FileKey>,
    /// What went wrong with a file at the last reading.
    unreadable: Option<SourceState>,
    scanned_at: Option<Duration>,
    /// The same by the clock that files have.
    looked_at: Option<SystemTime>,
    state: StateReporter,
}

impl LogFiles {
    /// Checks patterns and globs; opens nothing yet.
    pub fn new(options: FileOptions) -> Result<Self, FileError> {
        for glob in &options.reader.paths {
            glob::Pattern::new(glob)
                .map_err(|error| FileError::Glob { glob: glob.clone(), reason: error.to_string() })?;
        }
        let lines = LineReader::new(&options.reader, options.go_time)?;
        // In lines without a time, old and new cannot be distinguished.
        let start = if lines.has_times() { options.start } else { FileStart::End };
        Ok(Self {
            patterns: options.reader.paths,
            lines,
            start,
            cursors: options.cursors,
            tails: Vec::new(),
            watch: None,
            denied: HashSet::new(),
            unreadable: None,
            scanned_at: None,
            looked_at: None,
            state: StateReporter::default(),
        })
    }

    /// Finds what came and went. Old files are read to their end before new ones are begun.
    fn rescan(&mut self, sink: &mut dyn Sink) {
        let first = self.scanned_at.is_none();
        self.scanned_at = Some(clock::monotonic());
        let last_look = self.looked_at.replace(SystemTime::now());
        self.lines.look_up_zone();
        if let Some(watch) = &mut self.watch {
            watch.folders(&self.patterns);
        }
        let found: Vec<_> = matching(&self.patterns)
            .into_iter()
            .filter_map(|path| Some((FileKey::of(&fs::metadata(&path).ok()?), path)))
            .collect();
        let keys: HashSet<FileKey> = found.iter().map(|(key, _)| *key).collect();
        self.detach(&keys, sink);
        if first {
            self.return_to_renamed(&keys, sink);
        }
        self.read_left_behind(last_look, sink);
        let mut has_missed = false;
        for (key, path) in found {
            if !self.tails.iter().any(|tail| tail.key == key) {
                has_missed |= !self.attach(&path, key, first, sink);
            }
        }
        if has_missed {
            // What went between finding and opening was made before this look: the next one looks as far back.
            self.looked_at = last_look.or(self.looked_at);
        }
        self.report_state(sink);
    }

    fn detach(&mut self, present: &HashSet<FileKey>, sink: &mut dyn Sink) {
        let now = clock::monotonic();
        for tail in &mut self.tails {
            if present.contains(&tail.key) {
                tail.detached_at = None;
            } else if tail.detached_at.is_none() {
                tail.detached_at = Some(now);
                while tail.read(&self.lines, sink).unwrap_or(false) {}
                tail.finish_line(&self.lines, sink);
            }
        }
        self.tails.retain(|tail| {
            let stays = tail.detached_at.is_none_or(|at| now < at + DETACHED_GRACE);
            if !stays {
                sink.finished(&Origin::File { device: tail.key.device, inode: tail.key.inode, offset: 0 });
            }
            stays
        });
    }

    /// What an earlier run was reading may have been rotated since: its rest comes first.
    fn return_to_renamed(&mut self, present: &HashSet<FileKey>, sink: &mut dyn Sink) {
        for cursor in self.cursors.clone() {
            let key = FileKey { device: cursor.device, inode: cursor.inode };
            if present.contains(&key) {
                continue;
            }
            let renamed = renamed(&self.patterns, key);
            let opened = renamed.and_then(|path| self.open(&path, Begin::Behind(cursor), sink).ok());
            if let Some(mut tail) = opened {
                tail.detached_at = Some(clock::monotonic());
                self.tails.push(tail);
            } else {
                let files = self.patterns.join(" ");
                sink.gap(Gap::of("RecordsLost/file-gone", &[("files", &files)], None, Timestamp::now()));
            }
        }
    }

    /// Whether it was still there: a rotation may come between finding and opening.
    fn attach(&mut self, path: &Path, key: FileKey, first: bool, sink: &mut dyn Sink) -> bool {
        match self.open(path, self.begin(key, first), sink) {
            Ok(tail) => {
                let is_it = tail.key == key;
                self.denied.remove(&key);
                self.tails.push(tail);
                is_it
            }
            Err(error) => {
                if error.kind() == ErrorKind::PermissionDenied {
                    self.denied.insert(key);
                }
                error.kind() != ErrorKind::NotFound
            }
        }
    }

    fn open(&mut self, path: &Path, begin: Begin, sink: &mut dyn Sink) -> io::Result<Tail> {
        let mut tail = Tail::open(open(path)?, path.display().to_string(), begin, sink)?;
        tail.watched = self.watch.as_mut().is_some_and(|watch| watch.file(&tail).is_ok());
        if !tail.watched {
            // No watches left: everything is looked at in turn from now on.
            self.watch = None;
            self.tails.iter_mut().for_each(|tail| tail.watched = false);
        }
        Ok(tail)
    }

    fn begin(&self, key: FileKey, first: bool) -> Begin {
        let known = self.cursors.iter().find(|cursor| (cursor.device, cursor.inode) == (key.device, key.inode));
        match known {
            Some(cursor) if first => Begin::Behind(*cursor),
            None if first && self.cursors.is_empty() => Begin::At(self.start),
            _ if self.denied.contains(&key) => Begin::At(self.start),
            _ => Begin::Top,
        }
    }

    fn report_state(&mut self, sink: &mut dyn Sink) {
        let files = self.patterns.join(" ");
        let state = if let Some(unreadable) = &self.unreadable {
            unreadable.clone()
        } else if !self.tails.is_empty() {
            SourceState::Running
        } else if self.denied.is_empty() {
            SourceState::blind("LogFileMissing", &[("files", &files)])
        } else {
            SourceState::blind("PermissionDenied/file", &[("files", &files)])
        };
        self.state.report(state, sink);
    }

    /// Reads every file, each for one turn; true if one has more.
    fn read(&mut self, sink: &mut dyn Sink) -> bool {
        let (mut more, mut unreadable) = (false, None);
        for tail in &mut self.tails {
            match tail.read(&self.lines, sink) {
                Ok(unfinished) => more |= unfinished,
                // Not at its end, but trying at once would only spin: with the next change or rescan.
                Err(error) => {
                    let args: MessageArgs<'_> = &[("file", &tail.name), ("error", &error)];
                    unreadable = Some(SourceState::blind("LogFileUnreadable", args));
                }
            }
        }
        if self.unreadable != unreadable {
            self.unreadable = unreadable;
            self.report_state(sink);
        }
        more
    }

    /// Unterminated lines that have waited long enough.
    fn finish_lines(&mut self, sink: &mut dyn Sink) {
        let now = clock::monotonic();
        for tail in &mut self.tails {
            if tail.due_in(now) == Some(Duration::ZERO) {
                tail.finish_line(&self.lines, sink);
            }
        }
    }

    fn rescan_in(&self, now: Duration) -> Duration {
        let pause = if self.watch.is_some() { RESCAN } else { RESCAN_BLINDLY };
        self.scanned_at.map_or(Duration::ZERO, |at| (at + pause).saturating_sub(now))
    }

    /// Waits for a change; true if files may have come or gone.
    fn wait(&mut self, stop: &Stop) -> bool {
        let now = clock::monotonic();
        let held = self.tails.iter().filter_map(|tail| tail.due_in(now)).min();
        let timeout = self.rescan_in(now).min(held.unwrap_or(RESCAN));
        let fds: Vec<_> = self.watch.iter().map(Watch::fd).collect();
        let woken = wait(stop, &fds, Some(timeout));
        let moved = woken == Woken::Ready && self.watch.as_mut().is_some_and(Watch::drain);
        moved || self.rescan_in(clock::monotonic()).is_zero()
    }
}

impl Source for LogFiles {
    fn run(mut self: Box<Self>, sink: &mut dyn Sink, stop: &Stop) {
        self.watch = Watch::new().ok();
        self.rescan(sink);
        while !stop.is_set() {
            if self.read(sink) {
                continue;
            }
            self.finish_lines(sink);
            sink.idle();
            if self.wait(stop) {
                self.rescan(sink);
            }
        }
    }
}

/// Without waiting for the other side, should it be a FIFO by now, and without taking a terminal as ours.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests;
