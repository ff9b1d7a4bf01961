//! Pods that went, for the rate of pods. A release counts from when it is intended until it has come to its end, and
//! for a window from then on. A drain counts each pod that it evicted, and while it goes on those that it may evict
//! yet: an eviction may be refused for minutes and then succeed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    drain::{DrainRules, PodDeleteStatus, classify, ends_with_power},
    facts::Pod,
    policy::Rate,
    snapshot::{Evicted, PodSource, Snapshot},
    time::{Moment, Now},
};

#[derive(Debug, Clone, Default)]
pub(crate) struct PodAccount {
    /// Those that went all at once.
    released: BTreeMap<PodSource, Vec<Batch>>,
    /// Those that drains of this process evicted, or may have.
    evicted: Evicted,
    draining: BTreeMap<PodSource, Drain>,
    /// What all nodes of a policy have in this pass: thousands of them ask for it.
    totals: BTreeMap<String, Total>,
}

/// Pods of one node that went, or may have, until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    /// The UID of the record that released them; empty where a drain moved them under the leader before.
    pub(super) record: String,
    /// How many the record had released before: which of its releases it is.
    pub(super) earlier: u32,
    pub(super) last: Moment,
    pub(super) pods: usize,
    /// Its drain was under way and may have evicted as many.
    pub(super) is_open: bool,
}

/// A drain under way.
#[derive(Debug, Clone)]
struct Drain {
    rules: DrainRules,
    begun: Moment,
    /// How many it may evict yet.
    awaited: usize,
}

#[derive(Debug, Clone)]
struct Total {
    rate: Rate,
    now: Moment,
    pods: usize,
}

/// Pods of one node that count for one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedPods {
    /// Released, or moved by the leader before.
    pub released: usize,
    pub evicted: usize,
    /// A drain may evict as many yet, or may have under the leader before: no more than the rate lets go.
    pub awaited: usize,
    /// When the drain of this leader was begun, if one is under way.
    pub draining_since: Option<Moment>,
}

impl CountedPods {
    /// No sum of what an annotation says is too large.
    #[must_use]
    pub fn sum(&self) -> usize {
        self.moved().saturating_add(self.awaited)
    }

    /// Without those that are awaited.
    #[must_use]
    pub fn moved(&self) -> usize {
        self.released.saturating_add(self.evicted)
    }
}

impl Batch {
    /// Another try of the same release.
    fn is_same(&self, other: &Self) -> bool {
        self.record == other.record && self.earlier == other.earlier
    }
}

impl Drain {
    /// Those that it may evict. What is being deleted goes without it, but on a dead node only by force.
    fn count(&self, pods: &[Pod], evicted: &Evicted, of: &PodSource, now: Now) -> usize {
        let pods = self.not_evicted(pods, evicted, of, now);
        pods.filter(|pod| pod.deleting.is_none() || self.rules.force_on_timeout).count()
    }

    /// Those that are there as before any drain.
    fn untouched(&self, pods: &[Pod], evicted: &Evicted, of: &PodSource, now: Now) -> usize {
        self.not_evicted(pods, evicted, of, now).filter(|pod| pod.deleting.is_none()).count()
    }

    fn not_evicted<'a>(
        &self,
        pods: &'a [Pod],
        evicted: &Evicted,
        of: &PodSource,
        now: Now,
    ) -> impl Iterator<Item = &'a Pod> {
        let evicted = evicted.get(of);
        let is_evicted = move |pod: &Pod| evicted.is_some_and(|all| all.contains_key(&pod.at));
        let stays = move |pod: &Pod| matches!(classify(pod, &self.rules, now.wall), PodDeleteStatus::Stays(_));
        pods.iter().filter(move |pod| !stays(pod) && !is_evicted(pod))
    }
}

impl PodAccount {
    /// What drains did since the last decision, and which have ended. Where pods cannot be listed there may be as many
    /// as before.
    pub(super) fn settle(&mut self, snapshot: &Snapshot, now: Now) {
        self.evicted.clone_from(&snapshot.evicted);
        self.draining.retain(|of, _| snapshot.busy.contains(&of.node));
        for (of, drain) in &mut self.draining {
            if let Some((_, pods)) = snapshot.gathered.get(&of.node).and_then(|gathered| gathered.pods.as_ref()) {
                drain.awaited = drain.count(pods, &self.evicted, of, now);
            }
        }
    }

