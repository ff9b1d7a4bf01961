//! The events lane: takes records from the board's log and delivers them as Events, oldest first.

use std::time::Duration;

use super::{
    aggregate::{Aggregate, Delivery, Next},
    answer::{Failure, Taken},
    connection::Call,
    health::Lane,
    luck::Luck,
    object,
    retry::Retry,
    shared::Shared,
};

/// Records taken from the log at once: the log is locked meanwhile.
const BATCH: usize = 256;

/// How an Event came to be on the server.
enum Written {
    Now,
    Before { count: u64 },
}

struct Events<'a> {
    shared: &'a Shared,
    aggregate: Aggregate,
    retry: Retry,
    luck: Luck,
    /// The newest record taken in.
    last_id: u64,
    /// The UID of the Node that Events are about.
    uid: Option<String>,
    /// An object that the server refused was told once.
    refusal_told: bool,
}

/// Delivers Events until it is told to stop; then sends what no limit holds back, until the first failure.
pub(super) async fn run(shared: &Shared) {
    let mut lane = Events::new(shared);
    let mut uid = shared.uid.subscribe();
    let mut identity = shared.identity.subscribe();
    let mut stop = shared.stop.subscribe();
    loop {
        lane.take_in();
        let known = lane.about(uid.borrow_and_update().clone());
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
            () = shared.board.events().changed(lane.last_id) => {}
            _ = uid.changed() => {}
            _ = identity.changed() => lane.retry.succeeded(),
            _ = stop.changed() => lane.retry.succeeded(),
            () = shared.sleep_until(due) => {}
        }
    }
}

impl<'a> Events<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            aggregate: Aggregate::new(shared.config.event_limits),
            retry: Retry::new(shared.config.retry),
            luck: Luck::new(&shared.config.node_name),
            last_id: 0,
            uid: None,
            refusal_told: false,
        }
    }

    /// Everything new in the log. Ids that are missing fell out of its ring before we came.
    fn take_in(&mut self) {
        let now = self.shared.clock.boottime();
        let before = self.last_id;
        loop {
            let batch = self.shared.board.events().since(self.last_id, BATCH);
            if batch.is_empty() {
                break;
            }
            for record in batch {
                let missed = record.id.saturating_sub(self.last_id + 1);
                self.last_id = record.id;
                let lost = self.aggregate.add(record, now) + missed;
                self.shared.stats.drop_events(lost);
            }
        }
        if before != self.last_id {
            self.shared.health.undelivered(self.aggregate.waiting());
        }
    }

    /// Another UID is another Node object: counts on the old one's Events would be seen by nobody.
    fn about(&mut self, uid: Option<String>) -> Option<String> {
        if self.uid.is_some() && self.uid != uid {
            self.aggregate.start_over();
        }
        self.uid.clone_from(&uid);
        uid
    }

    fn next(&mut self) -> Next {
        let now = self.shared.clock.boottime();
        match (self.aggregate.next(now), self.retry.due(true)) {
            (Next::Send(_), Some(retry)) if retry > now => Next::At(retry),
            (next, _) => next,
        }
    }

    /// Sends one write; new records are taken in meanwhile, so that a slow server costs none of them.
    async fn deliver(&mut self, delivery: &Delivery, uid: &str) -> bool {
        let shared = self.shared;
        let call = if delivery.created {
            object::count_event(&shared.config, delivery)
        } else {
            object::create_event(&shared.config, uid, delivery)
        };
        let answer = match self.send(&call).await {
            Err(Failure::Exists) => self.look_at(delivery).await,
            answer => answer.map(|_| Written::Now),
        };
        let went_on = self.react(delivery, answer);
        shared.health.undelivered(self.aggregate.waiting());
        went_on
    }

    /// An earlier try of ours made it: what does it say?
    async fn look_at(&mut self, delivery: &Delivery) -> Result<Written, Failure> {
        match self.send(&object::look_at_event(&self.shared.config, delivery)).await {
            Ok(event) => Ok(Written::Before { count: event.count.unwrap_or_default() }),
            // It went in the meantime, or may not be looked at: our count is written over it.
            Err(Failure::Missing(_) | Failure::Forbidden(_) | Failure::Refused { .. }) => {
                Ok(Written::Before { count: 0 })
            }
            Err(failure) => Err(failure),
        }
    }

    async fn send(&mut self, call: &Call) -> Result<Taken, Failure> {
        let shared = self.shared;
        let send = shared.connection.send(call);
        tokio::pin!(send);
        loop {
            tokio::select! {
                answer = &mut send => return answer,
                () = shared.board.events().changed(self.last_id) => self.take_in(),
            }
        }
    }

    fn react(&mut self, delivery: &Delivery, answer: Result<Written, Failure>) -> bool {
        let now = self.shared.clock.boottime();
        match answer {
            Ok(Written::Now) => self.aggregate.delivered(delivery, now),
            Ok(Written::Before { count }) => self.aggregate.existed(delivery, count, now),
            Err(Failure::Missing(_)) if delivery.created => self.aggregate.vanished(delivery),
            Err(failure @ Failure::Refused { .. }) => {
                self.refused(delivery, &failure, now);
                self.retry.succeeded();
                return true;
            }
            Err(failure) => {
                self.failed(&failure, now);
                return false;
            }
        }
        self.retry.succeeded();
        self.shared.health.succeeded(Lane::Events);
        true
    }

    /// One bad object must not block the queue.
    fn refused(&mut self, delivery: &Delivery, failure: &Failure, now: Duration) {
        self.shared.stats.drop_events(self.aggregate.refused(delivery, now));
        self.shared.health.refused(Lane::Events, format!("the newest Event is lost: {failure}"));
        if !std::mem::replace(&mut self.refusal_told, true) {
            tracing::error!(reason = %delivery.first.reason, %failure, "the API server refused an Event; dropped");
        }
    }

    fn failed(&mut self, failure: &Failure, now: Duration) {
        self.retry.failed(failure, now, self.luck.draw());
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
