//! What a drain remembers of each pod: calls under way, answers, when to try again.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    facts::{DisruptionBudget, PodRef},
    time::Moment,
};

/// Tries at one pod are never further apart.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Pods are listed no more often.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// A pod whose eviction was accepted has a deletion timestamp by then, or the eviction did nothing.
const UNTIL_DELETING: Duration = Duration::from_secs(10);

/// How much at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Evictions and deletions without an answer yet.
    pub in_flight: usize,
    /// Pods in a window; nothing for no limit.
    pub rate: Option<(usize, Duration)>,
}

impl Default for Limits {
    /// 20 in flight: a node has 110 pods, and other nodes are drained too.
    fn default() -> Self {
        Self { in_flight: 20, rate: None }
    }
}

/// What came of an eviction or a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvictionResult {
    Accepted,
    /// There is no such pod any more, or another one of its name.
    Gone,
    /// 429: a budget refuses for now. `retry` is `Retry-After`.
    EvictionRefused {
        message: String,
        retry: Option<Duration>,
    },
    /// 403 with NamespaceTerminating: its namespace is being deleted and takes the pod with it.
    NamespaceTerminating,
    /// 500: several budgets select the pod, which eviction does not support.
    SeveralBudgets {
        message: String,
    },
    /// A refusal that trying again does not change.
    Refused {
        message: String,
    },
    /// No answer, or the server's own error.
    Failed {
        message: String,
    },
}

#[derive(Debug, Clone, Default)]
pub struct DrainState {
    pub(super) limits: Limits,
    pub(super) pods: BTreeMap<PodRef, Tries>,
    /// Some pods were found to have to go, and none stood in the way.
    pub(super) begun: bool,
    /// When each pod was evicted or deleted that went, or may have, for the rate.
    pub(super) evicted: BTreeMap<PodRef, Moment>,
    /// Pods that count for the same rate beside them.
    pub(super) others: usize,
    /// The rate, if it let no more go when pods were listed last.
    pub(super) held_by: Option<(usize, Duration)>,
}

/// One pod's story.
#[derive(Debug, Clone, Default)]
pub(super) struct Tries {
    pub(super) in_flight: bool,
    /// When an earlier call moved it, or may have, as was known at the newest call.
    evicted_before: Option<Moment>,
    /// It was forced already; again only when its pause is over.
    pub(super) forced: bool,
    pub(super) pause: Duration,
    /// Not tried again before.
    pub(super) next: Option<Moment>,
    /// Not tried again at all, but by force.
    pub(super) refused: bool,
    /// Why it is still there.
    pub(super) why: Option<String>,
    /// The budgets that select it, once they were asked for.
    pub(super) budgets: Option<Vec<DisruptionBudget>>,
    pub(super) refused_by_budget: bool,
}

impl DrainState {
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// A drain that goes on: what was evicted for it before counts for the rate as well.
    #[must_use]
    pub fn after(limits: Limits, evicted: BTreeMap<PodRef, Moment>) -> Self {
        Self { evicted, ..Self::new(limits) }
    }

    /// As it is now. `others` are pods that count beside those that this drain evicted.
    pub fn limit(&mut self, rate: Option<(usize, Duration)>, others: usize) {
        (self.limits.rate, self.others) = (rate, others);
    }

    /// When each pod was evicted or deleted that went, or may have.
    #[must_use]
    pub fn evicted(&self) -> &BTreeMap<PodRef, Moment> {
        &self.evicted
    }

    /// A call for this pod is made now.
    pub fn called(&mut self, pod: &PodRef, forced: bool, now: Moment) {
        let before = self.evicted.insert(pod.clone(), now);
        let tries = self.pods.entry(pod.clone()).or_default();
        (tries.in_flight, tries.evicted_before) = (true, before);
        tries.forced |= forced;
    }

    pub fn answered(&mut self, pod: &PodRef, answer: EvictionResult, retry: Duration, now: Moment) {
        let tries = self.pods.entry(pod.clone()).or_default();
        tries.in_flight = false;
        tries.refused_by_budget =
            matches!(answer, EvictionResult::EvictionRefused { .. } | EvictionResult::SeveralBudgets { .. });
        let moved_nothing = answer.moved_nothing();
        match answer {
            EvictionResult::Accepted | EvictionResult::Gone => {
                tries.wait(UNTIL_DELETING, "its eviction was accepted", now)
            }
            EvictionResult::EvictionRefused { message, retry: asked } => {
                tries.back_off(retry.max(asked.unwrap_or_default()), &message, now);
            }
            EvictionResult::NamespaceTerminating => tries.back_off(retry, "its namespace is being deleted", now),
            EvictionResult::SeveralBudgets { message } => {
                let why = format!("several PodDisruptionBudgets select it, which eviction cannot serve: {message}");
                tries.back_off(LONGEST_PAUSE.min(retry * 6), &why, now);
            }
            EvictionResult::Failed { message } => tries.back_off(retry, &message, now),
            EvictionResult::Refused { message } => {
                tries.refused = true;
                tries.back_off(retry, &message, now);
            }
        }
        // What an earlier call moved goes nevertheless.
        let before = tries.evicted_before;
        if moved_nothing {
            match before {
                Some(at) => self.evicted.insert(pod.clone(), at),
                None => self.evicted.remove(pod),
            };
        }
    }

    /// Its budgets are being asked for; no other call needs to.
    pub fn asked(&mut self, pod: &PodRef) {
        self.pods.entry(pod.clone()).or_default().budgets.get_or_insert_default();
    }

    /// The budgets that select a pod whose eviction one of them refuses.
    pub fn budgets(&mut self, pod: &PodRef, budgets: Vec<DisruptionBudget>) {
        self.pods.entry(pod.clone()).or_default().budgets = Some(budgets);
    }

    pub(super) fn tries(&self, pod: &PodRef) -> Option<&Tries> {
        self.pods.get(pod)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.pods.values().filter(|tries| tries.in_flight).count()
    }
}

impl EvictionResult {
    /// For certain. A call without an answer may have moved its pod, and one that is gone may be gone by an earlier
    /// call.
    fn moved_nothing(&self) -> bool {
        match self {
            Self::EvictionRefused { .. } | Self::NamespaceTerminating | Self::SeveralBudgets { .. } => true,
            Self::Refused { .. } => true,
            Self::Accepted | Self::Gone | Self::Failed { .. } => false,
        }
    }
}

impl Tries {
    fn wait(&mut self, span: Duration, why: &str, now: Moment) {
        self.next = Some(now.plus(span));
        self.why = Some(why.to_owned());
    }

    /// Each pause is twice the one before, and never shorter than `least`, which is another one after each answer: what is
    /// doubled is no count of failures.
    fn back_off(&mut self, least: Duration, why: &str, now: Moment) {
        self.pause = (self.pause * 2).min(LONGEST_PAUSE).max(least).max(SHORTEST_PAUSE);
        self.wait(self.pause, why, now);
    }
}
