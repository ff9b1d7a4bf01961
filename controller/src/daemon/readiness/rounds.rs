//! Which node to ask next: many at once, new ones first, and none waits for one that does not answer. In between each node
//! has its own moment of the round, which every leader computes alike: a change of leader asks no BMC sooner.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque, hash_map::DefaultHasher},
    convert::Infallible,
    future::Future,
    hash::{Hash, Hasher},
    pin::pin,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_power::native::Preflight;
use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_remediation::{
    facts::{ConditionStatus, FENCE_READY, Node},
    snapshot::Snapshot,
    time::{Moment, Now},
};
use tokio::time::sleep;

/// Between two looks at who is there.
const TICK: Duration = Duration::from_secs(1);
/// Of either kind, asked between two looks at most: where every node is new, acts come first.
const EACH_TICK: usize = 48;
/// One that could not be fenced is asked sooner, for a person may be mending it; the more of them, the later.
const SOON: Duration = Duration::from_secs(30);
/// Each reads a handful of ConfigMaps: 5,000 of them are 33 requests a second.
const EACH: Duration = Duration::from_millis(120);
/// What could not be written is not tried again sooner: the node's other BMCs are asked by that.
const URGENT_AGAIN: Duration = Duration::from_secs(10);
/// Of an unready node's wait at least, so that those that failed together do not return together.
const LEAST_WAIT: f64 = 0.75;

/// `[fencing]`: one that could be fenced is asked once in `interval`, for BMCs are slow and log every login; `at_once` are asked
/// at the same time, and one that is dead occupies its slot for 20 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) interval: Duration,
    pub(super) at_once: usize,
}

/// Who asks.
pub(super) trait Asker {
    /// Nodes that are gone are forgotten.
    fn retain(&self, is_there: impl Fn(&str) -> bool);
    fn urgent(&self) -> Urgent;
    /// What was found out in a term ends with it.
    fn end_term(&self);
    /// Asks; nothing if that is to be looked at again before it is written.
    fn find(&self, node: &Node) -> impl Future<Output = Option<Preflight>>;
    /// Whether the Node has it now. `wanted`: some policy would turn it off.
    fn write(&self, node: &Node, found: &Preflight, wanted: bool) -> impl Future<Output = bool>;
    /// The Node has this message: what is in it is urgent no more.
    fn reported(&self, node: &Node, message: &str);
}

/// Nodes that do not wait for their moment.
#[derive(Debug, Default)]
pub(super) struct Urgent {
    /// Those of which there is something to write down at once.
    pub(super) unwritten: BTreeSet<String>,
    /// Those that are configured otherwise than when they were asked last.
    pub(super) changed: BTreeSet<String>,
}

/// Whether it could be fenced, and its Node has that: what could not be written is found again soon.
async fn ask<A: Asker>(asker: &A, node: &Node, wanted: bool) -> bool {
    let Some(found) = asker.find(node).await else { return false };
    if !asker.write(node, &found, wanted).await {
        return false;
    }
    asker.reported(node, &found.message);
    found.status == ConditionStatus::True
}

/// What was asked last about a node.
#[derive(Debug, Clone)]
struct Asked {
    uid: String,
    wanted: bool,
    /// Its moment of the round, from 0 to 1: of its name and uid, the same in every process.
    phase: f64,
    state: AskedState,
}

#[derive(Debug, Clone, Copy)]
enum AskedState {
    UnderWay {
        /// It failed the time before.
        failed: bool,
        /// It was configured otherwise when that began.
        changed: bool,
    },
    /// It could be fenced, as was found at `at`, and is asked again at `turn`.
    Ready { at: Moment, turn: Moment },
    /// It could not, as was found at `at`; asked again after this share of the wait that all of them have.
    Unready { at: Moment, share: f64 },
}

/// Those whose turn it is, in order.
#[derive(Debug, Default)]
struct Due {
    others: VecDeque<Node>,
    /// They could not be fenced when they were asked last: one of them that is dead delays none that is not.
    failed: VecDeque<Node>,
}

#[derive(Debug)]
struct Answer {
    name: String,
    ready: bool,
    /// It failed the time before.
    failed: bool,
}

#[derive(Debug)]
pub(super) struct Rounds {
    pace: Pace,
    nodes: BTreeMap<String, Asked>,
    /// When a node was asked because something of it had to be written.
    urged: BTreeMap<String, Moment>,
    /// Of those that are being asked, the ones that failed last.
    failed_under_way: usize,
}

impl Rounds {
    fn new(pace: Pace) -> Self {
        Self { pace, nodes: BTreeMap::new(), urged: BTreeMap::new(), failed_under_way: 0 }
    }

