//! What the controller did lately, for the rate limits: remediations begun, pods moved, power cycles. A new leader has it
//! from the handover of the previous leader and from the open records (`NodeFence`s).

mod handover;
mod pods;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;

pub(crate) use self::handover::names_if_few;
use self::pods::{Batch, PodAccount};
pub use self::{handover::Handover, pods::CountedPods};
use super::stage::{DisruptionLevel, begins_disruptively, has_begun};
use crate::{
    api::fence::{IntendedOp, NodeFence, Phase},
    drain::DrainRules,
    facts::Pod,
    policy::{Policy, Rate},
    snapshot::{PodSource, Snapshot},
    time::{Moment, Now},
};

/// Between the decision that a record is to be opened and its opening two others may have to be written.
const GRANT_LASTS: Duration = Duration::from_secs(60);
/// Power cycles remembered of one node; limits are far below.
const MAX_CYCLES: usize = 64;

/// Power cycles of a node: the wall time that its record has, and when that was by the monotonic clock of this process.
pub type Cycles = BTreeMap<Timestamp, Moment>;

#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// Remediations begun, by policy and whether by a disruptive step (a drain or power): node and record's UID, and when.
    started: BTreeMap<(String, bool), BTreeMap<(String, String), Moment>>,
    /// When that was which open records show, each by its time there: that is compared with this host's clock once.
    shown: BTreeMap<Shown, Moment>,
    pods: PodAccount,
    /// Power cycles by node, also those of closed records.
    cycles: BTreeMap<String, Cycles>,
    /// Nodes whose record intends a power off: the record's UID, and since when.
    intended: BTreeMap<String, (String, Timestamp)>,
    /// What was done before this cannot be known: every window that reaches further back counts as used up.
    unknown_before: Option<Moment>,
    taken_over: Option<TakenOver>,
    /// Records that intend a release: their UID and how many they had released before.
    releasing: BTreeSet<(String, u32)>,
}

/// A record's UID, whether of a disruptive step, and since when by its own time.
type Shown = (String, bool, Option<Timestamp>);

/// From the leader before.
#[derive(Debug, Clone, Copy)]
struct TakenOver {
    at: Moment,
    /// When it decided what it handed over, by its own clock: what it did later none knows of.
    decided_at: Timestamp,
}

impl History {
    /// Learns from the open records what previous leaders did.
    pub(crate) fn learn(&mut self, snapshot: &Snapshot, now: Now) {
        let before = std::mem::take(&mut self.shown);
        for (node, fence) in &snapshot.fences {
            for begun in begun(fence) {
                let is_new = !before.contains_key(&begun);
                let at = match (before.get(&begun), begun.2) {
                    (Some(at), Some(_) | None) => *at,
                    (None, Some(wall)) => moment(wall, now),
                    (None, None) => now.moment,
                };
                self.add_started(node, fence, begun.1, at, is_new);
                self.shown.insert(begun, at);
            }
            self.remember_cycles(node, &fence.status.earlier_cycles, now);
            self.remember_cycles(node, &fence.status.cycles, now);
        }
        self.learn_released(snapshot, now.moment);
        self.pods.settle(snapshot, now);
        self.add_up_pods(snapshot, now.moment);
        self.learn_intended(snapshot, now);
        // A node that is missing from a list that is not complete is not gone, and what it inherited is in no record.
        if snapshot.host.synced {
            self.cycles.retain(|node, _| snapshot.nodes.contains_key(node) || snapshot.fences.contains_key(node));
        }
    }

    /// The leader before may have ended right after the act, before it could hand it over, or right before.
    fn learn_released(&mut self, snapshot: &Snapshot, now: Moment) {
        let mut releasing = BTreeSet::new();
        for fence in snapshot.fences.values() {
            let (of, uid, earlier) = (PodSource::of(fence), &fence.metadata.uid, fence.status.released);
            let intent = fence.status.intent.as_ref().filter(|intent| intent.op == IntendedOp::Release);
            if let Some(intent) = intent {
                let key = (uid.clone(), earlier);
                // The last look at a BMC takes its time: its pods may go at any moment until that act has come to its
                // end.
                let is_under_way =
                    fence.status.phase == Phase::PodsReleased && snapshot.busy.contains(&fence.spec.node_name);
                if is_under_way || !self.releasing.contains(&key) {
                    let (record, pods) = (uid.clone(), intent.pods as usize);
                    self.pods.remember_intent(&of, Batch { record, earlier, last: now, pods, is_open: false });
                }
                releasing.insert(key);
            }
            if let Some((released_at, taken_over)) = fence.status.released_at.zip(self.taken_over) {
                let window = pod_rate(snapshot, &fence.spec.policy).window;
                if released_at >= taken_over.decided_at && now.since(taken_over.at) < window {
                    self.pods.remember_released(&of, uid, earlier, taken_over.at);
                }
            }
        }
        self.releasing = releasing;
    }

