//! Reads what decisions want to know about single nodes, as often as they want it and no more.

mod off_runs;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_remediation::{
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, NodeFence},
    },
    decide::GatherRequest,
    facts::Node,
    fence::levels,
    snapshot::{FencePlan, FenceScope, Gathered, Level, PowerReading, PowerState, Snapshot},
    time::Moment,
};
use tokio::time::timeout;

use self::off_runs::{drop_runs, is_given_up, observe_run, take_back};
use super::{Ended, Executor, Running};
use crate::{
    cluster::Cluster,
    power::{Power, READING_TIMEOUT},
};

/// Pods are read again after so long, while a decision wants them.
const PODS: Duration = Duration::from_secs(2);
/// Methods and identity change when people change them.
const METHODS: Duration = Duration::from_secs(30);
/// No BMC is asked more often.
const POWER: Duration = Duration::from_secs(1);
/// A node's methods that are not read within this are unknown.
const METHODS_TIMEOUT: Duration = Duration::from_secs(30);
/// Readings of a level that are stored: those of some seconds, so that one between two others is not lost.
const READINGS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Pods,
    Attachments,
    Methods,
    Power(Level),
}

/// Which questions are under way, and when each was answered last.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    asked: BTreeSet<(String, Question)>,
    answered: BTreeMap<(String, Question), Moment>,
}

impl Gathering {
    pub(super) fn answered(&mut self, node: String, question: Question, now: Moment) {
        let key = (node, question);
        self.asked.remove(&key);
        self.answered.insert(key, now);
    }

    fn is_due(&self, node: &str, question: Question, age: Duration, now: Moment) -> bool {
        let key = (node.to_owned(), question);
        !self.asked.contains(&key) && self.answered.get(&key).is_none_or(|at| now.since(*at) >= age)
    }
}

impl<C: Cluster, P: Power> Running<'_, C, P> {
    /// Asks what is due; what finds no free slot now is due at the next decision too.
    pub(super) fn ask(&mut self, requests: &BTreeMap<String, GatherRequest>, now: Moment) {
        self.gathering.answered.retain(|(node, _), _| requests.contains_key(node));
        for (node, request) in requests {
            let levels = self.executor.scopes_to_read(node, now).into_iter().map(|scope| scope.level);
            for (question, age) in questions(request, levels) {
                let has_place = self.gathering.asked.len() < self.executor.settings.questions;
                if has_place && self.gathering.is_due(node, question, age, now) {
                    self.ask_one(node.clone(), question);
                }
            }
        }
    }

    fn ask_one(&mut self, node: String, question: Question) {
        self.gathering.asked.insert((node.clone(), question));
        let executor = self.executor;
        self.works.push(Box::pin(async move {
            executor.answer(&node, question).await;
            Ended::Asked { node, question }
        }));
    }
}

fn questions(
    request: &GatherRequest,
    levels: impl Iterator<Item = Level>,
) -> impl Iterator<Item = (Question, Duration)> {
    let pods = request.pods.then_some((Question::Pods, PODS));
    let attachments = request.attachments.map(|age| (Question::Attachments, age));
    let methods = request.methods.then_some((Question::Methods, METHODS));
    let power = request.power.map(|age| levels.map(move |level| (Question::Power(level), age.max(POWER))));
    [pods, attachments, methods].into_iter().flatten().chain(power.into_iter().flatten())
}

fn claims_matter(snapshot: &Snapshot, name: &str) -> bool {
    let of_record = snapshot.fences.get(name).is_some_and(|fence| fence.status.storage_only.is_some());
    of_record
        || are_volumes_left(snapshot, name)
        || cuts_storage(snapshot.gathered.get(name).and_then(|gathered| gathered.methods.as_ref()))
}

