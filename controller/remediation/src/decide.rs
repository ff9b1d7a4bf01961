//! The decision: what is to be done now, and what is to be reported of every node.
//!
//! In this order: predicates are judged, storms looked for, open records asked for their next step, and what is then
//! left of the budgets goes to new nodes, by name. Whatever is given out counts for every node after it.

mod blocked_events;
mod candidates;
mod cause;
mod events_only;
mod gather_requests;
mod handover;
mod heir;
mod judged;
mod orphans;
mod own_host;
mod phase_entry;
mod precedence;
mod reconstruct;
mod records;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use self::{blocked_events::BlockedEvents, judged::PredicateCache};
pub use self::{
    handover::{CountedPods, Cycles, Handover, cycle_moment, forget_evicted},
    orphans::ORPHANED,
    own_host::OwnHost,
    precedence::has_the_say,
};
use crate::{
    action::{Action, NodeEvent},
    api::fence::Blocker,
    fence::{self, FenceInput, Next, post_off_activity::PostOffActivity},
    guard::{self, EvaluationInput, history::History, stage::DisruptionLevel, storm::StormState, tally::Tally},
    node_report::NodeReport,
    policy::Policy,
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// Ages are whole seconds: what depends on them is evaluated again no sooner.
const AGE_RESOLUTION: Duration = Duration::from_secs(1);

/// What a decision needs of the ones before: since when predicates hold, when storms were seen. It may be lost (then
/// everything is seen for the first time, which only delays), never shared. What no open record has of rates and storms
/// is passed on by [`Memory::handover`] and [`Memory::inherited`].
#[derive(Debug, Clone, Default)]
pub struct Memory {
    judged: BTreeMap<String, PredicateCache>,
    storms: BTreeMap<String, StormState>,
    history: History,
    /// When records were first seen as they are: phase by node.
    entered: BTreeMap<String, phase_entry::PhaseEntry>,
    /// What was seen of nodes whose Off is confirmed.
    post_off_activities: BTreeMap<String, PostOffActivity>,
    /// Since when nodes without a record have own changes of the controller and are healthy.
    orphans: BTreeMap<String, Moment>,
    blocked_events: BlockedEvents,
}

#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// At most one for each node; none for a node with an operation under way.
    pub actions: Vec<Action>,
    /// What blocks nodes that have no record, where that is news. None in a dry run.
    pub events: Vec<NodeEvent>,
    /// One for every node, and for every record whose Node is gone.
    pub node_reports: Vec<NodeReport>,
    /// What should be read before the next decision, by node.
    pub gather: BTreeMap<String, GatherRequest>,
    pub memory: Memory,
    /// When to decide again although nothing changed.
    pub requeue_at: Option<Moment>,
}

/// What is read about one node; see [`crate::snapshot::Gathered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatherRequest {
    pub pods: bool,
    /// Listed again after so long: all of the cluster, for the API server selects none by node.
    pub attachments: Option<std::time::Duration>,
    pub methods: bool,
    /// Its BMC is asked again if the last answer is older than this.
    pub power: Option<std::time::Duration>,
    /// Other hosts are asked whether they can reach it.
    pub reach: bool,
}

/// Pure: the same snapshot, memory and time give the same decision. Does nothing irreversible unless the snapshot's
/// `epoch` leads.
#[must_use]
pub fn decide(snapshot: &Snapshot, memory: Memory, now: Now) -> Decision {
    decide_by(fence::next, snapshot, memory, now)
}

