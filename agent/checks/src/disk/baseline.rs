//! What is remembered of one disk: its counters as they were, so that old errors are not news.

mod mismatches;
mod phy;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_model::Name;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    disk::megaraid::memory::CardMemory,
    probe::{
        Fault,
        debounce::{Debounce, DebounceTimes},
    },
};
use mismatches::Mismatches;
pub(super) use phy::LinkErrors;
use phy::PhyMemory;

/// A counter that did not grow for so long is taken as it is: what happened is over. Only time in which the disk was read
/// counts. A week, because a disk that is dying adds errors every few days, and one with a single bad spot does not.
const QUIET_HOURS: u32 = 7 * 24;
/// More than this in one step is another counter, another disk or a slip: the largest disks have some 2^35 sectors, and none
/// loses a 16th of them between two readings.
const ABSURD_STEP: u64 = 1 << 31;

/// Counters of errors, by what grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Counter {
    /// What could not be corrected: data was lost.
    MediaErrors,
    Reallocated,
    Pending,
    OfflineUncorrectable,
    InterfaceCrc,
}

/// Two looks that show the same: one may fall between a failure and what mends it by itself, or into an import. It is
/// over with the first look that shows it no more.
const TWO_LOOKS: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(30), keep_firing_for: Duration::ZERO };

/// What has to be seen twice before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sign {
    PoolSpaceLow,
    PoolFull,
    PoolFailed,
    ZpoolDegraded,
    ZpoolFaulted,
    ZpoolSuspended,
    VolumeDegraded,
    VolumeOffline,
}

/// One disk's saved state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Baseline {
    #[serde(deserialize_with = "known_entries")]
    counters: BTreeMap<Counter, Watched>,
    /// The newest entry of an NVMe error log that was reported.
    pub(super) reported_errors: Option<u64>,
    /// A failed self-test that was old when the log was first read: the power-on hours of it.
    pub(super) old_self_test: Option<u64>,
    /// Whether its temperature was judged before, and how.
    pub(super) is_hot: bool,
    /// Whether its log of self-tests has been read before: a failure that comes then is new.
    #[serde(alias = "was_seen")]
    pub(super) knows_self_tests: bool,
    /// Of a multipath map: the most paths that it has had in one boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<MostPaths>,
    /// Of a RAID card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) card: Option<CardMemory>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "known_entries")]
    signs: BTreeMap<Sign, Debounce>,
    /// Of a software RAID array: what its checks found.
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatches: Option<Mismatches>,
    /// Of an end of a SAS link.
    #[serde(skip_serializing_if = "Option::is_none")]
    phy: Option<PhyMemory>,
    /// The present one.
    #[serde(skip)]
    pub(super) boot_id: String,
    /// What it had when it was read last, for when it cannot be asked because it sleeps.
    pub(super) faults: Vec<SavedFault>,
}

/// The kernel reuses the numbers of maps, so that it is recorded which map it was.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct MostPaths {
    boot_id: String,
    map: String,
    count: usize,
}

/// A fault as it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SavedFault {
    reason: Name,
    message: String,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Watched {
    /// What is taken as it is.
    base: u64,
    last: u64,
    grown_since: Option<Timestamp>,
    quiet_hours: u32,
    /// Less than an hour of quiet: not worth a write.
    #[serde(skip)]
    quiet: Duration,
    /// Read once below `last`; the second time it is believed.
    #[serde(skip)]
    lower: bool,
}

/// A later version, from which a host went back, has entries of its own: they are left out, and the others stay.
pub(super) fn known_entries<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: DeserializeOwned + Ord,
    V: DeserializeOwned,
{
    let known = |(key, value): (String, Value)| {
        let key = serde_json::from_value(Value::String(key)).ok()?;
        Some((key, serde_json::from_value(value).ok()?))
    };
    Ok(BTreeMap::<String, Value>::deserialize(deserializer)?.into_iter().filter_map(known).collect())
}

/// When a reading is, and how much reading time has passed since the one before of this disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadTime {
    pub(super) wall: Timestamp,
    pub(super) boottime: Duration,
    pub(super) passed: Duration,
}

/// What a counter shows against its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CounterGrowth {
    /// Since the last reading.
    pub(super) step: u64,
    /// Since the baseline; not 0 while it is a fault.
    pub(super) grown: u64,
    pub(super) base: u64,
    pub(super) since: Option<Timestamp>,
}