    /// Once in a pass, for the guards of each node.
    pub(super) fn add_up<'a>(&mut self, rates: impl Iterator<Item = (&'a str, Rate)>, now: Moment) {
        let total = |(policy, rate)| {
            let pods = self.sum(policy, rate, now, |_| true);
            (policy.to_owned(), Total { rate, now, pods })
        };
        self.totals = rates.map(total).collect();
    }

    /// Where its pods cannot be listed it may evict `unlisted`. Those that it may evict did not go under the leader
    /// before.
    pub(super) fn begin_drain(
        &mut self,
        of: &PodSource,
        rules: &DrainRules,
        listed: Option<&[Pod]>,
        unlisted: usize,
        now: Now,
    ) {
        let mut drain = Drain { rules: rules.clone(), begun: now.moment, awaited: unlisted };
        let left = listed.map_or(0, |pods| drain.untouched(pods, &self.evicted, of, now));
        drain.awaited = listed.map_or(unlisted, |pods| drain.count(pods, &self.evicted, of, now));
        self.change(of, |account| {
            account.close(of, left);
            account.draining.insert(of.clone(), drain);
        });
    }

    /// A record releases the pods of its node, as it intended or tried to before. Those that a drain evicted are counted
    /// already, for as long as they are ending.
    pub(super) fn release(&mut self, of: &PodSource, release: Batch, listed: Option<&[Pod]>, window: Duration) {
        let now = release.last;
        let pods = listed.map_or(release.pods, |pods| pods.len() - self.ending(of, pods, window, now));
        let may_be_evicted = |pod: &&Pod| pod.deleting.is_none() && ends_with_power(pod);
        let left = listed.map_or(0, |pods| pods.iter().filter(may_be_evicted).count());
        self.change(of, |account| {
            account.close(of, left);
            let batches = account.released.entry(of.clone()).or_default();
            let is_it = |batch: &&mut Batch| batch.is_same(&release) && now.since(batch.last) < window;
            match batches.iter_mut().find(is_it) {
                Some(known) => (known.last, known.pods) = (now, known.pods.max(pods)),
                None => batches.push(Batch { pods, ..release }),
            }
        });
    }

    /// How many of these a drain evicted, of this leader or of the one before.
    fn ending(&self, of: &PodSource, pods: &[Pod], window: Duration, now: Moment) -> usize {
        let evicted = self.evicted.get(of);
        let is_evicted = |pod: &&Pod| {
            let at = evicted.and_then(|evicted| evicted.get(&pod.at));
            at.is_some_and(|at| now.since(*at) < window)
        };
        let (own, others): (Vec<&Pod>, Vec<&Pod>) = pods.iter().partition(is_evicted);
        let inherited = self.released.get(of).into_iter().flatten();
        let inherited = inherited.filter(|batch| batch.record.is_empty() && now.since(batch.last) < window);
        let inherited = inherited.fold(0, |sum: usize, batch| sum.saturating_add(batch.pods));
        own.len() + others.iter().filter(|pod| pod.deleting.is_some()).count().min(inherited)
    }

    /// A record intends this release, or is about to carry it out.
    pub(super) fn remember_intent(&mut self, of: &PodSource, release: Batch) {
        let batches = self.released.entry(of.clone()).or_default();
        match batches.iter_mut().find(|batch| batch.is_same(&release)) {
            Some(known) => known.last = release.last,
            None => batches.push(release),
        }
    }

    /// A record shows that so many were released in its life, the last of them unseen.
    pub(super) fn remember_released(&mut self, of: &PodSource, record: &str, released: u32, last: Moment) {
        let batches = self.released.entry(of.clone()).or_default();
        let known = batches.iter().filter(|batch| batch.record == record);
        let known = known.map(|batch| batch.earlier.saturating_add(u32::try_from(batch.pods).unwrap_or(u32::MAX)));
        let earlier = known.max().unwrap_or(0);
        if earlier < released {
            let pods = (released - earlier) as usize;
            batches.push(Batch { record: record.to_owned(), earlier, last, pods, is_open: false });
        }
    }

    pub(super) fn inherit(&mut self, of: PodSource, batch: Batch) {
        self.released.entry(of).or_default().push(batch);
    }

    /// Of those that a drain of the leader before may have evicted when that ended, so many are still there.
    fn close(&mut self, of: &PodSource, left: usize) {
        for batch in self.released.get_mut(of).into_iter().flatten().filter(|batch| batch.is_open) {
            (batch.pods, batch.is_open) = (batch.pods.saturating_sub(left), false);
        }
    }

    fn change(&mut self, of: &PodSource, change: impl FnOnce(&mut Self)) {
        let counted = |account: &Self| {
            let total = account.totals.get(&of.policy)?;
            Some(account.counted(of, total.rate, total.now).sum())
        };
        let before = counted(self);
        change(self);
        let after = counted(self);
        let total = self.totals.get_mut(&of.policy).map(|total| &mut total.pods).filter(|pods| **pods < usize::MAX);
        if let (Some(total), Some(before), Some(after)) = (total, before, after) {
            *total = total.saturating_sub(before).saturating_add(after);
        }
    }

    /// What the next leader has to know of one node.
    pub(super) fn to_hand_over(&self, of: &PodSource, window: Duration, now: Moment) -> Vec<Batch> {
        let moved = |pods, last, is_open| Batch { record: String::new(), earlier: 0, last, pods, is_open };
        let released = self.released.get(of).into_iter().flatten().cloned();
        let evicted: Vec<Moment> = self.evicted_within(of, window, now).collect();
        let evicted = evicted.iter().max().map(|last| moved(evicted.len(), *last, false));
        let draining = self.draining.get(of).map(|drain| moved(drain.awaited, now, true));
        let all = released.chain(evicted).chain(draining);
        all.filter(|batch| batch.pods > 0 && now.since(batch.last) < window).collect()
    }

    pub(super) fn counted(&self, of: &PodSource, rate: Rate, now: Moment) -> CountedPods {
        let drain = self.draining.get(of);
        let (mut released, mut awaited) = (0_usize, drain.map_or(0, |drain| drain.awaited));
        let batches = self.released.get(of).into_iter().flatten();
        for batch in batches.filter(|batch| now.since(batch.last) < rate.window) {
            let kind = if batch.is_open { &mut awaited } else { &mut released };
            *kind = kind.saturating_add(batch.pods);
        }
        let evicted = self.evicted_within(of, rate.window, now).count();
        // In portions: no more within a window.
        let room = (rate.count as usize).saturating_sub(released.saturating_add(evicted));
        CountedPods { released, evicted, awaited: awaited.min(room), draining_since: drain.map(|drain| drain.begun) }
    }

    fn evicted_within(&self, of: &PodSource, window: Duration, now: Moment) -> impl Iterator<Item = Moment> {
        let evicted = self.evicted.get(of).into_iter().flat_map(BTreeMap::values).copied();
        evicted.filter(move |at| now.since(*at) < window)
    }

    /// Of all nodes but `except`.
    pub(super) fn elsewhere(&self, policy: &str, rate: Rate, except: &str, now: Moment) -> usize {
        let is_of_pass = |total: &&Total| total.rate == rate && total.now == now && total.pods < usize::MAX;
        match self.totals.get(policy).filter(is_of_pass) {
            Some(total) => {
                let own = PodSource { policy: policy.to_owned(), node: except.to_owned() };
                total.pods.saturating_sub(self.counted(&own, rate, now).sum())
            }
            None => self.sum(policy, rate, now, |of| of.node != except),
        }
    }

    fn sum(&self, policy: &str, rate: Rate, now: Moment, counts: impl Fn(&PodSource) -> bool) -> usize {
        let counted = self.sources(policy).filter(|of| counts(of)).map(|of| self.counted(of, rate, now).sum());
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
            batches.retain(|batch| !is_outdated(&of.policy, batch.last));
            !batches.is_empty()
        });
    }
}

