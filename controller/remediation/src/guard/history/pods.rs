//! Pods that went, for the rate of pods. A release counts when it is intended. A drain counts each pod that it evicted,
//! and while it goes on those that its node still has: an eviction may be refused for minutes and then succeed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    facts::Pod,
    policy::Rate,
    snapshot::{Evicted, PodSource, Snapshot},
    time::Moment,
};

#[derive(Debug, Clone, Default)]
pub(crate) struct PodAccount {
    /// Those that went all at once.
    released: BTreeMap<PodSource, Vec<Batch>>,
    /// Those that drains of this process evicted, or may have.
    evicted: Evicted,
    /// Drains under way: how many they may evict yet.
    draining: BTreeMap<PodSource, usize>,
}

#[derive(Debug, Clone)]
struct Batch {
    /// The UID of the record that released them; empty where the leader before moved them.
    record: String,
    at: Moment,
    pods: usize,
    /// Its drain was under way and may have evicted as many.
    is_open: bool,
}

/// Pods of one node that count for one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedPods {
    /// Released, or moved by the leader before.
    pub released: usize,
    pub evicted: usize,
    /// A drain may evict as many yet, or may have under the leader before: no more than the rate lets go.
    pub awaited: usize,
}

/// What the next leader has to know of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moved {
    pub(super) pods: usize,
    /// The last of them; now for as long as a drain goes on.
    pub(super) last: Moment,
    pub(super) is_open: bool,
}

impl CountedPods {
    /// No sum of what an annotation says is too large.
    #[must_use]
    pub fn sum(&self) -> usize {
        self.released.saturating_add(self.evicted).saturating_add(self.awaited)
    }
}

impl PodAccount {
    /// What drains did since the last decision, and which have ended. Where pods cannot be listed there may be as many
    /// as before.
    pub(super) fn settle(&mut self, snapshot: &Snapshot) {
        self.evicted.clone_from(&snapshot.evicted);
        self.draining.retain(|of, _| snapshot.busy.contains(&of.node));
        for (of, awaited) in &mut self.draining {
            let gathered = snapshot.gathered.get(&of.node).and_then(|gathered| gathered.pods.as_ref());
            let Some((_, pods)) = gathered else { continue };
            let evicted = self.evicted.get(of);
            let is_evicted = |pod: &&Pod| evicted.is_some_and(|all| all.contains_key(&pod.at));
            *awaited = pods.iter().filter(|pod| !is_evicted(pod)).count();
        }
    }

    /// It may evict `pods`. Of those that a drain of the leader before may have evicted when that ended, `left` are still
    /// there.
    pub(super) fn begin_drain(&mut self, of: PodSource, pods: usize, left: usize) {
        for batch in self.released.get_mut(&of).into_iter().flatten().filter(|batch| batch.is_open) {
            (batch.pods, batch.is_open) = (batch.pods.saturating_sub(left), false);
        }
        self.draining.insert(of, pods);
    }

    /// A record releases as many, as it intended or tried to before.
    pub(super) fn release(&mut self, of: PodSource, record: &str, pods: usize, window: Duration, now: Moment) {
        let batches = self.released.entry(of).or_default();
        match batches.iter_mut().find(|batch| batch.record == record && now.since(batch.at) < window) {
            Some(batch) => (batch.at, batch.pods) = (now, batch.pods.max(pods)),
            None => batches.push(Batch { record: record.to_owned(), at: now, pods, is_open: false }),
        }
    }

    /// A record shows that as many were released, which the leader before may have handed over.
    pub(super) fn remember_release(&mut self, of: PodSource, record: &str, pods: usize, at: Moment) {
        let batches = self.released.entry(of).or_default();
        let known = batches.iter().filter(|batch| batch.record.is_empty() || batch.record == record);
        let known = known.fold(0_usize, |sum, batch| sum.saturating_add(batch.pods));
        if known < pods {
            batches.push(Batch { record: record.to_owned(), at, pods: pods - known, is_open: false });
        }
    }

    pub(super) fn inherit(&mut self, of: PodSource, moved: Moved) {
        let Moved { pods, last: at, is_open } = moved;
        self.released.entry(of).or_default().push(Batch { record: String::new(), at, pods, is_open });
    }

    /// What went, and then what a drain may move yet, as far as it counts.
    pub(super) fn moved(&self, of: &PodSource, window: Duration, now: Moment) -> [Moved; 2] {
        let (mut went, mut awaited) = (Moved::default(), Moved { is_open: true, ..Moved::default() });
        let released = self.released.get(of).into_iter().flatten();
        let released = released.map(|batch| (batch.is_open, batch.pods, batch.at));
        let evicted = self.evicted.get(of).into_iter().flat_map(BTreeMap::values).map(|at| (false, 1, *at));
        let draining = self.draining.get(of).map(|pods| (true, *pods, now));
        for (is_open, pods, at) in released.chain(evicted).chain(draining).filter(|(.., at)| now.since(*at) < window) {
            let of_kind = if is_open { &mut awaited } else { &mut went };
            of_kind.pods = of_kind.pods.saturating_add(pods);
            of_kind.last = of_kind.last.max(at);
        }
        [went, awaited]
    }

    pub(super) fn counted(&self, of: &PodSource, rate: Rate, now: Moment) -> CountedPods {
        let [went, awaited] = self.moved(of, rate.window, now);
        let evicted = self.evicted.get(of).into_iter().flat_map(BTreeMap::values);
        let evicted = evicted.filter(|at| now.since(**at) < rate.window).count();
        // In portions: no more within a window.
        let room = (rate.count as usize).saturating_sub(went.pods);
        CountedPods { released: went.pods.saturating_sub(evicted), evicted, awaited: awaited.pods.min(room) }
    }

    /// Of all nodes but `except`.
    pub(super) fn elsewhere(&self, policy: &str, rate: Rate, except: &str, now: Moment) -> usize {
        let counted = self.sources(policy).filter(|of| of.node != except).map(|of| self.counted(of, rate, now).sum());
        counted.fold(0, usize::saturating_add)
    }

    pub(super) fn has_moved(&self, of: &PodSource, rate: Rate, now: Moment) -> bool {
        self.draining.contains_key(of) || self.counted(of, rate, now).sum() > 0
    }

    /// Each once.
    fn sources(&self, policy: &str) -> impl Iterator<Item = &PodSource> {
        let evicted = of_policy(&self.evicted, policy).filter(|of| !self.released.contains_key(of));
        let is_new = |of: &&PodSource| !self.released.contains_key(of) && !self.evicted.contains_key(of);
        of_policy(&self.released, policy).chain(evicted).chain(of_policy(&self.draining, policy).filter(is_new))
    }

    pub(super) fn all_sources(&self) -> BTreeSet<&PodSource> {
        self.released.keys().chain(self.evicted.keys()).chain(self.draining.keys()).collect()
    }

    pub(super) fn forget(&mut self, is_outdated: impl Fn(&str, Moment) -> bool) {
        self.released.retain(|of, batches| {
            batches.retain(|batch| !is_outdated(&of.policy, batch.at));
            !batches.is_empty()
        });
    }
}

fn of_policy<'a, T>(map: &'a BTreeMap<PodSource, T>, policy: &str) -> impl Iterator<Item = &'a PodSource> {
    let from = PodSource { policy: policy.to_owned(), node: String::new() };
    let policy = policy.to_owned();
    map.range(from..).map(|(of, _)| of).take_while(move |of| of.policy == policy)
}
