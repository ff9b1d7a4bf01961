//! The stations of an injected record, each waited for and printed.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_client::Client;
use nodewell_model::{
    ConditionStatus, Name,
    api::InjectAnswer,
    view::{ApiserverState, EventView, NodeView},
};
use nodewell_time::age;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cli::{
    error::{CommandError, SOFTWARE, TEMPORARY},
    out::Out,
    output::Document,
};

/// Each station takes milliseconds; this is for a machine under load.
const STATION_TIMEOUT: Duration = Duration::from_secs(5);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// What the agent knew before the record was written.
#[derive(Debug)]
pub(super) struct Known {
    /// The newest event.
    event: u64,
    /// How many records the test problems of the reason count: while one stands, another record of it makes no event.
    counted: u64,
}

impl Known {
    pub(super) async fn now(client: &Client, reason: &Name) -> Result<Self, CommandError> {
        let newest: Vec<EventView> = client.get("/v1/events?limit=1").await?;
        let counted = counted(&client.get("/v1/status").await?, reason);
        Ok(Self { event: newest.last().map_or(0, |event| event.id), counted })
    }
}

fn counted(view: &NodeView, reason: &Name) -> u64 {
    let problems = view.conditions.iter().flat_map(|condition| &condition.problems);
    problems.filter(|problem| problem.test && problem.reason == *reason).map(|problem| problem.count).sum()
}

/// How its steps are written.
pub(super) struct Printer<'a> {
    pub(super) out: &'a mut Out,
    pub(super) form: Option<Document>,
}

/// One injected record on its way.
pub(super) struct Way<'a> {
    client: &'a Client,
    printer: Printer<'a>,
    answer: &'a InjectAnswer,
    written: Timestamp,
    stations: usize,
}

impl<'a> Way<'a> {
    pub(super) fn new(client: &'a Client, printer: Printer<'a>, answer: &'a InjectAnswer) -> Self {
        Self { client, printer, answer, written: Timestamp::now(), stations: 0 }
    }

    /// Prints that the next station was reached.
    pub(super) fn step(&mut self, what: &str) -> Result<(), CommandError> {
        self.stations += 1;
        let Printer { out, form } = &mut self.printer;
        match form {
            Some(form) => out.row(*form, &json!({"step": self.stations, "text": what}))?,
            None => out.line(&format!("{} {what}", self.stations))?,
        }
        Ok(out.flush()?)
    }

    /// Waits until the agent has an event of the record, or has counted it.
    pub(super) async fn matched(&mut self, before: &Known) -> Result<(), CommandError> {
        let deadline = Instant::now() + STATION_TIMEOUT;
        let how = loop {
            if let Some(how) = self.news(before).await? {
                break how;
            }
            if Instant::now() >= deadline {
                return Err(self.unseen());
            }
            sleep(ASK_EVERY).await;
        };
        let took = Timestamp::now().duration_since(self.written).as_millis();
        self.step(&format!("read and matched after {took} ms: {how}"))
    }

    async fn news(&self, before: &Known) -> Result<Option<String>, CommandError> {
        let events: Vec<EventView> = self.client.get(&format!("/v1/events?after={}", before.event)).await?;
        let event = events.into_iter().find(|event| event.test && event.reason == self.answer.reason);
        if let Some(event) = event {
            return Ok(Some(format!("event {} of {}: {}", event.id, event.source, event.message)));
        }
        let counted = counted(&self.client.get("/v1/status").await?, &self.answer.reason);
        // Of the first record there is an event, too, which the next look finds.
        let again = counted > before.counted.max(1);
        Ok(again.then(|| format!("counted by the test problem that stands already, {counted} times by now")))
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
        loop {
            let view: NodeView = self.client.get("/v1/status").await?;
            if self.holds(&view) {
                break;
            }
            if Instant::now() >= deadline {
                return Err(not_turned(&view, condition, &self.answer.reason));
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

/// A test is a part of the problem that is there already, if one is, and turns nothing by itself.
fn not_turned(view: &NodeView, condition: &Name, reason: &Name) -> CommandError {
    let of_condition = view.conditions.iter().filter(|one| one.condition == *condition);
    let mut problems = of_condition.flat_map(|one| &one.problems);
    let real = problems.find(|problem| problem.reason == *reason && !problem.test);
    let secs = STATION_TIMEOUT.as_secs();
    match real.map(|problem| &problem.false_positive) {
        Some(Some(ack)) => CommandError::new(
            TEMPORARY,
            format!(
                "{reason} is there, and called a false positive by {}: a test is a part of it, and turns no condition; \
                 `nodewell unack {reason}` first",
                ack.by
            ),
        ),
        Some(None) => CommandError::new(
            TEMPORARY,
            format!("{reason} is there already, and a test is a part of it: try again once it has ended"),
        ),
        None => CommandError::new(
            SOFTWARE,
            format!("the event is there, but {condition} did not become True within {secs} s"),
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_turns_nothing_names_what_is_in_its_way() {
        let time = "2026-12-01T08:00:00Z";
        let error = |changes: serde_json::Value| {
            let mut problem = json!({"id": "1", "reason": "KernelOops", "severity": "error", "since": time,
                "last_seen": time, "count": 1, "message": "", "source": "kernel-monitor"});
            problem.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            let condition = json!({"type": "KernelUnhealthy", "status": "False", "reason": "R", "message": "",
                "transition": time, "problems": [problem]});
            let view = json!({"node": "n1", "daemons": [], "conditions": [condition],
                "apiserver": {"state": "disabled", "last_success": null}});
            let view: NodeView = serde_json::from_value(view).unwrap();
            let (condition, reason) = (Name::fixed("KernelUnhealthy"), Name::fixed("KernelOops"));
            not_turned(&view, &condition, &reason).to_string()
        };
        let ack = json!({"false_positive": {"at": time, "by": "alice (root)", "why": "w"}});
        let acked = error(ack);
        assert!(
            acked.contains("false positive by alice (root)") && acked.contains("`nodewell unack KernelOops`"),
            "{acked}"
        );
        assert!(error(json!({})).contains("KernelOops is there already, and a test is a part of it"));
        for other in [json!({"test": true}), json!({"reason": "RCUStall"})] {
            assert_eq!(error(other), "the event is there, but KernelUnhealthy did not become True within 5 s");
        }
    }
}
