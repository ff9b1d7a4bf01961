//! The conditions loop: performs what the schedule decides, one server-side apply at a time.

mod bisect;
mod conflicts;
mod object;
mod observed;
mod other_writers;
mod rejections;
mod schedule;
mod withdraw;

pub(crate) use conflicts::CONTROLLER_MANAGER;
pub use schedule::NODE_MESSAGE_LIMIT_BYTES;
pub use withdraw::{WithdrawError, withdraw};

use std::{sync::Arc, time::Duration};

use nodewell_model::{
    Name,
    view::{DaemonState, NodeView},
};
use tokio::sync::watch;

use super::{
    ApiserverConfig,
    connection::{AcceptedAnswer, Call, FieldConflict, RequestError},
    control_loop::{Attempt, ControlLoop, Jitter, Notice, Retry, Shared},
};
use crate::config::TakeOver;
use bisect::RejectedCondition;
use conflicts::Conflicts;
use object::ApplyPatch;
use observed::{ObservedChange, ObservedNode};
use other_writers::{Look, OtherWriters, SilentWriters};
use rejections::Rejections;
use schedule::{Schedule, ScheduleTiming, WantedConditions};

/// An answer names every field in conflict. Without these the next apply may conflict in the fields that replace them.
const CONFLICT_ROUNDS: usize = 4;

struct Conditions<'a> {
    shared: &'a Shared,
    schedule: Schedule,
    conflicts: Conflicts,
    other_writers: OtherWriters,
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
    let mut control_loop = Conditions::new(shared);
    let mut view = shared.shared_state.watch();
    let mut credential_changes = shared.credential_changes.subscribe();
    let mut resyncs = shared.resyncs.subscribe();
    let mut stop = shared.stop.subscribe();
    wait_for_monitors(shared, &mut view).await;
    loop {
        control_loop
            .schedule
            .want(view.borrow_and_update().conditions.iter().map(AsRef::as_ref), shared.clock.boottime());
        if *stop.borrow_and_update() {
            return control_loop.flush().await;
        }
        let due = control_loop.due();
        if due.is_none() {
            // Nothing to apply, and so no answer that would name the Node's UID.
            shared.use_name_as_uid();
        }
        if due.is_some_and(|due| due <= shared.clock.boottime()) {
            control_loop.apply().await;
            continue;
        }
        tokio::select! {
            // A change confirms the Node by itself: it comes before the event that it made.
            biased;
            // The shared state outlives its exporters; without it there is nothing left to report.
            changed = view.changed() => if changed.is_err() { return },
            () = shared.shared_state.events().changed(control_loop.seen_event) => control_loop.look().await,
            _ = resyncs.changed() => control_loop.resync(),
            _ = credential_changes.changed() => control_loop.retry.succeeded(),
            _ = stop.changed() => {}
            () = shared.sleep_until(due) => {}
        }
    }
}

/// Until each monitor has reported. The credentials are read meanwhile: the first request need not wait for them.
async fn wait_for_monitors(shared: &Shared, view: &mut watch::Receiver<Arc<NodeView>>) {
    // A condition that is Unknown while monitors start, and False a moment later, would count as changed: the next
    // change would wait for `min_change_interval`.
    let started = async {
        // A monitor may be too slow: after the grace what is known is sent.
        let _ = tokio::time::timeout(shared.config.start_grace, view.wait_for(|view| !is_starting(view))).await;
    };
    let credentials = async {
        shared.connection.get_ready().await;
        std::future::pending::<()>().await
    };
    tokio::select! {
        () = started => {}
        () = credentials => {}
    }
}

/// Whether a monitor has not reported yet, or the ledger (the agent's account of problems and conditions) has published
/// nothing yet.
fn is_starting(view: &NodeView) -> bool {
    view.conditions.is_empty() || view.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting)
}

impl<'a> Conditions<'a> {
    fn new(shared: &'a Shared) -> Self {
        let ApiserverConfig { heartbeat, min_change_interval, clear_hold, .. } = shared.config;
        Self {
            shared,
            schedule: Schedule::new(ScheduleTiming { heartbeat, min_change_interval, clear_hold }),
            conflicts: Conflicts::default(),
            other_writers: OtherWriters::default(),
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
            // No take-over: there may be no time left for what has to follow it.
            self.apply_wanted().await;
        }
    }

    async fn apply(&mut self) {
        let Some(answer) = self.apply_wanted().await else { return };
        if self.take_over(&answer).await {
            // What is wanted follows at once.
            self.apply_wanted().await;
        }
    }

