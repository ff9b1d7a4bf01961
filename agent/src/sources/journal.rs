//! The systemd journal, followed through rotation, vacuum and restarts of journald; the kernel's own lines are left to
//! kmsg.

mod directory;
mod entry;
mod journald;
mod numbers;

use std::{path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use nix::errno::Errno;
use nodewell_message::MessageArgs;
use nodewell_model::BootId;
use nodewell_sys::{
    bus_error,
    journal::{Change, Journal as JournalReader, JournalError, JournalLibrary},
};
use nodewell_time::Backoff;

use self::{
    directory::{JournalDirectory, Layout},
    entry::{FIELD_LIMIT_BYTES, Taken, show, take},
    journald::Journald,
};
use super::{
    Gap, Sink, Source, SourceState,
    wait::{LONGEST_PAUSE_SECS, PAUSES, StateReporter, Woken, wait},
};
use crate::runtime::{Stop, clock};

/// How often it is looked whether the journal has moved (from /run to /var, or to a new machine id): libsystemd only
/// watches the directories that were there when it opened.
const LAYOUT_CHECK: Duration = Duration::from_secs(30);
/// So many entries before the first new one are shown, for rules that look back; none looks further.
const SHOWN_BEFORE: usize = 64;

/// Which entry is the first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum JournalStart {
    /// The first new one.
    #[default]
    Tail,
    /// The oldest.
    Head,
    /// The first at or after this time.
    Since(Timestamp),
    /// The one after this cursor.
    After(String),
}

/// What to read.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// `None`: the system's own.
    pub directory: Option<PathBuf>,
    pub start: JournalStart,
    /// Entries with any of these fields and values; none: all.
    pub matches: Vec<(String, String)>,
    /// What the dynamic linker is asked for.
    pub library: String,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            directory: None,
            start: JournalStart::default(),
            matches: Vec::new(),
            library: JournalLibrary::NAME.to_owned(),
        }
    }
}

/// The source.
pub struct Journal {
    options: JournalOptions,
    directory: JournalDirectory,
    /// `None`: a directory of its own, which anyone may write.
    journald: Option<Journald>,
    library: Option<Arc<JournalLibrary>>,
    state: StateReporter,
    backoff: Backoff,
    text: Vec<u8>,
    /// The sink has seen entries of this run: it need not be shown what came before.
    has_shown: bool,
    /// The newest entry's boot was compared with this one.
    has_compared_boot: bool,
    /// Entries that could not be read, not yet reported as a gap.
    skipped: u64,
    /// The entry that was read last; asked for before waiting, because vacuum empties files that are still open.
    last: Option<String>,
    /// The same, if it went with its file: the next one shows by its number what went with it.
    vanished: Option<String>,
}

/// Why following ended before it was stopped.
enum FollowError {
    Blind(SourceState),
    Failed(JournalError),
    /// The disk under a mapped file answered with errors: what was read from it is not to be trusted.
    Disk,
    /// The directories are others now.
    Moved,
}

impl From<JournalError> for FollowError {
    fn from(error: JournalError) -> Self {
        Self::Failed(error)
    }
}

impl Journal {
    #[must_use]
    pub fn new(options: JournalOptions) -> Self {
        Self {
            directory: JournalDirectory::new(options.directory.as_deref()),
            journald: options.directory.is_none().then(Journald::default),
            options,
            library: None,
            state: StateReporter::default(),
            backoff: PAUSES,
            text: Vec::new(),
            has_shown: false,
            has_compared_boot: false,
            skipped: 0,
            last: None,
            vanished: None,
        }
    }

    /// Opens the journal and reads it until `stop` or an error.
    fn follow(&mut self, sink: &mut dyn Sink, stop: &Stop) -> Result<(), FollowError> {
        let layout = self.directory.layout();
        let mut reader = self.open()?;
        self.last = None;
        self.go_to_start(&mut reader, sink)?;
        self.has_shown = true;
        let state = self.journald.as_mut().map_or(SourceState::Running, |journald| journald.settled(stop));
        self.state.report(state, sink);
        while !stop.is_set() {
            if reader.step()? {
                self.take(&mut reader, sink);
                continue;
            }
            if bus_error::replaced_pages() > 0 {
                return Err(FollowError::Disk);
            }
            self.report_skipped(sink);
            sink.idle();
            self.compare_boot(&mut reader);
            self.last = reader.cursor().ok().or(self.last.take());
            self.wait(&mut reader, &layout, sink, stop)?;
            self.follow_journald(sink);
        }
        Ok(())
    }

