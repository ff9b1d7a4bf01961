//! One GPU in the judge: its state, and its last readings.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use super::{
    fabric,
    trends::{Corrected, Slowdown, Streak, Uncorrected},
};
use crate::{
    gpu::{Access, GpuReading},
    probe::{PollError, ReadError},
};

/// What the judge knows of a device in this life.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) state: DeviceState,
    /// The last reading before the state became unknown: a verdict beside a new Xid must not end what it showed.
    pub(super) last: Option<Box<GpuReading>>,
    /// The last list without it, and how many before.
    pub(super) absent: Streak,
    pub(super) slowdown: Slowdown,
    pub(super) corrected: Corrected,
    pub(super) uncorrected: Uncorrected,
    /// What the counter of uncorrectable errors showed last.
    pub(super) uncorrected_last: Option<u64>,
    /// On the bus and not offered by the driver.
    pub(super) unlisted: Streak,
    pub(super) links_down: Streak,
    pub(super) mig_pending: Streak,
    pub(super) no_file: Streak,
    /// Since when the fabric has not been ready, and for how long that is.
    fabric_waits: Option<Duration>,
    pub(super) fabric_waited: Duration,
    pub(super) recovery: Recovery,
    pub(super) reported_xids: ReportedXids,
}

/// Xids that are Events: when each was reported last, and how often it came since.
pub(super) type ReportedXids = BTreeMap<u32, (Duration, u64)>;

/// The state of a device in this run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum DeviceState {
    /// Remembered, and not asked yet.
    #[default]
    Unasked,
    Answered(Box<GpuReading>),
    /// Its state is unknown.
    Unknown(PollError),
    /// Remembered, and not found by this run; why it is unknown what that means.
    Unfound(PollError),
    /// Not on the bus any more.
    Missing,
    /// Its driver is gone, or it was given to another: no fault.
    Released,
}

/// When the GPU last answered, and when the driver last reported that it needs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Recovery {
    pub(super) answered: Option<Timestamp>,
    pub(super) energy_millijoules: Option<u64>,
    pub(super) content: Option<Timestamp>,
    pub(super) reported: Option<Evidence>,
}

/// What was reported of it, in time since the boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evidence {
    /// The driver reported that the GPU needs nothing.
    pub(super) is_healthy: bool,
    pub(super) first: Duration,
    pub(super) last: Duration,
}

impl DeviceState {
    pub(super) fn of_error(error: &PollError) -> Self {
        match error {
            PollError::Read(ReadError::Gone { .. }) => Self::Released,
            error => Self::Unknown(error.clone()),
        }
    }

    pub(super) fn reading(&self) -> Option<&GpuReading> {
        if let Self::Answered(reading) = self { Some(reading) } else { None }
    }

    /// Whether it counts as a GPU of this machine.
    pub(super) fn is_counted(&self) -> bool {
        !matches!(self, Self::Unasked | Self::Released)
    }
}

impl Device {
    /// Its state is unknown, or it is gone.
    pub(super) fn lose(&mut self, state: DeviceState) {
        if let DeviceState::Answered(reading) = std::mem::replace(&mut self.state, state) {
            self.last = Some(reading);
        }
    }

    /// Records a reading. `links_down`: NVLinks are down that were up once.
    pub(super) fn take(&mut self, reading: GpuReading, at: Duration, links_down: bool) {
        if reading.access == Access::Asleep && self.state.reading().is_some() {
            // What was reported of it before it fell asleep still holds.
            return;
        }
        self.unlisted.count(reading.access == Access::Unlisted);
        if reading.access == Access::Answers {
            self.slowdown.take(at, reading.slowdown);
            let ecc = reading.ecc.unwrap_or_default();
            self.corrected.take(at, ecc.corrected.or(ecc.corrected_ever));
            self.uncorrected.take(at, ecc.uncorrected);
            self.links_down.count(links_down);
            self.mig_pending.count(reading.mig.is_some_and(|mig| mig.current != mig.pending));
            self.no_file.count(reading.missing_file.is_some());
            self.take_fabric(&reading, at);
        }
        self.state = DeviceState::Answered(Box::new(reading));
    }

    fn take_fabric(&mut self, reading: &GpuReading, at: Duration) {
        let waits = reading.fabric.is_some_and(fabric::is_unready);
        self.fabric_waits = if waits { self.fabric_waits.or(Some(at)) } else { None };
        self.fabric_waited = self.fabric_waits.map_or(Duration::ZERO, |since| at.saturating_sub(since));
    }
}
