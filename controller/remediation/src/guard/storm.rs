//! Storms: many nodes unhealthy at once, or many in a short while, or a judge that does not see its own network. A
//! storm blocks until it has been calm for the cooldown.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{history::names, reason::STORM_COOLDOWN};
use crate::{
    api::fence::Blocker,
    message::MessageArgs,
    policy::{Policy, Storm, duration},
    snapshot::HostView,
    time::Moment,
};

/// What one policy's storms were; where no leader left it to the next, all that is unhealthy has just become so.
#[derive(Debug, Clone, Default)]
pub(crate) struct StormState {
    unhealthy: BTreeSet<String>,
    /// When nodes became unhealthy, the last time for each.
    onsets: BTreeMap<String, Moment>,
    last: Option<Moment>,
    /// What the policy set for storms when it could be read last.
    last_spec: Option<Storm>,
    /// Since when there is no such policy.
    gone: Option<Moment>,
}

/// So long a policy's storms are known after it was deleted: who applies it again has done so by then.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// What the next leader has to know of one policy's storms; ages in whole seconds, rounded down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StormHandover {
    /// Who was unhealthy: of these none has just become so. Nothing if they were too many.
    unhealthy: BTreeSet<String>,
    /// How long ago nodes became unhealthy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    onsets: BTreeMap<String, u64>,
    /// How long ago there was a storm.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
}

impl StormHandover {
    /// So many seconds later.
    pub(crate) fn pass(&mut self, seconds: u64) {
        self.onsets.values_mut().chain(self.last.as_mut()).for_each(|age| *age = age.saturating_add(seconds));
    }
}

impl StormState {
    /// What is to be passed on.
    pub(crate) fn past(&self, now: Moment) -> StormHandover {
        let age = |at: &Moment| now.since(*at).as_secs();
        let onsets = self.onsets.iter().map(|(name, at)| (name.clone(), age(at))).collect();
        let last = self.last.as_ref().map(age);
        match names(&self.unhealthy) {
            Some(unhealthy) => StormHandover { unhealthy, onsets, last },
            None => StormHandover { last, ..StormHandover::default() },
        }
    }

    /// As the leader before left it.
    pub(crate) fn inherited(past: &StormHandover, now: Moment) -> Self {
        let at = |age: u64| Moment(now.0.saturating_sub(Duration::from_secs(age)));
        Self {
            unhealthy: past.unhealthy.clone(),
            onsets: past.onsets.iter().map(|(name, age)| (name.clone(), at(*age))).collect(),
            last: past.last.map(at),
            ..Self::default()
        }
    }

    /// As if it had been observed since each of these became unhealthy. Of storms that no node is unhealthy of any more
    /// nothing is known.
    pub(crate) fn reconstructed(storm: &Storm, unhealthy: &BTreeMap<&str, Moment>, now: Moment) -> Self {
        let mut times: Vec<Moment> = unhealthy.values().copied().collect();
        times.sort_unstable();
        // While as many as make a storm are within the window, it blocks.
        let storms = times.windows(storm.rate.count.max(1) as usize);
        let storms = storms.filter(|storm_of| storm_of[storm_of.len() - 1].since(storm_of[0]) < storm.rate.window);
        let last = storms.map(|storm_of| storm_of[0].plus(storm.rate.window).min(now)).max();
        let onsets: BTreeMap<String, Moment> = unhealthy.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect();
        Self { unhealthy: onsets.keys().cloned().collect(), onsets, last, ..Self::default() }
    }

    /// The same while the policy cannot be asked, so that an error in it ends no storm and no cooldown: by what it set
    /// for storms before, else by the defaults. Which nodes it would be true of is unknown: `unready` are those that
    /// are not Ready.
    pub(crate) fn observe_unasked(&mut self, unready: BTreeSet<&str>, total: usize, host: &HostView, now: Moment) {
        let storm = self.last_spec.clone().unwrap_or_else(|| Policy::default().storm);
        self.observe(&storm, unready, total, host, now);
    }

    /// Whether it is still to be known of a policy that cannot be asked; one that is there and cannot be read may be mended
    /// at any time.
    pub(crate) fn is_remembered(&mut self, is_there: bool, now: Moment) -> bool {
        if is_there {
            self.gone = None;
            return true;
        }
        now.since(*self.gone.get_or_insert(now)) < REMEMBERED
    }

    /// Records which of `total` nodes are not well now; returns what that has against beginning anything.
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
        let mut blockers: Vec<_> = self.many(storm, total).into_iter().chain(self.fast(storm)).collect();
        blockers.extend(blind(storm, host));
        if blockers.is_empty() {
            return self.calming(storm.cooldown, now).into_iter().collect();
        }
        self.last = Some(now);
        blockers
    }

    fn many(&self, storm: &Storm, total: usize) -> Option<Blocker> {
        let most = storm.unhealthy.of(total);
        let count = self.unhealthy.len();
        (count > most)
            .then(|| Blocker::of("Storm/unhealthy", &[("count", &count), ("total", &total), ("limit", &most)]))
    }

    fn fast(&self, storm: &Storm) -> Option<Blocker> {
        let (count, within) = (self.onsets.len(), duration::show(storm.rate.window));
        let most = storm.rate.count;
        (count > 0 && count >= most as usize)
            .then(|| Blocker::of("Storm/rate", &[("count", &count), ("window", &within), ("limit", &most)]))
    }

    fn calming(&self, cooldown: Duration, now: Moment) -> Option<Blocker> {
        let calm = now.since(self.last?);
        (calm < cooldown).then(|| {
            let left = duration::show(Duration::from_secs((cooldown - calm).as_secs().max(1)));
            Blocker::of(STORM_COOLDOWN, &[("left", &left), ("cooldown", &duration::show(cooldown))])
        })
    }
}

/// Whether the judge can trust its own eyes.
fn blind(storm: &Storm, host: &HostView) -> Option<Blocker> {
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