    /// What the leader before wrote is taken over: such a node is asked at its own moment of the round.
    fn take_over(&mut self, snapshot: &Snapshot, wanted: bool, now: Now) {
        // By the clock, too: under leaders that are shorter than the wait each one's turn comes all the same.
        // Rounded, for the moments of two leaders that count one node more or less would have nothing in common.
        let again = self.wait_of(snapshot.nodes.values().filter(|node| reads_unready(node)).count());
        let again = rounded(again).min(self.pace.interval.max(SOON));
        for node in snapshot.nodes.values() {
            let Some(condition) = node.condition(FENCE_READY).filter(|_| !self.nodes.contains_key(&node.name)) else {
                continue;
            };
            let phase = phase(node);
            let state = match condition.status {
                ConditionStatus::True => {
                    AskedState::Ready { at: now.moment, turn: now.moment.plus(until(phase, self.pace.interval, now)) }
                }
                ConditionStatus::False | ConditionStatus::Unknown => {
                    let share = until(phase, again, now).as_secs_f64() / again.as_secs_f64();
                    AskedState::Unready { at: now.moment, share }
                }
            };
            self.nodes.insert(node.name.clone(), Asked { uid: node.uid.clone(), wanted, phase, state });
        }
    }

    /// Those whose turn it is, the most urgent first: new ones, those that policies began or ceased to want, and `urgent` ones, then
    /// those that wait longest.
    fn due(&self, snapshot: &Snapshot, wanted: bool, urgent: &Urgent, now: Moment) -> Due {
        let again = self.again();
        let changed = [false, true].map(|failed| self.next_changed(&urgent.changed, failed));
        let mut due: Vec<(Moment, bool, &Node)> = snapshot
            .nodes
            .values()
            .filter_map(|node| {
                let first = (Moment::default(), false, node);
                let Some(asked) = self.nodes.get(&node.name) else { return Some(first) };
                let (turn, failed) = match asked.state {
                    AskedState::UnderWay { .. } => return None,
                    // A person's command found it otherwise, and wrote that.
                    AskedState::Ready { at, turn } if reads_unready(node) => (turn.min(at.plus(SOON)), false),
                    AskedState::Ready { turn, .. } => (turn, false),
                    AskedState::Unready { at, share } => (at.plus(again.mul_f64(share)), true),
                };
                let is_unwritten = urgent.unwritten.contains(&node.name) && !self.was_urged(&node.name, now);
                if asked.uid != node.uid || asked.wanted != wanted || is_unwritten {
                    return Some(first);
                }
                // It may be as dead as it was: then it delays none that is not.
                let turn = if changed.contains(&Some(node.name.as_str())) { Moment::default() } else { turn };
                (turn <= now).then_some((turn, failed, node))
            })
            .collect();
        due.sort_by(|a, b| (a.0, &a.2.name).cmp(&(b.0, &b.2.name)));
        let mut queue = Due::default();
        for (_, failed, node) in due {
            let queue = if failed { &mut queue.failed } else { &mut queue.others };
            if queue.len() < EACH_TICK {
                queue.push_back(node.clone());
            }
        }
        queue
    }

    /// Of those that are configured otherwise one is asked after the other, the longest not asked first: a directory that
    /// refuses what they log in by counts few refusals. Those that failed last, and may be dead, have a turn of their own.
    fn next_changed<'a>(&'a self, changed: &BTreeSet<String>, failed: bool) -> Option<&'a str> {
        let is_its_kind = |asked: &Asked| matches!(asked.state, AskedState::UnderWay { failed: other, changed: true } if other == failed);
        if self.nodes.values().any(is_its_kind) {
            return None;
        }
        let mut first: Option<(Moment, &str)> = None;
        for (name, asked) in changed.iter().filter_map(|name| self.nodes.get_key_value(name)) {
            let at = match asked.state {
                AskedState::Ready { at, .. } if !failed => at,
                AskedState::Unready { at, .. } if failed => at,
                AskedState::UnderWay { .. } | AskedState::Ready { .. } | AskedState::Unready { .. } => continue,
            };
            if first.is_none_or(|first| (at, name.as_str()) < first) {
                first = Some((at, name));
            }
        }
        first.map(|(_, name)| name)
    }

    fn was_urged(&self, name: &str, now: Moment) -> bool {
        self.urged.get(name).is_some_and(|at| now.since(*at) < URGENT_AGAIN)
    }

    /// The next one that has a slot: those that failed last have no more than their share of all.
    fn next(&self, due: &mut Due, under_way: usize) -> Option<Node> {
        if under_way >= self.pace.at_once {
            return None;
        }
        let share = (self.pace.at_once * 3 / 4).max(1);
        due.others.pop_front().or_else(|| if self.failed_under_way < share { due.failed.pop_front() } else { None })
    }

    fn again(&self) -> Duration {
        let bad = self.nodes.values().filter(|asked| matches!(asked.state, AskedState::Unready { .. })).count();
        self.wait_of(bad)
    }

    fn wait_of(&self, bad: usize) -> Duration {
        let most = self.pace.interval.max(SOON);
        (EACH * u32::try_from(bad).unwrap_or(u32::MAX)).clamp(SOON, most)
    }

    /// Returns whether it failed last.
    fn begin(&mut self, node: &Node, wanted: bool, changed: bool) -> bool {
        let before = self.nodes.get(&node.name);
        let failed = before.is_some_and(|asked| matches!(asked.state, AskedState::Unready { .. }));
        self.failed_under_way += usize::from(failed);
        let asked = Asked {
            uid: node.uid.clone(),
            wanted,
            phase: phase(node),
            state: AskedState::UnderWay { failed, changed },
        };
        self.nodes.insert(node.name.clone(), asked);
        failed
    }

    /// A node that is asked at its moment is asked there again; one that was asked apart from it, not within half a round.
    fn end(&mut self, Answer { name, ready, failed }: &Answer, now: Now) {
        self.failed_under_way -= usize::from(*failed);
        let Some(phase) = self.nodes.get(name).map(|asked| asked.phase) else { return };
        let half = self.pace.interval / 2;
        let later = Now { wall: now.wall.checked_add(half).unwrap_or(now.wall), ..now };
        let state = if *ready {
            AskedState::Ready {
                at: now.moment,
                turn: now.moment.plus(half).plus(until(phase, self.pace.interval, later)),
            }
        } else {
            AskedState::Unready { at: now.moment, share: LEAST_WAIT + phase * (1.0 - LEAST_WAIT) }
        };
        if let Some(asked) = self.nodes.get_mut(name) {
            asked.state = state;
        }
    }
}