/// The next step of one record: [`fence::next`], or a test's.
type StateMachine = fn(&FenceInput<'_>) -> Next;

fn decide_by(state_machine: StateMachine, snapshot: &Snapshot, mut memory: Memory, now: Now) -> Decision {
    judged::judge_all(&mut memory.judged, snapshot, now);
    let mut history = std::mem::take(&mut memory.history);
    history.forget(snapshot, now.moment);
    history.learn(snapshot, now);
    let storms = storms(snapshot, &mut memory, now);
    let tally = tally(snapshot, &history, now);
    let input = EvaluationInput { snapshot, now, tally, history, storms };
    let mut pass = Pass { state_machine, input, memory, decision: Decision::default(), node_reports: BTreeMap::new() };
    let matches = candidates::policy_matches(&pass);
    records::decide(&mut pass, &matches);
    candidates::decide(&mut pass, matches);
    pass.finish()
}

/// A dead node for which the record of one policy gives way to that of another has the slot of that one until it is open.
fn tally<'a>(snapshot: &'a Snapshot, history: &History, now: Now) -> Tally<'a> {
    let mut tally = Tally::new(snapshot, now.moment);
    for (policy, node, is_disruptive) in history.granted(now.moment) {
        let policy = snapshot.policies.iter().find(|known| known.name == policy);
        let node = snapshot.nodes.get(node).filter(|node| tally.is_dead(&node.name));
        if let Some((policy, node)) = policy.zip(node) {
            let level = if is_disruptive { DisruptionLevel::Power } else { DisruptionLevel::Isolate };
            tally.charge(&node.name, &policy.name, level);
        }
    }
    tally
}

/// One run of [`decide`], and what it has decided so far.
struct Pass<'a> {
    state_machine: StateMachine,
    input: EvaluationInput<'a>,
    memory: Memory,
    decision: Decision,
    node_reports: BTreeMap<&'a str, NodeReport>,
}

impl Pass<'_> {
    /// The controller must not act on any node: it does not lead, was started with `--dry-run`, or was stopped.
    fn may_not_act(&self) -> bool {
        !guard::general(self.input.snapshot).is_empty()
    }

    fn requeue_at(&mut self, at: Moment) {
        // Not the present instant again: that would spin.
        let at = at.max(self.input.now.moment.plus(Duration::from_millis(10)));
        self.decision.requeue_at = Some(self.decision.requeue_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn finish(mut self) -> Decision {
        let blocked = self.node_reports.values().any(|node_report| !node_report.blockers.is_empty());
        if blocked || self.input.snapshot.policies.iter().any(|policy| policy.when.is_volatile()) {
            self.requeue_at(self.input.now.moment.plus(AGE_RESOLUTION));
        }
        self.memory.history = self.input.history;
        self.decision.memory = self.memory;
        self.decision.node_reports = self.node_reports.into_values().collect();
        self.decision
    }
}

/// Storms of each policy: of the nodes that are not Ready, and of those that it is true of.
fn storms(snapshot: &Snapshot, memory: &mut Memory, now: Now) -> BTreeMap<String, Vec<Blocker>> {
    let unready: BTreeSet<_> =
        snapshot.nodes.values().filter(|node| !node.is_ready()).map(|node| node.name.as_str()).collect();
    let total = snapshot.nodes.len();
    // A term may begin while it cannot be read: when it is mended, its cooldown has to be known.
    for name in snapshot.unreadable_policies.keys() {
        memory.storms.entry(name.clone()).or_default();
    }
    memory.storms.retain(|name, state| {
        let is_read = snapshot.policies.iter().any(|policy| policy.name == *name);
        if !is_read {
            state.observe_without_policy(unready.clone(), total, &snapshot.host, now.moment);
        }
        state.is_remembered(is_read || snapshot.unreadable_policies.contains_key(name), now.moment)
    });
    let mut blockers = BTreeMap::new();
    // What a person asked for has no policy; a storm by the defaults stops it like any other.
    if snapshot.fences.values().any(|fence| fence.spec.policy.is_empty()) {
        let state = memory.storms.entry(String::new()).or_default();
        let storm = Policy::default().storm;
        blockers.insert(String::new(), state.observe(&storm, unready.clone(), total, &snapshot.host, now.moment));
    }
    for policy in &snapshot.policies {
        let matched = memory.judged.get(&policy.name).into_iter().flat_map(PredicateCache::true_of);
        let unhealthy = matched.chain(unready.iter().copied()).collect();
        let state = memory.storms.entry(policy.name.clone()).or_default();
        let storm = state.observe(&policy.storm, unhealthy, total, &snapshot.host, now.moment);
        blockers.insert(policy.name.clone(), storm);
    }
    blockers
}

#[cfg(test)]
mod tests;
