//! The events loop: takes records from the shared state's log and delivers them as Events, oldest first. The store
//! saves what is to be delivered before it is sent, so that a crash at any moment neither loses an occurrence nor
//! counts it twice.

mod aggregate;
mod delivery_state;
mod object;
mod saved;

pub use aggregate::EventLimits;
pub use saved::EventsCheckpoint;

use std::time::Duration;

use super::{
    connection::{AcceptedAnswer, Call, RequestError},
    control_loop::{Attempt, ControlLoop, Jitter, Retry, Shared},
};
use crate::{runtime::crash, shared_state::EVENT_LOG_LIMIT};
use aggregate::{Delivery, Next};
use delivery_state::{Batch, Outcome};
use saved::{SavedDeliveryState, StoreReport};

/// Records taken from the log at once: the log is locked meanwhile.
const BATCH: usize = 256;

struct Events<'a> {
    shared: &'a Shared,
    saved: SavedDeliveryState,
    retry: Retry,
    jitter: Jitter,
    /// When the last write was begun.
    sent_at: Duration,
    /// The first object that the server refused has been logged.
    has_logged_rejection: bool,
}

/// Delivers Events until the stop; then sends what no limit holds back, until the first failure.
pub(super) async fn run(shared: &Shared, checkpoint: EventsCheckpoint) {
    let store = shared.shared_state.store().clone();
    let mut control_loop = Events::new(shared, SavedDeliveryState::new(store, checkpoint, shared.config.event_limits));
    control_loop.begin().await;
    let mut uid = shared.uid.subscribe();
    let mut credential_changes = shared.credential_changes.subscribe();
    let mut stop = shared.stop.subscribe();
    loop {
        control_loop.read_log();
        let known = uid.borrow_and_update().clone();
        control_loop.set_node_uid(known.as_deref());
        let stopping = *stop.borrow_and_update();
        let due = match (control_loop.next(), known) {
            (Next::Send(delivery), Some(uid)) => {
                let failed = !control_loop.deliver(&delivery, &uid).await;
                if stopping && failed {
                    return;
                }
                continue;
            }
            (Next::At(due), _) => Some(due),
            _ => None,
        };
        if stopping {
            return;
        }
        tokio::select! {
            () = shared.shared_state.events().changed(control_loop.saved.deliveries.cursor()) => {}
            _ = uid.changed() => {}
            _ = credential_changes.changed() => control_loop.retry.succeeded(),
            _ = stop.changed() => control_loop.retry.succeeded(),
            () = shared.sleep_until(due) => {}
            report = control_loop.saved.changed() => control_loop.apply(report),
        }
    }
}

impl<'a> Events<'a> {
    fn new(shared: &'a Shared, saved: SavedDeliveryState) -> Self {
        Self {
            shared,
            saved,
            retry: Retry::new(shared.config.retry),
            jitter: Jitter::new(&shared.config.node_name),
            sent_at: Duration::ZERO,
            has_logged_rejection: false,
        }
    }

    /// What an earlier run left comes before what is new.
    async fn begin(&mut self) {
        if let Some(rows) = self.saved.load().await {
            self.apply(StoreReport::Loaded(rows));
        }
    }

    fn apply(&mut self, report: StoreReport) {
        match report {
            StoreReport::Loaded(rows) => {
                let log = self.shared.shared_state.events().since(0, EVENT_LOG_LIMIT);
                let lost = self.saved.deliveries.load(rows, &log, self.shared.clock.now());
                self.shared.stats.drop_events(lost);
                self.saved.save();
                self.shared.health.undelivered(self.saved.deliveries.aggregate.waiting());
            }
            StoreReport::Reset => self.saved.save_all(),
        }
    }

    /// Everything new in the log.
    fn read_log(&mut self) {
        let log = self.shared.shared_state.events();
        let before = self.saved.deliveries.cursor();
        loop {
            let records = log.since(self.saved.deliveries.cursor(), BATCH);
            if records.is_empty() {
                break;
            }
            let is_log_full = log.last_id() - log.oldest_id() + 1 >= EVENT_LOG_LIMIT as u64;
            let lost = self.saved.deliveries.add(Batch { records, is_log_full }, self.shared.clock.now());
            self.shared.stats.drop_events(lost);
            self.saved.save();
            crash::point("exporter.after-read");
        }
        if before != self.saved.deliveries.cursor() {
            self.shared.health.undelivered(self.saved.deliveries.aggregate.waiting());
        }
    }