    /// What the server answered, if it took what is wanted.
    async fn apply_wanted(&mut self) -> Option<AcceptedAnswer> {
        let started = self.shared.clock.boottime();
        let wanted = self.schedule.wanted_conditions(started);
        match self.send(&wanted, self.schedule.is_urgent(started)).await {
            Ok((answer, patch)) => {
                self.applied(&wanted, &answer, patch);
                Some(answer)
            }
            Err(error) => {
                self.failed(&error, started);
                None
            }
        }
    }

    async fn send(
        &mut self,
        wanted: &WantedConditions,
        urgent: bool,
    ) -> Result<(AcceptedAnswer, ApplyPatch), RequestError> {
        let now = self.shared.clock.boottime();
        let mut patch = object::patch(wanted, self.shared.clock.wall());
        self.conflicts.hold(&mut patch, now);
        self.rejections.leave_out(&mut patch, now);
        let config = &self.shared.config;
        let mut force = config.take_over == TakeOver::AtOnce;
        for _ in 0..CONFLICT_ROUNDS {
            let call = object::apply_conditions(&config.node_name, &patch, force);
            let in_conflict = self.conflicts.conditions().next().is_some();
            // What other writers do is looked at each time: not to have looked is no silence of theirs.
            let whole_answer = in_conflict || (!urgent && self.observed.wants_comparison(now));
            match self.ask(&Call { whole_answer, ..call }, urgent).await {
                Err(RequestError::FieldConflicts(conflicts)) => force |= self.give_way(conflicts, &mut patch),
                Err(error) if error.is_about_content() => self.leave_out_rejected(&mut patch, error).await?,
                Err(error) => return Err(error),
                Ok(answer) => return Ok((answer, patch)),
            }
        }
        Err(RequestError::ServerError {
            code: 409,
            message: "other writers change the conditions faster than we do".into(),
        })
    }

    /// Takes what silent writers have, by values that differ from theirs: a field that is the same would stay theirs as
    /// well, and conflict with its next change. Whether they are silent is judged by `looked`, the answer of this
    /// moment, and only the Node of that answer is written: a writer that comes back in between, to whichever
    /// condition, is not overwritten. Returns whether what is wanted has to follow.
    async fn take_over(&mut self, looked: &AcceptedAnswer) -> bool {
        let TakeOver::AfterSilence(silence) = self.shared.config.take_over else { return false };
        let (Some(version), Some(_)) = (looked.version, &looked.conditions) else { return false };
        let silent = self.other_writers.silent_for(silence);
        if silent.is_empty() {
            return false;
        }
        let started = self.shared.clock.boottime();
        let names: Vec<Name> = silent.keys().cloned().collect();
        let taken = object::taken_over(self.conflicts.last_applied(), &names, self.shared.clock.wall());
        let call = object::take_over_conditions(&self.shared.config.node_name, &taken, version);
        let answer = self.ask(&call, false).await;
        match &answer {
            Ok(_) => self.announce_taken_over(&silent),
            // They may be ours by now, at values that nothing should show.
            Err(error) if error.leaves_open() => self.failed(error, started),
            Err(error) => {
                tracing::info!(%error, "what silent writers left is not taken over; they are looked at again");
                if error.is_about_content() {
                    self.other_writers.forget(&names);
                }
                return false;
            }
        }
        self.conflicts.taken_over(&names, answer.is_ok().then_some(taken));
        self.other_writers.taken_over(&names);
        self.schedule.confirm_by(started);
        answer.is_ok()
    }

    fn announce_taken_over(&self, silent: &SilentWriters) {
        for (condition, silence) in silent {
            tracing::info!(%condition, ?silence, "its other writer has gone silent; ours is shown again");
            self.shared.notify(Notice::ConditionTakenOver { condition: condition.clone(), silence: *silence });
        }
    }

    async fn ask(&self, call: &Call, urgent: bool) -> Result<AcceptedAnswer, RequestError> {
        let connection = &self.shared.connection;
        if urgent { connection.send_urgently(call).await } else { connection.send(call).await }
    }

    /// Gives up what others write; returns whether all that is left in conflict is our own controller's.
    fn give_way(&mut self, conflicts: Vec<FieldConflict>, patch: &mut ApplyPatch) -> bool {
        let (ours, others): (Vec<FieldConflict>, Vec<FieldConflict>) =
            conflicts.into_iter().partition(|conflict| conflict.manager == CONTROLLER_MANAGER);
        let new_conflicts = self.conflicts.give_way(&others, patch);
        self.announce(new_conflicts);
        others.is_empty() && !ours.is_empty()
    }

