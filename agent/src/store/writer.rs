//! The store's thread: opens the file, reports what it holds, writes what waits, and tries again when the disk does not
//! take it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::{Row, Table};
use nodewell_time::doubled;

use super::{
    Corruption,
    account::{End, Request},
    aside,
    database::Database,
    error::{DatabaseError, ErrorKind},
    pending::Pending,
    shared::{Shared, Turn},
};
use crate::runtime::crash;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The rows of each table that were not asked for yet, as the file had them when it was first opened.
type Found = BTreeMap<Table, Vec<Row>>;

#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    directory: PathBuf,
    database: Option<Database>,
    /// When the file is to be opened; it is closed until then.
    retry: Instant,
    /// How often in a row the disk did not take it.
    failures: u32,
    found: Option<Found>,
    /// The mark of the file that was read.
    mark: Option<String>,
    /// Requests that wait however long it takes.
    patient: Vec<Request>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, directory: PathBuf) -> Self {
        Self {
            shared,
            directory,
            database: None,
            retry: Instant::now(),
            failures: 0,
            found: None,
            mark: None,
            patient: Vec::new(),
        }
    }

    /// Works until the store is closed or every handle to it is dropped.
    pub(super) fn run(&mut self) {
        loop {
            let retry = self.database.is_none().then_some(self.retry);
            match self.shared.next(retry) {
                Turn::Open => self.open(),
                Turn::Answer(requests) => self.answer(requests),
                Turn::Write(batch) => self.write(batch),
                Turn::Look => self.look(),
                Turn::End(End::Abandon) => return,
                Turn::End(End::Flush) => return self.close(),
            }
        }
    }

    fn open(&mut self) {
        let shared = Arc::clone(&self.shared);
        match shared.at_work(|| self.read_and_probe()) {
            Ok(database) => self.opened(database),
            Err(error) => self.failed(&error),
        }
    }

    /// Only a write shows whether the disk works; what it holds is read before.
    fn read_and_probe(&mut self) -> Result<Database, DatabaseError> {
        let database = Database::open(&self.directory)?;
        if self.found.is_none() {
            self.found = Some(rows_of(&database)?);
        }
        database.probe()?;
        Ok(database)
    }

    fn opened(&mut self, database: Database) {
        let mark = database.mark().to_owned();
        let another = self.mark.replace(mark.clone()).is_some_and(|before| before != mark);
        if self.failures > 0 {
            tracing::info!(directory = %self.directory.display(), "state is saved again");
        }
        self.failures = 0;
        self.database = Some(database);
        self.shared.change_and_show(|account| {
            if another {
                account.is_another(Instant::now());
            }
            account.works(Instant::now());
        });
        let patient = std::mem::take(&mut self.patient);
        self.answer(patient);
    }

    /// The first request for a table gets what the file held at first, later ones what it holds by now.
    fn answer(&mut self, requests: Vec<Request>) {
        for request in requests.into_iter().filter(|request| !request.answer.is_closed()) {
            match self.rows(&request.tables) {
                Some(rows) => _ = request.answer.send(Some(rows)),
                None if request.impatient && self.pauses() => _ = request.answer.send(None),
                None => self.patient.push(request),
            }
        }
    }

    /// Whether the file cannot be opened now.
    fn pauses(&self) -> bool {
        self.database.is_none() && self.retry > Instant::now()
    }

    fn rows(&mut self, tables: &[Table]) -> Option<Vec<Row>> {
        let found = self.found.as_ref()?;
        let later: Vec<Table> = tables.iter().filter(|table| !found.contains_key(table)).copied().collect();
        let mut rows = if later.is_empty() { Vec::new() } else { self.rows_by_now(&later)? };
        let found = self.found.as_mut()?;
        rows.extend(tables.iter().filter_map(|table| found.remove(table)).flatten());
        Some(rows)
    }

    fn rows_by_now(&mut self, tables: &[Table]) -> Option<Vec<Row>> {
        let batch = self.shared.lock().take();
        if !batch.is_empty() {
            self.write(batch);
        }
        let database = self.database.as_ref()?;
        let rows = |table: &Table| database.rows(*table);
        let read = self.shared.at_work(|| tables.iter().map(rows).collect::<Result<Vec<_>, _>>());
        match read {
            Ok(rows) => Some(rows.into_iter().flatten().collect()),
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    fn write(&mut self, batch: Pending) {
        let Some(database) = &mut self.database else {
            return self.shared.change(|account| account.pending.put_back(batch));
        };
        match self.shared.at_work(|| database.write(&batch)) {
            Ok(()) => {
                self.failures = 0;
                self.shared.change_and_show(|account| account.committed(&batch, Instant::now()));
                crash::point("store.after-report");
            }
            Err(error) => {
                self.shared.change(|account| account.pending.put_back(batch));
                self.failed(&error);
            }
        }
    }

    /// Nothing is written on an idle node: a file that was removed must not be noticed by the next crash.
    fn look(&mut self) {
        let Some(database) = &mut self.database else { return };
        match self.shared.at_work(|| database.is_still_there()) {
            // Given up on while the disk kept us waiting, though no write has failed.
            Ok(()) if self.shared.lock().is_full() => {
                self.shared.change_and_show(|account| account.works(Instant::now()))
            }
            Ok(()) => {}
            Err(error) => self.failed(&error),
        }
    }

    /// Closes the file and tries again: at once if that may help, else after a pause.
    fn failed(&mut self, error: &DatabaseError) {
        self.database = None;
        self.failures += 1;
        let mended = match error.kind() {
            ErrorKind::Corrupt => self.move_aside(error),
            ErrorKind::Replaced => true,
            // Most files can be read on a full disk; one that has to be brought up to date cannot.
            ErrorKind::Full | ErrorKind::ReadOnly | ErrorKind::Unwritable => {
                self.read_a_copy();
                false
            }
            _ => false,
        };
        let at_once = mended && self.failures == 1;
        let pause = if at_once { Duration::ZERO } else { doubled(FIRST_PAUSE, self.failures - 1, LONGEST_PAUSE) };
        self.retry = Instant::now() + pause;
        if !at_once {
            self.report(error);
            let patient = std::mem::take(&mut self.patient);
            self.answer(patient);
        }
    }

    fn report(&self, error: &DatabaseError) {
        let save_error = error.save_error(&self.directory);
        let before = self.shared.lock().state.save_error.clone();
        if before.is_none_or(|before| before.reason != save_error.reason) {
            tracing::warn!(reason = %save_error.reason, "{}", save_error.message);
        }
        self.shared.change_and_show(|account| account.fails(save_error));
    }

    /// Whether the damaged file is out of the way.
    fn move_aside(&mut self, error: &DatabaseError) -> bool {
        crash::point("store.before-aside");
        let moved = self.shared.at_work(|| aside::move_aside(&self.directory, Timestamp::now()));
        let Ok(file) = moved else { return false };
        let args: MessageArgs<'_> =
            &[("directory", &self.directory.display()), ("error", error), ("file", &file.display())];
        let message = message("StateCorrupt", args);
        tracing::warn!("{message}");
        self.shared.change_and_show(|account| account.was_corrupt(Corruption { file, message }));
        true
    }

    /// What cannot be written may still be read, once.
    fn read_a_copy(&mut self) {
        if self.found.is_some() {
            return;
        }
        let read = || {
            let copy = aside::Copy::of(&self.directory)?;
            let database = Database::open(copy.directory())?;
            Ok::<_, DatabaseError>((rows_of(&database)?, database.mark().to_owned()))
        };
        match self.shared.at_work(read) {
            Ok((found, mark)) => (self.found, self.mark) = (Some(found), Some(mark)),
            Err(error) => tracing::debug!(%error, "nothing can be read from the state directory either"),
        }
    }

    fn close(&mut self) {
        if self.database.is_none() {
            self.open();
        }
        let batch = self.shared.lock().take();
        if !batch.is_empty() {
            self.write(batch);
        }
        crash::point("store.before-close");
        if let Some(database) = self.database.take()
            && let Err(error) = self.shared.at_work(|| database.close())
        {
            tracing::warn!(%error, "the state file could not be closed well; nothing written is lost");
        }
    }
}

fn rows_of(database: &Database) -> Result<Found, DatabaseError> {
    Table::ALL.into_iter().map(|table| Ok((table, database.rows(table)?))).collect()
}
