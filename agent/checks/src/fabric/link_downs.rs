//! Counts how often a port went down, by the best counter that there is.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reading::PortReading;
use crate::probe::growth::{Growth, Start, Window};

/// A switch is updated once in half a day, not three times.
pub(super) const HALF_A_DAY: Window = Window { length: Duration::from_secs(12 * 3_600), start: Start::Unknown };
pub(super) const FLAPS: u64 = 3;

/// How often it went down.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LinkDowns {
    growth: Growth,
    #[serde(default)]
    is_flapping: bool,
    /// What counts them, so that a change of it is no growth.
    #[serde(default)]
    by: CounterSource,
    #[serde(skip)]
    was: Option<LinkState>,
}

/// The port at the reading before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LinkState {
    is_up: bool,
    is_switched_off: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CounterSource {
    /// The network interface.
    Carrier,
    /// The card.
    LinkDowned,
    /// Our own readings only.
    #[default]
    Readings,
}

impl LinkDowns {
    pub(crate) fn observe(&mut self, reading: &PortReading, now: Duration) {
        let is = LinkState { is_up: reading.is_up(), is_switched_off: reading.is_switched_off() };
        let was = self.was.replace(is);
        match counted(reading) {
            Some((by, count)) => self.count(by, count, is_excused(reading, was, is), now),
            None => {
                let went_down = was.is_some_and(|was| was.is_up) && !is.is_up && !is.is_switched_off;
                self.growth.add(u64::from(went_down), now.as_secs(), HALF_A_DAY);
            }
        }
        let count = self.growth.within();
        self.is_flapping = count >= FLAPS || (self.is_flapping && count + 1 >= FLAPS);
    }

    /// How often it went down, if that is too often.
    pub(crate) fn flaps(&self) -> Option<u64> {
        self.is_flapping.then(|| self.growth.within())
    }

    fn count(&mut self, by: CounterSource, count: u64, is_excused: bool, now: Duration) {
        // Another counter counts from another number.
        if self.by != by || is_excused {
            self.by = by;
            self.growth.excuse(count);
        }
        self.growth.observe(count, now, HALF_A_DAY);
    }
}

/// Whether a down since the reading before had a reason, or may have had. On Ethernet a new number of queues or packet size
/// (`ethtool -L`, `ip link set … mtu`) takes the carrier away for a second or two: there a down counts only if a reading saw the
/// port down.
fn is_excused(reading: &PortReading, was: Option<LinkState>, is: LinkState) -> bool {
    let was_switched_off = was.is_some_and(|was| was.is_switched_off);
    let saw_it_down = !is.is_up || was.is_some_and(|was| !was.is_up);
    is.is_switched_off || was_switched_off || (reading.is_ethernet() && !saw_it_down)
}

/// The best count of how often the link went down: the interface's, or the card's until it is full.
fn counted(reading: &PortReading) -> Option<(CounterSource, u64)> {
    const FULL: u64 = 255;
    let carrier = reading.interface.as_ref().and_then(|interface| interface.carrier_downs);
    let carrier = carrier.map(|count| (CounterSource::Carrier, count));
    let downed = reading.counters.get("link_downed").filter(|count| **count != FULL);
    carrier.or_else(|| downed.map(|count| (CounterSource::LinkDowned, *count)))
}
