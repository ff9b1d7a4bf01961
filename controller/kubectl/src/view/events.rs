//! Events on Nodes, oldest first, as logs are read.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::facts::{EventFacts, Facts};

/// Which Events are shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Nothing: of every node that was read.
    pub(crate) node: Option<String>,
    /// Only what happened last within so long.
    pub(crate) since: Option<Duration>,
    /// Empty: every reason.
    pub(crate) reasons: Vec<String>,
    /// Those of the kubelet and of other clients, too.
    pub(crate) all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventView {
    pub(crate) node: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) component: String,
    pub(crate) source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<Timestamp>,
    pub(crate) count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EventsView {
    pub(crate) events: Vec<EventView>,
    pub(crate) notes: Vec<String>,
}

impl EventsView {
    pub(crate) fn of(facts: &Facts, filter: &Filter, now: Timestamp) -> Self {
        let mut events: Vec<&EventFacts> = facts.events.iter().filter(|event| filter.takes(event, now)).collect();
        events.sort_by(|a, b| (a.last, &a.node, &a.reason).cmp(&(b.last, &b.node, &b.reason)));
        Self { events: events.into_iter().map(EventView::of).collect(), notes: facts.notes.clone() }
    }
}

impl Filter {
    fn takes(&self, event: &EventFacts, now: Timestamp) -> bool {
        let is_recent = |since: Duration| {
            event.last.is_some_and(|last| Duration::try_from(now.duration_since(last)).unwrap_or_default() <= since)
        };
        (self.all || event.is_ours())
            && self.node.as_ref().is_none_or(|node| *node == event.node)
            && self.since.is_none_or(is_recent)
            && (self.reasons.is_empty() || self.reasons.contains(&event.reason))
    }
}

impl EventView {
    fn of(event: &EventFacts) -> Self {
        Self {
            node: event.node.clone(),
            kind: if event.is_warning { "Warning" } else { "Normal" },
            reason: event.reason.clone(),
            message: event.message.clone(),
            component: event.component.clone(),
            source: event.source.clone(),
            first: event.first,
            last: event.last,
            count: event.count,
        }
    }
}
