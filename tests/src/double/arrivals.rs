//! When the double took what it stores, by its own clock and more finely than objects show it: these have whole
//! seconds.

use std::collections::BTreeMap;

use jiff::Timestamp;

#[derive(Debug, Default, Clone)]
pub(crate) struct Arrivals {
    /// By the Event's name.
    events: BTreeMap<String, Timestamp>,
    /// By Node, type and status: the last time that the condition turned so.
    turns: BTreeMap<(String, String, String), Timestamp>,
}

impl Arrivals {
    pub(crate) fn note_event(&mut self, name: &str) {
        self.events.insert(name.to_owned(), Timestamp::now());
    }

    pub(crate) fn note_turn(&mut self, node: &str, condition: &str, status: &str) {
        self.turns.insert(key(node, condition, status), Timestamp::now());
    }

    pub(crate) fn event(&self, name: &str) -> Option<Timestamp> {
        self.events.get(name).copied()
    }

    pub(crate) fn turn(&self, node: &str, condition: &str, status: &str) -> Option<Timestamp> {
        self.turns.get(&key(node, condition, status)).copied()
    }
}

fn key(node: &str, condition: &str, status: &str) -> (String, String, String) {
    (node.to_owned(), condition.to_owned(), status.to_owned())
}
