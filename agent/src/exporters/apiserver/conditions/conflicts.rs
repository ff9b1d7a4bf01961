//! Conditions that another field manager writes too (Node Problem Detector still running): reported, not fought; pure.
//!
//! An apply without a field gives that field up, and an apply without a condition deletes the entry if it was ours
//! first, the other writer's values with it (seen on kube-apiserver 1.36). So a condition in conflict is not left out:
//! it carries the values that the server last took from us, less the fields that the other writer took over.

use std::{collections::BTreeMap, time::Duration};

use nodewell_model::Name;

use super::object::ApplyPatch;
use crate::exporters::apiserver::connection::{FieldConflict, Fields};

/// Our own controller's name as a writer. It writes `Unknown` for an agent that has gone silent; those fields are ours
/// again with the agent's next apply.
pub(crate) const CONTROLLER_MANAGER: &str = "nodewell-controller";

/// The conditions in conflict, and what the server has of ours.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    /// The patch that the server took last.
    applied: ApplyPatch,
    /// For each condition in conflict: what is sent in place of what is wanted, the values that the server took last
    /// less the fields that were given up.
    held: BTreeMap<Name, Fields>,
    /// Which field manager writes which condition of ours, as far as known.
    managers: BTreeMap<Name, String>,
    /// When all fields of all conditions are sent again, to see whether the conflict is over.
    full_try_due: Duration,
    /// Whether the patch under way carries everything.
    trying_in_full: bool,
}

impl Conflicts {
    /// The conditions that another writer has.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &Name> {
        self.held.keys()
    }

    /// Replaces the wanted fields of conditions in conflict by the held ones, unless it is time to try everything
    /// again.
    pub(super) fn hold(&mut self, patch: &mut ApplyPatch, now: Duration) {
        self.trying_in_full = self.held.is_empty() || now >= self.full_try_due;
        if self.trying_in_full {
            self.held.clear();
        }
        for (name, fields) in &self.held {
            patch.entry(name.clone()).and_modify(|wanted| *wanted = fields.clone());
        }
    }

    /// Gives up the fields in `conflicts`; returns the conditions that were not in conflict before.
    pub(super) fn give_way(&mut self, conflicts: &[FieldConflict], patch: &mut ApplyPatch) -> Vec<(Name, String)> {
        let mut new_conflicts = Vec::new();
        for conflict in conflicts {
            let Some((name, wanted)) = patch.get_key_value(conflict.condition.as_str()) else { continue };
            let name = name.clone();
            let before = self.applied.get(&name).unwrap_or(wanted);
            let held = self.held.entry(name.clone()).or_insert_with(|| before.clone());
            release(held, &conflict.field);
            if self.managers.insert(name.clone(), conflict.manager.clone()).is_none() {
                new_conflicts.push((name, conflict.manager.clone()));
            }
        }
        for (name, fields) in &self.held {
            patch.entry(name.clone()).and_modify(|wanted| *wanted = fields.clone());
        }
        new_conflicts
    }

    /// The server took `patch`. What conflicted is tried in full again at `full_try_due`.
    pub(super) fn applied(&mut self, patch: ApplyPatch, full_try_due: Duration) {
        self.held.retain(|name, _| patch.contains_key(name));
        self.managers.retain(|name, _| self.held.contains_key(name));
        if self.trying_in_full {
            self.full_try_due = full_try_due;
        }
        self.applied = patch;
    }

    /// The patch that the server took last.
    pub(super) fn last_applied(&self) -> &ApplyPatch {
        &self.applied
    }

    /// All of these is ours, or may be, so nothing of them is held. `applied` if the server took that.
    pub(super) fn taken_over(&mut self, names: &[Name], applied: Option<ApplyPatch>) {
        self.applied = applied.unwrap_or(std::mem::take(&mut self.applied));
        self.held.retain(|name, _| !names.contains(name));
        self.managers.retain(|name, _| !names.contains(name));
    }

    /// For people; empty without a conflict.
    pub(super) fn message(&self) -> String {
        let one = |(name, manager): (&Name, &String)| format!("{name} is also written by {manager:?}");
        let all: Vec<String> = self.managers.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!("{}: ours is not shown", all.join(", ")) }
    }
}