fn of_policy<'a, T>(map: &'a BTreeMap<PodSource, T>, policy: &str) -> impl Iterator<Item = &'a PodSource> {
    let from = PodSource { policy: policy.to_owned(), node: String::new() };
    let policy = policy.to_owned();
    map.range(from..).map(|(of, _)| of).take_while(move |of| of.policy == policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a handover that was lost, say: beside it the others are counted one by one, also after one of them has changed.
    #[test]
    fn what_is_past_counting_hides_no_others() {
        let of = |node: &str| PodSource { policy: "dead".to_owned(), node: node.to_owned() };
        let at = |secs| Moment(Duration::from_secs(secs));
        let batch = |pods, is_open| Batch { record: String::new(), earlier: 0, last: at(10), pods, is_open };
        let rate = Rate { count: 10, window: Duration::from_secs(60) };
        let mut account = PodAccount::default();
        account.inherit(of("n1"), batch(usize::MAX, false));
        account.inherit(of("n2"), batch(5, true));
        account.add_up([("dead", rate)].into_iter(), at(20));
        assert_eq!(account.elsewhere("dead", rate, "n1", at(20)), 5);
        account.change(&of("n2"), |account| account.close(&of("n2"), 2));
        assert_eq!(account.elsewhere("dead", rate, "n1", at(20)), 3);
        assert_eq!(account.elsewhere("dead", rate, "n2", at(20)), usize::MAX);
    }

    /// What the record released before is known: the release that it intends next is one of its own, and counts.
    #[test]
    fn what_was_released_before_hides_no_release_that_is_intended() {
        let of = PodSource { policy: "dead".to_owned(), node: "n1".to_owned() };
        let at = |secs| Moment(Duration::from_secs(secs));
        let batch = |earlier, pods| Batch { record: "uid".to_owned(), earlier, last: at(10), pods, is_open: false };
        let rate = Rate { count: 10, window: Duration::from_secs(60) };
        let released = |account: &PodAccount| account.counted(&of, rate, at(20)).released;
        let mut account = PodAccount::default();
        account.remember_intent(&of, batch(0, 3));
        account.remember_released(&of, "uid", 3, at(10));
        assert_eq!(released(&account), 3, "seen all of them");
        account.remember_intent(&of, batch(3, 4));
        assert_eq!(released(&account), 7);
        account.remember_released(&of, "uid", 9, at(10));
        assert_eq!(released(&account), 9, "two were not seen");
    }
}
