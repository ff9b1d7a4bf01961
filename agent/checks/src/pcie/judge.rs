//! Judges all devices round by round, and remembers what a verdict needs.

use std::{collections::BTreeMap, time::Duration};

use glob::Pattern;
use nodewell_model::{Name, inventory::Acceptance, text::line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    errors::ErrorState,
    link::{Accepted, Judged, LinkState},
    presence::Presence,
    reading::{PcieReading, Slot},
};
use crate::{
    pcie::PcieSettings,
    probe::{
        DeviceEvent, Fault, Findings, Judge, Now, PollError, ReadError, Round, State, Verdict,
        debounce::{Debounce, DebounceTimes},
        last_saved::LastSaved,
    },
};

mod account;

/// The counter of a root port and that of the device may be read on both sides of an error: seen at two readings.
const UNTRACED: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(1), keep_firing_for: Duration::from_secs(1) };

/// Judges in the check process.
#[derive(Debug)]
pub struct PcieJudge {
    settings: PcieSettings,
    ignored: Vec<Pattern>,
    history: PcieHistory,
    /// As it was last saved.
    last_saved: LastSaved,
    listing: Option<PollError>,
    /// For the next round.
    accepting: Vec<AcceptedLink>,
}

/// A link that a person accepts as it is.
#[derive(Debug)]
struct AcceptedLink {
    address: String,
    acceptance: Acceptance,
}

/// What a link is called where people accept it: `link 0000:3b:00.0`.
const LINK: &str = "link ";

/// What outlives a restart.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PcieHistory {
    boot_id: String,
    devices: BTreeMap<String, Device>,
}

/// One device.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Device {
    id: String,
    /// Whether it has been on the list in this boot.
    #[serde(default)]
    seen: bool,
    #[serde(default)]
    above: Vec<String>,
    #[serde(default)]
    removable: bool,
    #[serde(default)]
    errors: ErrorState,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    untraced: Debounce,
    #[serde(default, skip_serializing_if = "LinkState::is_nothing")]
    link: LinkState,
    #[serde(default, skip_serializing_if = "Presence::is_nothing")]
    presence: Presence,
    /// The newest reading; none yet in this run, and none while the device does not answer.
    #[serde(skip)]
    reading: Option<PcieReading>,
    #[serde(skip)]
    poll_error: Option<PollError>,
}

impl PcieJudge {
    #[must_use]
    pub fn new(settings: PcieSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|glob| Pattern::new(glob).ok()).collect();
        let (history, last_saved) = (PcieHistory::default(), LastSaved::default());
        Self { settings, ignored, history, last_saved, listing: None, accepting: Vec::new() }
    }

    fn is_ignored(&self, device: &str) -> bool {
        self.ignored.iter().any(|glob| glob.matches(device))
    }

    fn take(&mut self, round: Round) -> Vec<DeviceEvent> {
        self.history.enter_boot(&round.now.boot_id);
        let now = round.now.boottime;
        match round.listed {
            Ok(listed) => self.take_list(&listed, now),
            Err(poll_error) => self.listing = Some(poll_error),
        }
        for (device, answer) in round.answers {
            if !self.is_ignored(&device) {
                self.history.answer(device, answer, now);
            }
        }
        self.history.trace_root_errors(now);
        let mut events = self.history.forget_removed(&round.now);
        events.extend(self.accept_links());
        events
    }

    /// One that was not read yet waits.
    fn accept_links(&mut self) -> Vec<DeviceEvent> {
        let (mut events, mut waiting) = (Vec::new(), Vec::new());
        for accepted in std::mem::take(&mut self.accepting) {
            let Some(device) = self.history.devices.get_mut(&accepted.address) else { continue };
            match device.link.accept() {
                Accepted::Link => events.push(accepted.event()),
                Accepted::NotYet if device.reading.is_none() => waiting.push(accepted),
                Accepted::Nothing | Accepted::NotYet => {}
            }
        }
        self.accepting = waiting;
        events
    }

    fn take_list(&mut self, listed: &[String], now: Duration) {
        self.listing = None;
        for (address, device) in &mut self.history.devices {
            device.list(listed.contains(address), now);
        }
    }

    fn is_absent(&self) -> bool {
        matches!(&self.listing, Some(PollError::Read(ReadError::Gone { .. })))
    }
}

impl Judge for PcieJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let events = self.take(round);
        if self.is_absent() {
            return Findings::default();
        }
        Findings { events, ..self.account() }
    }

    /// The findings of the next round show it.
    fn accept(&mut self, acceptance: &Acceptance) -> bool {
        let links = acceptance.names.iter().filter_map(|name| name.strip_prefix(LINK));
        let known = links.filter(|address| self.history.devices.contains_key(*address));
        let of = |address: &str| AcceptedLink { address: address.to_owned(), acceptance: acceptance.clone() };
        let accepted: Vec<AcceptedLink> = known.map(of).collect();
        let is_any = !accepted.is_empty();
        self.accepting.extend(accepted);
        is_any
    }

    fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&self.history)
    }

    fn load(&mut self, saved: Value) {
        let Ok(mut history) = serde_json::from_value::<PcieHistory>(saved.clone()) else { return };
        history.devices.retain(|address, _| !self.is_ignored(address));
        (self.history, self.last_saved) = (history, LastSaved::of(saved));
    }
}

