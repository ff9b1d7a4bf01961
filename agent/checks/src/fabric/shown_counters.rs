//! The drivers' own counters of all ports, as people are shown them beside the verdicts.

use std::{collections::BTreeMap, mem, time::Duration};

use nodewell_model::{HwCounters, HwCountersView};

use super::reading::PortReading;

/// More physical ports has no node. If each had every counter that is known, they would still fit into the file in
/// which they are shown.
const PORTS_LIMIT: usize = 128;
/// So much later than its interval a round may be: devices of other checks are asked by the same worker, and hang.
const LATE: Duration = Duration::from_secs(60);

/// What each port showed when it was read last.
#[derive(Debug)]
pub(super) struct ShownCounters {
    interval: Duration,
    ports: BTreeMap<String, PortCounters>,
    valid_until: Duration,
}

#[derive(Debug)]
struct PortCounters {
    own: BTreeMap<String, u64>,
    of_card: BTreeMap<String, u64>,
}

impl ShownCounters {
    /// Of ports that are read so often.
    pub(super) fn read_every(interval: Duration) -> Self {
        Self { interval, ports: BTreeMap::new(), valid_until: Duration::ZERO }
    }

    /// A round begins, at this time since the boot.
    pub(super) fn begin_round(&mut self, now: Duration) {
        self.valid_until = now + self.interval * 2 + LATE;
    }

    /// Of other ports nothing is shown until they are read again.
    pub(super) fn retain(&mut self, is_shown: impl Fn(&str) -> bool) {
        self.ports.retain(|port, _| is_shown(port));
    }

    /// Takes them out of the reading: what is left of it stays with the port.
    pub(super) fn take(&mut self, port: &str, reading: &mut PortReading) {
        let own = mem::take(&mut reading.hw_counters);
        let of_card = mem::take(&mut reading.card_hw_counters);
        if !own.is_empty() || !of_card.is_empty() {
            self.ports.insert(port.to_owned(), PortCounters { own, of_card });
        }
    }

    /// The ports first, and then their cards, each once.
    pub(super) fn view(&self) -> HwCountersView {
        let (mut shown, mut cards) = (Vec::new(), BTreeMap::new());
        for (name, counters) in self.ports.iter().take(PORTS_LIMIT) {
            let (device, port) = name.split_once('/').unwrap_or((name.as_str(), ""));
            if !counters.own.is_empty() {
                shown.push(hw_counters(device, Some(port), &counters.own));
            }
            if !counters.of_card.is_empty() {
                cards.insert(device, &counters.of_card);
            }
        }
        shown.extend(cards.into_iter().map(|(device, counters)| hw_counters(device, None, counters)));
        let left_out = self.ports.len().saturating_sub(PORTS_LIMIT);
        HwCountersView { shown, left_out, valid_until_secs: self.valid_until.as_secs() }
    }
}

fn hw_counters(device: &str, port: Option<&str>, counters: &BTreeMap<String, u64>) -> HwCounters {
    HwCounters { device: device.to_owned(), port: port.map(str::to_owned), counters: counters.clone() }
}