    /// One condition that the server will not take must not keep the others off the Node.
    async fn leave_out_rejected(&mut self, patch: &mut ApplyPatch, rejected: RequestError) -> Result<(), RequestError> {
        let refused = bisect::rejected_conditions(self.shared, patch).await?;
        if refused.is_empty() {
            return Err(rejected);
        }
        let again_at = self.shared.clock.boottime() + self.shared.config.heartbeat;
        for RejectedCondition { condition, error } in refused {
            let Some(fields) = patch.remove(&condition) else { continue };
            tracing::error!(%condition, %error, "the API server refuses this condition; the others go without it");
            self.rejections.learn(condition, &fields, error.to_string(), again_at);
        }
        Ok(())
    }

    fn applied(&mut self, wanted: &WantedConditions, answer: &AcceptedAnswer, patch: ApplyPatch) {
        let now = self.shared.clock.boottime();
        self.schedule.applied(wanted, now, self.jitter.fraction());
        self.retry.succeeded();
        if std::mem::take(&mut self.unanswered) {
            self.schedule.confirm_by(now + self.shared.config.late_effect.mul_f64(1.0 + self.jitter.fraction()));
        }
        if let Some(answered) = &answer.conditions {
            let in_conflict = self.conflicts.conditions();
            self.other_writers.observe(in_conflict, &patch, Look { answered, at: now }, self.shared.config.heartbeat);
        }
        self.compare(&patch, answer, now);
        self.conflicts.applied(patch, now + self.shared.config.heartbeat);
        self.learn(answer);
        self.shared.health.conflicts(self.warnings());
        self.shared.health.succeeded_but(ControlLoop::Conditions, self.rejections.message());
    }

    fn failed(&mut self, error: &RequestError, started: Duration) {
        let now = self.shared.clock.boottime();
        self.unanswered |= error.may_be_carried_out();
        self.retry.failed_since(error, Attempt { started, ended: now }, self.jitter.fraction());
        self.shared.health.failed(ControlLoop::Conditions, self.explain(error));
        if matches!(error, RequestError::Forbidden(_) | RequestError::Rejected { .. }) {
            self.shared.use_name_as_uid();
        }
    }

    /// Something has happened: is the Node still the one that we know? The answer to a changed condition would have
    /// shown it.
    async fn look(&mut self) {
        self.seen_event = self.shared.shared_state.events().last_id();
        let started = self.shared.clock.boottime();
        let is_stale = |at| started >= at + self.shared.config.stale_after;
        // While requests fail, the next try shows it.
        if self.retry.due(false).is_some() || !self.observed.confirmed_at().is_some_and(is_stale) {
            return;
        }
        match self.ask(&object::look_at_node(&self.shared.config.node_name), true).await {
            Ok(answer) => self.learn(&answer),
            Err(error) => {
                self.schedule.confirm_by(started);
                self.failed(&error, started);
            }
        }
    }

    /// The server has been away for long, or has lost something: all is sent again.
    fn resync(&mut self) {
        self.schedule.confirm_by(self.shared.clock.boottime());
    }

    /// What was written to another or an older Node is no longer there, and its conflicts were not this one's.
    fn learn(&mut self, answer: &AcceptedAnswer) {
        match self.observed.learn(answer, self.shared.clock.boottime()) {
            ObservedChange::Same => {}
            ObservedChange::Another => self.start_over(),
            ObservedChange::Older => {
                tracing::warn!("the Node has a past version: the API server was restored from a backup");
                self.start_over();
            }
        }
        if let Some(uid) = answer.uid.clone() {
            self.shared.learn_uid(uid);
        }
    }

    fn start_over(&mut self) {
        (self.conflicts, self.other_writers) = (Conflicts::default(), OtherWriters::default());
        self.rejections = Rejections::default();
        self.schedule.start_over();
    }

    fn compare(&mut self, patch: &ApplyPatch, answer: &AcceptedAnswer, now: Duration) {
        let Some(answered) = &answer.conditions else { return };
        for condition in self.observed.compare(patch, answered, now) {
            tracing::warn!(%condition, "the API server changed this condition on the way to the Node");
        }
    }

    /// What people should know although everything was taken.
    fn warnings(&self) -> String {
        let both = [self.conflicts.message(), self.observed.message()];
        both.into_iter().filter(|message| !message.is_empty()).collect::<Vec<_>>().join("; ")
    }

    fn announce(&self, new_conflicts: Vec<(Name, String)>) {
        for (condition, manager) in new_conflicts {
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