/// Everything but the key may be given up.
fn release(fields: &mut Fields, field: &str) {
    if fields.contains_key(field) && field != "type" {
        fields.remove(field);
    } else {
        fields.retain(|key, _| key == "type");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const fn at(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn patch(names: &[&str], reason: &str) -> ApplyPatch {
        let fields = |name: &str| {
            let pairs = [("type", name), ("status", "False"), ("reason", reason), ("message", "m")];
            pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
        };
        names.iter().map(|name| (Name::new(name).unwrap(), fields(name))).collect()
    }

    fn field_conflict(condition: &str, field: &str) -> FieldConflict {
        FieldConflict { condition: condition.into(), field: field.into(), manager: "npd".into() }
    }

    fn keys(patch: &ApplyPatch, name: &str) -> String {
        patch[name].keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_the_fields_in_conflict_are_given_up_and_others_are_untouched() {
        let mut conflicts = Conflicts::default();
        let mut wanted = patch(&["A", "B"], "New");
        let new_conflicts =
            conflicts.give_way(&[field_conflict("A", "status"), field_conflict("A", "reason")], &mut wanted);
        assert_eq!(new_conflicts, [(Name::fixed("A"), "npd".to_owned())]);
        assert_eq!(
            (keys(&wanted, "A"), keys(&wanted, "B")),
            ("message type".into(), "message reason status type".into())
        );
        assert!(conflicts.message().contains("A is also written by \"npd\""));
    }

    #[test]
    fn a_condition_in_conflict_keeps_the_message_that_stands() {
        let mut conflicts = Conflicts::default();
        conflicts.applied(patch(&["A"], "Old"), at(300));
        let mut wanted = patch(&["A"], "New");
        conflicts.hold(&mut wanted, at(1));
        conflicts.give_way(&[field_conflict("A", "status")], &mut wanted);
        assert_eq!(wanted["A"]["reason"], "Old");
        conflicts.applied(wanted, at(301));
        let mut later = patch(&["A"], "Newer");
        conflicts.hold(&mut later, at(300));
        assert_eq!((keys(&later, "A"), &later["A"]["reason"]), ("message reason type".into(), &Value::from("Old")));
    }

    #[test]
    fn everything_is_tried_again_when_it_is_time_and_the_news_is_reported_once() {
        let mut conflicts = Conflicts::default();
        let mut wanted = patch(&["A"], "New");
        conflicts.hold(&mut wanted, at(0));
        conflicts.give_way(&[field_conflict("A", "status")], &mut wanted);
        conflicts.applied(wanted, at(300));
        let mut again = patch(&["A"], "New");
        conflicts.hold(&mut again, at(300));
        assert_eq!(keys(&again, "A"), "message reason status type");
        assert_eq!(conflicts.give_way(&[field_conflict("A", "status")], &mut again), []);
        conflicts.applied(again, at(600));
        let mut free = patch(&["A"], "New");
        conflicts.hold(&mut free, at(600));
        conflicts.applied(free, at(900));
        assert_eq!(conflicts.message(), "");
    }

    #[test]
    fn what_is_taken_over_goes_in_full_and_everything_else_stays_held() {
        let mut conflicts = Conflicts::default();
        let mut wanted = patch(&["A", "B"], "New");
        conflicts.hold(&mut wanted, at(0));
        conflicts.give_way(&[field_conflict("A", "status"), field_conflict("B", "status")], &mut wanted);
        conflicts.applied(wanted, at(300));
        conflicts.taken_over(&[Name::fixed("A")], None);
        assert_eq!(conflicts.message(), "B is also written by \"npd\": ours is not shown");
        let mut next = patch(&["A", "B"], "Newer");
        conflicts.hold(&mut next, at(299));
        assert_eq!(
            (keys(&next, "A"), keys(&next, "B")),
            ("message reason status type".into(), "message reason type".into())
        );
    }

    #[test]
    fn a_conflict_about_the_whole_entry_leaves_its_key() {
        let mut conflicts = Conflicts::default();
        let mut wanted = patch(&["A"], "New");
        conflicts.give_way(&[field_conflict("A", ""), field_conflict("Unknown", "status")], &mut wanted);
        assert_eq!(keys(&wanted, "A"), "type");
    }
}
