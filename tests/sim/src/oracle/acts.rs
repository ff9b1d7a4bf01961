//! Asked at the instant of each act.

use std::{collections::BTreeSet, time::Duration};

use nodewell_remedy::{
    api::OUT_OF_SERVICE,
    facts::{PodRef, Taint},
    snapshot::PowerState,
};

use super::Agent;
use crate::{
    scene::{MOST_CYCLES, MOST_DOWN, MOST_DOWN_IN_ZONE},
    truth::{Manner, Truth},
};

/// A kubelet that renewed within this is alive, whatever else is known.
const ALIVE: Duration = Duration::from_secs(9);
/// A kill switch holds after so long.
const STOP: Duration = Duration::from_secs(1);

impl Truth {
    pub fn violate(&mut self, invariant: &str, what: impl AsRef<str>) {
        let line = format!("VIOLATION {invariant}: {}", what.as_ref());
        self.note(&line);
        self.oracle.violations.push(line);
    }

    /// Any write but the leader's Lease and reports.
    pub fn audit(&mut self, replica: usize, what: &str) {
        self.oracle.mutations += 1;
        self.note(format!("replica {replica}: {what}"));
        if self.scene.dry_run {
            self.violate("I15", format!("a dry run wrote: {what}"));
        }
    }

    /// An agent that changes power begins.
    pub fn agent_begins(&mut self, agent: &Agent, act: &str) {
        let now = self.now();
        self.audit(agent.replica, &format!("agent {act} {} epoch {}", agent.node, agent.epoch));
        let other = self.oracle.agents.iter().find(|other| other.node == agent.node && other.until > now);
        if let Some(other) = other.filter(|other| (other.replica, other.epoch) != (agent.replica, agent.epoch)) {
            let text = format!("{agent:?} beside {other:?}");
            self.violate("I5", text);
        }
        if self.store.stopped.is_some_and(|at| now.since(at) > STOP) {
            self.violate("I11", format!("{act} {} although everything is stopped", agent.node));
        }
        if agent.node.starts_with("cp-") {
            self.violate("I8", format!("{act} of control-plane node {}", agent.node));
        }
        self.oracle.agents.push(agent.clone());
    }

    pub fn off_begins(&mut self, name: &str) {
        self.oracle.offs += 1;
        self.check_alive(name);
        self.check_budget(name);
        self.check_cycles(name);
        if self.oracle.cycles.get(name).is_some_and(|offs| !offs.is_empty()) && !self.oracle.read.remove(name) {
            self.violate("I6", format!("off of {name} again, without asking for its power first"));
        }
        self.oracle.read.remove(name);
        self.oracle.cycles.entry(name.to_owned()).or_default();
    }

    fn check_alive(&mut self, name: &str) {
        let now = self.now();
        let renewed = self.machines.get(name).map(|machine| machine.renewed);
        let drained =
            self.store.fences.get(name).and_then(|fence| fence.status.drain.as_ref()).is_some_and(|drain| drain.done);
        if renewed.is_some_and(|renewed| now.since(renewed) < ALIVE) && !drained {
            self.violate("I4", format!("off of {name}, which renewed its Lease just now"));
        }
    }

    fn check_budget(&mut self, name: &str) {
        let boots = self.machines.get(name).map_or(0, |machine| machine.boots);
        let now = self.now();
        self.oracle.down.insert(name.to_owned(), (boots, now));
        let down: BTreeSet<&String> = self.oracle.down.keys().collect();
        let zone = |name: &str| self.machines.get(name).map(|machine| machine.zone.clone());
        let beside = down.iter().filter(|other| zone(other) == zone(name)).count();
        if down.len() > MOST_DOWN {
            let text = format!("{} nodes are down by us: {down:?}", down.len());
            self.violate("I1", text);
        } else if beside > MOST_DOWN_IN_ZONE {
            let text = format!("{beside} nodes of one zone are down by us: {down:?}");
            self.violate("I1", text);
        }
        self.check_unwell(name);
    }

    /// Nodes that everybody has known for a while to be unwell count too.
    fn check_unwell(&mut self, name: &str) {
        let now = self.now();
        let long = Duration::from_secs(75);
        let unwell: Vec<&String> = self
            .machines
            .values()
            .filter(|machine| now.since(machine.renewed) > long && self.store.nodes.contains_key(&machine.name))
            .map(|machine| &machine.name)
            .collect();
        let others = unwell.iter().filter(|other| other.as_str() != name).count();
        if others + 1 > MOST_DOWN {
            let text = format!("off of {name} while {others} others are unwell: {unwell:?}");
            self.violate("I9", text);
        }
    }

    fn check_cycles(&mut self, name: &str) {
        let cycles = self.oracle.cycles.get(name).map_or(0, Vec::len);
        if cycles >= MOST_CYCLES {
            self.violate("I7", format!("{name} was turned off {cycles} times already"));
        }
    }

    /// A BMC turned a machine off because we said so.
    pub fn turned_off(&mut self, name: &str) {
        let now = self.now();
        self.oracle.cycles.entry(name.to_owned()).or_default().push(now);
    }

    pub fn power_was_read(&mut self, name: &str, state: PowerState) {
        let now = self.now();
        self.oracle.read.insert(name.to_owned());
        if state == PowerState::Off {
            self.oracle.said_off.insert(name.to_owned(), now);
        }
        let Some(machine) = self.machines.get_mut(name) else { return };
        // A BMC that says Off of a machine that is silent cannot be seen through.
        if machine.bmc.manner == Manner::SaysOff && now.since(machine.renewed) >= ALIVE {
            machine.excused = true;
        }
    }

    pub fn tainted(&mut self, name: &str, taint: &Taint) {
        if taint.key != OUT_OF_SERVICE {
            return;
        }
        let Some(machine) = self.machines.get(name) else { return };
        let was_off = self.oracle.said_off.get(name).is_some_and(|off| *off >= machine.booted);
        if machine.on && !machine.excused && !was_off {
            self.violate("I2", format!("out-of-service taint on {name}, which is on and was not read as off"));
        }
    }

    pub fn deleted(&mut self, pod: &PodRef, node: &str, forced: bool) {
        let now = self.now();
        if !self.store.fences.contains_key(node) {
            self.violate("I13", format!("pod {} of {node} was deleted without a record of {node}", pod.name));
        }
        if !forced {
            return;
        }
        self.oracle.released += 1;
        self.oracle.released_at.get_or_insert(now);
        if self.store.stopped.is_some_and(|at| now.since(at) > STOP + STOP) {
            self.violate("I11", format!("pod {} was released although everything is stopped", pod.name));
        }
        let lives =
            self.machines.get(node).is_some_and(|machine| machine.running.contains_key(&pod.uid) && !machine.excused);
        if lives {
            self.violate("I2", format!("pod {} was released while it runs on {node}", pod.name));
        }
    }

    pub fn uncordoned(&mut self, name: &str) {
        if self.oracle.persons.contains(name) {
            self.violate("I12", format!("{name} was cordoned by a person and uncordoned by us"));
        }
    }
}
