//! The store's account, apart from threads and disks: what waits, what is durable, what is wrong. Time is an argument.

use std::{
    collections::BTreeSet,
    mem,
    time::{Duration, Instant},
};

use nodewell_model::{Row, Table};
use tokio::sync::oneshot;

use super::{Corruption, SaveError, StoreState, StoreStats, Ticket, WritePriority, pending::Pending};

/// [`WritePriority::Soon`].
const SOON: Duration = Duration::from_millis(100);
/// [`WritePriority::Lazily`].
const LAZILY: Duration = Duration::from_secs(30 * 60);
/// While nothing can be written: some thousand events with the longest messages, and every claim a node ever has.
const LIMIT_WHILE_FAILING_BYTES: usize = 8 * 1024 * 1024;
/// While the disk is only slow. It leaves room for what all owners put at once after a reset.
const LIMIT_BYTES: usize = 4 * LIMIT_WHILE_FAILING_BYTES;
/// A write on a busy disk takes less; a heartbeat to the API server takes more.
pub(super) const HANGS_AFTER: Duration = Duration::from_secs(2);
/// After a reset nothing is written before every owner has put its rows again, but not for longer than this: an owner
/// may have ended.
const OWED_FOR: Duration = Duration::from_secs(5);

/// A request for the rows of some tables.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) tables: Vec<Table>,
    /// Prefers `None` to a wait for a file that cannot be opened.
    pub(super) impatient: bool,
    pub(super) answer: oneshot::Sender<Option<Vec<Row>>>,
}

/// How the store ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// What waits is written.
    Flush,
    /// No owner is left: as in a crash.
    Abandon,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) pending: Pending,
    pub(super) requests: Vec<Request>,
    pub(super) end: Option<End>,
    pub(super) state: StoreState,
    pub(super) stats: StoreStats,
    last: Ticket,
    /// Since when the writer has been at the disk, and whether that was reported to hang.
    at_work: Option<(Instant, bool)>,
    /// Too much waited: all of it was given up on.
    full: bool,
    /// Tables that an owner has put rows into.
    used: BTreeSet<Table>,
    /// Tables whose owners shall put all rows again, and how long that is waited for.
    owed: BTreeSet<Table>,
    owed_until: Option<Instant>,
    /// The error that there was when the disk stopped answering.
    before_hang: Option<SaveError>,
}

impl Account {
    pub(super) fn put(&mut self, rows: Vec<Row>, priority: WritePriority, now: Instant) -> Ticket {
        if rows.is_empty() {
            return self.last;
        }
        self.used.extend(rows.iter().map(|row| row.table));
        self.last += 1;
        if !self.full {
            self.pending.merge(rows);
            self.waits(priority, now);
        }
        self.last
    }

    pub(super) fn put_all(&mut self, tables: &[Table], rows: Vec<Row>, now: Instant) -> Ticket {
        self.used.extend(tables);
        self.last += 1;
        if !self.full {
            self.pending.replace(tables, rows);
            self.owed.retain(|table| !tables.contains(table));
            self.waits(WritePriority::Now, now);
        }
        self.last
    }

    /// A caller waits for what is here.
    pub(super) fn hurry(&mut self, now: Instant) {
        if !self.pending.is_empty() {
            self.pending.hurry(now);
        }
    }

    fn waits(&mut self, priority: WritePriority, now: Instant) {
        self.pending.upto = self.last;
        self.pending.since.get_or_insert(now);
        self.pending.hurry(match priority {
            WritePriority::Now => now,
            WritePriority::Soon => now + SOON,
            WritePriority::Lazily => now + LAZILY,
        });
        let limit = if self.state.save_error.is_some() { LIMIT_WHILE_FAILING_BYTES } else { LIMIT_BYTES };
        if self.pending.bytes() > limit {
            self.give_up();
        }
    }

    /// Drops everything that waits: it can be held no longer, and a part of it would be worth nothing.
    pub(super) fn give_up(&mut self) {
        self.pending = Pending::default();
        self.full = true;
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether every ticket so far is durable.
    pub(super) fn is_flushed(&self) -> bool {
        !self.full && self.pending.is_empty()
    }

    /// When the writer shall write.
    pub(super) fn due(&self) -> Option<Instant> {
        let held = self.owed_until.filter(|_| !self.owed.is_empty());
        self.pending.due.map(|due| held.map_or(due, |held| due.max(held)))
    }

    pub(super) fn take(&mut self) -> Pending {
        self.owed.clear();
        mem::take(&mut self.pending)
    }

    /// The writer goes to the disk.
    pub(super) fn work_begins(&mut self, now: Instant) {
        self.at_work = Some((now, false));
    }

    /// The disk has answered. Returns whether it had been reported to hang.
    pub(super) fn work_ended(&mut self) -> bool {
        let hung = self.at_work.take().is_some_and(|(_, reported)| reported);
        if hung {
            // What was wrong before has not ended by an answer.
            self.state.save_error = self.before_hang.take();
        }
        hung
    }

    /// When what is done now is to be reported to hang.
    pub(super) fn hangs_at(&self) -> Option<Instant> {
        self.at_work.filter(|(_, reported)| !reported).map(|(since, _)| since + HANGS_AFTER)
    }

    /// The disk does not answer.
    pub(super) fn hangs(&mut self, hangs: SaveError) {
        if let Some((_, reported)) = &mut self.at_work {
            *reported = true;
            self.before_hang = self.state.save_error.take();
            self.fails(hangs);
        }
    }

    /// All of `batch` survives a crash.
    pub(super) fn committed(&mut self, batch: &Pending, now: Instant) {
        self.stats.transactions += 1;
        self.stats.rows += batch.len() as u64;
        self.stats.bytes += batch.bytes() as u64;
        self.state.durable = self.state.durable.max(batch.upto);
        self.works(now);
    }

    /// The file can be written.
    pub(super) fn works(&mut self, now: Instant) {
        self.state.save_error = None;
        if mem::take(&mut self.full) {
            self.reset(now);
        }
    }

    /// The file is not the one that was written before.
    pub(super) fn is_another(&mut self, now: Instant) {
        self.state.durable = 0;
        self.reset(now);
    }

    fn reset(&mut self, now: Instant) {
        self.state.resets += 1;
        self.owed = self.used.clone();
        self.owed_until = Some(now + OWED_FOR);
    }

    pub(super) fn fails(&mut self, save_error: SaveError) {
        self.stats.failures += 1;
        self.state.save_error = Some(save_error);
    }

    pub(super) fn was_corrupt(&mut self, corruption: Corruption) {
        self.stats.corruptions += 1;
        self.state.corruption = Some(corruption);
    }

    /// The counters, and what waits at this moment.
    pub(super) fn stats(&self, now: Instant) -> StoreStats {
        let waits = |since: Instant| now.saturating_duration_since(since);
        StoreStats {
            waiting_rows: self.pending.len() as u64,
            waiting_bytes: self.pending.bytes() as u64,
            oldest_waiting: self.pending.since.map(waits).unwrap_or_default(),
            ..self.stats.clone()
        }
    }
}