impl Baseline {
    /// Compares a counter's value.
    pub(super) fn counted(&mut self, counter: Counter, value: u64, moment: ReadTime) -> CounterGrowth {
        let watched = self.counters.entry(counter).or_insert_with(|| Watched::first(value));
        let step = watched.step(value, moment);
        let grown = if watched.grown_since.is_some() { watched.last - watched.base } else { 0 };
        CounterGrowth { step, grown, base: watched.base, since: watched.grown_since }
    }

    /// The most paths that `map` has had in this boot, with those of now.
    pub(super) fn most_paths(&mut self, map: &str, now: usize) -> usize {
        let before = self.paths.take().filter(|paths| paths.boot_id == self.boot_id && paths.map == map);
        let count = before.map_or(0, |before| before.count).max(now);
        self.paths = Some(MostPaths { boot_id: self.boot_id.clone(), map: map.to_owned(), count });
        count
    }

    /// Adds a look, and returns whether `sign` was in two.
    pub(super) fn lasts(&mut self, sign: Sign, is_there: bool, moment: ReadTime) -> bool {
        let holds = self.signs.entry(sign).or_default().observe(is_there, moment.boottime, TWO_LOOKS);
        self.signs.retain(|_, debounce| !debounce.is_nothing());
        holds
    }

    /// Whether it held at the look before.
    pub(super) fn holds(&self, sign: Sign) -> bool {
        self.signs.get(&sign).is_some_and(Debounce::holds)
    }

    /// Remembers which faults it has; their figures may change without that being news.
    pub(super) fn save_faults(&mut self, faults: &[Fault]) {
        let same = faults.len() == self.faults.len()
            && faults.iter().zip(&self.faults).all(|(fault, saved)| fault.reason == saved.reason);
        if !same {
            let saved = |fault: &Fault| SavedFault { reason: fault.reason.clone(), message: fault.message.clone() };
            self.faults = faults.iter().map(saved).collect();
        }
    }

    /// The faults that were remembered, as the catalogue has them now.
    pub(super) fn saved_faults(&self) -> Vec<Fault> {
        self.faults.iter().filter_map(SavedFault::fault).collect()
    }
}

impl SavedFault {
    /// `None` for a reason of another version.
    fn fault(&self) -> Option<Fault> {
        let known = nodewell_faults::reason::named(self.reason.as_str())?;
        Some(Fault {
            reason: self.reason.clone(),
            severity: known.severity,
            action: Some(known.action),
            message: self.message.clone(),
            since: None,
        })
    }
}

impl Watched {
    fn first(value: u64) -> Self {
        Self { base: value, last: value, ..Self::default() }
    }

    /// By how much it grew.
    fn step(&mut self, value: u64, moment: ReadTime) -> u64 {
        if value < self.last {
            self.fall(value);
            return 0;
        }
        self.lower = false;
        let step = value - self.last;
        match step {
            0 => self.rest(moment.passed),
            1..ABSURD_STEP => self.grow(value, moment.wall),
            _ => return 0,
        }
        step
    }

    fn grow(&mut self, value: u64, wall: Timestamp) {
        self.grown_since.get_or_insert(wall);
        (self.last, self.quiet, self.quiet_hours) = (value, Duration::ZERO, 0);
    }

    /// Sectors are mended, firmware restarts, counters wrap; but a single low reading may be a slip, and the next one
    /// would look like growth.
    fn fall(&mut self, value: u64) {
        if !std::mem::replace(&mut self.lower, true) {
            return;
        }
        self.lower = false;
        (self.last, self.base) = (value, self.base.min(value));
        if self.last == self.base {
            self.reset_base();
        }
    }

    fn rest(&mut self, passed: Duration) {
        const HOUR: Duration = Duration::from_secs(3600);
        if self.grown_since.is_none() {
            return;
        }
        self.quiet += passed;
        while self.quiet >= HOUR {
            self.quiet -= HOUR;
            self.quiet_hours += 1;
        }
        if self.quiet_hours >= QUIET_HOURS {
            self.reset_base();
        }
    }

    fn reset_base(&mut self) {
        *self = Self::first(self.last);
    }
}

#[cfg(test)]
mod tests;
