//! The one line about a check process in `systemctl status`: what it does, or that it waits for the agent.

use std::{collections::BTreeMap, rc::Rc};

use tokio::sync::watch;

/// The line; each part of the process updates its own share. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Words(Rc<watch::Sender<Told>>);

/// What is known, for [`Words::line`].
#[derive(Debug, Default)]
pub(super) struct Told {
    away: Option<String>,
    work: String,
    /// Of each part of the check process that has something to report: its worker groups, its services, its plug-ins.
    parts: BTreeMap<&'static str, String>,
}

impl Words {
    /// At first the agent has not answered.
    pub(super) fn new(work: &str) -> Self {
        let told = Told { away: Some("not asked yet".to_owned()), work: work.to_owned(), ..Told::default() };
        Self(Rc::new(watch::Sender::new(told)))
    }

    /// The agent cannot be reached. Returns whether that is new.
    pub(super) fn away(&self, why: &str) -> bool {
        self.0.send_if_modified(|told| told.away.replace(why.to_owned()).as_deref() != Some(why))
    }

    /// The agent answers. Returns whether that is new.
    pub(super) fn back(&self) -> bool {
        self.0.send_if_modified(|told| told.away.take().is_some())
    }

    /// What is being done while the agent answers.
    pub(super) fn work(&self, work: String) {
        self.0.send_if_modified(|told| {
            let changed = told.work != work;
            told.work = work;
            changed
        });
    }

    /// What the part `name` knows; empty where there is nothing to report.
    pub(super) fn part(&self, name: &'static str, words: String) {
        self.0.send_if_modified(|told| told.parts.insert(name, words.clone()).as_ref() != Some(&words));
    }

    pub(super) fn line(&self) -> String {
        let told = self.0.borrow();
        let parts = told.parts.values().chain([&told.work]).map(String::as_str).filter(|part| !part.is_empty());
        let work = || parts.collect::<Vec<_>>().join("; ");
        told.away.as_ref().map_or_else(work, |why| format!("waits for the agent: {why}"))
    }

    /// Returns with every change of the line.
    pub(super) fn watch(&self) -> watch::Receiver<Told> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_away_comes_before_the_work() {
        let words = Words::new("nothing to look after");
        assert_eq!(words.line(), "waits for the agent: not asked yet");
        assert!(words.back());
        assert!(!words.back(), "reported once");
        assert_eq!(words.line(), "nothing to look after");
        assert!(words.away("nothing listens"));
        assert!(!words.away("nothing listens"), "reported once");
        words.work("looks after 1 problem".to_owned());
        words.part("mounts", "mounts: 3".to_owned());
        words.part("check", "memory: 4".to_owned());
        assert_eq!(words.line(), "waits for the agent: nothing listens");
        words.back();
        assert_eq!(words.line(), "memory: 4; mounts: 3; looks after 1 problem");
        words.part("mounts", String::new());
        assert_eq!(words.line(), "memory: 4; looks after 1 problem");
    }
}
