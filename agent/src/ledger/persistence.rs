//! Saves the ledger task's state in the store: the rows that changed, the events that were reported, and how far each
//! log was read for them, all in one piece. At the start it loads what an earlier run saved.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
    sync::Arc,
};

use nodewell_ledger::{Gap, Ledger};
use nodewell_model::{EventRecord, Origin, Row, Table};
use tokio::sync::watch;

use crate::{
    readers::SavedCursors,
    runtime::clock,
    store::{Store, StoreState, Ticket, WritePriority},
};

/// The tables that this task reads at its start. The exporter that delivers events reads them itself.
pub const READ: [Table; 6] =
    [Table::Claims, Table::Conditions, Table::Daemons, Table::Totals, Table::Ledger, Table::Cursors];
/// How many events wait for the exporter that delivers them.
const EVENTS_LIMIT: u64 = 10_000;
/// The tables of which it puts every row.
const OWNED: [Table; 6] = READ;

/// The way between the ledger and the store.
pub struct Persistence {
    store: Store,
    /// An exporter delivers events, and takes them over from the store.
    saves_events: bool,
    /// Our own monitors: claims of others of that kind are from rules that are gone.
    monitors: Vec<Arc<str>>,
    cursors: BTreeMap<Arc<str>, Vec<Origin>>,
    moved: BTreeSet<Arc<str>>,
    ticket: Ticket,
    late: Option<Pin<Box<dyn Future<Output = Vec<Row>>>>>,
    state: watch::Receiver<StoreState>,
    resets: u64,
}

impl std::fmt::Debug for Persistence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Persistence").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

/// What the store reports.
pub(super) enum News {
    /// The file could be opened at last.
    Rows(Vec<Row>),
    /// It is another file: everything has to be put again.
    Reset,
}

impl Persistence {
    #[must_use]
    pub fn new(store: Store, monitors: Vec<Arc<str>>, saves_events: bool) -> Self {
        let state = store.watch();
        let resets = state.borrow().resets;
        Self {
            store,
            saves_events,
            monitors,
            cursors: BTreeMap::new(),
            moved: BTreeSet::new(),
            ticket: 0,
            late: None,
            state,
            resets,
        }
    }

    /// Loads the state of an earlier run.
    pub(super) fn load(&mut self, rows: Vec<Row>, ledger: &mut Ledger) {
        let (cursors, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.table == Table::Cursors);
        for (log, cursors) in self::cursors(&cursors) {
            self.cursors.entry(log.into()).or_insert(cursors);
        }
        if rows.is_empty() {
            return;
        }
        let now = clock::now();
        let taken = ledger.load(rows, now);
        let retired = ledger.retire_all_but(&self.monitors, now);
        if taken.unreadable > 0 {
            tracing::warn!(rows = taken.unreadable, "rows of the state file are damaged and are dropped");
        }
        if taken.left > 0 {
            tracing::warn!(rows = taken.left, "rows of the state file are not understood and stay for a newer version");
        }
        tracing::info!(claims = taken.claims, retired, rebooted = taken.rebooted, "loaded the state of an earlier run");
    }

    /// The file could not be opened in time: what it has is loaded when it can be.
    pub(super) fn wait_for_rows(&mut self) {
        let store = self.store.clone();
        self.late = Some(Box::pin(async move { store.load_when_opened(&READ).await }));
    }

    /// Whether what an earlier run has left is not known yet.
    pub(super) fn awaits_rows(&self) -> bool {
        self.late.is_some()
    }

    /// Notes how far a log was judged.
    pub(super) fn note_cursors(&mut self, log: Arc<str>, cursors: Vec<Origin>) {
        self.moved.insert(Arc::clone(&log));
        self.cursors.insert(log, cursors);
    }

    /// Puts everything that changed; the ticket of the account as it is now.
    pub(super) fn save(&mut self, ledger: &mut Ledger, events: &[EventRecord], awaited: bool) -> Ticket {
        if !self.store.is_enabled() {
            ledger.skip_rows();
            self.moved.clear();
            return self.ticket;
        }
        let mut rows = ledger.take_rows();
        if self.saves_events {
            rows.extend(events.iter().flat_map(event_rows));
        }
        let matters = !rows.is_empty();
        let moved = std::mem::take(&mut self.moved);
        rows.extend(moved.iter().filter_map(|log| self.cursor_row(log)));
        match (matters, awaited) {
            (true, true) => self.ticket = self.store.put(rows, WritePriority::Now),
            (true, false) => self.ticket = self.store.put(rows, WritePriority::Soon),
            // Nothing was found there: read once more, it reports nothing once more.
            (false, _) if !rows.is_empty() => _ = self.store.put(rows, WritePriority::Lazily),
            (false, _) => {}
        }
        self.ticket
    }

    /// Waits for something that the store reports.
    pub(super) async fn news(&mut self) -> News {
        loop {
            let is_late = self.late.is_some();
            let late = async {
                match &mut self.late {
                    Some(late) => late.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                rows = late => return News::Rows(rows),
                // A reset has to wait for the rows that may still come: it puts all there is.
                changed = self.state.changed(), if !is_late => {
                    if changed.is_err() {
                        std::future::pending().await
                    }
                }
            }
            let resets = self.state.borrow_and_update().resets;
            if std::mem::replace(&mut self.resets, resets) != resets {
                return News::Reset;
            }
        }
    }

    pub(super) fn follow(&mut self, news: News, ledger: &mut Ledger) {
        match news {
            News::Rows(rows) => {
                self.late = None;
                self.report_unread(&rows, ledger);
                self.load(rows, ledger);
            }
            News::Reset => {
                let mut rows = ledger.all_rows();
                rows.extend(self.cursors.keys().filter_map(|log| self.cursor_row(log)));
                self.ticket = self.store.put_all(&OWNED, rows);
                // The exporter that delivers them has taken them over; the store need not wait for more.
                self.store.put_all(&[Table::Events], Vec::new());
            }
        }
    }

    /// The logs have been read without knowing where an earlier run had stopped.
    fn report_unread(&self, rows: &[Row], ledger: &mut Ledger) {
        let now = clock::now();
        for (log, _) in cursors(rows) {
            let message = nodewell_faults::message("RecordsLost/state-unreadable", &[("log", &log)]);
            ledger.gap(Gap { source: log.into(), lost: None, message, time: now.wall, origin: None }, now);
        }
    }

    fn cursor_row(&self, log: &Arc<str>) -> Option<Row> {
        let value = serde_json::to_string(self.cursors.get(log)?).ok()?;
        Some(Row { table: Table::Cursors, key: log.to_string(), value: Some(value) })
    }
}

/// How far each log was read, by its rows. What is not understood is read from where a first start begins.
#[must_use]
pub fn cursors(rows: &[Row]) -> SavedCursors {
    let of_cursors = rows.iter().filter(|row| row.table == Table::Cursors);
    let cursor = |row: &Row| Some((row.key.clone(), serde_json::from_str(row.value.as_deref()?).ok()?));
    of_cursors.filter_map(cursor).collect()
}

/// While no exporter takes events over (there is no kubeconfig yet), the oldest make room.
fn event_rows(event: &EventRecord) -> [Row; 2] {
    let row = |id: u64, value| Row { table: Table::Events, key: id.to_string(), value };
    [row(event.id.saturating_sub(EVENTS_LIMIT), None), row(event.id, serde_json::to_string(event).ok())]
}