    fn open(&mut self) -> Result<JournalReader, FollowError> {
        let library = match &self.library {
            Some(library) => Arc::clone(library),
            None => Arc::new(JournalLibrary::load(&self.options.library)?),
        };
        self.library = Some(Arc::clone(&library));
        if let Some(blind) = self.directory.blindness() {
            return Err(FollowError::Blind(blind));
        }
        let mut reader = match &self.options.directory {
            None => JournalReader::open(library)?,
            Some(directory) => JournalReader::open_directory(library, directory)?,
        };
        reader.set_data_threshold(FIELD_LIMIT_BYTES)?;
        for (index, (field, value)) in self.options.matches.iter().enumerate() {
            if index > 0 {
                reader.add_disjunction()?;
            }
            reader.add_match(field, value)?;
        }
        // Now, not at the first wait: what is written in between would not be reported.
        reader.fd()?;
        Ok(reader)
    }

    fn go_to_start(&mut self, reader: &mut JournalReader, sink: &mut dyn Sink) -> Result<(), FollowError> {
        match self.options.start.clone() {
            JournalStart::Head => reader.seek_head()?,
            JournalStart::Since(time) => reader.seek_realtime(u64::try_from(time.as_microsecond()).unwrap_or(0))?,
            JournalStart::Tail => self.go_to_tail(reader)?,
            JournalStart::After(cursor) => self.go_behind(&cursor, reader, sink)?,
        }
        Ok(())
    }

    fn go_to_tail(&mut self, reader: &mut JournalReader) -> Result<(), JournalError> {
        reader.seek_tail()?;
        if reader.step_back()? {
            self.options.start = JournalStart::After(reader.cursor()?);
            return Ok(());
        }
        // Nothing is there yet, so everything is new. From the tail itself libsystemd never steps forward.
        self.options.start = JournalStart::Head;
        reader.seek_head()
    }

    fn go_behind(&mut self, cursor: &str, reader: &mut JournalReader, sink: &mut dyn Sink) -> Result<(), FollowError> {
        if let Err(error) = reader.seek_cursor(cursor) {
            // A cursor that is none (a damaged state file): what there is now is not read twice, and that is reported.
            lost("RecordsLost/journal-cursor", &[("error", &error)], None, sink);
            return Ok(self.go_to_tail(reader)?);
        }
        self.find(cursor.to_owned(), reader, sink)
    }

    /// If files come or go while nothing is left to read: vacuum takes the oldest, so what was read last shows whether
    /// it took more than that.
    fn process(&mut self, reader: &mut JournalReader, sink: &mut dyn Sink) -> Result<(), FollowError> {
        if reader.process()? == Change::Files
            && let Some(last) = self.last.take()
        {
            reader.seek_cursor(&last)?;
            self.find(last, reader, sink)?;
        }
        Ok(())
    }

    /// Having sought `last`, stands on it, or takes what follows in its place; if nothing does yet, the next step finds
    /// it.
    fn find(&mut self, last: String, reader: &mut JournalReader, sink: &mut dyn Sink) -> Result<(), FollowError> {
        let follows = reader.step()?;
        if follows && reader.is_at(&last)? {
            return if self.has_shown { Ok(()) } else { Ok(self.show_before(&last, reader, sink)?) };
        }
        self.vanished = Some(last);
        if follows {
            self.take(reader, sink);
        }
        Ok(())
    }

    /// Shows the entries up to the one at `cursor`, at which the reader stands before and after.
    fn show_before(
        &mut self,
        cursor: &str,
        reader: &mut JournalReader,
        sink: &mut dyn Sink,
    ) -> Result<(), JournalError> {
        let mut entries = 1;
        while entries < SHOWN_BEFORE && reader.step_back()? {
            entries += 1;
        }
        for _ in 0..entries {
            // A damaged one is no loss: it was judged, or counted, when it was new.
            let _ = show(reader, &mut self.text, sink);
            if reader.is_at(cursor)? || !reader.step()? {
                break;
            }
        }
        reader.seek_cursor(cursor)?;
        reader.step()?;
        Ok(())
    }

    fn report_vacuumed(&mut self, reader: &mut JournalReader, sink: &mut dyn Sink) {
        let Some(last) = self.vanished.take() else { return };
        let between = reader.cursor().ok().and_then(|here| numbers::between(&last, &here));
        if between != Some(0) {
            lost("RecordsLost/journal-vacuumed", &[], None, sink);
        }
    }

