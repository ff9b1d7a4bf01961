//! First stage: where records come from. Each source runs on a thread of its own and hands records to the monitor
//! on that same thread; it never hides what it missed.

pub mod file;
pub mod journal;
pub mod kmsg;

pub(crate) mod framer;
#[cfg(test)]
mod testing;
mod wait;

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_faults::{message, message::reason_of};
use nodewell_message::MessageArgs;
use nodewell_model::{Name, Origin, Record};
use nodewell_rules::{
    Reader,
    npd::golayout::Layout,
    rule::{FileReader, TimestampFormat},
};

use self::{
    file::{FileCursor, FileError, FileOptions, FileStart, LogFiles, TimeParser},
    journal::{Journal, JournalOptions, JournalStart},
    kmsg::{Expectations, Kmsg, KmsgInput, KmsgOptions, KmsgStart},
};
use crate::{
    config::{Config, KERNEL_LOG},
    runtime::Stop,
};

/// Something that reads records until it is stopped.
pub trait Source: Send {
    /// Reads until `stop` is set or the source is gone for good. An error is reported to `sink`, not returned: the
    /// source keeps trying for as long as trying makes sense.
    fn run(self: Box<Self>, sink: &mut dyn Sink, stop: &Stop);
}

/// Receives what a source reads. Called on the source's own thread.
pub trait Sink {
    /// One record.
    fn record(&mut self, record: &Record<'_>);
    /// One record that an earlier run has judged: it is only shown for what comes after it.
    fn known(&mut self, record: &Record<'_>) {
        let _ = record;
    }
    /// Nothing more will be read from the log file of this cursor: it has gone, and was read to its end.
    fn finished(&mut self, cursor: &Origin) {
        let _ = cursor;
    }
    /// A record was read that is not for the rules: of another facility, or not a record at all. It is counted.
    fn passed_over(&mut self);
    /// Records were lost and will not come again.
    fn gap(&mut self, gap: Gap);
    /// The source can see, or cannot. Reported on every change, and once at the start.
    fn state(&mut self, state: SourceState);
    /// Nothing more to read right now: what was merged can go out.
    fn idle(&mut self);
}

/// A counted loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// How many records; `None` where the source cannot know.
    pub lost: Option<u64>,
    /// When reading went on.
    pub time: Timestamp,
    /// What happened, for people.
    pub message: String,
}

/// Whether a source sees what it is meant to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    Running,
    /// It cannot see; the reason (CamelCase, such as `PermissionDenied`) and what to do about it.
    Blind {
        reason: Name,
        message: String,
    },
}

impl Gap {
    /// A loss at `time`, with the message of `key` and its arguments.
    pub(crate) fn of(key: &str, args: MessageArgs<'_>, lost: Option<u64>, time: Timestamp) -> Self {
        Self { lost, time, message: message(key, args) }
    }
}

impl SourceState {
    /// It cannot see; `key` begins with the reason.
    pub(crate) fn blind(key: &'static str, args: MessageArgs<'_>) -> Self {
        Self::Blind { reason: Name::fixed(reason_of(key)), message: message(key, args) }
    }
}

/// Opens sources; on the source's own thread, because opening may hang too.
pub(crate) struct Opener {
    pub(crate) config: Config,
    pub(crate) expectations: Expectations,
    /// The kernel log, if systemd has opened it for us.
    pub(crate) kernel_log: Option<Arc<OwnedFd>>,
    pub(crate) look_back: Duration,
}

impl Opener {
    /// `None`, with a log entry, if the rules ask for what cannot be opened; `check` reports it with its line.
    pub(crate) fn open(&self, reader: &Reader, after: &[Origin]) -> Option<Box<dyn Source>> {
        match reader {
            Reader::Kmsg => Some(Box::new(self.kmsg(after))),
            Reader::Journal { directory } => Some(Box::new(self.journal(directory.as_ref(), after))),
            Reader::File(file) => match self.files(file, after) {
                Ok(files) => Some(Box::new(files)),
                Err(error) => {
                    tracing::error!(source = %file.name, %error, "a log file source cannot be read");
                    None
                }
            },
        }
    }

    /// As far back as any rule of the reader wants.
    fn since(&self) -> Timestamp {
        let lookback = jiff::SignedDuration::try_from(self.look_back).unwrap_or_default();
        Timestamp::now().saturating_sub(lookback).unwrap_or_default()
    }

    fn journal(&self, directory: Option<&PathBuf>, after: &[Origin]) -> Journal {
        let start = match after.first() {
            Some(Origin::Journal { cursor }) => JournalStart::After(cursor.clone()),
            _ => JournalStart::Since(self.since()),
        };
        let directory = directory.or(self.config.journal.directory.as_ref()).cloned();
        Journal::new(JournalOptions { directory, start, ..JournalOptions::default() })
    }

    fn files(&self, reader: &FileReader, after: &[Origin]) -> Result<LogFiles, FileError> {
        let cursor = |origin: &Origin| match *origin {
            Origin::File { device, inode, offset } => Some(FileCursor { device, inode, offset }),
            _ => None,
        };
        let cursors = after.iter().filter_map(cursor).collect();
        let go_time =
            if let TimestampFormat::Go { layout, .. } = &reader.timestamp { Some(go_time(layout)?) } else { None };
        let start = FileStart::Since(self.since());
        LogFiles::new(FileOptions { reader: reader.clone(), start, cursors, go_time })
    }

    fn kmsg(&self, after: &[Origin]) -> Kmsg {
        let start = match after.first() {
            Some(&Origin::Kmsg { boot_id, sequence }) => KmsgStart::After { boot_id, sequence },
            _ => KmsgStart::Oldest,
        };
        let path = self.config.kmsg.path.clone();
        // A path of the administrator's choice is no device that systemd would have opened for us.
        let input = match self.kernel_log.clone().filter(|_| path == Path::new(KERNEL_LOG)) {
            Some(descriptor) => KmsgInput::Open { descriptor, otherwise: path },
            None => KmsgInput::Path(path),
        };
        Kmsg::new(KmsgOptions {
            input,
            facilities: self.config.kmsg.facilities.clone(),
            start,
            expectations: self.expectations.clone(),
        })
    }
}

/// Reads times in a Go layout, by the zone and the year of now.
fn go_time(layout: &str) -> Result<TimeParser, FileError> {
    let parsed = Layout::parse(layout).map_err(|_| FileError::Layout(layout.to_owned()))?;
    Ok(Box::new(move |text| parsed.read(text)?.resolve(&jiff::Zoned::now())))
}
