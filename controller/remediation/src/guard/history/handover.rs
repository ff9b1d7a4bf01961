//! The handover: what the next leader has to know and no open record has, which are remediations that were closed, pods that
//! were moved, power cycles and storms. The leader writes it to an annotation of its Lease. It has ages and no times, so
//! that no two hosts' clocks are ever compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{History, TakenOver, pod_rate, pods::Batch};
use crate::{
    guard::storm::StormHandover,
    policy::{Policy, Rate},
    snapshot::{PodSource, Snapshot},
    time::{Moment, Now},
};

/// The newest entries of each kind are passed on one by one, at most so many. Older ones are merged into one entry for each
/// policy, with the age of the youngest of them: none of them counts for a shorter time than it has to.
const MAX_ENTRIES: usize = 500;
/// The newest power cycles are passed on, at most so many: far more than any rate lets happen in a day.
const MAX_CYCLES: usize = 1000;

/// More than any leader begins: who writes so many writes anything.
const MOST_STARTED: usize = 1 << 16;

/// Ages are in whole seconds, rounded down, at the moment at which it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Handover {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    started: Vec<StartedRemediation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<MovedPods>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cycles: Vec<PowerCycle>,
    /// By policy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) storms: BTreeMap<String, StormHandover>,
    /// How long ago it was that a leader found what cannot be read: every rate counts as used up in a window that
    /// reaches further back.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_before: Option<u64>,
    /// When it was decided, by the clock of the leader that wrote it: to compare with other times of that clock alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<Timestamp>,
}

/// Nodes that a policy began to remediate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StartedRemediation {
    policy: String,
    disruptive: bool,
    /// Empty where the entry is merged from several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    node: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    record: String,
    age: u64,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    count: usize,
}

