//! The conditions lane: performs what the schedule decides, one server-side apply at a time.

use std::time::Duration;

use nodewell_model::{
    Name,
    view::{DaemonState, NodeView},
};

use super::{
    answer::{Clash, RequestError, Taken},
    conflicts::{CONTROLLER_MANAGER, Conflicts},
    connection::Call,
    culprits,
    health::Lane,
    jitter::Jitter,
    object::{self, Draft},
    observed::{ObservedNode, Seen},
    rejections::Rejections,
    retry::{Attempt, Retry},
    schedule::{ApplySet, Schedule},
    shared::{Notice, Shared},
};

/// Each round of a conflict names all fields in conflict, and a round may uncover those that we fall back to.
const CONFLICT_ROUNDS: usize = 4;

struct Conditions<'a> {
    shared: &'a Shared,
    schedule: Schedule,
    conflicts: Conflicts,
    rejections: Rejections,
    observed: ObservedNode,
    retry: Retry,
    jitter: Jitter,
    /// A request since the last success may yet be carried out.
    unanswered: bool,
    /// The newest event when the Node was looked at last.
    seen_event: u64,
}

/// Keeps the Node's conditions true until the stop; then sends what is due, once.
pub(super) async fn run(shared: &Shared) {
    let mut lane = Conditions::new(shared);
    let mut view = shared.shared_state.watch();
    let mut identity = shared.identity.subscribe();
    let mut doubts = shared.doubts.subscribe();
    let mut stop = shared.stop.subscribe();
    // Unknown while monitors start and False a moment later would be a change, and delay a true one behind it.
    let started = view.wait_for(|account| !is_starting(account));
    // Too slow a monitor, or none at all any more: what is known goes out.
    let _ = tokio::time::timeout(shared.config.start_grace, started).await;
    loop {
        lane.schedule.want(view.borrow_and_update().conditions.iter().map(AsRef::as_ref), shared.clock.boottime());
        if *stop.borrow_and_update() {
            return lane.flush().await;
        }
        let due = lane.due();
        if due.is_none() {
            // Nothing to apply, and so no answer that would name the Node's UID.
            shared.go_without_uid();
        }
        if due.is_some_and(|due| due <= shared.clock.boottime()) {
            lane.apply().await;
            continue;
        }
        tokio::select! {
            // A change confirms the Node by itself: it comes before the event that it made.
            biased;
            // The shared state outlives its exporters; without it there is nothing left to report.
            changed = view.changed() => if changed.is_err() { return },
            () = shared.shared_state.events().changed(lane.seen_event) => lane.look().await,
            _ = doubts.changed() => lane.doubt(),
            _ = identity.changed() => lane.retry.succeeded(),
            _ = stop.changed() => {}
            () = shared.sleep_until(due) => {}
        }
    }
}

/// Whether a monitor has yet to report what it sees, or the ledger has yet to report anything.
fn is_starting(account: &NodeView) -> bool {
    account.conditions.is_empty() || account.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting)
}

