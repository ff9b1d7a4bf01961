//! Storms as they really are: nothing is begun in one, nor for a while after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_remedy::{facts, time::Moment};

use crate::{scene::COOLDOWN, truth::Truth};

/// The default is five in a minute, counted from the first sign. Here nodes count from when they are given up, up to 40
/// s later: five within this are five in the same minute for every replica.
const RATE: usize = 5;
const WITHIN: Duration = Duration::from_secs(10);
/// A node whose first sign is longer ago did not become unwell when it was given up. It was ill and Ready before, or
/// the cluster itself was blind: without an API server no node is given up, and then all at once that fell silent in
/// minutes.
const FIRST_SIGN: Duration = Duration::from_secs(40);
/// Where the policy is fast it is true of a node that is silent for so long.
const SILENT: Duration = Duration::from_secs(15);
/// From what is so to what every replica knows.
const KNOWN: Duration = Duration::from_secs(3);
/// What was meant before is begun within so long.
const MEANT: Duration = Duration::from_secs(12);

#[derive(Debug, Default)]
pub(super) struct Storm {
    unwell: BTreeSet<String>,
    /// Since when each node is not Ready, or the policy is true of it, without a break.
    signs: BTreeMap<String, Moment>,
    onsets: BTreeMap<String, Moment>,
    /// The last one: when its first sign was there, when it began, when it was last seen.
    first_sign: Moment,
    began: Option<Moment>,
    last: Moment,
}

impl Storm {
    fn is_over(&self, now: Moment) -> bool {
        now.since(self.last) > Duration::from_secs(1)
    }
}

impl Truth {
    pub(super) fn watch_weather(&mut self) {
        let now = self.now();
        let unwell: BTreeSet<String> =
            self.store.nodes.values().filter(|node| !node.is_ready()).map(|node| node.name.clone()).collect();
        let total = self.store.nodes.len();
        let signs = self.signs();
        let storm = &mut self.oracle.storm;
        storm.signs.retain(|name, _| signs.contains(name));
        for name in signs {
            storm.signs.entry(name).or_insert(now);
        }
        for name in unwell.difference(&storm.unwell) {
            if storm.signs.get(name).is_none_or(|first| now.since(*first) <= FIRST_SIGN) {
                storm.onsets.insert(name.clone(), now);
            }
        }
        storm.onsets.retain(|_, at| now.since(*at) < WITHIN);
        let is_storm = unwell.len() * 100 > 30 * total || storm.onsets.len() >= RATE;
        storm.unwell = unwell;
        if !is_storm {
            return;
        }
        let is_new = storm.is_over(now) || storm.began.is_none();
        storm.last = now;
        if is_new {
            let signs = storm.onsets.keys().filter_map(|name| storm.signs.get(name)).copied();
            storm.first_sign = signs.min().unwrap_or(now);
            storm.began = Some(now);
            self.count("world storms");
        }
    }

    /// Nodes that every replica that watches takes for unwell.
    fn signs(&self) -> BTreeSet<String> {
        let (now, fast) = (self.now(), self.scene.fast);
        let is_ill = |node: &facts::Node| {
            node.condition("KernelDeadlock").is_some_and(|condition| condition.status == facts::Truth::True)
        };
        let is_silent =
            |name: &str| self.machines.get(name).is_some_and(|machine| now.since(machine.renewed) >= SILENT);
        let nodes = self.store.nodes.values();
        let unwell = nodes.filter(|node| !node.is_ready() || is_ill(node) || fast && is_silent(&node.name));
        unwell.map(|node| node.name.clone()).collect()
    }

    /// Only of a leader that led before the storm and saw all of it, from its first sign: another one has not seen it, and
    /// holds by what it sees.
    pub(super) fn check_weather(&mut self, replica: usize, what: &str, was_meant: bool) {
        let now = self.now();
        let storm = &self.oracle.storm;
        let (Some(began), last) = (storm.began, storm.last) else { return };
        let seen = &self.replicas[replica];
        let blind = [seen.deaf, seen.cut, seen.frozen, self.store.down, self.blind_until, seen.term.1];
        if blind.iter().any(|until| until.plus(KNOWN) > storm.first_sign) {
            return;
        }
        let after = if was_meant { MEANT } else { KNOWN };
        let calm = now.since(last);
        if now.since(began) > after && calm < COOLDOWN.saturating_sub(KNOWN) {
            self.violate("I9", format!("{what} {calm:?} after a storm that began at {began:?}"));
        }
    }
}
