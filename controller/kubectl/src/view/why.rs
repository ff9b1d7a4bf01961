//! Why a node is cordoned, drained or fenced, or was: from what is on the Node, from its records, those that ended, and
//! from Events.

mod history;

use jiff::Timestamp;
use serde::Serialize;

use self::history::history;
use super::{controller::ControllerView, remediation, words};
use crate::facts::{Facts, NodeFacts, RecordFacts};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyView {
    pub(crate) node: String,
    /// Whether there is such a Node now.
    pub(crate) is_there: bool,
    /// What holds now, a sentence each; empty if nodewell has done nothing to it.
    pub(crate) now: Vec<String>,
    /// What happened, the newest first.
    pub(crate) history: Vec<Entry>,
    pub(crate) controller: ControllerView,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    /// In plain words.
    pub(crate) what: String,
    /// The term to search for: a phase, or an Event's reason.
    pub(crate) term: String,
    /// `nodefence NAME` or `event`.
    pub(crate) source: String,
    /// How often an Event was repeated.
    pub(crate) count: u64,
}

impl WhyView {
    pub(crate) fn of(facts: &Facts, name: &str, now: Timestamp) -> Self {
        let node = facts.node(name);
        let mut sentences: Vec<String> =
            facts.controller.paused.iter().map(|why| format!("Everything is paused: {why}.")).collect();
        sentences.extend(node.into_iter().flat_map(|node| of_node(node, facts.open_record(name))));
        sentences.extend(of_record(facts, name, now));
        Self {
            node: name.to_owned(),
            is_there: node.is_some(),
            now: sentences,
            history: history(facts, name),
            controller: ControllerView::of(facts, now),
            notes: facts.notes.clone(),
        }
    }

    /// Whether there is anything to show of it.
    pub(crate) fn knows_it(&self) -> bool {
        self.is_there || !self.history.is_empty()
    }
}

/// What is set on the Node itself.
fn of_node(node: &NodeFacts, record: Option<&RecordFacts>) -> Vec<String> {
    let cordon = node.cordon.iter().map(|cordon| format!("It is cordoned {}.", words::cordoned(cordon, record)));
    let explained = node.taints.iter().filter_map(|taint| Some((words::taint(taint, record)?, taint)));
    let taints = explained.map(|(text, taint)| {
        let mut text = format!("{text} ({}).", words::shown(taint));
        // As a sentence begins; the names of ours do so in small letters.
        if let Some(rest) = text.strip_prefix("another") {
            text = format!("Another{rest}");
        }
        text
    });
    let skipped = node
        .skipped
        .iter()
        .map(|why| format!("A person keeps the controller away from it (nodewell.dev/skip-remediation: {why})."));
    cordon.chain(taints).chain(skipped).collect()
}

/// What is under way, or would be.
fn of_record(facts: &Facts, node: &str, now: Timestamp) -> Vec<String> {
    let Some(view) = remediation::of(facts, node, now) else { return Vec::new() };
    let record = facts.open_record(node);
    let mut sentences = Vec::new();
    if let (Some(record), Some(phase), Some(doing)) = (record, view.phase, view.doing) {
        let opened = view.opened.map(|at| format!(" since {at:.0}")).unwrap_or_default();
        let cause = words::because(&view.cause);
        sentences.push(format!("It is under remediation{opened}, asked for by {}{cause}.", words::asked_by(record)));
        let since = view.since.map(|at| format!(" since {at:.0}")).unwrap_or_default();
        sentences.push(format!("Phase {phase:?}{since}: {doing}."));
    } else if let Some(next) = &view.next {
        let why = match view.policy.as_str() {
            // A person asked, or another remediator: only its record says which.
            "" => "It is fenced without a policy".to_owned(),
            policy => format!("Policy {policy} is true of it"),
        };
        sentences.push(format!("{why}; next is {next}."));
    }
    let restored = view.restored_at.map(|at| format!("It is healthy again, and given back at {at:.0} if it stays so."));
    sentences.extend(restored);
    if view.aborted {
        sentences.push("A person has it stopped (spec.abort).".to_owned());
    }
    sentences.extend(view.blocked_by.iter().map(|blocker| format!("Blocked by {blocker}.")));
    sentences.extend(view.refused_evictions.iter().map(|pod| format!("Its drain waits for {pod}.")));
    if view.released > 0 {
        sentences.push(format!("{} of its pods were released.", view.released));
    }
    sentences
}
