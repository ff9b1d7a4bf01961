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
/// A BMC that starts answers before it has read its log: at so many first looks a log has to be empty to be a new one.
const EMPTY_LOOKS: u8 = 3;

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
    /// Since the first look it had none, at so many looks. 0: it had some, or was cleared.
    only_empty: u8,
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
    /// It was read to its end: what follows an entry is known.
    pub is_whole: bool,
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
    let is_first = cursor.is_none();
    let before = cursor.unwrap_or_else(|| LogCursor { erased: info.erased, ..LogCursor::default() });
    let is_cleared = is_later(info.erased, before.erased);
    let only_empty = match before.only_empty {
        0 if !is_first => 0,
        looks => looks.saturating_add(1).min(EMPTY_LOOKS),
    };
    let cursor = match is_cleared {
        true => LogCursor { erased: info.erased, ..LogCursor::default() },
        false => LogCursor { unfinished: 0, ..before },
    };
    let cursor = LogCursor { was_empty: true, only_empty, ..cursor };
    LogReading { info, is_cleared, is_whole: true, records: Vec::new(), cursor }
}

/// Where a walk begins.
struct Start {
    /// `None`: nothing follows what was read.
    next: Option<u16>,
    cursor: LogCursor,
    is_cleared: bool,
}

impl Start {
    /// All that is there is history, up to what is the last entry now.
    fn before(last: u16, info: &LogInfo) -> Self {
        let cursor = LogCursor { erased: info.erased, history_until: Some(last), ..LogCursor::default() };
        Self { next: Some(FIRST), cursor, is_cleared: false }
    }

    /// After what is left of what was read.
    fn after(cursor: LogCursor, info: &LogInfo, log: &mut Log<'_>) -> Result<Self, CommandError> {
        let erased = info.erased;
        if (1..EMPTY_LOOKS).contains(&cursor.only_empty) {
            return Ok(Self::before(last_id(log)?, info));
        }
        let found = end_of_trail(&cursor.trail, log)?;
        if found.is_some() || cursor.trail.is_empty() {
            let cursor = LogCursor { erased, was_empty: false, only_empty: 0, ..cursor };
            return Ok(Self { next: found.map_or(Some(FIRST), |entry| next_after(&entry)), cursor, is_cleared: false });
        }
        // Nothing of it is left. Where the log was cleared, all that it has now is new; else its ids were given out once
        // more, or more entries than it has room for came since: nothing shows what of it was reported before.
        if cursor.was_empty || is_later(erased, cursor.erased) {
            let cursor = LogCursor { erased, ..LogCursor::default() };
            return Ok(Self { next: Some(FIRST), cursor, is_cleared: true });
        }
        Ok(Self::before(last_id(log)?, info))
    }

    fn walk(self, info: LogInfo, log: &mut Log<'_>, limits: &Limits<'_>) -> Result<LogReading, CommandError> {
        let Self { mut next, mut cursor, is_cleared } = self;
        let (mut records, mut asked) = (Vec::new(), BTreeSet::new());
        while let Some(id) = next
            && id != LAST
            && asked.len() < limits.entries
            && !(limits.is_over)()
        {
            if !asked.insert(id) {
                return Err(CommandError::Endless);
            }
            let entry = match log.entry(id) {
                Ok(Some(entry)) => entry,
                Err(error) if asked.len() == 1 => return Err(error),
                // The last entry led to one that is not there.
                Ok(None) if asked.len() == 1 => {
                    next = None;
                    break;
                }
                // It was deleted just now, or the BMC is busy: the next look goes on from what was read.
                Ok(None) | Err(_) => break,
            };
            // One that came in part, or is another one than was asked for, is none.
            let record = entry.record.filter(|record| id == FIRST || id_of(record) == id);
            records.extend(record.and_then(|record| cursor.take(record)));
            next = next_after(&entry);
        }
        cursor.unfinished = cursor.unfinished.saturating_add(u32::try_from(asked.len()).unwrap_or(u32::MAX));
        match next {
            Some(LAST) => (cursor.history_until, cursor.unfinished) = (None, 0),
            // At two looks the same entry is the last.
            None if records.is_empty() && !cursor.trail.is_empty() => {
                (cursor.history_until, cursor.unfinished) = (None, 0);
            }
            None => cursor.unfinished = 0,
            Some(_) if cursor.unfinished > longest(&info, limits) => return Err(CommandError::Endless),
            Some(_) => {}
        }
        let is_whole = next.is_none_or(|id| id == LAST);
        Ok(LogReading { info, is_cleared, is_whole, records, cursor })
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

/// The id of the last entry; if there is none, or the BMC does not give it, one that no entry has, so that history ends
/// with the log.
fn last_id(log: &mut Log<'_>) -> Result<u16, CommandError> {
    let last = match log.entry(LAST) {
        Err(CommandError::Refused { .. }) => None,
        last => last?.and_then(|entry| entry.record),
    };
    Ok(last.map_or(LAST, |record| id_of(&record)))
}

/// The newest entry of the trail that is still there, byte by byte: an id alone may be another entry's by now.
fn end_of_trail(trail: &[RawRecord], log: &mut Log<'_>) -> Result<Option<LogEntry>, CommandError> {
    for known in trail.iter().rev() {
        match log.entry(id_of(known))? {
            Some(entry) if entry.record == Some(*known) => return Ok(Some(entry)),
            Some(_) | None => {}
        }
    }
    Ok(None)
}

/// `None` where it leads to the first one, as no entry should: to some BMCs that is the end. Unlike at [`LAST`] history
/// goes on until the next look finds the same, for it may also be an answer that failed.
fn next_after(entry: &LogEntry) -> Option<u16> {
    (entry.next != FIRST).then_some(entry.next)
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
