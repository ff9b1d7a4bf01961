//! What the server's answers show of the Node object: whether it is still the one we wrote to, and whether it has what
//! we wrote; pure.

use std::time::Duration;

use nodewell_model::Name;

use super::object::ApplyPatch;
use crate::exporters::apiserver::connection::{AcceptedAnswer, Fields};

/// A whole answer (20 kB and more, against 4 kB of metadata) is asked for with one heartbeat in so long: what an
/// admission policy changes shows nowhere else.
const COMPARE_EVERY: Duration = Duration::from_hours(1);

/// The Node as the server last reported it.
#[derive(Debug, Default)]
pub(super) struct ObservedNode {
    uid: Option<String>,
    version: Option<u64>,
    confirmed_at: Option<Duration>,
    compared_at: Option<Duration>,
    /// Conditions that the server shows otherwise than they were written.
    altered: Vec<Name>,
}

/// What an answer shows of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObservedChange {
    /// It is the one that we know.
    Same,
    /// It was deleted and made again.
    Another,
    /// It has a past version: the server was restored from a backup.
    Older,
}

impl ObservedNode {
    pub(super) fn learn(&mut self, answer: &AcceptedAnswer, now: Duration) -> ObservedChange {
        self.confirmed_at = Some(now);
        let another = answer.uid.is_some() && self.uid.is_some() && answer.uid != self.uid;
        let older = answer.version.is_some() && answer.version < self.version;
        self.uid = answer.uid.clone().or(self.uid.take());
        self.version = answer.version.or(self.version);
        let change = if another {
            ObservedChange::Another
        } else if older {
            ObservedChange::Older
        } else {
            ObservedChange::Same
        };
        if change != ObservedChange::Same {
            self.compared_at = None;
        }
        change
    }

    /// When the server last answered with this Node.
    pub(super) fn confirmed_at(&self) -> Option<Duration> {
        self.confirmed_at
    }

    /// Whether the next heartbeat shall be answered with the whole Node.
    pub(super) fn wants_comparison(&self, now: Duration) -> bool {
        !self.altered.is_empty() || self.compared_at.is_none_or(|at| now >= at + COMPARE_EVERY)
    }

    /// Compares what the server has now with what was written; gives the conditions for which the difference is new.
    pub(super) fn compare(&mut self, sent: &ApplyPatch, answered: &[Fields], now: Duration) -> Vec<Name> {
        self.compared_at = Some(now);
        let altered: Vec<Name> =
            sent.iter().filter(|(_, fields)| !stands(fields, answered)).map(|(name, _)| name.clone()).collect();
        let known = std::mem::replace(&mut self.altered, altered);
        self.altered.iter().filter(|name| !known.contains(name)).cloned().collect()
    }

    /// For people; empty if the server has what we wrote.
    pub(super) fn message(&self) -> String {
        let names: Vec<&str> = self.altered.iter().map(Name::as_str).collect();
        if names.is_empty() {
            return String::new();
        }
        format!("{}: the Node says something else than we wrote; does an admission policy change it?", names.join(", "))
    }
}

/// Whether every field that was written is there as it was written.
fn stands(fields: &Fields, answered: &[Fields]) -> bool {
    let same = |one: &&Fields| one.get("type") == fields.get("type");
    answered.iter().find(same).is_some_and(|one| fields.iter().all(|(key, value)| one.get(key) == Some(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const fn at(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn applied(uid: &str, version: u64) -> AcceptedAnswer {
        AcceptedAnswer { uid: Some(uid.into()), version: Some(version), ..AcceptedAnswer::default() }
    }

    fn fields(name: &str, message: &str) -> Fields {
        let pairs = [("type", name), ("message", message)];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
    }

    #[test]
    fn another_object_and_a_past_version_are_reported_once() {
        let mut observed = ObservedNode::default();
        let changes = [
            applied("a", 7),
            applied("a", 9),
            applied("a", 8),
            applied("a", 8),
            applied("b", 20),
            AcceptedAnswer::default(),
        ]
        .map(|answer| observed.learn(&answer, at(0)));
        assert_eq!(
            changes,
            [
                ObservedChange::Same,
                ObservedChange::Same,
                ObservedChange::Older,
                ObservedChange::Same,
                ObservedChange::Another,
                ObservedChange::Same
            ]
        );
        assert_eq!(
            observed.learn(&applied("b", 21), at(0)),
            ObservedChange::Same,
            "an answer without a UID changes nothing"
        );
    }

    #[test]
    fn fields_that_were_changed_or_left_out_are_named_until_they_stand() {
        let sent: ApplyPatch = ["A", "B", "C"].map(|name| (Name::fixed(name), fields(name, "ours"))).into();
        let mut observed = ObservedNode::default();
        assert!(observed.wants_comparison(at(0)));
        let answered = [fields("A", "ours"), fields("Ready", "kubelet's"), fields("B", "theirs")];
        assert_eq!(observed.compare(&sent, &answered, at(0)), [Name::fixed("B"), Name::fixed("C")]);
        assert!(observed.message().starts_with("B, C: the Node says something else"));
        assert!(observed.wants_comparison(at(300)), "what differs is looked at again with every heartbeat");
        assert_eq!(observed.compare(&sent, &answered, at(300)), [], "news is reported once");
        observed.compare(&sent, &["A", "B", "C"].map(|name| fields(name, "ours")), at(600));
        assert_eq!(observed.message(), "");
        assert!(!observed.wants_comparison(at(4199)) && observed.wants_comparison(at(4200)));
    }
}