/// Pods of one node that were moved for a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MovedPods {
    policy: String,
    /// Empty where the entry is merged from several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    node: String,
    /// The UID of the record that released them; empty for those that were evicted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    record: String,
    /// How many that had released before.
    #[serde(default, skip_serializing_if = "is_zero")]
    earlier: u32,
    /// In seconds, since the last of them; 0 while a drain goes on.
    age: u64,
    pods: usize,
    /// A drain was under way that may move them yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PowerCycle {
    node: String,
    /// As records have it, so that it is not counted twice; how long ago it was is `age`.
    at: Timestamp,
    age: u64,
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_one(count: &usize) -> bool {
    *count == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Handover {
    /// Stands for a handover that could not be read: what the previous leader did is unknown.
    #[must_use]
    pub fn lost() -> Self {
        Self { unknown_before: Some(0), ..Self::default() }
    }

    /// How many pods of this node the leader before moved lately, or may have.
    #[must_use]
    pub fn moved_pods(&self, of: &PodSource) -> usize {
        let of_node = self.pods.iter().filter(|moved| moved.policy == of.policy && moved.node == of.node);
        of_node.fold(0, |sum, moved| sum.saturating_add(moved.pods))
    }

    pub(crate) fn with_storms(self, storms: BTreeMap<String, StormHandover>) -> Self {
        Self { storms, ..self }
    }

    /// The same, `elapsed` later. Of that its leader may have gone on for `unseen`: its drains moved pods meanwhile.
    #[must_use]
    pub fn aged(mut self, elapsed: Duration, unseen: Duration) -> Self {
        let more = elapsed.as_secs();
        let ages = self.started.iter_mut().map(|started| &mut started.age).chain(self.unknown_before.as_mut());
        for age in ages.chain(self.cycles.iter_mut().map(|cycle| &mut cycle.age)) {
            *age = age.saturating_add(more);
        }
        let seen = elapsed.saturating_sub(unseen).as_secs();
        self.pods.iter_mut().for_each(|moved| moved.age = moved.age.saturating_add(seen));
        self.storms.values_mut().for_each(|storm| storm.age_by(more));
        self
    }
}

impl History {
    /// What the next leader has to know.
    pub(crate) fn handover(&self, snapshot: &Snapshot, now: Now) -> Handover {
        let started = merged(self.started_lately(snapshot, now), |all: Vec<StartedRemediation>| {
            let mut rest: BTreeMap<(String, bool), StartedRemediation> = BTreeMap::new();
            for one in all {
                let key = (one.policy.clone(), one.disruptive);
                let of = rest.entry(key).or_insert_with(|| StartedRemediation { count: 0, ..one.clone() });
                (of.node, of.record) = (String::new(), String::new());
                (of.age, of.count) = (of.age.min(one.age), of.count.saturating_add(one.count));
            }
            rest.into_values().collect()
        });
        let pods = merged(self.pods_moved(snapshot, now), |all: Vec<MovedPods>| {
            let mut rest: BTreeMap<String, MovedPods> = BTreeMap::new();
            for one in all {
                let of = rest.entry(one.policy.clone()).or_insert_with(|| MovedPods { pods: 0, ..one.clone() });
                (of.node, of.record, of.earlier, of.is_open) = (String::new(), String::new(), 0, false);
                (of.age, of.pods) = (of.age.min(one.age), of.pods.saturating_add(one.pods));
            }
            rest.into_values().collect()
        });
        let unknown_before = self.unknown_before.map(|before| now.moment.since(before).as_secs());
        let (cycles, decided_at) = (self.power_cycles(snapshot, now), Some(now.wall));
        Handover { started, pods, cycles, unknown_before, decided_at, ..Handover::default() }
    }

    /// The newest first.
    fn started_lately(&self, snapshot: &Snapshot, now: Now) -> Vec<StartedRemediation> {
        let mut all = Vec::new();
        for ((policy, disruptive), started) in &self.started {
            let Some(within) = window(snapshot, policy, |policy| rate(policy, *disruptive)) else { continue };
            let recent = started.iter().filter(|(_, at)| now.moment.since(**at) < within);
            all.extend(recent.map(|((node, record), at)| StartedRemediation {
                policy: policy.clone(),
                disruptive: *disruptive,
                node: node.clone(),
                record: record.clone(),
                age: now.moment.since(*at).as_secs(),
                count: 1,
            }));
        }
        all.sort_by_key(|started| started.age);
        all
    }

    fn pods_moved(&self, snapshot: &Snapshot, now: Now) -> Vec<MovedPods> {
        let moved = |of: &PodSource| {
            let window = pod_rate(snapshot, &of.policy).window;
            let to_hand_over = |batch: Batch| MovedPods {
                policy: of.policy.clone(),
                node: of.node.clone(),
                age: now.moment.since(batch.last).as_secs(),
                record: batch.record,
                earlier: batch.earlier,
                pods: batch.pods,
                is_open: batch.is_open,
            };
            self.pods.to_hand_over(of, window, now.moment).into_iter().map(to_hand_over).collect::<Vec<_>>()
        };
        let mut all: Vec<MovedPods> = self.pods.all_sources().into_iter().flat_map(moved).collect();
        all.sort_by_key(|pods| pods.age);
        all
    }

    fn power_cycles(&self, snapshot: &Snapshot, now: Now) -> Vec<PowerCycle> {
        let longest = power_cycles_window(snapshot);
        let all =
            self.cycles.iter().flat_map(|(node, cycles)| cycles.iter().map(move |(at, moment)| (node, at, moment)));
        let mut all: Vec<_> = all
            .map(|(node, at, moment)| PowerCycle {
                node: node.clone(),
                at: *at,
                age: now.moment.since(*moment).as_secs(),
            })
            .filter(|cycle| cycle.age < longest.as_secs())
            .collect();
        all.sort_by_key(|cycle| cycle.age);
        all.truncate(MAX_CYCLES);
        all
    }

    /// What the previous leader handed over.
    pub(crate) fn inherited(handover: &Handover, now: Now) -> Self {
        let begun = handover.started.iter().fold(0_usize, |sum, started| sum.saturating_add(started.count));
        if begun > MOST_STARTED {
            return Self::inherited(&Handover::lost(), now);
        }
        let unknown_before = handover.unknown_before.map(|age| ago(age, now));
        let taken_over = handover.decided_at.map(|decided_at| TakenOver { at: now.moment, decided_at });
        let mut history = Self { unknown_before, taken_over, ..Self::default() };
        for StartedRemediation { policy, disruptive, node, record, age, count } in &handover.started {
            let started = history.started.entry((policy.clone(), *disruptive)).or_default();
            for _ in 0..*count {
                // Each entry that is merged from several is another one.
                let record = if node.is_empty() { started.len().to_string() } else { record.clone() };
                started.insert((node.clone(), record), ago(*age, now));
            }
        }
        for MovedPods { policy, node, record, earlier, age, pods, is_open } in &handover.pods {
            let of = PodSource { policy: policy.clone(), node: node.clone() };
            let last = ago(*age, now);
            history
                .pods
                .inherit(of, Batch { record: record.clone(), earlier: *earlier, last, pods: *pods, is_open: *is_open });
        }
        for PowerCycle { node, at, age } in &handover.cycles {
            history.cycles.entry(node.clone()).or_default().insert(*at, ago(*age, now));
        }
        history
    }
}

/// The newest as they are, the rest as `merge` makes them. `all` begins with the newest.
fn merged<T>(mut all: Vec<T>, merge: impl FnOnce(Vec<T>) -> Vec<T>) -> Vec<T> {
    if all.len() > MAX_ENTRIES {
        let rest = all.split_off(MAX_ENTRIES);
        all.extend(merge(rest));
    }
    all
}

/// How long what this policy did counts. A policy that is not known now, or cannot be read, may come back with any window.
fn window(snapshot: &Snapshot, name: &str, of: impl Fn(&Policy) -> Option<Rate>) -> Option<Duration> {
    match snapshot.policies.iter().find(|policy| policy.name == name) {
        Some(policy) => of(policy).map(|rate| rate.window),
        None => Some(Duration::MAX),
    }
}

/// How long power cycles count, by any policy; the limit of one that cannot be read is not known.
fn power_cycles_window(snapshot: &Snapshot) -> Duration {
    if !snapshot.unreadable_policies.is_empty() {
        return Duration::MAX;
    }
    let windows = snapshot.policies.iter().map(|policy| policy.power_cycles.window);
    windows.fold(Policy::default().power_cycles.window, Duration::max)
}

fn rate(policy: &Policy, disruptive: bool) -> Option<Rate> {
    if disruptive { policy.budget.rate } else { policy.cordon_budget.rate }
}

/// `age` seconds ago. The monotonic clock may have begun later than that: then it is the clock's beginning, and only counts
/// longer.
fn ago(age: u64, now: Now) -> Moment {
    Moment(now.moment.0.saturating_sub(Duration::from_secs(age)))
}

/// Names of nodes, if a handover has room for them. Without them the next leader sees all nodes for the first time.
pub(crate) fn names_if_few(all: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    (all.len() <= MAX_ENTRIES).then(|| all.clone())
}