    fn set_node_uid(&mut self, uid: Option<&str>) {
        if let Some(uid) = uid {
            self.saved.deliveries.set_node_uid(uid);
            self.saved.save();
        }
    }

    fn next(&mut self) -> Next {
        let now = self.shared.clock.boottime();
        match (self.saved.deliveries.next(now), self.retry.due(true)) {
            (Next::Send(_), Some(retry)) if retry > now => Next::At(retry),
            (next, _) => next,
        }
    }

    /// Sends one write; new records are received meanwhile, so that a slow disk or server costs none of them.
    async fn deliver(&mut self, delivery: &Delivery, uid: &str) -> bool {
        let shared = self.shared;
        let (store, ticket) = self.saved.put_so_far();
        self.meanwhile(SavedDeliveryState::wait_durable(store, ticket)).await;
        if shared.uid.borrow().as_deref() != Some(uid) {
            // The Node was created again while the disk was slow: the next round is about the new one.
            return true;
        }
        self.sent_at = shared.clock.boottime();
        let call = if delivery.created {
            object::count_event(&shared.config, delivery)
        } else {
            object::create_event(&shared.config, uid, delivery)
        };
        crash::point("exporter.before-post");
        let answer = match self.send(&call).await {
            Err(RequestError::Exists) => self.look_at(delivery).await,
            answer => answer.map(|_| Outcome::Delivered),
        };
        crash::point("exporter.after-post");
        let went_on = self.react(delivery, answer);
        self.saved.save();
        crash::point("exporter.after-put");
        shared.health.undelivered(self.saved.deliveries.aggregate.waiting());
        went_on
    }

    /// An earlier try of ours made it: which count does it have?
    async fn look_at(&mut self, delivery: &Delivery) -> Result<Outcome, RequestError> {
        match self.send(&object::look_at_event(&self.shared.config, delivery)).await {
            Ok(event) => Ok(Outcome::Existed { count: event.count.unwrap_or_default() }),
            // It went in the meantime, or may not be looked at: our count is written over it.
            Err(RequestError::Missing(_) | RequestError::Forbidden(_) | RequestError::Rejected { .. }) => {
                Ok(Outcome::Existed { count: 0 })
            }
            Err(error) => Err(error),
        }
    }

    async fn send(&mut self, call: &Call) -> Result<AcceptedAnswer, RequestError> {
        let shared = self.shared;
        self.meanwhile(shared.connection.send_urgently(call)).await
    }

    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let shared = self.shared;
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = shared.shared_state.events().changed(self.saved.deliveries.cursor()) => self.read_log(),
            }
        }
    }

    fn react(&mut self, delivery: &Delivery, answer: Result<Outcome, RequestError>) -> bool {
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(RequestError::Missing(_)) if delivery.created => Outcome::Vanished,
            Err(error @ RequestError::Rejected { .. }) => {
                self.rejected(delivery, &error);
                Outcome::Rejected
            }
            Err(error) => {
                self.failed(&error);
                return false;
            }
        };
        let lost = self.saved.deliveries.apply(delivery, outcome, self.shared.clock.boottime());
        self.shared.stats.drop_events(lost);
        self.retry.succeeded();
        if outcome != Outcome::Rejected {
            self.shared.health.succeeded(ControlLoop::Events);
        }
        true
    }

    /// One bad object must not block the queue.
    fn rejected(&mut self, delivery: &Delivery, error: &RequestError) {
        self.shared.health.rejected(ControlLoop::Events, format!("the newest Event is lost: {error}"));
        if !std::mem::replace(&mut self.has_logged_rejection, true) {
            tracing::error!(reason = %delivery.first.reason, %error, "the API server refused an Event; dropped");
        }
    }

    fn failed(&mut self, error: &RequestError) {
        self.retry.failed_since(
            error,
            Attempt { started: self.sent_at, ended: self.shared.clock.boottime() },
            self.jitter.fraction(),
        );
        let namespace = &self.shared.config.event_namespace;
        let message = match error {
            RequestError::Forbidden(_) => {
                format!("{error}; grant `create` and `patch` on `events` in namespace {namespace:?}")
            }
            RequestError::Missing(_) => format!("namespace {namespace:?} does not exist"),
            other => other.to_string(),
        };
        self.shared.health.failed(ControlLoop::Events, message);
    }
}
