//! The delivery state and the store that saves it. What is to be sent is durable first, while the disk works: a crash
//! then finds every occurrence that the server may have counted in a row, and does not count it a second time.

use std::{
    future::{Future, pending},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nodewell_model::{Row, Table};
use tokio::{sync::watch, time::timeout};

use super::{
    aggregate::EventLimits,
    delivery_state::{DeliveryState, TABLES},
};
use crate::store::{Store, StoreState, Ticket, WritePriority};

/// So long the start waits for the disk; then Events go out, and what an earlier run left comes when it comes.
const LOAD_TIMEOUT: Duration = Duration::from_secs(2);
/// A disk that is slower than this delays no Event further.
const DURABLE_WITHIN: Duration = Duration::from_millis(250);

/// What the loop of Events knows, for the one that is started after it has panicked: the store only returns what it had
/// when the agent started.
#[derive(Debug, Clone, Default)]
pub struct EventsCheckpoint(Arc<Mutex<Option<DeliveryState>>>);

/// Has the delivery state saved.
pub(super) struct SavedDeliveryState {
    pub(super) deliveries: DeliveryState,
    store: Store,
    checkpoint: EventsCheckpoint,
    state: watch::Receiver<StoreState>,
    resets: u64,
    /// Every row that the delivery state has yielded was put up to here.
    ticket: Ticket,
    late: Option<Pin<Box<dyn Future<Output = Vec<Row>> + Send>>>,
}

/// What the store reports.
#[derive(Debug)]
pub(super) enum StoreReport {
    /// What an earlier run left.
    Loaded(Vec<Row>),
    /// The file has nothing of ours any more.
    Reset,
}

impl SavedDeliveryState {
    pub(super) fn new(store: Store, checkpoint: EventsCheckpoint, limits: EventLimits) -> Self {
        let deliveries = checkpoint.take().unwrap_or_else(|| DeliveryState::new(limits));
        let mut state = store.watch();
        let resets = state.borrow_and_update().resets;
        Self { deliveries, store, checkpoint, state, resets, ticket: 0, late: None }
    }

    /// Loads what an earlier run left, if the disk answers soon; else [`Self::changed`] reports it later.
    pub(super) async fn load(&mut self) -> Option<Vec<Row>> {
        if self.deliveries.is_loaded {
            return None;
        }
        let rows = self.store.load(&TABLES, LOAD_TIMEOUT).await;
        if rows.is_none() {
            tracing::warn!("the state is not readable yet; undelivered Events of an earlier run will be sent later");
            let store = self.store.clone();
            self.late = Some(Box::pin(async move { store.load_when_opened(&TABLES).await }));
        }
        rows
    }

    /// Waits for the store's next report.
    pub(super) async fn changed(&mut self) -> StoreReport {
        let known = self.resets;
        tokio::select! {
            rows = at_last(&mut self.late) => {
                self.late = None;
                StoreReport::Loaded(rows)
            }
            resets = reset(&mut self.state, known) => {
                self.resets = resets;
                StoreReport::Reset
            }
        }
    }

    /// Saves every row that is not as the store last received it.
    pub(super) fn save(&mut self) {
        if !self.store.is_enabled() {
            return self.deliveries.drop_rows();
        }
        let rows = self.deliveries.take_rows();
        if !rows.is_empty() {
            self.ticket = self.store.put(rows, WritePriority::Soon);
        }
    }

    /// Saves every row again.
    pub(super) fn save_all(&mut self) {
        let deletions = self.deliveries.take_deletions();
        self.store.put_all(&[Table::Series], self.deliveries.take_all_rows());
        self.ticket = self.store.put(deletions, WritePriority::Soon);
    }

    /// Returns once everything up to `ticket` is on the disk, or [`DURABLE_WITHIN`] is over.
    pub(super) async fn wait_durable(store: Store, ticket: Ticket) {
        // The Event is sent either way.
        let _ = timeout(DURABLE_WITHIN, store.is_durable(ticket)).await;
    }

    pub(super) fn put_so_far(&self) -> (Store, Ticket) {
        (self.store.clone(), self.ticket)
    }
}

impl Drop for SavedDeliveryState {
    fn drop(&mut self) {
        let deliveries = std::mem::replace(&mut self.deliveries, DeliveryState::new(EventLimits::default()));
        *self.checkpoint.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(deliveries);
    }
}

impl EventsCheckpoint {
    fn take(&self) -> Option<DeliveryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

async fn at_last(late: &mut Option<Pin<Box<dyn Future<Output = Vec<Row>> + Send>>>) -> Vec<Row> {
    match late {
        Some(late) => late.await,
        None => pending().await,
    }
}

async fn reset(state: &mut watch::Receiver<StoreState>, known: u64) -> u64 {
    let now = state.wait_for(|state| state.resets != known).await.map(|state| state.resets);
    match now {
        Ok(resets) => resets,
        // We hold a handle of the store: it cannot have ended.
        Err(_) => pending().await,
    }
}
