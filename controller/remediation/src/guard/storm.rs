//! Storms (a word of medik8s NodeHealthCheck): many nodes are unhealthy at once, or many became so in a short while. Like a
//! controller that cannot reach its own network, a storm blocks until there was none for the cooldown.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{history::names_if_few, reason::STORM_COOLDOWN};
use crate::{
    api::fence::Blocker,
    message::MessageArgs,
    policy::{Policy, Storm, duration},
    snapshot::HostView,
    time::Moment,
};

/// What is known of one policy's storms. Without a handover from the previous leader all unhealthy nodes count as having
/// just become so.
#[derive(Debug, Clone, Default)]
pub(crate) struct StormState {
    unhealthy: BTreeSet<String>,
    /// When each node became unhealthy the last time.
    onsets: BTreeMap<String, Moment>,
    last_storm: Option<Moment>,
    /// Of this host alone: another leader's reaches what it reaches.
    last_isolated: Option<Moment>,
    /// What the policy set for storms when it could be read last.
    last_spec: Option<Storm>,
    /// Since when there is no such policy.
    gone: Option<Moment>,
}

/// How long a policy's storms are remembered after it was deleted: a person who replaces it has applied it again by then.
const REMEMBERED_AFTER_DELETION: Duration = Duration::from_secs(24 * 3600);

/// What the next leader has to know of one policy's storms; ages in whole seconds, rounded down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StormHandover {
    /// Nodes that were unhealthy: none of these has just become so. Empty if they were too many.
    unhealthy: BTreeSet<String>,
    /// How long ago nodes became unhealthy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    onsets: BTreeMap<String, u64>,
    /// How long ago there was a storm.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
}

impl StormHandover {
    /// The same, so many seconds later.
    pub(crate) fn age_by(&mut self, seconds: u64) {
        self.onsets.values_mut().chain(self.last.as_mut()).for_each(|age| *age = age.saturating_add(seconds));
    }
}

impl StormState {
    /// What the next leader has to know.
    pub(crate) fn handover(&self, now: Moment) -> StormHandover {
        let age = |at: &Moment| now.since(*at).as_secs();
        let onsets = self.onsets.iter().map(|(name, at)| (name.clone(), age(at))).collect();
        let last = self.last_storm.as_ref().map(age);
        match names_if_few(&self.unhealthy) {
            Some(unhealthy) => StormHandover { unhealthy, onsets, last },
            None => StormHandover { last, ..StormHandover::default() },
        }
    }

    /// What the previous leader handed over.
    pub(crate) fn inherited(handover: &StormHandover, now: Moment) -> Self {
        let at = |age: u64| Moment(now.0.saturating_sub(Duration::from_secs(age)));
        Self {
            unhealthy: handover.unhealthy.clone(),
            onsets: handover.onsets.iter().map(|(name, age)| (name.clone(), at(*age))).collect(),
            last_storm: handover.last.map(at),
            ..Self::default()
        }
    }

    /// As if it had been observed since each of these nodes became unhealthy. Storms whose nodes are all healthy again are
    /// not known.
    pub(crate) fn reconstructed(storm: &Storm, unhealthy: &BTreeMap<&str, Moment>, now: Moment) -> Self {
        let mut times: Vec<Moment> = unhealthy.values().copied().collect();
        times.sort_unstable();
        // While as many as make a storm are within the window, it blocks.
        let storms = times.windows(storm.rate.count.max(1) as usize);
        let storms = storms.filter(|storm_of| storm_of[storm_of.len() - 1].since(storm_of[0]) < storm.rate.window);
        let last_storm = storms.map(|storm_of| storm_of[0].plus(storm.rate.window).min(now)).max();
        let onsets: BTreeMap<String, Moment> = unhealthy.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect();
        Self { unhealthy: onsets.keys().cloned().collect(), onsets, last_storm, ..Self::default() }
    }