/// Volumes are attached after a release, of this record or of one that was deleted, or after one whose outcome is not known:
/// whether they are of pods that were not released is known by their claims.
fn are_volumes_left(snapshot: &Snapshot, name: &str) -> bool {
    let bears_taint = snapshot.nodes.get(name).is_some_and(|node| node.taint(OUT_OF_SERVICE).is_some());
    let may_bear_it = |fence: &NodeFence| {
        fence.status.out_of_service || fence.status.own_changes.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE)
    };
    let is_released = snapshot.fences.get(name).is_some_and(|fence| bears_taint || may_bear_it(fence));
    let attachments = snapshot.gathered.get(name).and_then(|gathered| gathered.attachments.as_ref());
    is_released && attachments.is_some_and(|(_, all)| !all.is_empty())
}

fn cuts_storage<E>(methods: Option<&Result<FencePlan, E>>) -> bool {
    methods.and_then(|plan| plan.as_ref().ok()).is_some_and(|plan| plan.storage_only.is_some())
}

/// The readings, with one more; what is older than the last few of its level is dropped.
fn add(gathered: &mut Gathered, reading: PowerReading) {
    let level = reading.level;
    gathered.power.push(reading);
    let surplus = gathered.power.iter().filter(|reading| reading.level == level).count().saturating_sub(READINGS);
    let mut seen = 0;
    gathered.power.retain(|reading| {
        seen += usize::from(reading.level == level);
        reading.level != level || seen > surplus
    });
}

