//! What people do: to nodes, to records, to the policy.

use std::rc::Rc;

use nodewell_remediation::api::{
    RELEASE, RETRY, SKIP_REMEDIATION,
    fence::{NodeFence, Phase},
    policy::{Amount, Mode, RemediationPolicy},
};

use super::{Edit, Person};
use crate::truth::{Policy, Truth};

/// What blocks a node whose storage stays cut off.
const LEFT_CUT: &str = "LeftCut";

impl Truth {
    /// True if there was anything to do. A person who does something to a node mostly does it to one with a record.
    pub(super) fn person(&mut self, what: Person, node: &str) -> bool {
        let cut = (what == Person::DeletesRecord).then(|| self.left_cut()).flatten();
        let node = &cut.unwrap_or_else(|| self.troubled(node));
        match what {
            Person::PowersOn => {
                let was_off = self.machines.get(node).is_some_and(|machine| !machine.on);
                self.switch(node, true, "a person");
                was_off
            }
            Person::Reboots => {
                self.switch(node, false, "a person");
                self.switch(node, true, "a person");
                true
            }
            Person::Cordons => self.person_cordons(node),
            Person::Uncordons => self.person_uncordons(node),
            Person::Aborts => self.person_aborts(node),
            Person::SkipsNode => self.person_skips_node(node),
            Person::SkipsRecord => self.person_skips_record(node),
            Person::LetsGo => self.person_lets_go(node),
            Person::DeletesRecord => {
                let (now, there) = (self.now(), self.store.fences.contains_key(node));
                self.store.remove_fence(node, now);
                there
            }
            Person::DeletesNode => self.person_deletes_node(node, false),
            Person::RecreatesNode => self.person_deletes_node(node, true),
            Person::AsksAgain => self.person_asks_again(node),
            Person::Releases => self.person_releases(node),
        }
    }

    /// A node whose record waits with its storage cut off: just the one that must not be forgotten.
    fn left_cut(&mut self) -> Option<String> {
        let waits = |fence: &&NodeFence| fence.status.is_blocked_by(LEFT_CUT);
        let name = self.store.fences.values().find(waits).map(|fence| fence.spec.node_name.clone())?;
        self.count("cluster left-cut record deleted");
        Some(name)
    }

    /// A node with a record, if there is any; the later in its steps the better.
    fn troubled(&mut self, node: &str) -> String {
        let open: Vec<&String> = self.store.fences.keys().collect();
        if open.is_empty() || self.random.chance(150) {
            return node.to_owned();
        }
        let index = usize::try_from(self.random.below(open.len() as u64)).unwrap_or(0);
        open[index].clone()
    }

    fn person_cordons(&mut self, name: &str) -> bool {
        let now = self.now();
        let free = self.store.nodes.get(name).is_some_and(|node| !node.unschedulable);
        if free {
            self.note(format!("{name}: cordoned by a person"));
            self.store.edit_node(name, now, |node| node.unschedulable = true);
            self.store.scheduled_by_hand.insert(name.to_owned());
            self.oracle.persons.insert(name.to_owned());
        }
        free
    }

    /// A person who uncordons by hand leaves our mark behind.
    fn person_uncordons(&mut self, name: &str) -> bool {
        let now = self.now();
        let shut = self.store.nodes.get(name).is_some_and(|node| node.unschedulable);
        if shut {
            self.note(format!("{name}: uncordoned by a person"));
            self.store.edit_node(name, now, |node| node.unschedulable = false);
            self.store.scheduled_by_hand.insert(name.to_owned());
        }
        self.oracle.persons.remove(name);
        shut
    }

    fn person_aborts(&mut self, name: &str) -> bool {
        let now = self.now();
        let Some(fence) = self.store.fences.get(name) else { return false };
        self.store.aborted.entry(fence.metadata.uid.clone()).or_insert(now);
        self.asked_for_power(name);
        self.edit_record(name, |fence| fence.spec.abort = true)
    }

    fn person_skips_node(&mut self, name: &str) -> bool {
        let now = self.now();
        if !self.store.nodes.contains_key(name) {
            return false;
        }
        self.store.skipped.entry(name.to_owned()).or_insert(now);
        self.store.edit_node(name, now, |node| {
            node.annotations.insert(SKIP_REMEDIATION.into(), "hands off".into());
        });
        true
    }

