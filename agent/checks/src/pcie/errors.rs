//! Judges a device's error counters by their growth.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reading::{Aer, Errors};
use crate::probe::{
    Fault,
    growth::{Growth, Start, Window, rounded},
};

const HOUR: Window = Window { length: Duration::from_secs(3_600), start: Start::AtBoot };
/// As long as the rule of the kernel log waits for another fatal error.
const DAY: Window = Window { length: Duration::from_secs(24 * 3_600), start: Start::AtBoot };
/// A lost transfer is the driver's to repeat; ten within an hour are not one accident.
const NONFATAL_PER_HOUR: u64 = 10;
/// A driver that looks at registers which are not there makes a burst of them, once: in one reading, or two.
const NONFATAL_READINGS: u64 = 3;

/// The counters of one device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ErrorState {
    #[serde(default = "Growth::from_zero", skip_serializing_if = "Growth::is_from_zero")]
    correctable: Growth,
    #[serde(default = "Growth::from_zero", skip_serializing_if = "Growth::is_from_zero")]
    nonfatal: Growth,
    #[serde(default = "Growth::from_zero", skip_serializing_if = "Growth::is_from_zero")]
    fatal: Growth,
    /// Fatal messages to a root port.
    #[serde(default = "Growth::from_zero", skip_serializing_if = "Growth::is_from_zero")]
    root_fatal: Growth,
    #[serde(default, skip_serializing_if = "Kinds::is_empty")]
    kinds: Kinds,
    #[serde(default, skip_serializing_if = "is_false")]
    many_correctable: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    many_nonfatal: bool,
}

/// The kind that each counter grew by most when it last grew.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Kinds {
    #[serde(default)]
    correctable: String,
    #[serde(default)]
    nonfatal: String,
    #[serde(default)]
    fatal: String,
    /// The counters as last read; not saved, so that the first growth after a start is reported by the largest kind.
    #[serde(skip)]
    last: Aer,
}

impl ErrorState {
    pub(crate) fn observe(&mut self, aer: Option<&Aer>, root_fatal: Option<u64>, now: Duration) {
        if let Some(count) = root_fatal {
            self.root_fatal.observe(count, now, DAY);
        }
        let Some(aer) = aer else { return };
        let last = std::mem::replace(&mut self.kinds.last, aer.clone());
        if self.correctable.observe(aer.correctable.total, now, HOUR) > 0 {
            self.kinds.correctable = most_grown(&last.correctable, &aer.correctable);
        }
        if self.nonfatal.observe(aer.nonfatal.total, now, HOUR) > 0 {
            self.kinds.nonfatal = most_grown(&last.nonfatal, &aer.nonfatal);
        }
        if self.fatal.observe(aer.fatal.total, now, DAY) > 0 {
            self.kinds.fatal = most_grown(&last.fatal, &aer.fatal);
        }
    }

    /// What the counters show of the device itself.
    pub(crate) fn faults(&mut self, correctable_per_hour: u32) -> Vec<Fault> {
        [self.fatal_fault(), self.nonfatal_fault(), self.correctable_fault(u64::from(correctable_per_hour))]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(crate) fn has_fatal(&self) -> bool {
        self.fatal.within() > 0
    }

    /// How many fatal messages a root port has had within the day.
    pub(crate) fn root_fatal(&self) -> u64 {
        self.root_fatal.within()
    }

    fn fatal_fault(&self) -> Option<Fault> {
        let count = self.fatal.within();
        let fault = || match self.kinds.fatal.as_str() {
            "" => Fault::of("PcieAerFatal", &[("errors", &count)]),
            kind => Fault::of("PcieAerFatal/kind", &[("errors", &count), ("kind", &kind)]),
        };
        (count > 0).then(fault)
    }

    fn nonfatal_fault(&mut self) -> Option<Fault> {
        let count = self.nonfatal.within();
        let begins = count >= NONFATAL_PER_HOUR && self.nonfatal.readings() >= NONFATAL_READINGS;
        self.many_nonfatal = begins || (self.many_nonfatal && count >= NONFATAL_PER_HOUR / 2);
        let keys = ["PcieNonFatalErrorsGrowing", "PcieNonFatalErrorsGrowing/kind"];
        self.many_nonfatal.then(|| growing(keys, count, NONFATAL_PER_HOUR, &self.kinds.nonfatal))
    }

    fn correctable_fault(&mut self, per_hour: u64) -> Option<Fault> {
        let count = self.correctable.within();
        let per_hour = per_hour.max(1);
        // Half of it ends the problem, so that a rate at the border does not come and go.
        self.many_correctable = count >= per_hour || (self.many_correctable && count > per_hour / 2);
        let keys = ["PcieCorrectedErrorsGrowing", "PcieCorrectedErrorsGrowing/kind"];
        self.many_correctable.then(|| growing(keys, count, per_hour, &self.kinds.correctable))
    }
}

impl Kinds {
    fn is_empty(&self) -> bool {
        self.correctable.is_empty() && self.nonfatal.is_empty() && self.fatal.is_empty()
    }
}

fn most_grown(last: &Errors, now: &Errors) -> String {
    let grown = |kind: &str, count: u64| count.saturating_sub(last.kinds.get(kind).copied().unwrap_or(0));
    let kinds = now.kinds.iter().map(|(kind, count)| (grown(kind, *count), kind));
    kinds.filter(|(grown, _)| *grown > 0).max().map(|(_, kind)| kind.clone()).unwrap_or_default()
}

/// With the second key if the kind is known that grew last.
fn growing([without, with]: [&'static str; 2], count: u64, limit: u64, kind: &str) -> Fault {
    let errors = rounded(count);
    match kind {
        "" => Fault::of(without, &[("errors", &errors), ("limit", &limit)]),
        kind => Fault::of(with, &[("errors", &errors), ("limit", &limit), ("kind", &kind)]),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(value: &bool) -> bool {
    !value
}