/// How long until a round of this length is at this phase, by the clock on the wall, which all hosts share.
fn until(phase: f64, round: Duration, now: Now) -> Duration {
    let round = round.as_secs_f64();
    let wall = Duration::from_millis(u64::try_from(now.wall.as_millisecond()).unwrap_or_default()).as_secs_f64();
    Duration::from_secs_f64((phase * round - wall).rem_euclid(round))
}

/// Twice half a minute, and twice that, and so on.
fn rounded(wait: Duration) -> Duration {
    let mut rounded = SOON;
    while rounded < wait {
        rounded *= 2;
    }
    rounded
}

fn reads_unready(node: &Node) -> bool {
    node.condition(FENCE_READY).is_some_and(|condition| condition.status != ConditionStatus::True)
}

/// Spread evenly: uids are random.
fn phase(node: &Node) -> f64 {
    let mut hasher = DefaultHasher::new();
    (&node.name, &node.uid).hash(&mut hasher);
    f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

/// While `leads`; never returns.
pub(super) async fn run<A: Asker>(
    asker: &A,
    cache: &Cache,
    clock: Clock,
    pace: Pace,
    leads: impl Fn() -> bool,
) -> Infallible {
    let (mut rounds, mut under_way) = (Rounds::new(pace), FuturesUnordered::new());
    loop {
        let (mut due, mut wanted, mut urgent) = (Due::default(), false, Urgent::default());
        if leads() {
            wanted = cache.with(|snapshot| is_wanted(snapshot));
            urgent = asker.urgent();
            rounds.urged.retain(|name, at| urgent.unwritten.contains(name) && clock.moment().since(*at) < URGENT_AGAIN);
            due = cache.with(|snapshot| {
                asker.retain(|name| snapshot.nodes.contains_key(name));
                rounds.nodes.retain(|name, _| snapshot.nodes.contains_key(name));
                rounds.take_over(snapshot, wanted, clock.now());
                rounds.due(snapshot, wanted, &urgent, clock.moment())
            });
        } else {
            asker.end_term();
            (rounds, under_way) = (Rounds::new(pace), FuturesUnordered::new());
        }
        let mut tick = pin!(sleep(TICK));
        loop {
            while let Some(node) = rounds.next(&mut due, under_way.len()) {
                let failed = rounds.begin(&node, wanted, urgent.changed.contains(&node.name));
                if urgent.unwritten.contains(&node.name) {
                    rounds.urged.insert(node.name.clone(), clock.moment());
                }
                under_way.push(async move {
                    let ready = ask(asker, &node, wanted).await;
                    Answer { name: node.name, ready, failed }
                });
            }
            tokio::select! {
                Some(answer) = under_way.next() => rounds.end(&answer, clock.now()),
                () = &mut tick => break,
            }
        }
    }
}

/// Whether any policy would turn a node off: only then is one without methods worth a report.
fn is_wanted(snapshot: &Snapshot) -> bool {
    let powers =
        |step: &nodewell_remediation::api::policy::StepSpec| step.reboot.is_some() || step.power_cycle.is_some();
    snapshot.policies.iter().any(|policy| policy.steps.iter().any(powers))
}

#[cfg(test)]
mod fleet;
#[cfg(test)]
mod tests;
