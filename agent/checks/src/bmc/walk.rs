//! Walks the event log from where the last look ended, whatever became of the log since: it grew, was cleared, wrapped,
//! lost single entries, has other ids than before.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    commands::{CommandError, FIRST, LAST, Log, LogEntry, LogInfo, log_info},
    event::{FIRST_TIME, RawRecord},
    reading::LogRecord,
    transport::Transport,
};

/// So many entries are remembered whole: one of them is found again where others were deleted.
const TRAIL: usize = 8;

/// Where a look ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LogCursor {
    /// The entries that were read last, the newest at the end. None: the next look begins with the first entry.
    trail: Vec<RawRecord>,
    /// When entries were last erased, by the BMC's clock.
    erased: u32,
    /// Up to the entry with this id all is history: it was there before the first look, or nothing shows that it was not.
    history_until: Option<u16>,
    /// The log had no entries at the last look.
    was_empty: bool,
    /// How many entries were read since the end of the log was reached.
    unfinished: u32,
}

/// How far one look goes.
pub(super) struct Limits<'a> {
    pub entries: usize,
    /// Whether its time is over.
    pub is_over: &'a dyn Fn() -> bool,
}

/// What a look at the log brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogReading {
    pub info: LogInfo,
    pub is_cleared: bool,
    pub records: Vec<LogRecord>,
    pub cursor: LogCursor,
}

/// Reads what is new, from `cursor` on; all that was there before the first look as history. An error loses nothing: the
/// next look begins at the same cursor.
pub(super) fn read_log(
    transport: &mut dyn Transport,
    cursor: Option<LogCursor>,
    limits: &Limits<'_>,
) -> Result<LogReading, CommandError> {
    let info = log_info(transport)?;
    if info.entries == 0 {
        return Ok(of_empty_log(info, cursor));
    }
    let mut log = Log::of(transport);
    let start = match cursor {
        None => Start::before(last_id(&mut log)?, &info),
        Some(cursor) => Start::after(cursor, &info, &mut log)?,
    };
    start.walk(info, &mut log, limits)
}

/// It may have been cleared, or its BMC has just started and not read it yet: only a later time of erasure shows which.
fn of_empty_log(info: LogInfo, cursor: Option<LogCursor>) -> LogReading {
    let before = cursor.unwrap_or_else(|| LogCursor { erased: info.erased, ..LogCursor::default() });
    let is_cleared = is_later(info.erased, before.erased);
    let cursor = match is_cleared {
        true => LogCursor { erased: info.erased, was_empty: true, ..LogCursor::default() },
        false => LogCursor { was_empty: true, unfinished: 0, ..before },
    };
    LogReading { info, is_cleared, records: Vec::new(), cursor }
}

/// Where a walk begins.
struct Start {
    id: u16,
    cursor: LogCursor,
    is_cleared: bool,
}

impl Start {
    /// All that is there is history, up to what is the last entry now.
    fn before(last: u16, info: &LogInfo) -> Self {
        let cursor = LogCursor { erased: info.erased, history_until: Some(last), ..LogCursor::default() };
        Self { id: FIRST, cursor, is_cleared: false }
    }

    /// After what is left of what was read.
    fn after(cursor: LogCursor, info: &LogInfo, log: &mut Log<'_>) -> Result<Self, CommandError> {
        let erased = info.erased;
        let next = next_after_trail(&cursor.trail, log)?;
        if next.is_some() || cursor.trail.is_empty() {
            let cursor = LogCursor { erased, was_empty: false, ..cursor };
            return Ok(Self { id: next.unwrap_or(FIRST), cursor, is_cleared: false });
        }
        // Nothing of it is left. Where the log was cleared, all that it has now is new; else its ids were given out once
        // more, or more entries than it has room for came since: nothing shows what of it was reported before.
        if cursor.was_empty || is_later(erased, cursor.erased) {
            return Ok(Self { id: FIRST, cursor: LogCursor { erased, ..LogCursor::default() }, is_cleared: true });
        }
        Ok(Self::before(last_id(log)?, info))
    }

    fn walk(self, info: LogInfo, log: &mut Log<'_>, limits: &Limits<'_>) -> Result<LogReading, CommandError> {
        let Self { mut id, mut cursor, is_cleared } = self;
        let (mut records, mut asked) = (Vec::new(), BTreeSet::new());
        while id != LAST && asked.len() < limits.entries && !(limits.is_over)() {
            if !asked.insert(id) {
                return Err(CommandError::Endless);
            }
            let entry = match log.entry(id) {
                Ok(Some(entry)) => entry,
                Err(error) if asked.len() == 1 => return Err(error),
                // It was deleted just now, or the BMC is busy: the next look goes on from what was read.
                Ok(None) | Err(_) => break,
            };
            // One that came in part, or is another one than was asked for, is none.
            let record = entry.record.filter(|record| id == FIRST || id_of(record) == id);
            records.extend(record.and_then(|record| cursor.take(record)));
            id = next_after(&entry)?;
        }
        cursor.unfinished = cursor.unfinished.saturating_add(u32::try_from(asked.len()).unwrap_or(u32::MAX));
        if id == LAST {
            (cursor.history_until, cursor.unfinished) = (None, 0);
        } else if cursor.unfinished > longest(&info, limits) {
            return Err(CommandError::Endless);
        }
        Ok(LogReading { info, is_cleared, records, cursor })
    }
}

impl LogCursor {
    /// Notes an entry that was read; `None` if it is one of those that were read before.
    fn take(&mut self, record: RawRecord) -> Option<LogRecord> {
        if self.trail.contains(&record) {
            return None;
        }
        let is_news = self.history_until.is_none();
        if self.history_until == Some(id_of(&record)) {
            self.history_until = None;
        }
        self.trail.push(record);
        let surplus = self.trail.len().saturating_sub(TRAIL);
        self.trail.drain(..surplus);
        Some(LogRecord { record, is_news })
    }
}

/// Twice as many entries as there are, and a look more: a log that has so many has no end.
fn longest(info: &LogInfo, limits: &Limits<'_>) -> u32 {
    2 * u32::from(info.entries) + u32::try_from(limits.entries).unwrap_or(u32::MAX / 4)
}

/// The id of the last entry; if there is none, one that no entry has, so that history ends with the log.
fn last_id(log: &mut Log<'_>) -> Result<u16, CommandError> {
    let last = log.entry(LAST)?.and_then(|entry| entry.record);
    Ok(last.map_or(LAST, |record| id_of(&record)))
}

/// What follows the newest entry of the trail that is still there, byte by byte: an id alone may be another entry's by now.
fn next_after_trail(trail: &[RawRecord], log: &mut Log<'_>) -> Result<Option<u16>, CommandError> {
    for known in trail.iter().rev() {
        match log.entry(id_of(known))? {
            Some(entry) if entry.record == Some(*known) => return next_after(&entry).map(Some),
            Some(_) | None => {}
        }
    }
    Ok(None)
}

/// No entry leads to the first one.
fn next_after(entry: &LogEntry) -> Result<u16, CommandError> {
    if entry.next == FIRST { Err(CommandError::Endless) } else { Ok(entry.next) }
}

fn id_of(record: &RawRecord) -> u16 {
    let [low, high, ..] = *record;
    u16::from_le_bytes([low, high])
}

/// Whether the log was erased since, as far as its BMC has a calendar.
fn is_later(erased: u32, before: u32) -> bool {
    let is_set = |time: u32| (FIRST_TIME..u32::MAX).contains(&time);
    is_set(erased) && (!is_set(before) || erased > before)
}