    fn person_skips_record(&mut self, name: &str) -> bool {
        let now = self.now();
        let Some(uid) = self.store.fences.get(name).map(|fence| fence.metadata.uid.clone()) else { return false };
        self.store.skipped.entry(uid).or_insert(now);
        self.edit_record(name, |fence| {
            fence.metadata.annotations.insert(SKIP_REMEDIATION.into(), "hands off".into());
        })
    }

    fn person_lets_go(&mut self, name: &str) -> bool {
        let now = self.now();
        let uid = self.store.fences.get(name).map(|fence| fence.metadata.uid.clone()).unwrap_or_default();
        let was = [name, &uid].map(|key| self.store.skipped.remove(key).is_some());
        self.store.edit_node(name, now, |node| drop(node.annotations.remove(SKIP_REMEDIATION)));
        self.edit_record(name, |fence| drop(fence.metadata.annotations.remove(SKIP_REMEDIATION)));
        was.contains(&true)
    }

    fn person_deletes_node(&mut self, name: &str, comes_back: bool) -> bool {
        if !self.store.nodes.contains_key(name) {
            return false;
        }
        let at = self.now().plus(self.random.secs(2, 20));
        let mid_drain = self.store.fences.get(name).is_some_and(|fence| fence.status.phase == Phase::Draining);
        if mid_drain {
            self.count("cluster deleted mid-drain");
        }
        self.delete_node(name);
        if let Some(machine) = self.machines.get_mut(name) {
            machine.registers = comes_back.then_some(at);
        }
        true
    }

    fn person_asks_again(&mut self, name: &str) -> bool {
        let given_up = |fence: &NodeFence| fence.status.phase == Phase::Quarantined;
        let name = self.store.fences.values().find(|fence| given_up(fence)).map_or(name, |fence| &fence.metadata.name);
        let (name, value) = (name.to_owned(), self.store.version.to_string());
        let asked = self.store.fences.get(&name).is_some_and(given_up);
        let edited = self.edit_record(&name, |fence| {
            fence.metadata.annotations.insert(RETRY.into(), value);
        });
        asked && edited
    }

    /// As the command does it: only of a machine that is left off.
    pub(super) fn person_releases(&mut self, name: &str) -> bool {
        let is_left_off = |fence: &NodeFence| fence.status.at_limit && fence.status.phase == Phase::PodsReleased;
        if !self.store.fences.get(name).is_some_and(is_left_off) {
            return false;
        }
        let value = self.store.version.to_string();
        self.asked_for_power(name);
        self.edit_record(name, |fence| {
            fence.metadata.annotations.insert(RELEASE.into(), value);
        })
    }

    fn edit_record(&mut self, name: &str, change: impl FnOnce(&mut NodeFence)) -> bool {
        let now = self.now();
        let Some(mut fence) = self.store.fences.get(name).cloned() else { return false };
        change(&mut fence);
        self.store.put_fence(fence, now);
        true
    }

    /// The end of all annotations that have a record skipped.
    pub(super) fn let_records_go(&mut self) {
        self.store.skipped.clear();
        let names: Vec<String> = self.store.fences.keys().cloned().collect();
        for name in names {
            self.edit_record(&name, |fence| drop(fence.metadata.annotations.remove(SKIP_REMEDIATION)));
        }
    }

    pub(super) fn edit_policy(&mut self, edit: Edit) {
        let now = self.now();
        self.oracle.policy_edited = now;
        let mut policy = self.scenario.policy();
        let stored = match edit {
            Edit::Garbles => Policy::Garbled,
            Edit::Deletes => Policy::Gone,
            edit => {
                self.reword(&mut policy, edit);
                Policy::Parsed(Rc::new(policy))
            }
        };
        self.store.set_policy(stored, now);
    }

    /// No edit allows more than the scenario's own policy does.
    fn reword(&self, policy: &mut RemediationPolicy, edit: Edit) {
        let spec = &mut policy.spec;
        match edit {
            Edit::Spoils => spec.when.push_str(" && lease.age >= 'long'("),
            Edit::Pauses => spec.mode = Mode::Paused,
            Edit::Observes => spec.mode = Mode::Observe,
            Edit::Tightens => {
                if let Some(budget) = &mut spec.budget {
                    budget.max_unavailable = Some(Amount::Count(1));
                }
            }
            Edit::Steps(steps) => spec.steps = self.scenario.step_specs(steps),
            Edit::Garbles | Edit::Deletes | Edit::Mends => {}
        }
    }

    pub(super) fn mend_policy(&mut self) {
        self.edit_policy(Edit::Mends);
    }
}
