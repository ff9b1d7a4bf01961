//! The stations of an injected record, each waited for and printed.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_client::Client;
use nodewell_model::{
    ConditionStatus,
    api::InjectAnswer,
    view::{ApiserverState, EventView, NodeView},
};
use tokio::time::{Instant, sleep, timeout};

use crate::cli::{
    age::age,
    error::{CommandError, SOFTWARE},
    events::parse,
    out::Out,
};

/// Each station takes milliseconds; this is for a machine under load.
const STATION_TIMEOUT: Duration = Duration::from_secs(5);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// One injected record on its way.
pub(super) struct Way<'a> {
    client: &'a Client,
    out: &'a mut Out,
    answer: &'a InjectAnswer,
    written: Timestamp,
    stations: usize,
}

impl<'a> Way<'a> {
    pub(super) fn new(client: &'a Client, out: &'a mut Out, answer: &'a InjectAnswer) -> Self {
        Self { client, out, answer, written: Timestamp::now(), stations: 0 }
    }

    /// Prints that the next station was reached.
    pub(super) fn step(&mut self, what: &str) -> Result<(), CommandError> {
        self.stations += 1;
        self.out.line(&format!("{} {what}", self.stations))?;
        Ok(self.out.flush()?)
    }

    /// Waits for the event of the record; events up to `before` are older than it.
    pub(super) async fn matched(&mut self, before: u64) -> Result<(), CommandError> {
        let event = match timeout(STATION_TIMEOUT, self.event(before)).await {
            Ok(event) => event?,
            Err(_) => return Err(self.unseen()),
        };
        let took = Timestamp::now().duration_since(self.written).as_millis();
        self.step(&format!(
            "read and matched after {took} ms: event {} of {}: {}",
            event.id, event.source, event.message
        ))
    }

    async fn event(&self, before: u64) -> Result<EventView, CommandError> {
        let mut lines = self.client.follow(&format!("/v1/events?follow=true&after={before}")).await?;
        while let Some(line) = lines.next_line().await? {
            let event = parse(&line)?;
            if event.test && event.reason == self.answer.reason {
                return Ok(event);
            }
        }
        Err(CommandError::new(SOFTWARE, "the agent stopped before it read the record"))
    }

    fn unseen(&self) -> CommandError {
        let message = format!(
            "the agent did not report the record within {} s. The kernel drops what user space writes too fast \
             (kernel.printk_devkmsg=ratelimit): wait a few seconds and try again. `nodewell status` says whether the \
             kernel log can be read",
            STATION_TIMEOUT.as_secs()
        );
        CommandError::new(SOFTWARE, message)
    }

    /// Waits until the rule's condition is True because of this test.
    pub(super) async fn condition(&mut self) -> Result<(), CommandError> {
        let Some(condition) = &self.answer.condition else {
            return self.step("no condition: this rule makes an event only");
        };
        let deadline = Instant::now() + STATION_TIMEOUT;
        while !self.holds(&self.client.get("/v1/status").await?) {
            if Instant::now() >= deadline {
                let message = format!(
                    "the event is there, but {condition} did not become True within {} s",
                    STATION_TIMEOUT.as_secs()
                );
                return Err(CommandError::new(SOFTWARE, message));
            }
            sleep(ASK_EVERY).await;
        }
        self.step(&format!("condition {condition} is True"))
    }

    fn holds(&self, view: &NodeView) -> bool {
        view.conditions
            .iter()
            .filter(|view| Some(&view.condition) == self.answer.condition.as_ref())
            .filter(|view| view.status == ConditionStatus::True)
            .flat_map(|view| &view.problems)
            .any(|problem| problem.test && problem.reason == self.answer.reason)
    }

    /// Waits until the API server took something since; without a server it prints that there is none.
    pub(super) async fn apiserver(&mut self) -> Result<(), CommandError> {
        let deadline = Instant::now() + STATION_TIMEOUT;
        loop {
            let view: NodeView = self.client.get("/v1/status").await?;
            let api = &view.apiserver;
            let sent = api.last_success.is_some_and(|time| time >= self.written) && api.undelivered == 0;
            let waits = matches!(api.state, ApiserverState::Connected | ApiserverState::Connecting) && !sent;
            if !waits || Instant::now() >= deadline {
                let text = report(&view, sent);
                return self.step(&text);
            }
            sleep(ASK_EVERY).await;
        }
    }

    /// The last line: the test needs no clean-up.
    pub(super) fn ending(&mut self) -> Result<(), CommandError> {
        let secs = self.answer.clears_secs;
        self.step(&format!("the test ends by itself {secs} s after it began"))
    }
}

fn report(view: &NodeView, sent: bool) -> String {
    let api = &view.apiserver;
    let last = api.last_success.map_or("never".to_owned(), |time| format!("{} ago", age(time, Timestamp::now())));
    match api.state {
        ApiserverState::Disabled => "API server: none (standalone)".to_owned(),
        _ if sent => format!("API server: has it (node {})", view.node),
        ApiserverState::Connected => format!("API server: connected, but it has not taken it yet; last success {last}"),
        ApiserverState::Connecting => "API server: not connected yet; it gets this once it answers".to_owned(),
        ApiserverState::Failing => {
            format!("API server: failing ({}), last success {last}; it gets this once it answers", api.message)
        }
    }
}
