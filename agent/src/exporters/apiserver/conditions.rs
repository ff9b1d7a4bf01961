//! The conditions lane: performs what the schedule decides, one server-side apply at a time.

use std::time::Duration;

use nodewell_model::{
    Name,
    view::{DaemonState, NodeView},
};

use super::{
    answer::{Failure, Taken},
    conflicts::Conflicts,
    culprits,
    health::Lane,
    luck::Luck,
    object::{self, Draft},
    refusals::Refusals,
    retry::Retry,
    schedule::{ApplySet, Schedule},
    shared::{Notice, Shared},
};

/// Each round of a conflict names all fields in conflict, and a round may uncover those that we fall back to.
const CONFLICT_ROUNDS: usize = 4;

struct Conditions<'a> {
    shared: &'a Shared,
    schedule: Schedule,
    conflicts: Conflicts,
    refusals: Refusals,
    retry: Retry,
    luck: Luck,
}

/// Keeps the Node's conditions true until it is told to stop; then sends what is due, once.
pub(super) async fn run(shared: &Shared) {
    let mut lane = Conditions::new(shared);
    let mut view = shared.board.watch();
    let mut identity = shared.identity.subscribe();
    let mut stop = shared.stop.subscribe();
    // Unknown while monitors start and False a moment later would be a change, and delay a true one behind it.
    let settled = view.wait_for(|account| !is_starting(account));
    // Too slow a monitor, or none at all any more: what is known goes out.
    let _ = tokio::time::timeout(shared.config.start_grace, settled).await;
    loop {
        lane.schedule.want(view.borrow_and_update().conditions.iter().map(AsRef::as_ref), shared.clock.boottime());
        if *stop.borrow_and_update() {
            return lane.last_words().await;
        }
        let due = lane.due();
        if due.is_some_and(|due| due <= shared.clock.boottime()) {
            lane.apply().await;
            continue;
        }
        tokio::select! {
            // The board outlives its exporters; without it there is nothing left to say.
            changed = view.changed() => if changed.is_err() { return },
            _ = identity.changed() => lane.retry.succeeded(),
            _ = stop.changed() => {}
            () = shared.sleep_until(due) => {}
        }
    }
}

/// Whether a monitor has yet to say what it sees, or the ledger has yet to say anything.
fn is_starting(account: &NodeView) -> bool {
    account.conditions.is_empty() || account.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting)
}

impl<'a> Conditions<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            schedule: Schedule::new(shared.config.schedule()),
            conflicts: Conflicts::default(),
            refusals: Refusals::default(),
            retry: Retry::new(shared.config.retry),
            luck: Luck::new(&shared.config.node_name),
        }
    }

    fn due(&self) -> Option<Duration> {
        let urgent = self.schedule.is_urgent(self.shared.clock.boottime());
        let retry = self.retry.due(urgent).unwrap_or_default();
        Some(self.schedule.due()?.max(retry))
    }

    /// What is due goes out once more, back-off or not; a heartbeat need not.
    async fn last_words(&mut self) {
        if self.schedule.is_urgent(self.shared.clock.boottime()) {
            self.apply().await;
        }
    }

    async fn apply(&mut self) {
        let set = self.schedule.apply_set(self.shared.clock.boottime());
        match self.send(&set).await {
            Ok(taken) => self.taken(&set, taken),
            Err(failure) => {
                self.retry.failed(&failure, self.shared.clock.boottime(), self.luck.draw());
                self.shared.health.failed(Lane::Conditions, self.explain(&failure));
                if matches!(failure, Failure::Forbidden(_) | Failure::Refused { .. }) {
                    self.shared.go_without_uid();
                }
            }
        }
    }

    async fn send(&mut self, set: &ApplySet) -> Result<Taken, Failure> {
        let config = &self.shared.config;
        let mut draft = object::draft(set, self.shared.clock.wall());
        self.conflicts.hold(&mut draft, self.shared.clock.boottime());
        self.refusals.leave_out(&mut draft, self.shared.clock.boottime());
        for _ in 0..CONFLICT_ROUNDS {
            let call = object::apply_conditions(&config.node_name, &draft, config.take_over);
            match self.shared.connection.send(&call).await {
                Err(Failure::Clash(clashes)) => {
                    let news = self.conflicts.give_way(&clashes, &mut draft);
                    self.announce(news);
                }
                Err(failure) if failure.is_about_content() => self.leave_out_culprits(&mut draft, failure).await?,
                Err(failure) => return Err(failure),
                Ok(taken) => {
                    self.conflicts.taken(draft, self.shared.clock.boottime() + config.heartbeat);
                    return Ok(taken);
                }
            }
        }
        Err(Failure::Broken { code: 409, message: "other writers change the conditions faster than we do".into() })
    }

    /// One condition that the server will not take must not keep the others off the Node.
    async fn leave_out_culprits(&mut self, draft: &mut Draft, refused: Failure) -> Result<(), Failure> {
        let culprits = culprits::find(self.shared, draft).await?;
        if culprits.is_empty() {
            return Err(refused);
        }
        let again_at = self.shared.clock.boottime() + self.shared.config.heartbeat;
        for (condition, failure) in culprits {
            let Some(fields) = draft.remove(&condition) else { continue };
            tracing::error!(%condition, %failure, "the API server refuses this condition; the others go without it");
            self.refusals.learn(condition, &fields, (failure.to_string(), again_at));
        }
        Ok(())
    }

    fn taken(&mut self, set: &ApplySet, taken: Taken) {
        self.schedule.taken(set, self.shared.clock.boottime(), self.luck.draw());
        self.retry.succeeded();
        self.shared.health.conflicts(self.conflicts.message());
        self.shared.health.succeeded_but(Lane::Conditions, self.refusals.message());
        if let Some(uid) = taken.uid {
            self.shared.learn_uid(uid);
        }
    }

    fn announce(&self, news: Vec<(Name, String)>) {
        for (condition, manager) in news {
            tracing::warn!(%condition, manager, "another writer owns this condition of the Node; ours is not shown");
            self.shared.notify(Notice::ConditionConflict { condition, manager });
        }
    }

    fn explain(&self, failure: &Failure) -> String {
        let node = &self.shared.config.node_name;
        match failure {
            Failure::Missing(_) => format!("Node {node:?} does not exist"),
            Failure::Forbidden(_) => format!("{failure}; grant `patch` on `nodes/status` of Node {node:?}"),
            other => other.to_string(),
        }
    }
}