    /// As [`Self::observe`], while the policy is deleted or cannot be read, so that neither ends a storm or a cooldown. It
    /// goes by the storm settings that the policy had, else by the defaults. Which nodes its predicate would be true of is
    /// unknown: `unready` are the nodes that are not Ready.
    pub(crate) fn observe_without_policy(
        &mut self,
        unready: BTreeSet<&str>,
        total: usize,
        host: &HostView,
        now: Moment,
    ) {
        let storm = self.last_spec.clone().unwrap_or_else(|| Policy::default().storm);
        self.observe(&storm, unready, total, host, now);
    }

    /// Whether the storms of a policy that is deleted or cannot be read still count. One that `is_there` and cannot be read
    /// may be mended at any time.
    pub(crate) fn is_remembered(&mut self, is_there: bool, now: Moment) -> bool {
        if is_there {
            self.gone = None;
            return true;
        }
        now.since(*self.gone.get_or_insert(now)) < REMEMBERED_AFTER_DELETION
    }

    /// Records which of `total` nodes are unhealthy now; returns what forbids to begin anything.
    pub(crate) fn observe(
        &mut self,
        storm: &Storm,
        unhealthy: BTreeSet<&str>,
        total: usize,
        host: &HostView,
        now: Moment,
    ) -> Vec<Blocker> {
        if self.last_spec.as_ref() != Some(storm) {
            self.last_spec = Some(storm.clone());
        }
        for name in unhealthy.iter().filter(|name| !self.unhealthy.contains(**name)) {
            self.onsets.insert((*name).to_owned(), now);
        }
        self.unhealthy.retain(|name| unhealthy.contains(name.as_str()));
        self.unhealthy.extend(self.onsets.keys().filter(|name| unhealthy.contains(name.as_str())).cloned());
        self.onsets.retain(|_, at| now.since(*at) < storm.rate.window);
        let storms: Vec<_> = self.too_many(storm, total).into_iter().chain(self.too_fast(storm)).collect();
        let isolated = controller_isolated(storm, host);
        if !storms.is_empty() {
            self.last_storm = Some(now);
        }
        if isolated.is_some() {
            self.last_isolated = Some(now);
        }
        let blockers: Vec<_> = storms.into_iter().chain(isolated).collect();
        if blockers.is_empty() { self.cooling_down(storm.cooldown, now).into_iter().collect() } else { blockers }
    }

    fn too_many(&self, storm: &Storm, total: usize) -> Option<Blocker> {
        let most = storm.unhealthy.of(total);
        let count = self.unhealthy.len();
        (count > most)
            .then(|| Blocker::of("Storm/unhealthy", &[("count", &count), ("total", &total), ("limit", &most)]))
    }

    fn too_fast(&self, storm: &Storm) -> Option<Blocker> {
        let (count, within) = (self.onsets.len(), duration::show(storm.rate.window));
        let most = storm.rate.count;
        (count > 0 && count >= most as usize)
            .then(|| Blocker::of("Storm/rate", &[("count", &count), ("window", &within), ("limit", &most)]))
    }

    fn cooling_down(&self, cooldown: Duration, now: Moment) -> Option<Blocker> {
        let calm = now.since(self.last_storm.max(self.last_isolated)?);
        (calm < cooldown).then(|| {
            let left = duration::show(Duration::from_secs((cooldown - calm).as_secs().max(1)));
            Blocker::of(STORM_COOLDOWN, &[("left", &left), ("cooldown", &duration::show(cooldown))])
        })
    }
}

/// The host of this controller reaches too little of its network: nodes may only look unhealthy from there.
fn controller_isolated(storm: &Storm, host: &HostView) -> Option<Blocker> {
    if !host.unreachable.is_empty() {
        return Some(Blocker::of("ControllerIsolated/probes", &[("hosts", &host.unreachable.join(", "))]));
    }
    let (reached, tried) = host.reachable_nodes?;
    let least = storm.reachable.of(tried);
    (reached < least).then(|| {
        let args: MessageArgs<'_> = &[("reached", &reached), ("tried", &tried), ("least", &least)];
        Blocker::of("ControllerIsolated/nodes", args)
    })
}
