//! The memory of a leader that has watched all along, as far as the API server's times show it: for a program that
//! looks once and acts on nothing.

use std::{collections::BTreeMap, time::Duration};

use super::{Memory, judged, phase_entry};
use crate::{
    facts::{ConditionStatus, Node},
    guard::storm::StormState,
    policy::{Policy, selector},
    snapshot::{EventsSeen, Snapshot},
    time::{Moment, Now},
};

/// How exactly the moment is found at which a predicate became true between two known changes.
const RESOLUTION: Duration = Duration::from_secs(1);

impl Memory {
    /// Since when predicates are true, nodes unhealthy and records where they are. `change_seen_at` of conditions and
    /// Leases, and `last` of Events, have to be the API server's time, on our clock. Never for a leader that acts: these are other hosts'
    /// clocks.
    #[must_use]
    pub fn reconstructed(snapshot: &Snapshot, now: Now) -> Self {
        let mut memory = Self { entered: phase_entry::reconstructed(snapshot, now), ..Self::default() };
        for policy in &snapshot.policies {
            let since = |node: &Node| since(policy, node, snapshot, now);
            let judged = judged::reconstructed(policy, snapshot, now, since);
            let mut unhealthy: BTreeMap<&str, Moment> = judged.since().collect();
            for node in snapshot.nodes.values().filter(|node| !node.is_ready()) {
                let onset = node.condition("Ready").map_or(now.moment, |ready| ready.change_seen_at);
                unhealthy.entry(&node.name).and_modify(|since| *since = onset.min(*since)).or_insert(onset);
            }
            memory.storms.insert(policy.name.clone(), StormState::reconstructed(&policy.storm, &unhealthy, now.moment));
            memory.judged.insert(policy.name.clone(), judged);
        }
        memory
    }

    /// `policy` is true of `node` by Events alone, so that it opens nothing.
    #[must_use]
    pub fn is_by_events_alone(&self, policy: &str, node: &str) -> bool {
        self.judged.get(policy).and_then(|judged| judged.of(node)).is_some_and(|answer| answer.by_events_alone)
    }

    /// The answer of `policy` for `node`, and since when; nothing if it does not select it.
    #[must_use]
    pub fn result(&self, policy: &str, node: &str) -> Option<(&Result<bool, String>, Moment)> {
        self.judged.get(policy)?.of(node).map(|answer| (&answer.result, answer.since))
    }
}

/// Since when without a break `policy` has been true of `node`, which it is now. Back from change to change: before one,
/// what changed was the other way round. What leaves no time behind, labels and taints, counts as old.
fn since(policy: &Policy, node: &Node, snapshot: &Snapshot, now: Now) -> Moment {
    let past = NodePast::of(node, snapshot, now);
    let is_true = |at: Moment| selector::matches(&policy.selector, &node.labels) && past.judge(policy, at);
    let mut held = now.moment;
    for change in past.changes() {
        if !is_true(change) {
            return time_it_became_true(change, held, is_true);
        }
        let before = Moment(change.0.saturating_sub(Duration::from_nanos(1)));
        if !is_true(before) {
            return change;
        }
        held = change;
    }
    held
}

/// When the predicate became true: not yet at `no`, and at `yes`; ages grew in between.
fn time_it_became_true(mut no: Moment, mut yes: Moment, is_true: impl Fn(Moment) -> bool) -> Moment {
    while yes.since(no) > RESOLUTION {
        let middle = Moment(no.0 + yes.since(no) / 2);
        if is_true(middle) { yes = middle } else { no = middle }
    }
    yes
}

/// One node's facts, as they were at earlier times.
struct NodePast<'a> {
    node: &'a Node,
    /// Nothing but this node's Leases and Events.
    own: Snapshot,
    now: Now,
}

impl<'a> NodePast<'a> {
    fn of(node: &'a Node, snapshot: &Snapshot, now: Now) -> Self {
        let mut own = Snapshot::default();
        let name = &node.name;
        own.kubelet_leases.extend(snapshot.kubelet_leases.get_key_value(name).map(owned));
        own.agent_leases.extend(snapshot.agent_leases.get_key_value(name).map(owned));
        own.events.extend(snapshot.events.get_key_value(name).map(owned));
        Self { node, own, now }
    }

    /// When anything of it changed, the last first.
    fn changes(&self) -> Vec<Moment> {
        let conditions = self.node.conditions.iter().map(|condition| condition.change_seen_at);
        let leases = self.own.kubelet_leases.values().chain(self.own.agent_leases.values());
        let events = self.own.events.values().flat_map(BTreeMap::values).map(|seen| seen.last);
        let all = conditions.chain(leases.map(|lease| lease.change_seen_at)).chain(events);
        let mut all: Vec<Moment> = all.filter(|at| *at <= self.now.moment).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup();
        all
    }

    /// An error is a break, as it is to who watches.
    fn judge(&self, policy: &Policy, at: Moment) -> bool {
        let mut node = self.node.clone();
        for condition in node.conditions.iter_mut().filter(|condition| condition.change_seen_at > at) {
            condition.status = before(condition.status, &condition.kind);
            condition.change_seen_at = Moment::default();
        }
        let mut own = Snapshot {
            kubelet_leases: self.own.kubelet_leases.clone(),
            agent_leases: self.own.agent_leases.clone(),
            ..Snapshot::default()
        };
        let events = self.own.events.get(&node.name).into_iter().flatten();
        let events: BTreeMap<String, EventsSeen> = events.filter(|(_, seen)| seen.last <= at).map(owned).collect();
        own.events.insert(node.name.clone(), events);
        let wall = self.now.wall.checked_sub(self.now.moment.since(at)).unwrap_or(self.now.wall);
        policy.when.judge(&node, &own, Now { moment: at, wall }) == Ok(true)
    }
}

/// What a condition was before it became this. Before Unknown it had reported that all is well.
fn before(status: ConditionStatus, kind: &str) -> ConditionStatus {
    match status {
        ConditionStatus::True => ConditionStatus::False,
        ConditionStatus::False => ConditionStatus::True,
        ConditionStatus::Unknown if kind.ends_with("Ready") => ConditionStatus::True,
        ConditionStatus::Unknown => ConditionStatus::False,
    }
}

fn owned<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}
