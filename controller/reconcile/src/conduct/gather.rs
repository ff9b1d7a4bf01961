//! Reads what decisions want to know about single nodes, as often as they want it and no more.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_remedy::{
    decide::Wants,
    facts::Node,
    snapshot::{PowerReading, PowerState},
    time::Moment,
};
use tokio::time::timeout;

use super::{Conductor, Ended, Running};
use crate::{cluster::Cluster, power::Power};

/// Pods and attachments are read again after so long, while somebody wants them.
const PODS: Duration = Duration::from_secs(2);
/// Methods and identity change when people change them.
const METHODS: Duration = Duration::from_secs(30);
/// No BMC is asked more often.
const POWER: Duration = Duration::from_secs(1);
/// A BMC that does not answer within this says nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// Words of a BMC that are kept.
const READINGS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Pods,
    Attachments,
    Methods,
    Power,
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
    /// Asks what is due; what finds no place now is due at the next decision too.
    pub(super) fn ask(&mut self, wants: &BTreeMap<String, Wants>, now: Moment) {
        self.gathering.answered.retain(|(node, _), _| wants.contains_key(node));
        for (node, wants) in wants {
            for (question, age) in questions(wants) {
                let has_place = self.gathering.asked.len() < self.conductor.settings.questions;
                if has_place && self.gathering.is_due(node, question, age, now) {
                    self.ask_one(node.clone(), question);
                }
            }
        }
    }

    fn ask_one(&mut self, node: String, question: Question) {
        self.gathering.asked.insert((node.clone(), question));
        let conductor = self.conductor;
        self.works.push(Box::pin(async move {
            conductor.answer(&node, question).await;
            Ended::Asked { node, question }
        }));
    }
}

fn questions(wants: &Wants) -> impl Iterator<Item = (Question, Duration)> {
    let pods = wants.pods.then_some((Question::Pods, PODS));
    let attachments = wants.attachments.then_some((Question::Attachments, PODS));
    let methods = wants.methods.then_some((Question::Methods, METHODS));
    let power = wants.power.map(|age| (Question::Power, age.max(POWER)));
    [pods, attachments, methods, power].into_iter().flatten()
}

impl<C: Cluster, P: Power> Conductor<'_, C, P> {
    /// What cannot be read is unknown from then on, not what it was before.
    async fn answer(&self, name: &str, question: Question) {
        match question {
            Question::Pods => {
                let at = self.clock.moment();
                let pods = self.cluster.pods_on(name).await.ok();
                self.world.gather(name, |case| case.pods = pods.map(|pods| (at, pods)));
            }
            Question::Attachments => {
                let at = self.clock.moment();
                let attachments = self.cluster.attachments_on(name).await.ok();
                self.world.gather(name, |case| case.attachments = attachments.map(|all| (at, all)));
            }
            Question::Methods => self.ask_methods(name).await,
            Question::Power => self.ask_power(name).await,
        }
    }

    async fn ask_methods(&self, name: &str) {
        let Some(node) = self.seen(name) else { return };
        let plan = timeout(PATIENCE, self.power.plan(&node)).await;
        let plan = plan.unwrap_or_else(|_| Err(format!("nothing was heard of its methods for {PATIENCE:?}")));
        self.world.gather(name, |case| case.methods = Some(plan));
    }

    async fn ask_power(&self, name: &str) {
        let Some(node) = self.seen(name) else { return };
        self.read_power(&node).await;
    }

    /// One word of the BMC, which also becomes known to the next decision. Its age counts from before the question.
    pub(super) async fn read_power(&self, node: &Node) -> PowerState {
        let at = self.clock.moment();
        let state = timeout(PATIENCE, self.power.read(node)).await.unwrap_or(PowerState::Unknown);
        self.world.gather(&node.name, |case| {
            case.power.push(PowerReading { at, state });
            let surplus = case.power.len().saturating_sub(READINGS);
            case.power.drain(..surplus);
        });
        state
    }

    /// The Node as the watch last had it.
    fn seen(&self, name: &str) -> Option<Node> {
        self.world.with(|snapshot| snapshot.nodes.get(name).cloned())
    }
}
