//! Judges one bond: interfaces of it that do not carry, and those that are gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::probe::{
    Fault, State,
    debounce::{Debounce, DebounceTimes},
};
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use crate::network::reading::{BondReading, Interface, Slave};

/// Bits of Actor_State (IEEE 802.1AX 6.4.2.3): no partner has answered, or not for too long.
const DEFAULTED: u32 = 0x40;
const EXPIRED: u32 = 0x80;

/// One bond, in this boot.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Bond {
    /// What it was made of when it was last whole.
    slaves: BTreeSet<String>,
    degraded: Debounce,
    #[serde(skip)]
    problems: BTreeMap<String, &'static str>,
    #[serde(skip)]
    total: usize,
}

impl Bond {
    pub(super) fn take(
        &mut self,
        reading: &BondReading,
        interfaces: &BTreeMap<String, Interface>,
        now: Duration,
        for_duration: Duration,
    ) {
        let names: BTreeSet<String> = reading.slaves.keys().cloned().collect();
        let gone: Vec<_> = self.gone(&names, interfaces).cloned().collect();
        let problems = reading.slaves.iter();
        let problems =
            problems.filter_map(|(name, slave)| Some((name.clone(), problem(reading, slave, interfaces.get(name))?)));
        let gone_problems = gone.iter().map(|name| (name.clone(), "gone from the machine"));
        let problems: BTreeMap<_, _> = problems.chain(gone_problems).collect();
        let is_degraded = reading.is_wanted && !problems.is_empty();
        if gone.is_empty() {
            self.slaves = names;
        }
        self.total = self.slaves.len();
        let is_believed =
            self.degraded.observe(is_degraded, now, DebounceTimes { for_duration, keep_firing_for: for_duration });
        // Its message stays while it waits to be believed healthy again.
        if is_degraded || !is_believed {
            self.problems = problems;
        }
    }

    /// An operator who takes an interface out of the bond leaves it on the machine; and one that is renamed takes its
    /// place.
    fn gone<'a>(
        &'a self,
        names: &'a BTreeSet<String>,
        interfaces: &'a BTreeMap<String, Interface>,
    ) -> impl Iterator<Item = &'a String> {
        let is_smaller = names.len() < self.slaves.len();
        self.slaves.iter().filter(move |name| is_smaller && !interfaces.contains_key(*name))
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        if !self.degraded.holds() {
            return None;
        }
        let problems: Vec<_> = self.problems.iter().map(|(name, problem)| format!("{name}: {problem}")).collect();
        let carrying = self.total.saturating_sub(self.problems.len());
        let args: MessageArgs<'_> =
            &[("carrying", &carrying), ("total", &self.total), ("problems", &problems.join(", "))];
        Some(Fault::of("BondDegraded", args))
    }

    pub(super) fn healthy(&self) -> State {
        State::healthy("NetworkUnhealthy/healthy-bond", &[("total", &self.total)])
    }
}

/// Why an interface does not carry its part; `None`: it does, or it was switched off.
fn problem(bond: &BondReading, slave: &Slave, interface: Option<&Interface>) -> Option<&'static str> {
    if interface.is_some_and(|interface| !interface.is_wanted) {
        return None;
    }
    // Without a monitor (miimon=0) the bond believes that everything is up.
    if interface.is_some_and(|interface| !interface.has_carrier) {
        return Some("no carrier");
    }
    if !matches!(slave.monitor.as_str(), "up" | "") {
        return Some("down by the bond's monitor");
    }
    if bond.mode != "802.3ad" {
        return None;
    }
    let actor = slave.actor.unwrap_or_default();
    if actor & (DEFAULTED | EXPIRED) != 0 {
        return Some("no partner speaks LACP");
    }
    let is_apart = bond.aggregator.is_some() && slave.aggregator.is_some() && bond.aggregator != slave.aggregator;
    is_apart.then_some("another partner than the others")
}
