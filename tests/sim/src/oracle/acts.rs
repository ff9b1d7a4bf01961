//! Asked at the instant of each act.

use std::{collections::BTreeSet, time::Duration};

use nodewell_remediation::{api::fence::NodeFence, decide::ORPHANED, snapshot::PowerState};

use super::Agent;
use crate::{scenario::MOST_DOWN, truth::Truth};

/// A kubelet that renewed within this is alive, whatever else is known.
const ALIVE: Duration = Duration::from_secs(9);
/// A person's stop or annotation to skip is obeyed after so long.
pub(super) const STOP: Duration = Duration::from_secs(1);
/// From what a replica has seen to an act that it did not stop any more: one decision, one check by the API server.
const DECIDED: Duration = Duration::from_secs(4);

impl Truth {
    pub fn violate(&mut self, invariant: &str, what: impl AsRef<str>) {
        if self.scenario.judged.is_some_and(|judged| judged != invariant) {
            return;
        }
        let line = format!("VIOLATION {invariant}: {}", what.as_ref());
        self.note(&line);
        self.oracle.violations.push(line);
    }

    /// Any write but the leader's Lease and reports.
    pub fn audit(&mut self, replica: usize, what: &str) {
        self.oracle.mutations += 1;
        self.note(format!("replica {replica}: {what}"));
        if self.scenario.dry_run {
            self.violate("I15", format!("a dry run wrote: {what}"));
        }
    }

    /// Only the replica that holds the Lease begins a write; one that held it has stopped before another could take it.
    pub fn check_leads(&mut self, replica: usize) {
        let holder = self.store.leadership.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default();
        let now = self.now();
        let led_before = self.oracle.led_before.is_some_and(|(other, until)| other == replica && now <= until);
        if !holder.is_empty() && !holder.starts_with(&format!("replica-{replica}-")) && !led_before {
            self.violate("I5", format!("replica {replica} writes while {holder} leads"));
        }
    }

    /// An agent that changes power, or a provider's plug-in, begins.
    pub fn agent_begins(&mut self, agent: &Agent, act: &str) {
        let node = agent.node.clone();
        self.count(&format!("act {act}"));
        self.audit(agent.replica, &format!("agent {act} {node} epoch {}", agent.epoch));
        self.oracle.deeds.push(format!("{act} {node}"));
        self.check_alone(agent);
        self.acts_in_term(agent.replica, agent.epoch);
        self.check_stop(&node, act);
        self.check_control_plane(agent, act);
        if act != "reap" {
            self.check_liar(&node, act);
            self.ordered(&node);
        }
        if act == "on" {
            self.on_begins(&node);
        } else {
            self.check_policy(agent.replica, &format!("{act} of {node}"), DECIDED);
            self.check_storm(agent.replica, &format!("{act} of {node}"), true);
            self.check_alive(&node, act);
            self.check_budget(&node);
            self.check_first_order(agent.replica, &node, act);
        }
        if act == "off" {
            self.off_begins(&node);
        }
        self.oracle.agents.push(agent.clone());
    }

    fn check_alone(&mut self, agent: &Agent) {
        let now = self.now();
        let other = self.oracle.agents.iter().find(|other| other.node == agent.node && other.until > now);
        if let Some(other) = other.filter(|other| (other.replica, other.epoch) != (agent.replica, agent.epoch)) {
            let text = format!("{agent:?} beside {other:?}");
            self.violate("I5", text);
        }
        let newest = self.oracle.newest.entry(agent.node.clone()).or_default();
        *newest = agent.epoch.max(*newest);
    }

    /// What an agent does takes effect.
    pub fn act_lands(&mut self, name: &str, act: &str, epoch: u64) {
        self.ordered(name);
        if let Some(newest) = self.oracle.newest.get(name).copied().filter(|newest| *newest > epoch) {
            self.violate("I5", format!("{act} of {name} by epoch {epoch} lands after an act of epoch {newest} began"));
        }
    }

    pub(super) fn check_stop(&mut self, name: &str, act: &str) {
        let now = self.now();
        let late = |since: Option<&nodewell_remediation::time::Moment>| since.is_some_and(|at| now.since(*at) > STOP);
        let store = &self.store;
        let uid = store.fences.get(name).map(|fence| fence.metadata.uid.as_str()).unwrap_or_default();
        let why = match () {
            () if late(store.stopped.as_ref()) => "everything is stopped",
            () if late(store.skipped.get(name)) => "a person has the node skipped",
            () if late(store.skipped.get(uid)) => "a person has the record skipped",
            () if act != "on" && late(store.aborted.get(uid)) => "a person aborted it",
            () => return,
        };
        self.violate("I11", format!("{act} {name} although {why}"));
    }

    fn check_control_plane(&mut self, agent: &Agent, act: &str) {
        let (now, name) = (self.now(), agent.node.clone());
        if !name.starts_with("cp-") {
            return;
        }
        if self.host_of(agent.replica).is_some_and(|host| host == name) {
            self.violate("I8", format!("{act} of {name} by the replica that runs there"));
        }
        if !self.scenario.fences_control_plane {
            self.violate("I8", format!("{act} of control-plane node {name}"));
        }
        if act == "on" {
            return;
        }
        let others: Vec<&String> =
            self.oracle.down.keys().filter(|other| other.starts_with("cp-") && **other != name).collect();
        if !others.is_empty() {
            let text = format!("{act} of {name} while {others:?} are down by us");
            self.violate("I8", text);
        }
        let left = self.members(now).into_iter().filter(|member| *member != name).count();
        if left < self.quorum() && self.knew_of_members(now) {
            self.violate("I8", format!("{act} of {name} leaves {left} healthy members, less than the quorum"));
        }
    }

