//! Which remediations began, and when: the memory of rates. After a change of the leader the one before has left its
//! handover, and open records have the rest.

mod handover;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

pub use self::handover::Handover;
pub(crate) use self::handover::names;
use super::stage::{DisruptionLevel, begins_disruptively, has_begun};
use crate::{
    api::fence::{Irreversible, NodeFence},
    policy::{Policy, Rate},
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// Power cycles remembered of one node; limits are far below.
const CYCLES: usize = 64;

/// Power cycles of a node: as records have them, and when that was by our own clock.
pub type Cycles = BTreeMap<Timestamp, Moment>;

#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// By policy and whether it was disruptive: node and record, and when.
    started: BTreeMap<(String, bool), BTreeMap<(String, String), Moment>>,
    /// By policy and node: pods given to be evicted or released, the most there were of one node; when last.
    pods: BTreeMap<String, BTreeMap<String, (Moment, usize)>>,
    /// Power cycles of nodes, also of records that were closed.
    cycles: BTreeMap<String, Cycles>,
    /// Power offs that are intended, of nodes: the record that intends it, and since when.
    intended: BTreeMap<String, (String, Timestamp)>,
    /// What was done before this cannot be known: every window that reaches further back counts as used up.
    unknown_before: Option<Moment>,
}

impl History {
    /// Learns from the open records what others did before us.
    pub(crate) fn learn(&mut self, snapshot: &Snapshot, now: Now) {
        for (node, fence) in &snapshot.fences {
            let opened = fence.metadata.creation_timestamp.map_or(now.moment, |wall| moment(wall, now));
            self.take(node, fence, false, opened);
            if has_begun(fence, DisruptionLevel::Power) || begins_disruptively(&fence.spec.steps) {
                self.take(node, fence, true, opened);
            }
            self.remember_cycles(node, &fence.status.earlier_cycles, now);
            self.remember_cycles(node, &fence.status.cycles, now);
        }
        self.learn_intended(snapshot, now);
        // A node that is missing from a list that is not complete is not gone, and what it inherited is in no record.
        if snapshot.host.synced {
            self.cycles.retain(|node, _| snapshot.nodes.contains_key(node) || snapshot.fences.contains_key(node));
        }
    }

    /// A client that deletes a record does not stop what it intended: its end will not be reported, so that it counts.
    fn learn_intended(&mut self, snapshot: &Snapshot, now: Now) {
        let intended = |fence: &NodeFence| {
            let intent = fence.status.intent.as_ref().filter(|intent| intent.act == Irreversible::PowerOff)?;
            Some((fence.metadata.uid.clone(), intent.at))
        };
        let all = snapshot.fences.iter().filter_map(|(node, fence)| Some((node.clone(), intended(fence)?))).collect();
        for (node, (uid, at)) in std::mem::replace(&mut self.intended, all) {
            if snapshot.fences.get(&node).is_none_or(|fence| fence.metadata.uid != uid) {
                self.remember_cycles(&node, [&at], now);
            }
        }
    }

    fn take(&mut self, node: &str, fence: &NodeFence, disruptive: bool, at: Moment) {
        let uid = fence.metadata.uid.clone();
        let started = self.started.entry((fence.spec.policy.clone(), disruptive)).or_default();
        // What was given out in a pass had no UID yet.
        let given = started.remove(&(node.to_owned(), String::new()));
        started.entry((node.to_owned(), uid)).or_insert(given.unwrap_or(at));
    }

    pub(crate) fn remember_departed(&mut self, departed: &BTreeMap<String, Cycles>) {
        for (node, cycles) in departed {
            let known = self.cycles.entry(node.clone()).or_default();
            for (at, moment) in cycles {
                known.entry(*at).or_insert(*moment);
            }
        }
    }

