//! Storms as they really are: nothing is begun in one, nor for a while after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_remediation::{facts, time::Moment};

use crate::{
    scenario::COOLDOWN,
    truth::{Policy, Truth},
};

/// The default is five in a minute, counted from the first sign. Here nodes count from when they are given up, up to 40
/// s later: five within this are five in the same minute for every replica.
const RATE: usize = 5;
const WITHIN: Duration = Duration::from_secs(10);
/// A node whose first sign is longer ago did not become unhealthy when it was given up. It was ill and Ready before, or
/// the cluster itself was blind: without an API server no node is given up, and then all at once that fell silent in
/// minutes.
const FIRST_SIGN: Duration = Duration::from_secs(40);
/// Where the policy is fast it is true of a node that is silent for so long.
const SILENT: Duration = Duration::from_secs(15);
/// From what is so to what every replica knows.
const KNOWN: Duration = Duration::from_secs(3);
/// What was intended before is begun within so long.
const INTENDED: Duration = Duration::from_secs(12);

#[derive(Debug, Default)]
pub(super) struct Storm {
    unhealthy: BTreeSet<String>,
    /// Since when each node is not Ready, or the policy is true of it, without a break.
    signs: BTreeMap<String, Moment>,
    onsets: BTreeMap<String, Moment>,
    /// So many are unhealthy at once.
    share: Spell,
    /// So many became unhealthy in a short time.
    rate: Spell,
    /// When a leader first handed over what it knows of the policy: one that is created in a storm has not seen it.
    policy_seen: Option<Moment>,
}

/// The last storm of one kind.
#[derive(Debug, Default)]
struct Spell {
    /// Who watches since then has seen all that it takes to see it.
    seen_from: Moment,
    began: Option<Moment>,
    last: Moment,
}

impl Spell {
    /// It is there now; true if it was not before.
    fn lasts(&mut self, seen_from: Moment, now: Moment) -> bool {
        let is_new = self.began.is_none() || now.since(self.last) > Duration::from_secs(1);
        self.last = now;
        if is_new {
            (self.began, self.seen_from) = (Some(now), seen_from);
        }
        is_new
    }
}

impl Truth {
    pub(super) fn watch_storm(&mut self) {
        let now = self.now();
        let unhealthy: BTreeSet<String> =
            self.store.nodes.values().filter(|node| !node.is_ready()).map(|node| node.name.clone()).collect();
        let total = self.store.nodes.len();
        let signs = self.signs();
        let storm = &mut self.oracle.storm;
        storm.signs.retain(|name, _| signs.contains(name));
        for name in signs {
            storm.signs.entry(name).or_insert(now);
        }
        for name in unhealthy.difference(&storm.unhealthy) {
            if storm.signs.get(name).is_none_or(|first| now.since(*first) <= FIRST_SIGN) {
                storm.onsets.insert(name.clone(), now);
            }
        }
        storm.onsets.retain(|_, at| now.since(*at) < WITHIN);
        let is_share = unhealthy.len() * 100 > 30 * total;
        storm.unhealthy = unhealthy;
        let mut is_new = is_share && storm.share.lasts(now, now);
        if storm.onsets.len() >= RATE {
            let signs = storm.onsets.keys().filter_map(|name| storm.signs.get(name)).copied();
            is_new |= storm.rate.lasts(signs.min().unwrap_or(now), now);
        }
        if is_new {
            self.count("cluster storms");
        }
    }

    /// Nodes that every replica that watches takes for unhealthy.
    pub(super) fn signs(&self) -> BTreeSet<String> {
        let (now, fast) = (self.now(), self.scenario.fast);
        let is_unhealthy = |node: &facts::Node| {
            node.condition("KernelDeadlock").is_some_and(|condition| condition.status == facts::ConditionStatus::True)
        };
        let is_silent =
            |name: &str| self.machines.get(name).is_some_and(|machine| now.since(machine.renewed) >= SILENT);
        let nodes = self.store.nodes.values();
        let unhealthy = nodes.filter(|node| !node.is_ready() || is_unhealthy(node) || fast && is_silent(&node.name));
        unhealthy.map(|node| node.name.clone()).collect()
    }

    /// What leaders know of storms went back with the Lease that carries it: a policy that was deleted before that and is
    /// created after it is a new one to them.
    pub(super) fn forget_the_policy(&mut self) {
        self.oracle.storm.policy_seen = None;
    }

    /// A leader renews its Lease, which carries what it knows of storms.
    pub(crate) fn saw_the_policy(&mut self, replica: usize) {
        let (now, leader) = (self.now(), &self.replicas[replica]);
        let has_seen = [leader.deaf, leader.cut, leader.term.1].iter().all(|until| until.plus(KNOWN) <= now);
        if has_seen && !matches!(self.store.policy, Policy::Gone) {
            self.oracle.storm.policy_seen.get_or_insert(now);
        }
    }

    /// Only of a leader that led before the storm and saw all of it: another one has not seen it, and blocks by what it
    /// sees.
    pub(super) fn check_storm(&mut self, replica: usize, what: &str, was_intended: bool) {
        let now = self.now();
        let storm = &self.oracle.storm;
        let seen = &self.replicas[replica];
        let blind = [seen.deaf, seen.cut, seen.frozen, self.store.down, self.blind_until, seen.term.1];
        let after = if was_intended { INTENDED } else { KNOWN };
        let is_broken = |spell: &&Spell| {
            let is_seen = blind.iter().all(|until| until.plus(KNOWN) <= spell.seen_from)
                && storm.policy_seen.is_some_and(|seen| seen <= spell.seen_from);
            let is_known = spell.began.is_some_and(|began| now.since(began) > after);
            is_seen && is_known && now.since(spell.last) < COOLDOWN.saturating_sub(KNOWN)
        };
        let broken = [&storm.share, &storm.rate].into_iter().find(is_broken);
        let text = broken
            .map(|spell| format!("{what} {:?} after a storm that began at {:?}", now.since(spell.last), spell.began));
        if let Some(text) = text {
            self.violate("I9", text);
        }
    }
}