impl AcceptedLink {
    fn event(&self) -> DeviceEvent {
        let (subject, by) = (format!("{LINK}{}", self.address), line(&self.acceptance.by, 64));
        DeviceEvent::of("HardwareAccepted/link", &subject, &[("by", &by)], self.acceptance.time)
    }
}

impl PcieHistory {
    /// A new boot finds what hardware there is; of the old one only what links can do is remembered.
    fn enter_boot(&mut self, boot_id: &str) {
        if self.boot_id == boot_id {
            return;
        }
        boot_id.clone_into(&mut self.boot_id);
        self.devices.retain(|_, device| device.seen);
        for device in self.devices.values_mut() {
            *device = Device { id: device.id.clone(), link: device.link.of_new_boot(), ..Device::default() };
        }
    }

    fn answer(&mut self, address: String, answer: crate::probe::Answer, now: Duration) {
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => self.read(address, reading, now),
            // It went between the list and the question: the next list shows it.
            Err(PollError::Read(ReadError::Gone { .. })) => {}
            Err(poll_error) => self.devices.entry(address).or_insert_with(Device::listed).poll_error = Some(poll_error),
        }
    }

    fn read(&mut self, address: String, reading: PcieReading, now: Duration) {
        let judged = self.judged(&address, &reading);
        let device = self.devices.entry(address).or_insert_with(Device::listed);
        if device.id != reading.id {
            *device = Device { id: reading.id.clone(), ..Device::listed() };
        }
        device.take(reading, judged, now);
    }

    /// A GPU's driver lowers the speed of all links on the way to it that end on its card.
    fn judged(&self, address: &str, reading: &PcieReading) -> Judged {
        const AMD: &str = "1002:";
        let mut below = self.devices.values().filter_map(|device| device.reading.as_ref());
        let leads_to_gpu = below.any(|other| other.is_gpu() && other.above.iter().any(|port| port == address));
        let is_gpu = reading.is_gpu() || leads_to_gpu;
        // Drivers of AMD's graphics cards lower the width, too.
        Judged { width: !(is_gpu && reading.id.starts_with(AMD)), speed: !is_gpu }
    }

    /// Fatal messages that reached a root port and that the kernel could trace to no device.
    fn trace_root_errors(&mut self, now: Duration) {
        let traced: Vec<String> = self
            .devices
            .iter()
            .filter(|(_, device)| device.errors.has_fatal())
            .flat_map(|(address, device)| path_up(address, device))
            .collect();
        for (address, device) in &mut self.devices {
            let is_untraced = device.errors.root_fatal() > 0 && !traced.contains(address);
            device.untraced.observe(is_untraced, now, UNTRACED);
        }
    }

    /// What left through a slot, or from behind a port where people unplug, has been taken out.
    fn forget_removed(&mut self, now: &Now) -> Vec<DeviceEvent> {
        let removed: Vec<String> = self.devices.keys().filter(|address| self.is_removed(address)).cloned().collect();
        for address in &removed {
            self.devices.remove(address);
        }
        let event = |address: &String| DeviceEvent::of("PcieDeviceRemoved", address, &[("address", address)], now.wall);
        removed.iter().map(event).collect()
    }

    fn is_removed(&self, address: &str) -> bool {
        let Some(device) = self.devices.get(address).filter(|device| device.presence.is_gone()) else { return false };
        let slots = device.above.iter().filter_map(|port| self.devices.get(port)?.reading.as_ref());
        device.removable || slots.flat_map(|port| &port.slots).any(|slot| slot.is_empty_at(address, &device.above))
    }
}

impl Device {
    fn listed() -> Self {
        let mut device = Self::default();
        device.list(true, Duration::ZERO);
        device
    }

    fn list(&mut self, is_listed: bool, now: Duration) {
        self.seen |= is_listed;
        if self.seen {
            self.presence.listed(is_listed, now);
        }
    }

    fn take(&mut self, reading: PcieReading, judged: Judged, now: Duration) {
        self.poll_error = None;
        self.presence.answered(reading.mute, now);
        if reading.mute {
            return;
        }
        self.above.clone_from(&reading.above);
        self.removable = reading.removable;
        self.errors.observe(reading.aer.as_ref(), reading.root_fatal, now);
        if let Some(link) = reading.link {
            self.link.observe(link, judged, now);
        }
        self.reading = Some(reading);
    }
}

impl Slot {
    /// Whether `address`, or a port above it, sat in this slot, and nothing does now.
    fn is_empty_at(&self, address: &str, above: &[String]) -> bool {
        let holds = |address: &str| address.rsplit_once('.').is_some_and(|(device, _)| device == self.address);
        !self.occupied && (holds(address) || above.iter().any(|port| holds(port)))
    }
}

/// A device and all ports above it.
fn path_up(address: &str, device: &Device) -> Vec<String> {
    std::iter::once(address.to_owned()).chain(device.above.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
