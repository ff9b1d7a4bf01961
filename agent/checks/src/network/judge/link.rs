//! Judges one interface against what it has been in this boot: up or down, how fast, how often it went down.

use std::time::Duration;

use crate::probe::{
    Fault, State,
    debounce::{Debounce, DebounceTimes},
    growth::{Growth, Start, Window},
};
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use super::errors::Errors;
use crate::{
    duration_text::duration,
    network::{NetworkSettings, reading::Interface},
};

/// A card that has fallen back to a lower speed and trains again does so at once.
const SLOW: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(240), keep_firing_for: Duration::from_secs(240) };
/// An interface that lost its address together with the carrier gets it back some time after it.
const USED: DebounceTimes = DebounceTimes { for_duration: Duration::ZERO, keep_firing_for: Duration::from_secs(600) };
const HOUR: Window = Window { length: Duration::from_secs(3_600), start: Start::Unknown };

/// One interface, in this boot.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Link {
    /// Whether it carried addresses or routes while it had a carrier.
    used: Debounce,
    down: Debounce,
    slow: Debounce,
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
        let times = DebounceTimes { for_duration, keep_firing_for: for_duration };
        let is_missed = self.is_ours() && self.used.holds() && self.reading.is_wanted;
        self.down.observe(is_missed && !self.reading.has_carrier, now, times);
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

    pub(super) fn faults(&self, settings: &NetworkSettings) -> Vec<Fault> {
        if !self.matters() {
            return Vec::new();
        }
        let faults = [
            self.down_fault(settings.for_duration),
            self.flap_fault(settings.flaps_per_hour),
            self.slow_fault(),
            self.errors.fault(settings),
        ];
        faults.into_iter().flatten().collect()
    }

    fn down_fault(&self, for_duration: Duration) -> Option<Fault> {
        let key = if self.reading.has_carrier { "InterfaceDown/back" } else { "InterfaceDown" };
        self.is_down().then(|| Fault::of(key, &[("limit", &duration(for_duration))]))
    }

    fn flap_fault(&self, limit: u32) -> Option<Fault> {
        let is_ours = self.is_flapping && self.is_ours();
        is_ours.then(|| {
            let args: MessageArgs<'_> =
                &[("count", &self.downs.within()), ("window", &duration(HOUR.length)), ("limit", &limit)];
            Fault::of("InterfaceFlapping", args)
        })
    }

    fn slow_fault(&self) -> Option<Fault> {
        let best = self.best_megabits;
        self.slow.holds().then(|| match self.reading.megabits {
            Some(speed) => Fault::of("LinkSpeedReduced", &[("speed", &speed), ("best", &best)]),
            None => Fault::of("LinkSpeedReduced/unknown", &[("best", &best)]),
        })
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

    pub(super) fn healthy(&self) -> State {
        match (self.reading.has_carrier, self.reading.megabits) {
            (true, Some(speed)) => State::healthy("NetworkUnhealthy/healthy-link", &[("speed", &speed)]),
            (true, None) => State::healthy("NetworkUnhealthy/healthy-link-up", &[]),
            (false, _) if !self.reading.is_wanted => State::healthy("NetworkUnhealthy/healthy-link-off", &[]),
            (false, _) => State::healthy("NetworkUnhealthy/healthy-link-down", &[]),
        }
    }
}
