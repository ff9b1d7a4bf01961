//! Judges a port's error counters by their growth, and knows when they can grow no further.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_faults::message;
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use crate::probe::{
    Fault,
    growth::{Growth, Start, Window, rounded},
};

/// A card's counters may be older than this boot: what was in them is not judged.
const HOUR: Window = Window { length: Duration::from_secs(3_600), start: Start::Unknown };

/// One counter, by its file name.
pub(crate) struct Counter {
    pub(crate) name: &'static str,
    /// Where it stops: the width of its field in the PortCounters attribute (InfiniBand Architecture Specification
    /// 16.1.3). Cards that count further than that stop at 32 bits.
    limit: u64,
    judged: Option<Judged>,
}

/// When its growth within an hour is a fault.
struct Judged {
    reason: &'static str,
    per_hour: u64,
}

const BITS_4: u64 = 15;
const BITS_8: u64 = 255;
const BITS_16: u64 = 65_535;

/// Symbol errors: some are allowed by the specification's own bit error rate (1e-12); two a minute are ten times that
/// on the fastest link. Errors of received packets come with them. A link that had to recover, errors beyond the link's
/// own threshold and overrun buffers are rare on a sound link.
pub(crate) const COUNTERS: [Counter; 6] = [
    Counter { name: "link_downed", limit: BITS_8, judged: None },
    Counter {
        name: "symbol_error",
        limit: BITS_16,
        judged: Some(Judged { reason: "FabricSymbolErrors", per_hour: 120 }),
    },
    Counter { name: "port_rcv_errors", limit: BITS_16, judged: Some(Judged { reason: LINK_ERRORS, per_hour: 120 }) },
    Counter { name: "link_error_recovery", limit: BITS_8, judged: Some(Judged { reason: LINK_ERRORS, per_hour: 10 }) },
    Counter {
        name: "local_link_integrity_errors",
        limit: BITS_4,
        judged: Some(Judged { reason: LINK_ERRORS, per_hour: 2 }),
    },
    Counter {
        name: "excessive_buffer_overrun_errors",
        limit: BITS_4,
        judged: Some(Judged { reason: LINK_ERRORS, per_hour: 2 }),
    },
];

/// A counter that is wider than its field may rest at its limit by chance while others grow, once, not twice.
const STOOD: u8 = 2;

const LINK_ERRORS: &str = "FabricLinkErrors";

/// The counters of one port.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct CounterState {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    growths: BTreeMap<String, Growth>,
    /// Those that hold a fault.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    raised: BTreeSet<String>,
    /// Those that grew to their limit, and in how many readings with errors they stood there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    at_limit: BTreeMap<String, u8>,
    /// Those that are full, which has been reported.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    full: BTreeSet<String>,
}

impl CounterState {
    /// Adds a reading, and returns which counters it has shown to be full.
    pub(crate) fn observe(&mut self, counters: &BTreeMap<String, u64>, now: Duration) -> Vec<&'static str> {
        let read: Vec<_> =
            COUNTERS.iter().filter_map(|counter| Some((counter, *counters.get(counter.name)?))).collect();
        let grown: Vec<bool> = read.iter().map(|(counter, count)| self.grew(counter, *count, now)).collect();
        let sees_errors = grown.contains(&true);
        let found = read.into_iter().zip(grown);
        found.filter_map(|((counter, count), grew)| self.found_full(counter, count, grew, sees_errors)).collect()
    }

    fn grew(&mut self, counter: &Counter, count: u64, now: Duration) -> bool {
        let growth = self.growths.entry(counter.name.to_owned()).or_default();
        let grown = growth.observe(count, now, HOUR);
        let within = growth.within();
        if let Some(judged) = &counter.judged {
            // Half of it ends the problem, so that a rate at the border does not come and go.
            let raised =
                within >= judged.per_hour || (within > judged.per_hour / 2 && self.raised.contains(counter.name));
            set(&mut self.raised, counter.name, raised);
        }
        grown > 0
    }

    /// All 32 bits are full. A smaller limit may as well be where a wider counter rests: it has to have grown to it,
    /// and then to have stood there while others of the port saw errors.
    fn found_full(&mut self, counter: &Counter, count: u64, grew: bool, sees_errors: bool) -> Option<&'static str> {
        let name = counter.name;
        if count != counter.limit {
            self.at_limit.remove(name);
        } else if grew {
            self.at_limit.insert(name.to_owned(), 0);
        } else if let Some(stood) = self.at_limit.get_mut(name).filter(|_| sees_errors) {
            *stood = stood.saturating_add(1).min(STOOD);
        }
        let stood = self.at_limit.get(name).is_some_and(|stood| *stood >= STOOD);
        let is_full = stood || count == u64::from(u32::MAX);
        let is_new = !self.full.contains(name);
        set(&mut self.full, name, is_full);
        (is_full && is_new).then_some(name)
    }

    /// One fault for each reason, with all its counters.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let mut counters: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for counter in COUNTERS.iter().filter(|counter| self.raised.contains(counter.name)) {
            let Some(judged) = &counter.judged else { continue };
            let count = self.growths.get(counter.name).map_or(0, Growth::within);
            let args: MessageArgs<'_> =
                &[("counter", &counter.name), ("count", &rounded(count)), ("limit", &judged.per_hour)];
            counters.entry(judged.reason).or_default().push(message("FabricLinkErrors/figure", args));
        }
        let fault = |(reason, counters): (_, Vec<_>)| Fault::of(reason, &[("counters", &counters.join(", "))]);
        counters.into_iter().map(fault).collect()
    }
}

fn set(names: &mut BTreeSet<String>, name: &str, is_in: bool) {
    if is_in {
        names.insert(name.to_owned());
    } else {
        names.remove(name);
    }
}
