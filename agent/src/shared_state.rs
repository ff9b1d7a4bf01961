//! What every exporter reads: the newest account of the node, the recent events, and a way to ask the ledger for
//! something. One ledger task writes; any number of exporters look.

mod event_log;
#[cfg(test)]
pub(crate) mod testing;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nodewell_ledger::{ClearRequest, Counters, Rejection, ReportRejection, Sender};
use nodewell_model::{
    Ack, Mute, MuteKey, Status,
    api::ClearedView,
    view::{ApiserverState, ApiserverView, ConfigurationView, DaemonView, NodeView},
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};

use crate::{
    runtime::stats::Stats,
    store::{Store, Ticket},
};

pub use event_log::{EVENT_LOG_LIMIT, EventLog};

/// The ledger answers in microseconds; one that does not within this is stuck.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(5);

/// The newest account of the node, and the ledger's mailbox. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedState {
    view: Arc<watch::Sender<Arc<NodeView>>>,
    events: EventLog,
    commands: mpsc::Sender<Command>,
    tallies: Arc<Mutex<Counters>>,
    stats: Stats,
    store: Store,
}

/// What an exporter may ask of the ledger.
#[derive(Debug)]
pub enum Command {
    /// `nodewell clear`, or another client that has looked: end these problems, whichever source claims them, and the
    /// wait for daemons that may never come again, but for those of an `awaited` user or unit; answers what ended, once it is
    /// shown, with the store's ticket for it.
    Clear { request: ClearRequest, awaited: fn(&str) -> bool, done: oneshot::Sender<Option<(ClearedView, Ticket)>> },
    /// `nodewell forget`: a daemon will not come again, says `by`; answers how many problems ended.
    Forget { daemon: String, by: String, done: oneshot::Sender<Option<Affected>> },
    /// `POST /v1/status`: take these reports of one user's or unit's daemons, all or none. Answered once a reader of
    /// the account sees them, with the store's ticket for them.
    Report { reports: Vec<Status>, sender: Sender, done: oneshot::Sender<Result<Ticket, ReportRejection>> },
    /// `nodewell mute`: answers how many active problems it is about, once it is shown.
    Mute { mute: Mute, done: oneshot::Sender<Result<Affected, Rejection>> },
    /// `nodewell unmute` by this user or unit; `None` where nothing is muted so.
    Unmute { key: MuteKey, by: String, done: oneshot::Sender<Result<Option<Affected>, Rejection>> },
    /// `nodewell ack`: answers how many active problems it is about, once it is shown.
    Ack { key: MuteKey, ack: Ack, done: oneshot::Sender<Result<Affected, Rejection>> },
    /// `nodewell unack` by this user or unit.
    Unack { key: MuteKey, by: String, done: oneshot::Sender<Result<Affected, Rejection>> },
    /// After a reload: what the configuration mutes.
    ConfigureMutes(Vec<Mute>),
}

/// What a mute or an ack, or its end, is about, and the store's ticket for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Affected {
    pub problems: usize,
    pub ticket: Ticket,
}

/// How many commands may wait for the ledger: more than the connections that can ask at once.
const COMMANDS_LIMIT: usize = 256;

impl SharedState {
    /// An empty shared state for `node`. The receiver belongs to the ledger task.
    #[must_use]
    pub fn new(node: &str) -> (Self, mpsc::Receiver<Command>) {
        Self::with_store(node, Store::nowhere())
    }

    /// A shared state whose account is saved in `store`.
    #[must_use]
    pub fn with_store(node: &str, store: Store) -> (Self, mpsc::Receiver<Command>) {
        let (commands, requests) = mpsc::channel(COMMANDS_LIMIT);
        let view = watch::Sender::new(Arc::new(empty(node)));
        let shared_state = Self {
            view: Arc::new(view),
            events: EventLog::default(),
            commands,
            tallies: Arc::default(),
            stats: Stats::default(),
            store,
        };
        (shared_state, requests)
    }

    /// The newest account, with the monitors' counters of this moment.
    #[must_use]
    pub fn view(&self) -> Arc<NodeView> {
        let mut view = self.view.borrow().clone();
        let outdated =
            |daemon: &DaemonView| self.stats.of(&daemon.name).is_some_and(|now| now != (daemon.records, daemon.lost));
        if view.daemons.iter().any(outdated) {
            for daemon in &mut Arc::make_mut(&mut view).daemons {
                if let Some(now) = self.stats.of(&daemon.name) {
                    (daemon.records, daemon.lost) = now;
                }
            }
        }
        view
    }

    /// The monitors' own counters, which their threads update.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Where the account is saved.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What was counted for metrics.
    #[must_use]
    pub fn tallies(&self) -> Counters {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells the ledger, which gives no answer.
    pub async fn tell(&self, command: Command) {
        // The ledger outlives its callers.
        let _ = self.commands.send(command).await;
    }

    /// Wakes on every change of the account.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Arc<NodeView>> {
        self.view.subscribe()
    }

    /// The recent events.
    #[must_use]
    pub fn events(&self) -> &EventLog {
        &self.events
    }

    /// Asks the ledger; `None` if it does not answer: it has ended, or it is stuck.
    pub async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (done, answer) = oneshot::channel();
        let asked = async {
            self.commands.send(command(done)).await.ok()?;
            answer.await.ok()
        };
        timeout(LEDGER_TIMEOUT, asked).await.ok().flatten()
    }

    /// The ledger's side: a new account. The API server's part and the configuration stay as they are.
    pub fn publish(&self, mut view: NodeView) {
        self.view.send_modify(|current| {
            view.apiserver = current.apiserver.clone();
            view.configuration.clone_from(&current.configuration);
            *current = Arc::new(view);
        });
    }

    /// The ledger's side: new counts for metrics.
    pub fn count(&self, tallies: Counters) {
        *self.tallies.lock().unwrap_or_else(PoisonError::into_inner) = tallies;
    }

    /// The daemon's side: what it goes by from now on. Like the connection below it is no claim of any source: it does
    /// not wait behind reports in the ledger's queue, and touches no field of the ledger's.
    pub fn set_configuration(&self, configuration: ConfigurationView) {
        self.view.send_modify(|current| Arc::make_mut(current).configuration = Some(Arc::new(configuration)));
    }

    /// The API server exporter's side: how the connection stands.
    pub fn set_apiserver(&self, apiserver: ApiserverView) {
        self.view.send_if_modified(|current| {
            let changed = current.apiserver != apiserver;
            if changed {
                Arc::make_mut(current).apiserver = apiserver;
            }
            changed
        });
    }
}

fn empty(node: &str) -> NodeView {
    NodeView {
        node: node.to_owned(),
        conditions: Vec::new(),
        daemons: Vec::new(),
        apiserver: ApiserverView {
            state: ApiserverState::Disabled,
            last_success: None,
            message: String::new(),
            undelivered: 0,
        },
        hardware: Vec::new(),
        refused: Vec::new(),
        mutes: Vec::new(),
        configuration: None,
    }
}