    fn remember_cycles<'a>(&mut self, node: &str, seen: impl IntoIterator<Item = &'a Timestamp>, now: Now) {
        let mut seen = seen.into_iter().peekable();
        if seen.peek().is_none() {
            return;
        }
        let known = self.cycles.entry(node.to_owned()).or_default();
        for at in seen {
            known.entry(*at).or_insert_with(|| moment(*at, now));
        }
        while known.len() > CYCLES {
            known.pop_first();
        }
    }

    /// `node` was given to `policy` in this pass.
    pub(crate) fn charge(&mut self, policy: &str, node: &str, fence: &str, level: DisruptionLevel, now: Moment) {
        for disruptive in [false, level != DisruptionLevel::Isolate] {
            let started = self.started.entry((policy.to_owned(), disruptive)).or_default();
            started.entry((node.to_owned(), fence.to_owned())).or_insert(now);
        }
    }

    pub(crate) fn charge_pods(&mut self, policy: &str, node: &str, pods: usize, now: Moment) {
        let given = self.pods.entry(policy.to_owned()).or_default().entry(node.to_owned()).or_insert((now, 0));
        *given = (now, given.1.max(pods));
    }

    /// Nodes that `policy` began to remediate within the window, without `but`.
    pub(crate) fn started_within(
        &self,
        policy: &str,
        level: DisruptionLevel,
        but: &str,
        within: Duration,
        now: Moment,
    ) -> usize {
        if self.is_incomplete(within, now) {
            return usize::MAX;
        }
        let started = self.started.get(&(policy.to_owned(), level != DisruptionLevel::Isolate)).into_iter().flatten();
        started.filter(|((node, _), at)| node != but && now.since(**at) < within).count()
    }

    /// Pods of other nodes than `but` that `policy` moved within the window.
    pub(crate) fn pods(&self, policy: &str, rate: Rate, but: &str, now: Moment) -> usize {
        if self.is_incomplete(rate.window, now) {
            return usize::MAX;
        }
        let given = self.pods.get(policy).into_iter().flatten();
        given.filter(|(node, (at, _))| *node != but && now.since(*at) < rate.window).map(|(_, (_, pods))| pods).sum()
    }

    /// Power cycles of `node` within the window; one from the future counts.
    pub(crate) fn cycles(&self, node: &str, within: Duration, now: Now) -> usize {
        let cycles = self.cycles.get(node).into_iter().flatten();
        cycles.filter(|(_, at)| now.moment.since(**at) < within).count()
    }

    /// Whether the window reaches back to a time of which it is not known what was done.
    fn is_incomplete(&self, within: Duration, now: Moment) -> bool {
        self.unknown_before.is_some_and(|before| now.since(before) < within)
    }

    /// Times of a node's power cycles, for a record that is opened.
    pub(crate) fn cycles_of(&self, node: &str) -> Vec<Timestamp> {
        self.cycles.get(node).into_iter().flatten().map(|(at, _)| *at).collect()
    }

    /// Lets go of what no window reaches any more. How far that of a policy that cannot be read reaches is not known.
    pub(crate) fn forget(&mut self, snapshot: &Snapshot, now: Moment) {
        let longest = longest_window(&snapshot.policies);
        let is_over =
            |policy: &str, at: Moment| now.since(at) >= longest && !snapshot.unreadable_policies.contains_key(policy);
        self.started.retain(|(policy, _), started| {
            started.retain(|_, at| !is_over(policy, *at));
            !started.is_empty()
        });
        self.pods.retain(|policy, given| {
            given.retain(|_, (at, _)| !is_over(policy, *at));
            !given.is_empty()
        });
    }
}

/// A record may go on by the limits it was opened under, so the defaults' windows are kept too.
fn longest_window(policies: &[Policy]) -> Duration {
    let default = Policy::default();
    let windows = policies.iter().chain([&default]).flat_map(|policy| {
        let rates = [policy.budget.rate, policy.cordon_budget.rate, Some(policy.pods)];
        rates.into_iter().flatten().map(|rate| rate.window)
    });
    windows.fold(Duration::ZERO, Duration::max)
}

fn age(at: Timestamp, now: Now) -> Duration {
    Duration::try_from(now.wall.duration_since(at)).unwrap_or_default()
}

/// A wall time on our own clock; one from the future, or from before our clock began, is the nearest there is. It is
/// another's clock where the leader changed: the time in the handover stands before it.
#[must_use]
pub fn moment(wall: Timestamp, now: Now) -> Moment {
    Moment(now.moment.0.saturating_sub(age(wall, now)))
}
