//! Judges one interface against what it has been in this boot: up or down, how fast, how often it went down.

use std::time::Duration;

use nodewell_hardware::{
    Fault,
    growth::{Growth, Start, Window},
    lasting::{Lasting, Patience},
};
use serde::{Deserialize, Serialize};

use super::errors::Errors;
use crate::{network::reading::Interface, settings::NetworkSettings};

/// A card that has fallen back to a lower speed and trains again does so at once.
const SLOW: Patience = Patience { onset: Duration::from_secs(240), end: Duration::from_secs(240) };
/// An interface that lost its address together with the carrier gets it back some time after it.
const USED: Patience = Patience { onset: Duration::ZERO, end: Duration::from_secs(600) };
const HOUR: Window = Window { length: Duration::from_secs(3_600), start: Start::Unknown };

/// One interface, in this boot.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Link {
    /// Whether it carried addresses or routes while it had a carrier.
    used: Lasting,
    down: Lasting,
    slow: Lasting,
    best_megabits: u32,
    downs: Growth,
    is_flapping: bool,
    errors: Errors,
    #[serde(skip)]
    reading: Interface,
}

impl Link {
    /// Adds a reading; returns how many packets were missed, if that is to be reported now.
    pub(super) fn take(&mut self, reading: Interface, now: Duration, settings: &NetworkSettings) -> Option<u64> {
        let was_wanted = std::mem::replace(&mut self.reading, reading).is_wanted;
        if self.reading.has_carrier {
            self.used.observe(self.reading.is_used, now, USED);
        }
        self.take_carrier(now, settings.for_duration);
        self.take_downs(was_wanted, now, u64::from(settings.flaps_per_hour));
        self.take_speed(now);
        let missed = self.errors.take(&self.reading.counters, now, settings);
        missed.filter(|_| self.matters())
    }

    fn take_carrier(&mut self, now: Duration, for_duration: Duration) {
        let patience = Patience { onset: for_duration, end: for_duration };
        let is_missed = self.is_ours() && self.used.holds() && self.reading.is_wanted;
        self.down.observe(is_missed && !self.reading.has_carrier, now, patience);
    }

    fn take_downs(&mut self, was_wanted: bool, now: Duration, limit: u64) {
        let Some(count) = self.reading.downs else { return };
        if !(was_wanted && self.reading.is_wanted) {
            // It was switched off or on.
            self.downs.excuse(count);
        }
        self.downs.observe(count, now, HOUR);
        let within = self.downs.within();
        // Half of it ends the problem, so that a rate at the border does not come and go.
        self.is_flapping = within >= limit || (self.is_flapping && within > limit / 2);
    }

    fn take_speed(&mut self, now: Duration) {
        let Some(megabits) = self.reading.megabits.filter(|_| self.is_ours()) else { return };
        self.best_megabits = self.best_megabits.max(megabits);
        self.slow.observe(megabits < self.best_megabits, now, SLOW);
    }

    pub(super) fn faults(&self) -> Vec<Fault> {
        if !self.matters() {
            return Vec::new();
        }
        let errors = self.errors.message().map(|message| Fault::new("InterfaceErrors", message));
        [self.down_fault(), self.flap_fault(), self.slow_fault(), errors].into_iter().flatten().collect()
    }

    fn down_fault(&self) -> Option<Fault> {
        let message = if self.reading.has_carrier { "it has its carrier back, not for long yet" } else { "no carrier" };
        self.is_down().then(|| Fault::new("InterfaceDown", message))
    }

    fn flap_fault(&self) -> Option<Fault> {
        let is_ours = self.is_flapping && self.is_ours();
        is_ours.then(|| {
            Fault::new("InterfaceFlapping", format!("its carrier went {} times within an hour", self.downs.within()))
        })
    }

    fn slow_fault(&self) -> Option<Fault> {
        let now = self.reading.megabits.map_or("slower".to_owned(), |megabits| format!("{megabits} Mb/s"));
        let message = || format!("{now}, and has been {} Mb/s in this boot", self.best_megabits);
        self.slow.holds().then(|| Fault::new("LinkSpeedReduced", message()))
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.holds()
    }

    /// Whether anything sends by it.
    pub(super) fn matters(&self) -> bool {
        self.used.holds() || self.reading.is_bonded
    }

    /// Whether it is not the fabric monitor's.
    fn is_ours(&self) -> bool {
        !self.reading.is_fabric
    }

    pub(super) fn message(&self) -> String {
        match (self.reading.has_carrier, self.reading.megabits) {
            (true, Some(megabits)) => format!("up, {megabits} Mb/s"),
            (true, None) => "up".to_owned(),
            (false, _) if !self.reading.is_wanted => "switched off".to_owned(),
            (false, _) => "down".to_owned(),
        }
    }
}
