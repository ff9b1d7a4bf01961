//! Judges one port against what it has been: up or down, how fast, how often it went down.

use std::{fmt::Display, time::Duration};

use jiff::Timestamp;
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use super::{
    counters::CounterState,
    link_downs::{FLAPS, HALF_A_DAY, LinkDowns},
    reading::{PortReading, Rate},
    recovery::Recovery,
};
use crate::probe::{
    Fault, Now, State,
    debounce::{Debounce, DebounceTimes},
};

/// A port that trains again, a switch that restarts or a card whose firmware is reset is back before.
pub(crate) const DOWN: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(240), keep_firing_for: Duration::from_secs(60) };
const SLOW: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(240), keep_firing_for: Duration::from_secs(240) };

/// The kernel makes the file with the device.
const FILE: DebounceTimes = DebounceTimes { for_duration: Duration::from_secs(240), keep_firing_for: Duration::ZERO };

/// One port.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Port {
    guid: String,
    /// The card's PCI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Whether it has ever been up.
    #[serde(default)]
    was_up: bool,
    /// Whether it has been on the list in this boot, or the operator expects it.
    #[serde(default)]
    seen: bool,
    #[serde(default)]
    best: Rate,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    missing: Debounce,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    down: Debounce,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    slow: Debounce,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    no_file: Debounce,
    #[serde(default)]
    downs: LinkDowns,
    #[serde(default)]
    counters: CounterState,
    #[serde(default, skip_serializing_if = "Recovery::is_nothing")]
    recovery: Recovery,
    #[serde(skip)]
    is_listed: bool,
    #[serde(skip)]
    reading: Option<PortReading>,
}

/// What a reading reported once.
#[derive(Debug, Default)]
pub(crate) struct PortChanges {
    /// Counters that have reached their limit since the reading before.
    pub(crate) full: Vec<&'static str>,
    /// Since when the port has been back.
    pub(crate) back: Option<Timestamp>,
}

impl Port {
    /// A new boot: what hardware there is shows again, what it can do is remembered.
    pub(crate) fn of_new_boot(&self) -> Self {
        let (guid, address) = (self.guid.clone(), self.address.clone());
        Self { guid, address, was_up: self.was_up, best: self.best.clone(), ..Self::default() }
    }

    pub(crate) fn list(&mut self, is_listed: bool, is_expected: bool, now: Duration) {
        self.is_listed = is_listed;
        self.seen |= is_listed || is_expected;
        let is_missed = self.seen && !is_listed && (is_expected || self.was_up);
        self.missing.observe(is_missed, now, DOWN);
        if self.seen && !is_listed {
            self.recovery.is_away();
        }
    }

    pub(crate) fn take(&mut self, reading: PortReading, is_expected: bool, now: &Now) -> PortChanges {
        if !self.guid.is_empty() && self.guid != reading.guid {
            *self = Self { seen: true, is_listed: true, ..Self::default() };
        }
        self.guid.clone_from(&reading.guid);
        self.address.clone_from(&reading.address);
        self.was_up |= reading.is_up();
        let back = self.take_state(&reading, is_expected, now);
        self.take_rate(&reading, now.boottime);
        let is_used = is_expected || self.was_up;
        self.no_file.observe(is_used && reading.missing_file.is_some(), now.boottime, FILE);
        self.downs.observe(&reading, now.boottime);
        let full = self.counters.observe(&reading.counters, now.boottime);
        self.reading = Some(reading);
        PortChanges { full, back }
    }

    fn take_state(&mut self, reading: &PortReading, is_expected: bool, now: &Now) -> Option<Timestamp> {
        let has_to_be_up = is_expected || (self.was_up && !reading.is_switched_off());
        self.down.observe(has_to_be_up && !reading.is_up(), now.boottime, DOWN);
        if reading.is_up() {
            return self.recovery.is_up(now);
        }
        self.recovery.is_away();
        None
    }

