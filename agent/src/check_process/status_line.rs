//! The one line about a check process in `systemctl status`: what it does, or that it waits for the agent.

use std::{collections::BTreeMap, rc::Rc};

use tokio::sync::watch;

/// The line; each part of the process updates its own share. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct StatusLine(Rc<watch::Sender<StatusContent>>);

/// What is known, for [`StatusLine::line`].
#[derive(Debug, Default)]
pub(super) struct StatusContent {
    away: Option<String>,
    work: String,
    /// Of each part of the check process that has something to report: its worker groups, its services, its plug-ins.
    parts: BTreeMap<&'static str, String>,
}

impl StatusLine {
    /// At first the agent has not answered.
    pub(super) fn new(work: &str) -> Self {
        let content =
            StatusContent { away: Some("not asked yet".to_owned()), work: work.to_owned(), ..StatusContent::default() };
        Self(Rc::new(watch::Sender::new(content)))
    }

    /// The agent cannot be reached. Returns whether that is new.
    pub(super) fn away(&self, why: &str) -> bool {
        self.0.send_if_modified(|content| content.away.replace(why.to_owned()).as_deref() != Some(why))
    }

    /// The agent answers. Returns whether that is new.
    pub(super) fn back(&self) -> bool {
        self.0.send_if_modified(|content| content.away.take().is_some())
    }

    /// What is being done while the agent answers.
    pub(super) fn work(&self, work: String) {
        self.0.send_if_modified(|content| {
            let changed = content.work != work;
            content.work = work;
            changed
        });
    }

    /// What the part `name` knows; empty where there is nothing to report.
    pub(super) fn part(&self, name: &'static str, text: String) {
        self.0.send_if_modified(|content| content.parts.insert(name, text.clone()).as_ref() != Some(&text));
    }

    pub(super) fn line(&self) -> String {
        let content = self.0.borrow();
        let parts = content.parts.values().chain([&content.work]).map(String::as_str).filter(|part| !part.is_empty());
        let work = || parts.collect::<Vec<_>>().join("; ");
        content.away.as_ref().map_or_else(work, |why| format!("waits for the agent: {why}"))
    }

    /// Returns with every change of the line.
    pub(super) fn watch(&self) -> watch::Receiver<StatusContent> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_away_comes_before_the_work() {
        let status_line = StatusLine::new("nothing to look after");
        assert_eq!(status_line.line(), "waits for the agent: not asked yet");
        assert!(status_line.back());
        assert!(!status_line.back(), "reported once");
        assert_eq!(status_line.line(), "nothing to look after");
        assert!(status_line.away("nothing listens"));
        assert!(!status_line.away("nothing listens"), "reported once");
        status_line.work("looks after 1 problem".to_owned());
        status_line.part("mounts", "mounts: 3".to_owned());
        status_line.part("check", "memory: 4".to_owned());
        assert_eq!(status_line.line(), "waits for the agent: nothing listens");
        status_line.back();
        assert_eq!(status_line.line(), "memory: 4; mounts: 3; looks after 1 problem");
        status_line.part("mounts", String::new());
        assert_eq!(status_line.line(), "memory: 4; looks after 1 problem");
    }
}