    fn on_begins(&mut self, name: &str) {
        self.check_cycles(name);
        if !self.oracle.turned_on.insert(name.to_owned()) && !self.oracle.read_on.contains(name) {
            self.violate("I6", format!("on of {name} again, without asking for its power first"));
        }
        self.oracle.read_on.remove(name);
    }

    fn off_begins(&mut self, name: &str) {
        self.oracle.offs += 1;
        self.check_offs(name);
        if self.oracle.cycles.contains_key(name) && !self.oracle.read.contains(name) {
            self.violate("I6", format!("off of {name} again, without asking for its power first"));
        }
        self.oracle.read.remove(name);
        self.oracle.cycles.entry(name.to_owned()).or_default();
    }

    fn check_alive(&mut self, name: &str, act: &str) {
        let now = self.now();
        let renewed = self.machines.get(name).map(|machine| machine.renewed);
        let drain = self.store.fences.get(name).and_then(|fence| fence.status.drain.as_ref());
        let ready = self.store.nodes.get(name).is_some_and(|node| node.is_ready());
        // By the policy's choice a provider replaces a node that itself reports that it is not well.
        let chosen = act == "reap" && self.scenario.even_if_drain_failed && drain.is_some() && !ready;
        let drained = drain.is_some_and(|drain| drain.done) || chosen;
        // What came after the last look at its Lease no replica could know.
        let looked = self.oracle.looked.get(name).copied();
        let known = |renewed| looked.is_none_or(|looked| renewed <= looked);
        let asked = if act == "off" { self.silence_asked() } else { ALIVE };
        if let Some(renewed) = renewed.filter(|renewed| known(*renewed) && now.since(*renewed) < asked && !drained) {
            self.violate("I4", format!("{act} of {name}, which renewed its Lease {:?} ago", now.since(renewed)));
        }
    }

    fn check_budget(&mut self, name: &str) {
        let boots = self.machines.get(name).map_or(0, |machine| machine.boots);
        let now = self.now();
        self.oracle.down.insert(name.to_owned(), (boots, now));
        let down: BTreeSet<&String> = self.oracle.down.keys().collect();
        let zone = |name: &str| self.machines.get(name).map(|machine| machine.zone.clone());
        let beside = down.iter().filter(|other| zone(other) == zone(name)).count();
        if down.len() > self.scenario.most_down() {
            let text = format!("{} nodes are down by us: {down:?}", down.len());
            self.violate("I1", text);
        } else if beside > self.scenario.most_down_in_zone() {
            let text = format!("{beside} nodes of one zone are down by us: {down:?}");
            self.violate("I1", text);
        }
        self.check_unhealthy(name);
    }

    /// Nodes that every replica has known for a while to be unhealthy count too. To take down one that lives, some of them
    /// are the allowance of the dead.
    fn check_unhealthy(&mut self, name: &str) {
        let now = self.now();
        let long = Duration::from_secs(75);
        let unhealthy: Vec<&String> = self
            .machines
            .values()
            .filter(|machine| now.since(machine.renewed.max(self.blind_until)) > long)
            .filter(|machine| self.store.nodes.get(&machine.name).is_some_and(|node| !node.is_ready()))
            .map(|machine| &machine.name)
            .collect();
        let others = unhealthy.iter().filter(|other| other.as_str() != name).count();
        let is_unhealthy = unhealthy.iter().any(|other| other.as_str() == name);
        if others + 1 > if is_unhealthy { MOST_DOWN } else { self.scenario.most_down() } {
            let text = format!("off of {name} while {others} others are unhealthy: {unhealthy:?}");
            self.violate("I9", text);
        }
    }

    /// A policy that is gone, cannot be read or only observes begins nothing, once that is known.
    pub(super) fn check_policy(&mut self, replica: usize, what: &str, after: Duration) {
        let now = self.now();
        if self.replicas[replica].warned.is_some_and(|since| now.since(since) > after) {
            self.violate("I16", format!("{what} although its policy is gone, cannot be read or only observes"));
        }
    }

    /// A BMC took our order to turn a machine off.
    pub fn turned_off(&mut self, name: &str) {
        let now = self.now();
        self.oracle.cycles.entry(name.to_owned()).or_default().push(now);
    }

    /// Whatever the answer will be, and by whichever level.
    pub fn power_was_asked(&mut self, name: &str) {
        self.oracle.read.insert(name.to_owned());
        self.oracle.read_on.insert(name.to_owned());
    }

    /// What is reported of the machine itself.
    pub fn power_was_read(&mut self, name: &str, state: PowerState) {
        let now = self.now();
        self.count(&format!("read {state:?}"));
        match state {
            PowerState::Off => {
                self.oracle.read_off.insert(name.to_owned(), now);
                self.remember_off(name, now);
            }
            PowerState::On => self.forget_readings(name),
            PowerState::Unknown => {}
        }
        self.heard(name, state);
    }

    /// Off was reported of a machine since it was last turned on; or within `lasts`, for a person who turns it on after
    /// that notifies no replica.
    pub(super) fn was_read_off(&self, name: &str, lasts: Duration) -> bool {
        let Some((machine, off)) = self.machines.get(name).zip(self.oracle.read_off.get(name)) else { return false };
        *off >= machine.booted || self.now().since(*off) <= lasts
    }

    /// Whether this record only takes back what is ours: its last one was lost.
    pub(super) fn only_takes_back(fence: &NodeFence) -> bool {
        fence.spec.cause == ORPHANED
    }
}
