//! Fourth stage: the one task that owns the ledger. Reports and commands go in; it writes the store and the shared
//! state.

pub mod persistence;

use std::time::Duration;

use nodewell_ledger::{ClearRequest, DaemonReport, Ledger, Limits, Now, Rejection, ReportRejection};
use nodewell_model::{ConditionSpec, Mute, Row, api::ClearedView, view::NodeView};
pub use persistence::Persistence;
use tokio::sync::{mpsc, oneshot};

use crate::{
    monitors::ledger_sender::Report,
    runtime::clock,
    shared_state::{Affected, Command, SharedState},
    store::{NEVER, Ticket},
};

/// How many reports are received before the account is published: a flood costs one publication each so many.
const BATCH: usize = 256;
/// The two clocks are not read at once.
const SLEPT_AT_LEAST: Duration = Duration::from_secs(1);

/// The owner of the account.
#[derive(Debug)]
pub struct LedgerTask {
    ledger: Ledger,
    node: String,
    shared_state: SharedState,
    persistence: Persistence,
    /// The versions of the ledger and of its account that the shared state has.
    published: Option<(u64, u64)>,
    /// Answers that are given once the shared state shows what they are about.
    answers: Vec<Answer>,
    /// How long the machine has slept since it booted.
    slept: Duration,
}

#[derive(Debug)]
enum Answer {
    Report {
        done: oneshot::Sender<Result<Ticket, ReportRejection>>,
        outcome: Result<(), ReportRejection>,
    },
    /// On how many problems a mute or an ack is.
    Problems {
        done: oneshot::Sender<Result<Affected, Rejection>>,
        outcome: Result<usize, Rejection>,
    },
    Unmute {
        done: oneshot::Sender<Result<Option<Affected>, Rejection>>,
        outcome: Result<Option<usize>, Rejection>,
    },
    Clear {
        done: oneshot::Sender<Option<(ClearedView, Ticket)>>,
        outcome: Option<ClearedView>,
    },
    Forget {
        done: oneshot::Sender<Option<Affected>>,
        outcome: Option<usize>,
    },
}

impl Answer {
    fn is_of_an_end(&self) -> bool {
        matches!(self, Self::Clear { .. } | Self::Forget { .. })
    }

    /// A client that went away meanwhile has done what it asked for all the same.
    fn give(self, ticket: Ticket) {
        let affected = |problems| Affected { problems, ticket };
        match self {
            Self::Report { done, outcome } => _ = done.send(outcome.map(|()| ticket)),
            Self::Problems { done, outcome } => _ = done.send(outcome.map(affected)),
            Self::Unmute { done, outcome } => _ = done.send(outcome.map(|problems| problems.map(affected))),
            Self::Clear { done, outcome } => _ = done.send(outcome.map(|view| (view, ticket))),
            Self::Forget { done, outcome } => _ = done.send(outcome.map(affected)),
        }
    }
}

/// Everything the task listens to.
#[derive(Debug)]
pub struct Inputs {
    pub reports: mpsc::Receiver<Report>,
    pub commands: mpsc::Receiver<Command>,
    /// A new catalogue after a reload.
    pub catalogues: mpsc::Receiver<Vec<ConditionSpec>>,
}

impl LedgerTask {
    #[must_use]
    pub fn new(node: &str, catalogue: Vec<ConditionSpec>, shared_state: SharedState, persistence: Persistence) -> Self {
        let ledger = Ledger::new(catalogue, clock::now()).with_boot_id(clock::boot_id());
        let (node, answers, slept) = (node.to_owned(), Vec::new(), clock::slept());
        Self { ledger, node, shared_state, persistence, published: None, answers, slept }
    }