impl<'a> Conditions<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            schedule: Schedule::new(shared.config.schedule()),
            conflicts: Conflicts::default(),
            rejections: Rejections::default(),
            observed: ObservedNode::default(),
            retry: Retry::new(shared.config.retry),
            jitter: Jitter::new(&shared.config.node_name),
            unanswered: false,
            seen_event: 0,
        }
    }

    fn due(&self) -> Option<Duration> {
        let urgent = self.schedule.is_urgent(self.shared.clock.boottime());
        let retry = self.retry.due(urgent).unwrap_or_default();
        Some(self.schedule.due()?.max(retry))
    }

    /// What is due goes out once more, back-off or not; a heartbeat need not.
    async fn flush(&mut self) {
        if self.schedule.is_urgent(self.shared.clock.boottime()) {
            self.apply().await;
        }
    }

    async fn apply(&mut self) {
        let started = self.shared.clock.boottime();
        let set = self.schedule.apply_set(started);
        match self.send(&set, self.schedule.is_urgent(started)).await {
            Ok((taken, draft)) => self.taken(&set, &taken, draft),
            Err(error) => self.failed(&error, started),
        }
    }

    async fn send(&mut self, set: &ApplySet, urgent: bool) -> Result<(Taken, Draft), RequestError> {
        let config = &self.shared.config;
        let now = self.shared.clock.boottime();
        let mut draft = object::draft(set, self.shared.clock.wall());
        self.conflicts.hold(&mut draft, now);
        self.rejections.leave_out(&mut draft, now);
        let mut force = config.take_over;
        for _ in 0..CONFLICT_ROUNDS {
            let call = object::apply_conditions(&config.node_name, &draft, force);
            let whole_answer = !urgent && self.observed.wants_comparison(now);
            match self.ask(&Call { whole_answer, ..call }, urgent).await {
                Err(RequestError::Clash(clashes)) => force |= self.give_way(clashes, &mut draft),
                Err(error) if error.is_about_content() => self.leave_out_culprits(&mut draft, error).await?,
                Err(error) => return Err(error),
                Ok(taken) => return Ok((taken, draft)),
            }
        }
        Err(RequestError::Broken { code: 409, message: "other writers change the conditions faster than we do".into() })
    }

    async fn ask(&self, call: &Call, urgent: bool) -> Result<Taken, RequestError> {
        let connection = &self.shared.connection;
        if urgent { connection.send_urgently(call).await } else { connection.send(call).await }
    }

    /// Gives up what others write; returns whether all that is left in conflict is our own controller's.
    fn give_way(&mut self, clashes: Vec<Clash>, draft: &mut Draft) -> bool {
        let (ours, others): (Vec<Clash>, Vec<Clash>) =
            clashes.into_iter().partition(|clash| clash.manager == CONTROLLER_MANAGER);
        let news = self.conflicts.give_way(&others, draft);
        self.announce(news);
        others.is_empty() && !ours.is_empty()
    }

    /// One condition that the server will not take must not keep the others off the Node.
    async fn leave_out_culprits(&mut self, draft: &mut Draft, rejected: RequestError) -> Result<(), RequestError> {
        let culprits = culprits::find(self.shared, draft).await?;
        if culprits.is_empty() {
            return Err(rejected);
        }
        let again_at = self.shared.clock.boottime() + self.shared.config.heartbeat;
        for (condition, error) in culprits {
            let Some(fields) = draft.remove(&condition) else { continue };
            tracing::error!(%condition, %error, "the API server refuses this condition; the others go without it");
            self.rejections.learn(condition, &fields, error.to_string(), again_at);
        }
        Ok(())
    }

    fn taken(&mut self, set: &ApplySet, taken: &Taken, draft: Draft) {
        let now = self.shared.clock.boottime();
        self.schedule.taken(set, now, self.jitter.fraction());
        self.retry.succeeded();
        if std::mem::take(&mut self.unanswered) {
            self.schedule.confirm_by(now + self.shared.config.late_answer.mul_f64(1.0 + self.jitter.fraction()));
        }
        self.compare(&draft, taken, now);
        self.conflicts.taken(draft, now + self.shared.config.heartbeat);
        self.learn(taken);
        self.shared.health.conflicts(self.reservations());
        self.shared.health.succeeded_but(Lane::Conditions, self.rejections.message());
    }

    fn failed(&mut self, error: &RequestError, started: Duration) {
        let now = self.shared.clock.boottime();
        self.unanswered |= matches!(error, RequestError::Unanswered(_));
        self.retry.failed_since(error, Attempt { started, ended: now }, self.jitter.fraction());
        self.shared.health.failed(Lane::Conditions, self.explain(error));
        if matches!(error, RequestError::Forbidden(_) | RequestError::Rejected { .. }) {
            self.shared.go_without_uid();
        }
    }

    /// Something has happened: is the Node still the one that we know? The answer to a changed condition would have
    /// shown it.
    async fn look(&mut self) {
        self.seen_event = self.shared.shared_state.events().last_id();
        let started = self.shared.clock.boottime();
        let doubtful = |at| started >= at + self.shared.config.doubtful_after;
        // While requests fail, the next try shows it.
        if self.retry.due(false).is_some() || !self.observed.confirmed_at().is_some_and(doubtful) {
            return;
        }
        match self.ask(&object::look_at_node(&self.shared.config.node_name), true).await {
            Ok(taken) => self.learn(&taken),
            Err(error) => {
                self.schedule.confirm_by(started);
                self.failed(&error, started);
            }
        }
    }

    /// The server has been away for long, or has lost something: all is sent again.
    fn doubt(&mut self) {
        self.schedule.confirm_by(self.shared.clock.boottime());
    }

    /// What was written to another or an older Node is no longer there, and its conflicts were not this one's.
    fn learn(&mut self, taken: &Taken) {
        match self.observed.learn(taken, self.shared.clock.boottime()) {
            Seen::Same => {}
            Seen::Another => self.start_over(),
            Seen::Older => {
                tracing::warn!("the Node has a past version: the API server was restored from a backup");
                self.start_over();
            }
        }
        if let Some(uid) = taken.uid.clone() {
            self.shared.learn_uid(uid);
        }
    }

    fn start_over(&mut self) {
        (self.conflicts, self.rejections) = (Conflicts::default(), Rejections::default());
        self.schedule.start_over();
    }

    fn compare(&mut self, draft: &Draft, taken: &Taken, now: Duration) {
        let Some(answered) = &taken.conditions else { return };
        for condition in self.observed.compare(draft, answered, now) {
            tracing::warn!(%condition, "the API server changed this condition on the way to the Node");
        }
    }

    /// What people should know although everything was taken.
    fn reservations(&self) -> String {
        let both = [self.conflicts.message(), self.observed.message()];
        both.into_iter().filter(|message| !message.is_empty()).collect::<Vec<_>>().join("; ")
    }

    fn announce(&self, news: Vec<(Name, String)>) {
        for (condition, manager) in news {
            tracing::warn!(%condition, manager, "another writer owns this condition of the Node; ours is not shown");
            self.shared.notify(Notice::ConditionConflict { condition, manager });
        }
    }

    fn explain(&self, error: &RequestError) -> String {
        let node = &self.shared.config.node_name;
        match error {
            RequestError::Missing(_) => format!("Node {node:?} does not exist"),
            RequestError::Forbidden(_) => format!("{error}; grant `patch` on `nodes/status` of Node {node:?}"),
            other => other.to_string(),
        }
    }
}
