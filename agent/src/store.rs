//! What outlives a crash: one SQLite file in the state directory, written by a thread of its own.
//!
//! No caller has to wait for the disk. Rows that shall be saved are merged into what is to be written next, which is
//! bounded by the number of different rows; one transaction takes all of it, so what is put together is saved together.
//! A disk that is slow, full, read-only, gone or dead costs durability and is reported, nothing else.

mod account;
mod aside;
mod database;
mod error;
mod pending;
mod schema;
mod shared;
mod threads;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use nodewell_faults::{message, message::reason_of};
use nodewell_message::MessageArgs;
use nodewell_model::{Name, Row, Table};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use account::{Account, End, Request};
use shared::Shared;

/// A commit takes milliseconds; a caller that waits longer rather learns that its rows are not durable.
const DURABLE_WITHIN: Duration = Duration::from_secs(1);

/// How soon rows are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WritePriority {
    /// With the next rows that matter, at the end, or after half an hour: how far a log without findings was read.
    Lazily,
    /// Within 100 ms.
    Soon,
    /// At once: a caller waits for it.
    Now,
}

/// Names a moment of the account: everything put up to it is durable together.
pub type Ticket = u64;
/// Of what no commit can promise.
pub const NEVER: Ticket = Ticket::MAX;

/// How the store is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreState {
    /// Everything up to this ticket survives a crash.
    pub durable: Ticket,
    /// Why nothing is written just now.
    pub save_error: Option<SaveError>,
    /// Grows when the file is not the one that was written before (removed under us, or given up on while too much
    /// waited): every owner puts all its rows again, by [`Store::put_all`].
    pub resets: u64,
    /// The newest damaged file that was moved aside.
    pub corruption: Option<Corruption>,
}

/// Why nothing can be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveError {
    /// One of [`SaveError::REASONS`].
    pub reason: Name,
    /// What, where, and what to do.
    pub message: String,
}

impl SaveError {
    /// Every reason there is.
    pub const REASONS: [&str; 6] =
        ["StateDiskFull", "StateReadOnly", "StateMissing", "StateHangs", "StateInUse", "StateUnwritable"];

    /// With the message of `key`, which begins with its reason.
    fn of(key: &'static str, args: MessageArgs<'_>) -> Self {
        let reason = reason_of(key);
        debug_assert!(Self::REASONS.contains(&reason), "{reason} is not listed");
        Self { reason: Name::fixed(reason), message: message(key, args) }
    }
}

/// A file that could not be read any more, and what was in it could not be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// Where it is now; no two have the same name.
    pub file: PathBuf,
    pub message: String,
}

/// Counters for metrics.
#[derive(Debug, Clone, Default)]
pub struct StoreStats {
    pub transactions: u64,
    /// Rows written, and their size in memory.
    pub rows: u64,
    pub bytes: u64,
    /// Attempts that the disk did not take, hangs included.
    pub failures: u64,
    pub corruptions: u64,
    /// What waits to be written, and since when the oldest of it does.
    pub waiting_rows: u64,
    pub waiting_bytes: u64,
    pub oldest_waiting: Duration,
}

/// Where and how to save state.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The folder of `state.db`; it is made if its parent is there.
    pub directory: PathBuf,
}

/// The way to the store; cheap to clone. Without a [`Store::close`] what waits is lost with the last of them.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
    /// `None`: nothing is saved.
    threads: Option<Arc<Threads>>,
}

/// Ends the threads with the last way to them.
#[derive(Debug)]
struct Threads(Arc<Shared>);

impl Drop for Threads {
    fn drop(&mut self) {
        self.0.change(|account| account.end = Some(End::Abandon));
    }
}

impl Store {
    /// Saves nothing; nothing is ever durable.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { shared: Arc::default(), threads: None }
    }

    /// Starts the thread that opens and writes the file. Only a thread that cannot be started is an error.
    pub fn open(options: StoreOptions) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let threads = Some(Arc::new(Threads(Arc::clone(&shared))));
        threads::spawn(&shared, options.directory)?;
        Ok(Self { shared, threads })
    }

    /// Whether anything is saved at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.threads.is_some()
    }

    /// The rows of `tables` as the file had them when it was opened; `None` if that is not known `within` so long, or
    /// the file cannot be opened now: then [`Store::load_when_opened`] may return them later. A table that was asked
    /// for before is answered with what is saved by now.
    pub async fn load(&self, tables: &[Table], within: Duration) -> Option<Vec<Row>> {
        if !self.is_enabled() {
            return Some(Vec::new());
        }
        timeout(within, self.ask(tables, true)).await.ok()?
    }

    /// The same, however long it takes to open the file.
    pub async fn load_when_opened(&self, tables: &[Table]) -> Vec<Row> {
        match self.ask(tables, false).await {
            Some(rows) => rows,
            None => std::future::pending().await,
        }
    }

    async fn ask(&self, tables: &[Table], impatient: bool) -> Option<Vec<Row>> {
        let (answer, answered) = oneshot::channel();
        let request = Request { tables: tables.to_vec(), impatient, answer };
        self.shared.change(|account| account.requests.push(request));
        // A store that ends gives no answer.
        answered.await.ok().flatten()
    }

    /// Merges rows into what is to be written. What one call brings is written in one transaction, and not before what
    /// earlier calls brought. Never waits.
    pub fn put(&self, rows: Vec<Row>, priority: WritePriority) -> Ticket {
        self.change(|account| account.put(rows, priority, Instant::now()))
    }

    /// All rows that these tables shall have: whatever else they hold goes, in the same transaction.
    pub fn put_all(&self, tables: &[Table], rows: Vec<Row>) -> Ticket {
        self.change(|account| account.put_all(tables, rows, Instant::now()))
    }

    fn change(&self, change: impl FnOnce(&mut Account) -> Ticket) -> Ticket {
        if self.is_enabled() { self.shared.change(change) } else { 0 }
    }

    /// Whether everything up to `ticket` is durable within a moment; asking hurries what waits. `false` at once while
    /// the store cannot write.
    pub async fn is_durable(&self, ticket: Ticket) -> bool {
        if !self.is_enabled() {
            return false;
        }
        let mut states = self.watch();
        if states.borrow().durable >= ticket {
            return true;
        }
        self.shared.change(|account| account.hurry(Instant::now()));
        let durable = states.wait_for(|state| state.durable >= ticket || state.save_error.is_some());
        matches!(timeout(DURABLE_WITHIN, durable).await, Ok(Ok(state)) if state.durable >= ticket)
    }

    /// More waits than may be held in memory: nothing should be taken on trust any more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.shared.lock().is_full()
    }

    /// How it is, now and after each change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<StoreState> {
        self.shared.watch()
    }

    /// What was done, and what waits now.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        self.shared.lock().stats(Instant::now())
    }

    /// Writes everything that waits, the lazy rows too, and closes the file; whether it did `within` so long.
    pub async fn close(&self, within: Duration) -> bool {
        if !self.is_enabled() {
            return true;
        }
        let mut ended = self.shared.ended();
        self.shared.change(|account| account.end = account.end.or(Some(End::Flush)));
        let closed = timeout(within, ended.wait_for(|ended| *ended)).await.is_ok();
        closed && self.shared.lock().is_flushed()
    }
}
