//! Third stage: how the last boot ended. At the first start after a boot it looks at what is left of the one before and
//! reports `KernelPanic` and `UnexpectedReboot`, once. Then it maintains the note that the next boot is judged by.

pub mod journal;
pub mod mark;
pub mod panic;
pub mod pstore;
pub mod verdict;

use std::{path::PathBuf, time::Duration};

use nodewell_model::{BootId, EventRecord, Finding, Origin};
use nodewell_sys::journal::JournalLibrary;
use tokio::{task::spawn_blocking, time};

use crate::{
    monitors::ledger_sender::{LedgerSender, Report},
    pstore_collector::{self, Roots},
    runtime::{Stop, clock},
    shared_state::{EVENT_LOG_LIMIT, SharedState},
    store::{Store, WritePriority},
};

use journal::{JournalEnd, Question, end_of};
use mark::{Mark, MarkFile};
use pstore::PstoreDumps;
use verdict::Evidence;

/// How often the note is renewed as a sign of life: an idle node hardly writes, and the journal knows better.
const NOTE_EVERY: Duration = Duration::from_hours(1);
/// For the ledger to receive what was reported and for the store to write it; then the note is written all the same.
const TAKEN_WITHIN: Duration = Duration::from_mins(1);
/// A disk that hangs does not hold up the stop.
const LAST_NOTE_WITHIN: Duration = Duration::from_secs(1);

/// What it looks at, and where it reports.
#[derive(Debug, Clone)]
pub struct BootMonitor {
    pub state_dir: PathBuf,
    /// Whether to ask the journal.
    pub journal: bool,
    /// `None`: the system's own.
    pub journal_directory: Option<PathBuf>,
    pub ledger_sender: LedgerSender,
    pub shared_state: SharedState,
    pub store: Store,
    pub stop: Stop,
}

impl BootMonitor {
    /// Works until the stop. The disk is only touched on threads of its own: it may hang.
    pub async fn run(self) {
        let Some(boot) = clock::boot_id() else { return self.stop.requested().await };
        let stop = self.stop.clone();
        let reported = tokio::select! {
            reported = self.judge(boot) => reported,
            // What was not fully reported is reported at the next start.
            () = stop.requested() => return,
        };
        self.maintain_mark(boot, reported).await;
    }

    /// Judges the boot before, if that was not done in this boot; returns the dumps that are known from now on.
    async fn judge(&self, boot: BootId) -> Vec<String> {
        let file = MarkFile::in_state(&self.state_dir);
        let mark = match on_disk(move || file.read()).await {
            Some(Ok(Some(mark))) if mark.boot_id == boot => return mark.reported,
            Some(Ok(mark)) => mark,
            Some(Err(error)) => {
                tracing::warn!(%error, "the mark of the last boot is unreadable: how it ended is not judged");
                None
            }
            None => None,
        };
        let evidence = self.evidence(mark).await;
        let findings = evidence.findings();
        tracing::info!(dumps = evidence.pstore.dumps.len(), findings = findings.len(), "judged the boot before");
        self.report(findings).await;
        Mark::ids(evidence.pstore.dumps.iter().map(|dump| dump.id))
    }

    async fn evidence(&self, mark: Option<Mark>) -> Evidence {
        let records =
            on_disk(|| pstore_collector::readable(pstore_collector::COPY_DIR.as_ref(), &Roots::default())).await;
        let pstore = records.map(|records| PstoreDumps::read(&records)).unwrap_or_default();
        let journal = match &mark {
            Some(mark) if self.journal => self.ask_journal(mark.boot_id).await,
            _ => None,
        };
        let now = clock::now();
        Evidence { mark, pstore, journal, now: now.wall, up: now.boottime }
    }

    async fn ask_journal(&self, boot: BootId) -> Option<JournalEnd> {
        let directory = self.journal_directory.clone();
        let question = Question { directory, boot, library: JournalLibrary::NAME.to_owned() };
        let answer = on_disk(move || end_of(&question)).await?;
        answer.unwrap_or_else(|error| {
            tracing::info!(%error, "the end of the boot before cannot be read from the journal");
            None
        })
    }

    /// Reports them, and waits until they can no more be lost by a crash of ours: until then the note stays as it was.
    async fn report(&self, findings: Vec<Finding>) {
        let Some(last) = findings.last().map(|finding| finding.origin.clone()) else { return };
        for finding in findings {
            self.ledger_sender.send(Report::Finding(Box::new(finding))).await;
        }
        let taken = async {
            self.is_shown(&last).await;
            while self.store.is_enabled()
                && !self.store.is_durable(self.store.put(Vec::new(), WritePriority::Now)).await
            {
                time::sleep(Duration::from_secs(1)).await;
            }
        };
        if time::timeout(TAKEN_WITHIN, taken).await.is_err() {
            tracing::warn!("what was reported of the previous boot is not saved; a restart may report it again");
        }
    }

    async fn is_shown(&self, origin: &Origin) {
        let mut seen = 0;
        loop {
            let events = self.shared_state.events().since(seen, EVENT_LOG_LIMIT);
            if events.iter().any(|event: &EventRecord| event.origin == *origin) {
                return;
            }
            seen = events.last().map_or(seen, |event| event.id);
            self.shared_state.events().changed(seen).await;
        }
    }

    /// Notes that we run, now and then that we still do, and at the stop that it was asked for.
    async fn maintain_mark(&self, boot_id: BootId, reported: Vec<String>) {
        let mut mark = Mark { boot_id, stopped: false, alive: clock::now().wall, reported };
        let mut warned = false;
        loop {
            let failed = tokio::select! {
                noted = self.note(mark.clone()) => noted.err(),
                () = self.stop.requested() => break,
            };
            if let Some(error) = failed.as_ref().filter(|_| !warned) {
                tracing::warn!(%error, "the note for the next boot cannot be written; tried again every hour");
            }
            warned = failed.is_some();
            tokio::select! {
                () = time::sleep(NOTE_EVERY) => mark.alive = clock::now().wall,
                () = self.stop.requested() => break,
            }
        }
        let last = Mark { stopped: true, alive: clock::now().wall, ..mark };
        if !matches!(time::timeout(LAST_NOTE_WITHIN, self.note(last)).await, Ok(Ok(()))) {
            tracing::warn!("the note that this stop was asked for is not written");
        }
    }

    async fn note(&self, mark: Mark) -> std::io::Result<()> {
        let file = MarkFile::in_state(&self.state_dir);
        on_disk(move || file.write(&mark)).await.unwrap_or_else(|| Err(std::io::ErrorKind::Interrupted.into()))
    }
}

/// On a thread that may hang; `None` if it panicked.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    spawn_blocking(work).await.ok()
}
