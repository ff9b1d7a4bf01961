//! What the loops of the exporter share: the connection, its health, the Node's UID, the signals "stop" and "try
//! again".

use std::{sync::Arc, time::Duration};

use nodewell_model::Name;
use tokio::sync::{mpsc, watch};

use super::health::Health;
use crate::{
    exporters::apiserver::{ApiserverConfig, ExporterHandles, connection::Connection, stats::ApiStats},
    runtime::clock::Clock,
    shared_state::SharedState,
};

/// So late at most is a heartbeat after the machine was suspended.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

/// What the exporter reports to the agent beside the shared state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Another field manager writes a condition of ours with other content.
    ConditionConflict { condition: Name, manager: String },
    /// Another field manager has not written a condition of ours for so long: it is ours again.
    ConditionTakenOver { condition: Name, silence: Duration },
}

pub(crate) struct Shared {
    pub(crate) config: ApiserverConfig,
    pub(crate) shared_state: SharedState,
    pub(crate) clock: Clock,
    pub(crate) stats: Arc<ApiStats>,
    pub(crate) connection: Connection,
    pub(crate) health: Health,
    /// The Node object's UID; a Node that was created again has another.
    pub(crate) uid: watch::Sender<Option<String>>,
    /// Counts changes of the credentials on disk.
    pub(crate) credential_changes: watch::Sender<u64>,
    /// Counts the signs that the server may have lost what we wrote.
    pub(crate) resyncs: watch::Sender<u64>,
    pub(crate) stop: watch::Sender<bool>,
    notices: Option<mpsc::Sender<Notice>>,
}

impl Shared {
    pub(crate) fn new(config: ApiserverConfig, handles: ExporterHandles) -> Self {
        let ExporterHandles { shared_state, stats, notices, .. } = handles;
        let connection = Connection::new(config.client_source.clone(), config.request_timeout, stats.clone());
        Self {
            health: Health::new(shared_state.clone(), config.clock),
            credential_changes: connection.changes.clone(),
            connection,
            clock: config.clock,
            config,
            shared_state,
            stats,
            uid: watch::Sender::new(None),
            resyncs: watch::Sender::new(0),
            stop: watch::Sender::new(false),
            notices,
        }
    }

    pub(crate) fn learn_uid(&self, uid: String) {
        self.uid.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&uid);
            if is_new && known.as_ref().is_some_and(|known| *known != self.config.node_name) {
                tracing::info!(uid, "the Node object was created again");
            }
            *known = Some(uid);
            is_new
        });
    }

    /// The Node's own UID; `None` until the API server has reported it.
    pub(crate) fn known_uid(&self) -> Option<String> {
        self.uid.borrow().clone().filter(|uid| *uid != self.config.node_name)
    }

    /// The Node's conditions are to be confirmed at once.
    pub(crate) fn resync(&self) {
        self.resyncs.send_modify(|count| *count += 1);
    }

    /// Conditions may be forbidden for long, and Events must not wait for them: `kubectl describe node` also finds
    /// Events whose UID is the Node's name, as the kubelet writes them.
    pub(crate) fn use_name_as_uid(&self) {
        self.uid.send_if_modified(|known| {
            let unknown = known.is_none();
            known.get_or_insert_with(|| self.config.node_name.clone());
            unknown
        });
    }

    /// A full or missing listener loses the notice: it is in the log and on the shared state as well.
    pub(crate) fn notify(&self, notice: Notice) {
        if let Some(notices) = &self.notices {
            let _ = notices.try_send(notice);
        }
    }

    /// Looks for new credentials: often while something fails, rarely otherwise.
    pub(crate) async fn watch_files(&self) {
        loop {
            let failing = self.health.is_failing();
            let every = if failing { self.config.file_check_failing } else { self.config.file_check };
            self.clock.sleep(every, every).await;
            self.connection.refresh().await;
        }
    }

    /// Sleeps until a moment of `CLOCK_BOOTTIME`, or less: timers stand still while the machine is suspended. For ever
    /// without a moment.
    pub(crate) async fn sleep_until(&self, due: Option<Duration>) {
        match due {
            Some(due) => self.clock.sleep(due.saturating_sub(self.clock.boottime()), LONGEST_SLEEP).await,
            None => std::future::pending().await,
        }
    }
}
