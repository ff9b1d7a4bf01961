//! The agent as one reporter of a check process sees it: it sends conditions and Events under the reporter's name,
//! wakes up when problems change, and reads and ends problems.

use std::{cell::Cell, collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use nodewell_client::{Client, ClientError, Discarded, Line, Lines, Reporter, ReporterSettings};
use nodewell_model::{
    Condition, Event, Hardware, Name, SubjectKey,
    api::{ClearRequest, ClearedView, ConditionProblem},
};
use nodewell_time::Backoff;
use serde::Deserialize;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use crate::{check_process::status_line::StatusLine, runtime::pace};

/// Between two tries to connect: an agent that was restarted is found within the longest.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(5));
/// A report holds for this long without another one.
const TTL: Duration = Duration::from_secs(90);
/// Between two heartbeats; those of all check processes go together.
const BEAT: Duration = Duration::from_secs(TTL.as_secs() / 3);
/// So many different rejections are logged, each once.
const REJECTIONS_LIMIT: usize = 16;
/// A stop may be half of a restart, of the service or, together with the agent, of the machine: for so long after it
/// (of a machine: after the agent's start) conditions that are well stay on the Node.
const LINGER: Duration = Duration::from_secs(60);
/// How long a stop waits for the last report to arrive.
const LAST_REPORT: Duration = Duration::from_secs(1);

/// The connection of one reporter to the agent, for as long as this process lives; the agent may come and go.
pub(in crate::check_process) struct Link {
    client: Client,
    reporter: Reporter,
    status_line: StatusLine,
    problem_change: Notify,
    since: Cell<Timestamp>,
    /// Whether a fault or an Unknown state is reported: then a stop withdraws nothing.
    retains: Cell<bool>,
    /// Whether an earlier run may have reported a fault that this one has not looked at yet.
    inherits: Cell<bool>,
    /// How the agent calls it, up to its user or unit.
    name: String,
    /// Whether a count of devices was sent.
    counts: Cell<bool>,
}

/// The part of an event that is read.
#[derive(Debug, Deserialize)]
struct EventHeader {
    id: u64,
    /// Only the start and the end of a problem have one.
    condition: Option<Name>,
}

impl Link {
    /// Reports under the name `source`. Must be called within a runtime.
    pub(in crate::check_process) fn new(line: impl Into<Line>, source: &str, status_line: StatusLine) -> Self {
        Self::with(line.into(), ReporterSettings::new(source), status_line)
    }

    /// The same of one that is among the links of [`Link::follow`] and [`Link::beat`].
    pub(in crate::check_process) fn followed(line: Line, source: &str, status_line: StatusLine) -> Self {
        let settings = ReporterSettings { notices_restarts: true, owner_beats: true, ..ReporterSettings::new(source) };
        Self::with(line, settings, status_line)
    }

    fn with(line: Line, settings: ReporterSettings, status_line: StatusLine) -> Self {
        let settings = ReporterSettings { ttl: TTL, first_report_is_complete: false, linger: LINGER, ..settings };
        let client = line.client().clone();
        let name = format!("{}@", settings.source);
        let reporter = Reporter::start(line, settings, log_rejections());
        let since = Cell::new(Timestamp::now());
        Self {
            client,
            reporter,
            status_line,
            problem_change: Notify::new(),
            since,
            retains: Cell::default(),
            inherits: Cell::default(),
            name,
            counts: Cell::default(),
        }
    }

    /// Follows the agent's events, over and over, also for `others` of this process; never returns.
    pub(in crate::check_process) async fn follow(&self, others: &[&Self]) {
        let mut pauses = PAUSES;
        loop {
            let error = match self.client.follow("/v1/events?follow=true").await {
                Ok(lines) => {
                    self.connected(others);
                    pauses.reset();
                    self.receive(lines).await
                }
                Err(error) => error,
            };
            if self.status_line.away(&error.to_string()) {
                tracing::warn!(%error, "the agent is away; waiting for it");
            }
            tokio::time::sleep(pauses.pause()).await;
        }
    }

    /// Sends heartbeats, also for `others` of this process; never returns.
    pub(in crate::check_process) async fn beat(&self, others: &[&Self]) {
        loop {
            pace::sleep_until(pace::next(Instant::now(), BEAT)).await;
            others.iter().chain([&self]).for_each(|link| link.reporter.beat());
        }
    }

    fn connected(&self, others: &[&Self]) {
        if self.status_line.back() {
            tracing::info!(socket = %self.client.path().display(), "follows the agent");
        }
        self.since.set(Timestamp::now());
        // It may have been restarted, and not know these reporters.
        others.iter().chain([&self]).for_each(|link| link.reporter.send_heartbeat_now());
        self.problem_change.notify_one();
    }

    /// Listens until the agent ends the stream.
    async fn receive(&self, mut lines: Lines) -> ClientError {
        let mut last = None;
        loop {
            match lines.next_line().await {
                Ok(Some(line)) => {
                    // What is not understood may have concerned problems.
                    let event = serde_json::from_str::<EventHeader>(&line).ok();
                    if event.as_ref().is_none_or(|event| concerns_problems(event, last)) {
                        self.problem_change.notify_one();
                    }
                    last = event.map(|event| event.id);
                }
                Ok(None) => return ClientError::Broken { message: "the agent ended the stream".to_owned() },
                Err(error) => return error,
            }
        }
    }

    /// Returns once something may have changed since it returned last.
    pub(in crate::check_process) async fn problem_change(&self) {
        self.problem_change.notified().await;
    }

    /// Since when this agent is followed.
    pub(in crate::check_process) fn since(&self) -> Timestamp {
        self.since.get()
    }

    pub(in crate::check_process) async fn problems(&self) -> Result<Vec<ConditionProblem>, ClientError> {
        self.client.get("/v1/problems").await
    }

    /// Sends an event to the agent, now or when it is back.
    pub(in crate::check_process) fn send_event(&self, event: Event) {
        self.reporter.event(event);
    }

    /// Reports how a device is.
    pub(in crate::check_process) fn set_all(&self, key: &SubjectKey, conditions: Vec<Condition>) {
        self.reporter.set_all(key.condition.clone(), key.subject.clone(), conditions);
    }

    /// A device is there no more.
    pub(in crate::check_process) fn forget(&self, key: &SubjectKey) {
        self.reporter.forget(key.condition.clone(), key.subject.clone());
    }

    /// How many devices there are.
    pub(in crate::check_process) fn hardware(&self, hardware: Vec<Hardware>) {
        self.counts.set(true);
        self.reporter.hardware(hardware);
    }

    /// Whether devices were ever counted.
    pub(in crate::check_process) fn has_sent_hardware(&self) -> bool {
        self.counts.get()
    }

    /// What an earlier run reported and this one does not is over.
    pub(in crate::check_process) fn all_reported(&self) {
        self.inherits.set(false);
        self.reporter.all_reported();
    }

    /// Whether something is reported that must not be lost by a stop.
    pub(in crate::check_process) fn retain_on_stop(&self, retain: bool) {
        self.retains.set(retain);
    }

    /// What an earlier run reported is not known: before [`Link::all_reported`] a stop asks the agent.
    pub(in crate::check_process) fn inherit(&self) {
        self.inherits.set(true);
    }

    /// Whether a stop withdraws nothing, by what this run has reported.
    pub(in crate::check_process) fn is_retained_on_stop(&self) -> bool {
        self.retains.get()
    }

    /// Whether the agent has a problem of an earlier run that this one has not looked at, or does not answer.
    async fn has_inherited(&self) -> bool {
        let is_ours =
            |one: &ConditionProblem| one.problem.source.split(", ").any(|source| source.starts_with(&self.name));
        let has_ours = async { self.problems().await.map_or(true, |problems| problems.iter().any(is_ours)) };
        self.inherits.get() && timeout(LAST_REPORT, has_ours).await.unwrap_or(true)
    }

    /// A clean stop: withdraws all reports; what was healthy stays for [`LINGER`]. If one of them is not well, they
    /// stay, and are Unknown to others once they have expired.
    pub(in crate::check_process) async fn finish(self) {
        let is_taken = if self.is_retained_on_stop() || self.has_inherited().await {
            timeout(LAST_REPORT, self.reporter.flushed()).await.is_ok()
        } else {
            self.reporter.finish(LAST_REPORT).await
        };
        if !is_taken {
            tracing::info!("the agent did not take the last report in time");
        }
    }

    /// Nothing is reported under this name any more. Returns once the agent has taken that, however long it is away:
    /// nothing else would ever end what was reported.
    pub(in crate::check_process) async fn withdraw(self) {
        let _ = self.reporter.finish(Duration::MAX).await;
    }

    /// How many problems ended.
    pub(in crate::check_process) async fn clear(&self, request: &ClearRequest) -> Result<usize, ClientError> {
        self.client.post::<_, ClearedView>("/v1/clear", request).await.map(|answer| answer.cleared)
    }
}

/// Logs once for each reason what the agent did not take: with heartbeats it would be logged for ever.
fn log_rejections() -> impl FnMut(Discarded) + Send + 'static {
    let mut logged = BTreeSet::new();
    move |discarded: Discarded| {
        let error = discarded.error.to_string();
        if logged.len() < REJECTIONS_LIMIT && logged.insert(error.clone()) {
            tracing::warn!(%error, "the agent does not take our report");
        }
    }
}

/// A problem began or ended, or events were missed: a reader that is too slow sees it from a jump in the ids.
fn concerns_problems(event: &EventHeader, last: Option<u64>) -> bool {
    event.condition.is_some() || last.is_some_and(|last| event.id != last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(json: &str) -> EventHeader {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn only_problems_and_missed_events_are_read_again() {
        let temporary =
            event(r#"{"id":5,"severity":"warn","reason":"OOMKilling","message":"m","source":"s","count":1}"#);
        assert!(!concerns_problems(&temporary, None));
        assert!(!concerns_problems(&temporary, Some(4)));
        assert!(concerns_problems(&temporary, Some(2)));
        assert!(concerns_problems(&event(r#"{"id":5,"condition":"ReadonlyFilesystem"}"#), Some(4)));
    }
}