    fn take_rate(&mut self, reading: &PortReading, now: Duration) {
        if !reading.is_up() || reading.rate.tenths == 0 {
            return;
        }
        if reading.rate.tenths >= self.best.tenths {
            self.best = reading.rate.clone();
        }
        self.slow.observe(reading.rate.tenths < self.best.tenths, now, SLOW);
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        if self.is_missing() {
            return vec![Fault::of("FabricPortMissing", &[])];
        }
        let Some(reading) = &self.reading else { return Vec::new() };
        let states = [self.down_fault(reading), self.slow_fault(reading), self.flap_fault(reading)];
        let file = self.file_fault(reading);
        states.into_iter().chain([file]).flatten().chain(self.counters.faults()).collect()
    }

    fn down_fault(&self, reading: &PortReading) -> Option<Fault> {
        if !self.down.holds() {
            return None;
        }
        let location = location(reading);
        Some(match reading.state {
            2 | 3 => Fault::of("FabricPortNotActive", &[("location", &location)]),
            4.. => Fault::of(
                "FabricPortDown/back",
                &[("seconds", &DOWN.keep_firing_for.as_secs()), ("location", &location)],
            ),
            _ => Fault::of("FabricPortDown", &[("state", &physical(reading)), ("location", &location)]),
        })
    }

    fn slow_fault(&self, reading: &PortReading) -> Option<Fault> {
        let location = location(reading);
        let args: MessageArgs<'_> = &[("rate", &reading.rate.text), ("best", &self.best.text), ("location", &location)];
        self.slow.holds().then(|| Fault::of("FabricPortSlow", args))
    }

    fn file_fault(&self, reading: &PortReading) -> Option<Fault> {
        let file = reading.missing_file.as_ref().filter(|_| self.no_file.holds())?;
        Some(Fault::of("FabricDeviceFileMissing", &[("file", file), ("location", &location(reading))]))
    }

    fn flap_fault(&self, reading: &PortReading) -> Option<Fault> {
        let (hours, location) = (HALF_A_DAY.length.as_secs() / 3_600, location(reading));
        let flapping = |count: u64| {
            let args: MessageArgs<'_> =
                &[("downs", &count), ("hours", &hours), ("limit", &FLAPS), ("location", &location)];
            Fault::of("FabricPortFlapping", args)
        };
        self.downs.flaps().map(flapping)
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.is_listed
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.missing.holds()
    }

    /// Whether it is down and that is a fault.
    pub(crate) fn is_down(&self) -> bool {
        self.down.holds()
    }

    /// Whether it has ever been used.
    pub(crate) fn is_used(&self) -> bool {
        self.was_up
    }

    pub(crate) fn was_seen(&self) -> bool {
        self.seen
    }

    pub(crate) fn guid(&self) -> &str {
        &self.guid
    }

    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// What is reported of it if it has no fault.
    pub(crate) fn healthy(&self) -> State {
        let Some(reading) = &self.reading else { return State::healthy("NetworkUnhealthy/healthy-fabric-unread", &[]) };
        let (location, rate, seconds) = (location(reading), &reading.rate.text, DOWN.for_duration.as_secs());
        let location = ("location", &location as &dyn Display);
        match reading.is_up() {
            true => State::healthy("NetworkUnhealthy/healthy-fabric", &[("rate", rate), location]),
            false if !self.was_up => State::healthy("NetworkUnhealthy/healthy-fabric-unused", &[]),
            false if reading.is_switched_off() => State::healthy("NetworkUnhealthy/healthy-fabric-off", &[location]),
            false => State::healthy("NetworkUnhealthy/healthy-fabric-short", &[("seconds", &seconds), location]),
        }
    }
}

fn physical(reading: &PortReading) -> &'static str {
    match reading.physical {
        // The only term that drivers have for it there.
        3 if reading.is_ethernet() => "no carrier",
        1 => "asleep",
        2 => "polling: no partner",
        3 => "disabled",
        4 => "training",
        5 => "linked",
        6 => "recovering from errors",
        _ => "no word on the link",
    }
}

/// For people who have to find it.
fn location(reading: &PortReading) -> String {
    let interface = reading.interface.as_ref().map(|interface| format!("interface {}", interface.name));
    let card = reading.address.as_ref().map_or_else(|| "card unknown".to_owned(), |address| format!("card {address}"));
    interface.into_iter().chain([card]).collect::<Vec<_>>().join(", ")
}