    fn add_up_pods(&mut self, snapshot: &Snapshot, now: Moment) {
        let policies = snapshot.policies.iter().map(|policy| (policy.name.as_str(), policy.pods));
        self.pods.add_up(policies.chain([("", Policy::default().pods)]), now);
    }

    /// A client that deletes a record does not stop what it intended: its end will not be reported, so that it counts.
    fn learn_intended(&mut self, snapshot: &Snapshot, now: Now) {
        let intended = |fence: &NodeFence| {
            let intent = fence.status.intent.as_ref().filter(|intent| intent.op == IntendedOp::PowerOff)?;
            Some((fence.metadata.uid.clone(), intent.at))
        };
        let all = snapshot.fences.iter().filter_map(|(node, fence)| Some((node.clone(), intended(fence)?))).collect();
        for (node, (uid, at)) in std::mem::replace(&mut self.intended, all) {
            if snapshot.fences.get(&node).is_none_or(|fence| fence.metadata.uid != uid) {
                self.remember_cycles(&node, [&at], now);
            }
        }
    }

    fn add_started(&mut self, node: &str, fence: &NodeFence, disruptive: bool, at: Moment, is_new: bool) {
        let uid = fence.metadata.uid.clone();
        let started = self.started.entry((fence.spec.policy.clone(), disruptive)).or_default();
        // A record that a pass decided to open had no UID yet; one that gives way to the same policy has had one for long.
        let opened = if is_new { started.remove(&(node.to_owned(), String::new())) } else { None };
        let at = opened.unwrap_or(at);
        started.entry((node.to_owned(), uid)).and_modify(|known| *known = at.max(*known)).or_insert(at);
    }

    /// Power cycles of nodes whose records are gone.
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
        while known.len() > MAX_CYCLES {
            known.pop_first();
        }
    }

    /// This pass begins to remediate `node` for `policy`: it counts for the rate from now on.
    pub(crate) fn charge(&mut self, policy: &str, node: &str, fence: &str, level: DisruptionLevel, now: Moment) {
        for disruptive in [false, level != DisruptionLevel::Isolate] {
            let started = self.started.entry((policy.to_owned(), disruptive)).or_default();
            started.entry((node.to_owned(), fence.to_owned())).or_insert(now);
        }
    }

    /// Records that were decided to be opened a moment ago, and are not there yet: policy, node, and whether they begin
    /// disruptively.
    pub(crate) fn granted(&self, now: Moment) -> impl Iterator<Item = (&str, &str, bool)> {
        self.started.iter().flat_map(move |((policy, disruptive), started)| {
            let granted = started.iter().filter(move |((_, uid), at)| uid.is_empty() && now.since(**at) < GRANT_LASTS);
            granted.map(move |((node, _), _)| (policy.as_str(), node.as_str(), *disruptive))
        })
    }

    /// Something speaks against such a record by now, and it was not opened: it uses nothing up.
    pub(crate) fn revoke(&mut self, policy: &str, node: &str) {
        self.revoke_where(node, |other| other == policy);
    }

    /// No policy but this one is to open a record for the node.
    pub(crate) fn revoke_others(&mut self, policy: Option<&str>, node: &str) {
        self.revoke_where(node, |other| Some(other) != policy);
    }

    fn revoke_where(&mut self, node: &str, is_revoked: impl Fn(&str) -> bool) {
        let pending = (node.to_owned(), String::new());
        for ((policy, _), started) in &mut self.started {
            if is_revoked(policy) {
                started.remove(&pending);
            }
        }
    }

    /// A drain of `node` begins now, in whichever round: it counts for the rate of disruptive acts from now on.
    pub(crate) fn charge_again(&mut self, policy: &str, node: &str, fence: &str, now: Moment) {
        let started = self.started.entry((policy.to_owned(), true)).or_default();
        started.insert((node.to_owned(), fence.to_owned()), now);
    }

    /// This pass releases the pods of the record's node: these, or so many if they cannot be listed.
    pub(crate) fn charge_release(
        &mut self,
        fence: &NodeFence,
        listed: Option<&[Pod]>,
        unlisted: usize,
        window: Duration,
        now: Moment,
    ) {
        let (record, earlier) = (fence.metadata.uid.clone(), fence.status.released);
        let release = Batch { record, earlier, last: now, pods: unlisted, is_open: false };
        self.pods.release(&PodSource::of(fence), release, listed, window);
    }

    /// This pass begins to drain the record's node: of these pods, or of so many if they cannot be listed.
    pub(crate) fn begin_drain(
        &mut self,
        fence: &NodeFence,
        rules: &DrainRules,
        listed: Option<&[Pod]>,
        unlisted: usize,
        now: Now,
    ) {
        self.pods.begin_drain(&PodSource::of(fence), rules, listed, unlisted, now);
    }

    /// What counts now, of every node.
    pub(crate) fn counted_pods(&self, snapshot: &Snapshot, now: Moment) -> BTreeMap<PodSource, CountedPods> {
        let counted = |of: &PodSource| self.pods.counted(of, pod_rate(snapshot, &of.policy), now);
        self.pods.all_sources().into_iter().map(|of| (of.clone(), counted(of))).collect()
    }

    /// Nodes that `policy` began to remediate within the window, without `except`.
    pub(crate) fn started_within(
        &self,
        policy: &str,
        level: DisruptionLevel,
        except: &str,
        within: Duration,
        now: Moment,
    ) -> usize {
        if self.is_incomplete(within, now) {
            return usize::MAX;
        }
        let started = self.started.get(&(policy.to_owned(), level != DisruptionLevel::Isolate)).into_iter().flatten();
        started.filter(|((node, _), at)| node != except && now.since(**at) < within).count()
    }

    /// Pods of other nodes than `except` that `policy` moved within the window.
    pub(crate) fn pods(&self, policy: &str, rate: Rate, except: &str, now: Moment) -> usize {
        if self.is_incomplete(rate.window, now) {
            return usize::MAX;
        }
        self.pods.elsewhere(policy, rate, except, now)
    }

    /// Whether `policy` moved pods of this very node within the window.
    pub(crate) fn has_moved_pods(&self, policy: &str, rate: Rate, node: &str, now: Moment) -> bool {
        self.pods.has_moved(&PodSource { policy: policy.to_owned(), node: node.to_owned() }, rate, now)
    }

    /// Power cycles of `node` within the window, but for `begun`; one from the future counts.
    pub(crate) fn cycles(&self, node: &str, begun: Option<&Timestamp>, within: Duration, now: Now) -> usize {
        let cycles = self.cycles.get(node).into_iter().flatten().filter(|(wall, _)| Some(*wall) != begun);
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

    /// Forgets what is older than every window. What a policy that cannot be read did is kept: its window is not known.
    pub(crate) fn forget(&mut self, snapshot: &Snapshot, now: Moment) {
        let longest = longest_window(&snapshot.policies);
        let is_outdated =
            |policy: &str, at: Moment| now.since(at) >= longest && !snapshot.unreadable_policies.contains_key(policy);
        self.started.retain(|(policy, _), started| {
            started.retain(|_, at| !is_outdated(policy, *at));
            !started.is_empty()
        });
        self.pods.forget(is_outdated);
    }
}