    /// With other bounds than the default ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { ledger: self.ledger.with_limits(limits), ..self }
    }

    /// With what the configuration mutes.
    #[must_use]
    pub fn with_mutes(self, mutes: Vec<Mute>) -> Self {
        Self { ledger: self.ledger.with_mutes(mutes, clock::now()), ..self }
    }

    /// With what an earlier run has left, and with `monitors` that will report: it is healthy again once they have, not
    /// before.
    #[must_use]
    pub fn resumed(mut self, monitors: Vec<DaemonReport>, rows: Option<Vec<Row>>) -> Self {
        monitors.into_iter().for_each(|report| self.take(Report::Daemon(Box::new(report)), clock::now()));
        match rows {
            Some(rows) => self.persistence.load(rows, &mut self.ledger),
            None => self.persistence.wait_for_rows(),
        }
        self
    }

    /// Works until all reporters are gone.
    pub async fn run(mut self, mut inputs: Inputs) {
        // As large as the largest batch so far.
        let (mut reports, mut commands) = (Vec::new(), Vec::new());
        loop {
            self.publish();
            let deadline = self.ledger.next_deadline();
            tokio::select! {
                taken = inputs.reports.recv_many(&mut reports, BATCH) => {
                    if taken == 0 {
                        return;
                    }
                    let now = self.now();
                    reports.drain(..).for_each(|report| self.take(report, now));
                }
                1.. = inputs.commands.recv_many(&mut commands, BATCH) => {
                    commands.drain(..).for_each(|command| self.obey(command));
                }
                Some(catalogue) = inputs.catalogues.recv() => self.ledger.set_catalogue(catalogue, clock::now()),
                news = self.persistence.news() => self.persistence.follow(news, &mut self.ledger),
                () = until(deadline) => {
                    let now = self.now();
                    self.ledger.advance(now);
                }
            }
        }
    }

    /// This moment; if the machine slept before it, no daemon is late.
    fn now(&mut self) -> Now {
        let now = clock::now();
        let slept = clock::slept();
        if slept > self.slept + SLEPT_AT_LEAST {
            self.slept = slept;
            self.ledger.slept(now);
        }
        now
    }

    fn take(&mut self, report: Report, now: Now) {
        match report {
            Report::Finding(finding) => {
                if let Err(refused) = self.ledger.apply(*finding, now) {
                    // Rules are checked against the catalogue at load: only a reload between the two can do this.
                    tracing::warn!(%refused, "a finding was refused");
                }
            }
            Report::Found(found) => {
                for finding in found.findings {
                    self.take(Report::Finding(Box::new(finding)), now);
                }
                self.persistence.note_cursors(found.log, found.cursors);
            }
            Report::Drained(done) => {
                // The caller may have given up.
                let _ = done.send(());
            }
            Report::Gap(gap) => self.ledger.gap(gap, now),
            Report::Daemon(report) => {
                if let Err(refused) = self.ledger.daemon(*report, now) {
                    tracing::warn!(%refused, "a monitor's word on itself was refused");
                }
            }
            Report::Retired(source) => {
                self.ledger.retire(&source, now);
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Clear { request, awaited, done } => {
                let outcome = self.clear(&request, awaited, clock::now());
                self.answers.push(Answer::Clear { done, outcome });
            }
            Command::Forget { daemon, by, done } => {
                let outcome = self.ledger.forget_daemon(&daemon, &by, clock::now());
                if outcome.is_some() {
                    tracing::info!(%daemon, %by, "a daemon is forgotten");
                }
                self.answers.push(Answer::Forget { done, outcome });
            }
            Command::Report { reports, sender, done } => {
                let outcome = self.ledger.report(reports, &sender, clock::now());
                self.answers.push(Answer::Report { done, outcome });
            }
            Command::Mute { mute, done } => {
                let outcome = self.ledger.mute(mute, clock::now());
                self.answers.push(Answer::Problems { done, outcome });
            }
            Command::Unmute { key, by, done } => {
                let outcome = self.ledger.unmute(&key, &by, clock::now());
                self.answers.push(Answer::Unmute { done, outcome });
            }
            Command::Ack { key, ack, done } => {
                let outcome = self.ledger.ack(&key, &ack, clock::now());
                self.answers.push(Answer::Problems { done, outcome });
            }
            Command::Unack { key, by, done } => {
                let outcome = self.ledger.unack(&key, &by, clock::now());
                self.answers.push(Answer::Problems { done, outcome });
            }
            Command::ConfigureMutes(mutes) => self.ledger.configure_mutes(mutes, clock::now()),
        }
    }

    fn clear(&mut self, request: &ClearRequest, awaited: fn(&str) -> bool, now: Now) -> Option<ClearedView> {
        if !self.ledger.knows_condition(&request.condition) {
            return None;
        }
        let cleared = self.ledger.clear(request, now);
        let given_up = request.is_of_all().then(|| self.ledger.give_up(&request.condition, awaited, now));
        let given_up = given_up.unwrap_or_default();
        if !given_up.is_empty() {
            let (daemons, by) = (given_up.join(", "), request.peer.as_deref().unwrap_or("root"));
            tracing::info!(condition = %request.condition, %daemons, %by, "daemons that are gone are waited for no longer");
        }
        let awaited = request.is_of_all().then(|| self.ledger.awaited(&request.condition, awaited));
        Some(ClearedView { cleared, durable: false, given_up, awaited: awaited.unwrap_or_default() })
    }

    fn publish(&mut self) {
        let events = self.ledger.take_events();
        // Saved before it is published: an exporter takes an event over from the saved rows.
        let ticket = self.persistence.save(&mut self.ledger, &events, !self.answers.is_empty());
        if !events.is_empty() {
            self.shared_state.events().extend(events);
        }
        let version = (self.ledger.version(), self.ledger.account_version());
        if self.published != Some(version) {
            // Most reports are events: they move the counters and leave the account as it is.
            if self.published.map(|(_, account)| account) != Some(version.1) {
                let account = self.account();
                self.shared_state.publish(account);
            }
            self.shared_state.count(self.ledger.counters());
            self.published = Some(version);
        }
        // An earlier run's problems may come yet, and what was to end among them.
        let of_an_end = if self.persistence.awaits_rows() { NEVER } else { ticket };
        self.answers.drain(..).for_each(|answer| {
            let ticket = if answer.is_of_an_end() { of_an_end } else { ticket };
            answer.give(ticket);
        });
    }

    fn account(&mut self) -> NodeView {
        NodeView {
            node: self.node.clone(),
            conditions: self.ledger.shared_conditions(),
            daemons: self.ledger.daemons(),
            hardware: self.ledger.hardware(),
            apiserver: self.shared_state.view().apiserver.clone(),
            refused: Vec::new(),
            mutes: self.ledger.mutes(),
            // Not the ledger's: what is shown stays.
            configuration: None,
        }
    }
}

/// Sleeps until CLOCK_BOOTTIME reaches `deadline`. Timers stop in suspend: the next report or timer catches up.
async fn until(deadline: Option<std::time::Duration>) {
    match deadline {
        Some(deadline) => tokio::time::sleep(deadline.saturating_sub(clock::boottime())).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
