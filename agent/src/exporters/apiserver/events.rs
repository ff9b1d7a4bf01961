//! The events lane: takes records from the shared state's log and delivers them as Events, oldest first. The store
//! saves what is to be delivered before it is sent, so that a crash at any moment neither loses an occurrence nor counts
//! it twice.

mod book;
mod keeping;

pub use keeping::Memory;

use std::time::Duration;

use super::{
    aggregate::{Delivery, Next},
    answer::{Failure, Taken},
    connection::Call,
    health::Lane,
    jitter::Jitter,
    object,
    retry::Retry,
    shared::Shared,
};
use crate::{runtime::crash, shared_state::EVENT_LOG_LIMIT};
use book::{Batch, Outcome};
use keeping::{Keeper, News};

/// Records taken from the log at once: the log is locked meanwhile.
const BATCH: usize = 256;

struct Events<'a> {
    shared: &'a Shared,
    keeper: Keeper,
    retry: Retry,
    jitter: Jitter,
    /// When the last write was begun.
    sent_at: Duration,
    /// The first object that the server refused has been logged.
    refusal_told: bool,
}

/// Delivers Events until the stop; then sends what no limit holds back, until the first failure.
pub(super) async fn run(shared: &Shared, memory: Memory) {
    let store = shared.shared_state.store().clone();
    let mut lane = Events::new(shared, Keeper::new(store, memory, shared.config.event_limits));
    lane.begin().await;
    let mut uid = shared.uid.subscribe();
    let mut identity = shared.identity.subscribe();
    let mut stop = shared.stop.subscribe();
    loop {
        lane.take_in();
        let known = uid.borrow_and_update().clone();
        lane.about(known.as_deref());
        let stopping = *stop.borrow_and_update();
        let due = match (lane.next(), known) {
            (Next::Send(delivery), Some(uid)) => {
                let failed = !lane.deliver(&delivery, &uid).await;
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
            () = shared.shared_state.events().changed(lane.keeper.book.cursor()) => {}
            _ = uid.changed() => {}
            _ = identity.changed() => lane.retry.succeeded(),
            _ = stop.changed() => lane.retry.succeeded(),
            () = shared.sleep_until(due) => {}
            news = lane.keeper.news() => lane.hear(news),
        }
    }
}

impl<'a> Events<'a> {
    fn new(shared: &'a Shared, keeper: Keeper) -> Self {
        Self {
            shared,
            keeper,
            retry: Retry::new(shared.config.retry),
            jitter: Jitter::new(&shared.config.node_name),
            sent_at: Duration::ZERO,
            refusal_told: false,
        }
    }

    /// What an earlier run left comes before what is new.
    async fn begin(&mut self) {
        if let Some(rows) = self.keeper.left().await {
            self.hear(News::Left(rows));
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Left(rows) => {
                let log = self.shared.shared_state.events().since(0, EVENT_LOG_LIMIT);
                let lost = self.keeper.book.restore(rows, &log, self.shared.clock.now());
                self.shared.stats.drop_events(lost);
                self.keeper.keep();
                self.shared.health.undelivered(self.keeper.book.aggregate.waiting());
            }
            News::Reset => self.keeper.keep_all(),
        }
    }

    /// Everything new in the log.
    fn take_in(&mut self) {
        let log = self.shared.shared_state.events();
        let before = self.keeper.book.cursor();
        loop {
            let records = log.since(self.keeper.book.cursor(), BATCH);
            if records.is_empty() {
                break;
            }
            let is_log_full = log.last_id() - log.oldest_id() + 1 >= EVENT_LOG_LIMIT as u64;
            let lost = self.keeper.book.take_in(Batch { records, is_log_full }, self.shared.clock.now());
            self.shared.stats.drop_events(lost);
            self.keeper.keep();
            crash::point("exporter.after-load");
        }
        if before != self.keeper.book.cursor() {
            self.shared.health.undelivered(self.keeper.book.aggregate.waiting());
        }
    }

    fn about(&mut self, uid: Option<&str>) {
        if let Some(uid) = uid {
            self.keeper.book.about(uid);
            self.keeper.keep();
        }
    }

    fn next(&mut self) -> Next {
        let now = self.shared.clock.boottime();
        match (self.keeper.book.next(now), self.retry.due(true)) {
            (Next::Send(_), Some(retry)) if retry > now => Next::At(retry),
            (next, _) => next,
        }
    }

    /// Sends one write; new records are received meanwhile, so that a slow disk or server costs none of them.
    async fn deliver(&mut self, delivery: &Delivery, uid: &str) -> bool {
        let shared = self.shared;
        let (store, ticket) = self.keeper.place();
        self.meanwhile(Keeper::settled(store, ticket)).await;
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
            Err(Failure::Exists) => self.look_at(delivery).await,
            answer => answer.map(|_| Outcome::Delivered),
        };
        crash::point("exporter.after-post");
        let went_on = self.react(delivery, answer);
        self.keeper.keep();
        crash::point("exporter.after-put");
        shared.health.undelivered(self.keeper.book.aggregate.waiting());
        went_on
    }

    /// An earlier try of ours made it: which count does it have?
    async fn look_at(&mut self, delivery: &Delivery) -> Result<Outcome, Failure> {
        match self.send(&object::look_at_event(&self.shared.config, delivery)).await {
            Ok(event) => Ok(Outcome::Existed { count: event.count.unwrap_or_default() }),
            // It went in the meantime, or may not be looked at: our count is written over it.
            Err(Failure::Missing(_) | Failure::Forbidden(_) | Failure::Refused { .. }) => {
                Ok(Outcome::Existed { count: 0 })
            }
            Err(failure) => Err(failure),
        }
    }

    async fn send(&mut self, call: &Call) -> Result<Taken, Failure> {
        let shared = self.shared;
        self.meanwhile(shared.connection.send_urgently(call)).await
    }

    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let shared = self.shared;
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = shared.shared_state.events().changed(self.keeper.book.cursor()) => self.take_in(),
            }
        }
    }

    fn react(&mut self, delivery: &Delivery, answer: Result<Outcome, Failure>) -> bool {
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(Failure::Missing(_)) if delivery.created => Outcome::Vanished,
            Err(failure @ Failure::Refused { .. }) => {
                self.refused(delivery, &failure);
                Outcome::Refused
            }
            Err(failure) => {
                self.failed(&failure);
                return false;
            }
        };
        let lost = self.keeper.book.settle(delivery, outcome, self.shared.clock.boottime());
        self.shared.stats.drop_events(lost);
        self.retry.succeeded();
        if outcome != Outcome::Refused {
            self.shared.health.succeeded(Lane::Events);
        }
        true
    }

    /// One bad object must not block the queue.
    fn refused(&mut self, delivery: &Delivery, failure: &Failure) {
        self.shared.health.refused(Lane::Events, format!("the newest Event is lost: {failure}"));
        if !std::mem::replace(&mut self.refusal_told, true) {
            tracing::error!(reason = %delivery.first.reason, %failure, "the API server refused an Event; dropped");
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.retry.failed_since(failure, (self.sent_at, self.shared.clock.boottime()), self.jitter.fraction());
        let namespace = &self.shared.config.event_namespace;
        let message = match failure {
            Failure::Forbidden(_) => {
                format!("{failure}; grant `create` and `patch` on `events` in namespace {namespace:?}")
            }
            Failure::Missing(_) => format!("namespace {namespace:?} does not exist"),
            other => other.to_string(),
        };
        self.shared.health.failed(Lane::Events, message);
    }
}