/// What the record shows to have begun.
fn begun(fence: &NodeFence) -> Vec<Shown> {
    let (uid, opened) = (&fence.metadata.uid, fence.metadata.creation_timestamp);
    let is_disruptive = has_begun(fence, DisruptionLevel::Power) || begins_disruptively(&fence.spec.steps);
    let last = fence.status.drain_begun_at.max(opened);
    [(false, opened), (true, last)]
        .into_iter()
        .filter(|(disruptive, _)| !disruptive || is_disruptive)
        .map(|(disruptive, at)| (uid.clone(), disruptive, at))
        .collect()
}

/// By which pods of this policy count. What a person asks for has none, and goes by the default. One that is gone may come
/// back with any rate, and one that cannot be read with any window.
fn pod_rate(snapshot: &Snapshot, name: &str) -> Rate {
    if let Some(policy) = snapshot.policies.iter().find(|policy| policy.name == name) {
        return policy.pods;
    }
    let is_unreadable = snapshot.unreadable_policies.contains_key(name);
    match name {
        "" => Policy::default().pods,
        _ if is_unreadable => Rate { count: u32::MAX, window: Duration::MAX },
        _ => Rate { count: u32::MAX, window: longest_window(&snapshot.policies) },
    }
}

/// What no window counts any more. Drains that are gone would be remembered for ever, and be walked through in each pass.
pub fn forget_evicted(snapshot: &mut Snapshot, now: Moment) {
    let mut evicted = std::mem::take(&mut snapshot.evicted);
    evicted.retain(|of, pods| {
        let window = pod_rate(snapshot, &of.policy).window.min(REMEMBERED);
        pods.retain(|_, at| now.since(*at) < window);
        !pods.is_empty()
    });
    snapshot.evicted = evicted;
}

/// No window has to be longer.
const REMEMBERED: Duration = Duration::from_hours(24);

/// The longest window of a rate. The defaults count too: a record whose policy is gone goes on by them.
pub(crate) fn longest_window(policies: &[Policy]) -> Duration {
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

/// A wall time on the monotonic clock of this process. One from the future, or from before that clock began, is the nearest
/// that it has. After a change of the leader the wall time is by another host's clock; ages in the handover are not, and
/// are preferred.
#[must_use]
pub fn moment(wall: Timestamp, now: Now) -> Moment {
    Moment(now.moment.0.saturating_sub(age(wall, now)))
}
