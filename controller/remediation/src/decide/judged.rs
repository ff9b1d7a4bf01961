//! The answers of predicates for nodes, and since when; asked again only when the answer may be another.

use std::collections::BTreeMap;

use super::{AGE_RESOLUTION, events_only};
use crate::{
    api::policy::Selector,
    facts::Node,
    policy::{Policy, selector},
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// One policy's answers.
#[derive(Debug, Clone, Default)]
pub(super) struct PredicateCache {
    /// The question: an edited one is asked again.
    source: String,
    selector: Selector,
    answers: BTreeMap<String, PredicateResult>,
}

#[derive(Debug, Clone)]
pub(super) struct PredicateResult {
    uid: String,
    resource_version: String,
    asked: Moment,
    pub(super) result: Result<bool, String>,
    /// It is true, and by Events alone.
    pub(super) by_events_alone: bool,
    /// Since when both without a break; an error is a break.
    pub(super) since: Moment,
}

impl PredicateCache {
    pub(super) fn of(&self, node: &str) -> Option<&PredicateResult> {
        self.answers.get(node)
    }

    /// Those that are true, or cannot be judged: in a calm cluster few.
    pub(super) fn true_or_failed(&self) -> impl Iterator<Item = (&str, &PredicateResult)> {
        self.answers
            .iter()
            .filter(|(_, answer)| answer.result != Ok(false))
            .map(|(name, answer)| (name.as_str(), answer))
    }

    /// Those that it is true of by more than Events, and since when.
    pub(super) fn since(&self) -> impl Iterator<Item = (&str, Moment)> {
        let held = self.answers.iter().filter(|(_, answer)| answer.is_true_beyond_events());
        held.map(|(name, answer)| (name.as_str(), answer.since))
    }

    /// The same without times. A client that writes Events makes no storm.
    pub(super) fn true_of(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().filter(|(_, answer)| answer.is_true_beyond_events()).map(|(name, _)| name.as_str())
    }
}

/// Answers of now with times of before: `since` gives them for a node that it is true of.
pub(super) fn reconstructed(
    policy: &Policy,
    snapshot: &Snapshot,
    now: Now,
    since: impl Fn(&Node) -> Moment,
) -> PredicateCache {
    let (source, selector) = (policy.when.source().to_owned(), policy.selector.clone());
    let mut answers = ask(policy, BTreeMap::new(), snapshot, now);
    for (name, answer) in answers.iter_mut().filter(|(_, answer)| answer.result == Ok(true)) {
        answer.since = snapshot.nodes.get(name).map_or(now.moment, &since);
    }
    PredicateCache { source, selector, answers }
}

pub(super) fn judge_all(memory: &mut BTreeMap<String, PredicateCache>, snapshot: &Snapshot, now: Now) {
    memory.retain(|name, _| snapshot.policies.iter().any(|policy| policy.name == *name));
    for policy in &snapshot.policies {
        let judged = memory.entry(policy.name.clone()).or_default();
        if judged.source != policy.when.source() || judged.selector != policy.selector {
            let (source, selector) = (policy.when.source().to_owned(), policy.selector.clone());
            *judged = PredicateCache { source, selector, answers: BTreeMap::new() };
        }
        let known = std::mem::take(&mut judged.answers);
        judged.answers = ask(policy, known, snapshot, now);
    }
}

/// Both maps are in the order of names, so that they are walked side by side: 5,000 nodes are not looked up each.
fn ask(
    policy: &Policy,
    known: BTreeMap<String, PredicateResult>,
    snapshot: &Snapshot,
    now: Now,
) -> BTreeMap<String, PredicateResult> {
    let mut known = known.into_iter().peekable();
    let mut answers = Vec::with_capacity(snapshot.nodes.len());
    for (name, node) in &snapshot.nodes {
        while known.next_if(|(before, _)| before < name).is_some() {}
        let before = known.next_if(|(same, _)| same == name).filter(|(_, answer)| answer.uid == node.uid);
        answers.extend(ask_one(policy, before, node, snapshot, now));
    }
    answers.into_iter().collect()
}

/// A node that the policy does not select, or does not any more, does not need it. That is only of interest while a record
/// of the policy is open.
fn ask_one(
    policy: &Policy,
    before: Option<(String, PredicateResult)>,
    node: &Node,
    snapshot: &Snapshot,
    now: Now,
) -> Option<(String, PredicateResult)> {
    let is_selected = selector::matches(&policy.selector, &node.labels);
    if !is_selected && snapshot.fences.get(&node.name).is_none_or(|fence| fence.spec.policy != policy.name) {
        return None;
    }
    let judge = || match is_selected {
        true => Evaluation::of(policy, node, snapshot, now),
        false => Evaluation { result: Ok(false), by_events_alone: false },
    };
    match before {
        Some((name, answer)) if is_selected && !answer.is_stale(policy, node, now.moment) => Some((name, answer)),
        Some((name, mut answer)) => {
            answer.update(judge(), node, now.moment);
            Some((name, answer))
        }
        None => Some((node.name.clone(), PredicateResult::first(judge(), node, now.moment))),
    }
}

/// The answer of a predicate, and whether Events alone give it.
struct Evaluation {
    result: Result<bool, String>,
    by_events_alone: bool,
}

impl Evaluation {
    fn of(policy: &Policy, node: &Node, snapshot: &Snapshot, now: Now) -> Self {
        let result = policy.when.judge(node, snapshot, now);
        let by_events_alone = result == Ok(true) && events_only::by_events_alone(policy, node, snapshot, now);
        Self { result, by_events_alone }
    }
}

impl PredicateResult {
    fn first(evaluation: Evaluation, node: &Node, now: Moment) -> Self {
        let (uid, resource_version) = (node.uid.clone(), node.resource_version.clone());
        let Evaluation { result, by_events_alone } = evaluation;
        Self { uid, resource_version, asked: now, result, by_events_alone, since: now }
    }

    /// True, and by more than Events.
    pub(super) fn is_true_beyond_events(&self) -> bool {
        self.result == Ok(true) && !self.by_events_alone
    }

    fn is_stale(&self, policy: &Policy, node: &Node, now: Moment) -> bool {
        self.resource_version != node.resource_version
            || policy.when.is_volatile() && now.since(self.asked) >= AGE_RESOLUTION
    }

    fn update(&mut self, evaluation: Evaluation, node: &Node, now: Moment) {
        let Evaluation { result, by_events_alone } = evaluation;
        if self.result.as_ref().ok() != result.as_ref().ok() || self.by_events_alone != by_events_alone {
            self.since = now;
        }
        self.by_events_alone = by_events_alone;
        if self.resource_version != node.resource_version {
            self.resource_version.clone_from(&node.resource_version);
        }
        self.result = result;
        self.asked = now;
    }
}