/// The numbers of the levels mean what they meant, and so do the readings of each.
fn are_levels_the_same<E>(before: Option<&Result<FencePlan, E>>, now: Option<&Result<FencePlan, E>>) -> bool {
    let methods = |plan: Option<&Result<FencePlan, E>>| {
        let plan = plan?.as_ref().ok()?;
        Some(plan.levels.iter().map(|level| level.methods.clone()).collect::<Vec<_>>())
    };
    before.is_none() || methods(before).is_some_and(|before| methods(now).is_some_and(|now| before == now))
}

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    /// What cannot be read is unknown from then on, not what it was before.
    async fn answer(&self, name: &str, question: Question) {
        match question {
            Question::Pods => self.ask_pods(name).await,
            Question::Attachments => {
                let at = self.clock.moment();
                let attachments = self.cluster.attachments_on(name).await.ok();
                self.cache.gather(name, |gathered| gathered.attachments = attachments.map(|all| (at, all)));
            }
            Question::Methods => self.ask_methods(name).await,
            Question::Power(level) => self.ask_power(name, level).await,
        }
    }

    /// What their claims are takes many requests, and matters only where the node is cut off one storage, or where
    /// volumes stay attached. If that became so while they were read, they are read again: a pod whose claims are
    /// unknown would be passed over.
    async fn ask_pods(&self, name: &str) {
        let at = self.clock.moment();
        let matter = || self.cache.with(|snapshot| claims_matter(snapshot, name));
        let with_claims = matter();
        let pods =
            if with_claims { self.cluster.pods_and_claims_on(name).await } else { self.cluster.pods_on(name).await };
        let pods = pods.ok().filter(|_| with_claims || !matter());
        self.cache.gather(name, |gathered| gathered.pods = pods.map(|pods| (at, pods)));
    }

    async fn ask_methods(&self, name: &str) {
        let Some(node) = self.seen(name) else { return };
        let plan = timeout(METHODS_TIMEOUT, self.power.plan(&node)).await;
        let plan =
            plan.unwrap_or_else(|_| Err(Blocker::of("FenceNotReady/late", &[("limit", &METHODS_TIMEOUT.as_secs())])));
        let mut found_out = BTreeSet::new();
        self.cache.gather(name, |gathered| {
            let mattered = cuts_storage(gathered.methods.as_ref());
            let before = gathered.methods.replace(plan);
            if !are_levels_the_same(before.as_ref(), gathered.methods.as_ref()) {
                gathered.power.clear();
                gathered.unanswered.clear();
                found_out = drop_runs(gathered);
            }
            if cuts_storage(gathered.methods.as_ref()) != mattered {
                (gathered.pods, gathered.last_on_answer) = (None, None);
                gathered.power.clear();
                gathered.unanswered.clear();
                gathered.off_runs.clear();
            }
        });
        if !found_out.is_empty() {
            self.cache.with(|snapshot| snapshot.denied.entry(node.name).or_default().add(&node.uid, found_out));
        }
    }

    async fn ask_power(&self, name: &str, level: Level) {
        let Some(node) = self.seen(name) else { return };
        let scopes = self.scopes_to_read(name, self.clock.moment());
        if let Some(scope) = scopes.into_iter().find(|scope| scope.level == level) {
            self.read_one(&node, &scope).await;
        }
    }

    /// What is to be read of the node's power.
    fn scopes_to_read(&self, name: &str, now: Moment) -> Vec<FenceScope> {
        self.cache.with(|snapshot| {
            let status = snapshot.fences.get(name).map(|fence| &fence.status);
            levels::to_read(status, snapshot.gathered.get(name), now)
        })
    }

    /// What a reading for this record is of.
    pub(super) fn scope_of(&self, fence: &NodeFence) -> FenceScope {
        let (name, now) = (&fence.spec.node_name, self.clock.moment());
        let scope = self.cache.with(|snapshot| levels::scope(Some(&fence.status), snapshot.gathered.get(name), now));
        scope.unwrap_or_else(|| FenceScope::of(&fence.status))
    }

    /// One reading of one level, which also becomes known to the next decision. Its age counts from before the
    /// question.
    pub(super) async fn read_one(&self, node: &Node, scope: &FenceScope) -> PowerState {
        let (name, level) = (&node.name, scope.level);
        let at = self.clock.moment();
        let was_given_up = self.cache.with(|snapshot| is_given_up(snapshot, name));
        let is_asked = || self.scopes_to_read(name, self.clock.moment()).contains(scope);
        if is_asked() {
            self.cache.gather(name, |gathered| {
                gathered.unanswered.entry(level).or_insert(at);
            });
        }
        let state = timeout(READING_TIMEOUT, self.power.read(node, scope)).await.unwrap_or(PowerState::Unknown);
        self.cache.power_was_read(state);
        let answered = self.clock.moment();
        // What a switch reported is no reading of a machine that its BMC is to cut off by now, nor the other way round.
        if !is_asked() {
            return state;
        }
        let asks_machine = self.asks_machine(name, level);
        let counts = asks_machine || self.level_in_use(name) == Some(level);
        self.cache.gather(name, |gathered| {
            if state == PowerState::On && counts {
                gathered.last_on_answer = Some(answered);
            }
            if state != PowerState::Unknown {
                gathered.unanswered.remove(&level);
            }
            add(gathered, PowerReading { at, level, asks_machine, state });
        });
        self.cache.with(|snapshot| {
            // What was asked before a person's retry is no answer to it.
            if state == PowerState::On && !was_given_up {
                take_back(snapshot, name, level);
            }
            observe_run(snapshot, name, level, state, answered);
        });
        state
    }

    /// The level asks the machine itself, or that is not known.
    pub(super) fn asks_machine(&self, name: &str, level: Level) -> bool {
        self.cache.with(|snapshot| {
            let plan = snapshot.gathered.get(name).and_then(|gathered| gathered.methods.as_ref()?.as_ref().ok());
            plan.and_then(|plan| plan.level(level)).is_none_or(|level| level.asks_machine)
        })
    }

    fn level_in_use(&self, name: &str) -> Option<Level> {
        let now = self.clock.moment();
        self.cache.with(|snapshot| {
            let status = snapshot.fences.get(name).map(|fence| &fence.status);
            levels::scope(status, snapshot.gathered.get(name), now).map(|scope| scope.level)
        })
    }

    /// By any caller's reading: its BMC reported On at some time since then.
    pub(super) fn was_read_on(&self, name: &str, since: Moment) -> bool {
        self.cache.with(|snapshot| {
            snapshot.gathered.get(name).and_then(|gathered| gathered.last_on_answer).is_some_and(|at| at >= since)
        })
    }

    /// The Node as the watch last had it.
    pub(super) fn seen(&self, name: &str) -> Option<Node> {
        self.cache.with(|snapshot| snapshot.nodes.get(name).cloned())
    }
}

#[cfg(test)]
mod tests;