    /// An entry that cannot be read (a damaged file) is skipped and counted; its neighbours are read.
    fn take(&mut self, reader: &mut JournalReader, sink: &mut dyn Sink) {
        self.report_vacuumed(reader, sink);
        match take(reader, &mut self.text, sink) {
            Ok(Taken::Passed(cursor)) => {
                self.options.start = JournalStart::After(cursor);
                self.backoff.reset();
            }
            Ok(Taken::PassedOver) => {}
            Err(_) => self.skipped += 1,
        }
    }

    /// In a container journald may have a boot id of its own: its entries then look like those of an earlier boot.
    fn compare_boot(&mut self, reader: &mut JournalReader) {
        if self.options.directory.is_some() {
            return;
        }
        let (false, Ok((_, newest)), Some(this)) = (self.has_compared_boot, reader.monotonic_usec(), clock::boot_id())
        else {
            return;
        };
        self.has_compared_boot = true;
        let newest = BootId::from_bytes(newest);
        if newest != this {
            tracing::warn!(
                %newest,
                %this,
                "the journal's newest entry is not of this boot: what a boot clears ends at once while that is so. \
                 In a container journald may have a boot id of its own"
            );
        }
    }

    fn report_skipped(&mut self, sink: &mut dyn Sink) {
        let skipped = std::mem::take(&mut self.skipped);
        if skipped > 0 {
            lost("RecordsLost/journal-damaged", &[("lost", &skipped)], Some(skipped), sink);
        }
    }

    /// Waits until the journal has changed, or for a while.
    fn wait(
        &mut self,
        reader: &mut JournalReader,
        layout: &Layout,
        sink: &mut dyn Sink,
        stop: &Stop,
    ) -> Result<(), FollowError> {
        let deadline = reader.deadline()?.map(|at| at.saturating_sub(clock::monotonic()));
        let timeout = deadline.map_or(LAYOUT_CHECK, |deadline| deadline.min(LAYOUT_CHECK));
        match wait(stop, &[reader.fd()?], Some(timeout)) {
            Woken::Stopped => Ok(()),
            Woken::TimedOut if self.directory.layout() != *layout => Err(FollowError::Moved),
            // Back to the sink: a sign of life.
            Woken::TimedOut if deadline.is_none() => Ok(()),
            Woken::TimedOut | Woken::Ready => self.process(reader, sink),
        }
    }

    /// By the clock, however busy the journal is. What can be read is read on, whatever the answer.
    fn follow_journald(&mut self, sink: &mut dyn Sink) {
        let looked = self.journald.as_mut().and_then(Journald::look_if_due);
        looked.into_iter().for_each(|state| self.state.report(state, sink));
    }

    fn blind(error: FollowError) -> Option<SourceState> {
        let retry = LONGEST_PAUSE_SECS;
        Some(match error {
            FollowError::Moved => return None,
            FollowError::Blind(state) => state,
            FollowError::Disk => SourceState::blind("JournalUnreadable/disk", &[("retry", &retry)]),
            FollowError::Failed(error) => match error.errno() {
                None => SourceState::blind("JournalUnavailable", &[("error", &error)]),
                Some(Errno::EACCES | Errno::EPERM) => {
                    SourceState::blind("PermissionDenied/journal", &[("error", &error)])
                }
                Some(_) => SourceState::blind("JournalUnreadable", &[("error", &error), ("retry", &retry)]),
            },
        })
    }
}

fn lost(key: &str, args: MessageArgs<'_>, lost: Option<u64>, sink: &mut dyn Sink) {
    sink.gap(Gap::of(key, args, lost, Timestamp::now()));
}

impl Source for Journal {
    fn run(mut self: Box<Self>, sink: &mut dyn Sink, stop: &Stop) {
        if let Err(error) = bus_error::guard_this_thread() {
            tracing::warn!(%error, "a disk that dies under the journal will end the process");
        }
        while !stop.is_set() {
            let Err(error) = self.follow(sink, stop) else { continue };
            self.report_skipped(sink);
            let Some(blind) = Self::blind(error) else { continue };
            self.state.report(blind, sink);
            sink.idle();
            wait(stop, &[], Some(self.backoff.pause()));
        }
    }
}

#[cfg(test)]
mod tests;
