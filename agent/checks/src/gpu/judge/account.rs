//! The whole account: a verdict for each GPU and condition, one for the driver, and how many GPUs there are.

use nodewell_model::{
    DeviceFacts, Hardware, Name,
    report::{DEVICES_LIMIT, FACT_LIMIT_BYTES},
    text::line,
};

use super::{
    DRIVER, GpuJudge,
    device::{Device, DeviceState},
    fabric,
    history::Known,
    presence, text,
};
use crate::{
    gpu::{Access, Vendor},
    probe::{Fault, PollError, State, Verdict, unknown},
};

impl GpuJudge {
    pub(super) fn account(&self) -> (Vec<Verdict>, Vec<Hardware>) {
        let gpus = self.devices.iter().flat_map(|(name, device)| self.of_device(name, device));
        let verdicts: Vec<_> = self.of_driver().into_iter().chain(gpus).collect();
        let hardware = self.hardware(&verdicts);
        (verdicts, hardware)
    }

    fn of_device(&self, name: &str, device: &Device) -> Vec<Verdict> {
        let unknown = Known::default();
        let known = self.history.get(name).unwrap_or(&unknown);
        let states =
            [(unhealthy(), self.gpu_state(device, known)), (fabric_unhealthy(), self.fabric_state(device, known))];
        let known = states.into_iter().filter_map(|(condition, state)| Some((condition, state?)));
        known.map(|(condition, state)| Verdict { condition, subject: name.to_owned(), state }).collect()
    }

    fn gpu_state(&self, device: &Device, known: &Known) -> Option<State> {
        let mut faults = self.xid_faults(known, &unhealthy());
        match &device.state {
            DeviceState::Unasked | DeviceState::Released => return None,
            DeviceState::Missing => {
                faults.push(Fault::of("GpuMissing", &[("gpu", &text::gpu(&known.identity))]));
            }
            DeviceState::Answered(reading) => add(&mut faults, self.gpu_faults(device, known, reading)),
            DeviceState::Unfound(_) => {}
            DeviceState::Unknown(_) if faults.is_empty() => {}
            DeviceState::Unknown(_) => {
                let last = device.last.iter().flat_map(|reading| self.gpu_faults(device, known, reading));
                add(&mut faults, last.collect());
            }
        }
        Some(if faults.is_empty() {
            faultless(&device.state, || healthy(&device.state, known))
        } else {
            State::Faulty(faults)
        })
    }

    /// Nothing, for a GPU without a fabric, or one that is gone, which the other condition reports.
    fn fabric_state(&self, device: &Device, known: &Known) -> Option<State> {
        let mut faults = self.xid_faults(known, &fabric_unhealthy());
        let has_fabric = match &device.state {
            DeviceState::Unasked | DeviceState::Unfound(_) | DeviceState::Released | DeviceState::Missing => {
                return None;
            }
            DeviceState::Unknown(_) => {
                let is_reported = !faults.is_empty();
                let last = device.last.iter().filter(|last| is_reported && last.access == Access::Answers);
                add(&mut faults, last.flat_map(|reading| fabric::faults(device, known, reading)).collect());
                !known.links.is_empty()
            }
            DeviceState::Answered(reading) if reading.access == Access::Answers => {
                add(&mut faults, fabric::faults(device, known, reading));
                !known.links.is_empty() || reading.fabric.is_some()
            }
            DeviceState::Answered(_) => false,
        };
        if !faults.is_empty() {
            return Some(State::Faulty(faults));
        }
        let healthy = || State::healthy("GpuFabricUnhealthy/healthy", &[("links", &known.links.len())]);
        has_fabric.then(|| faultless(&device.state, healthy))
    }

    fn of_driver(&self) -> Option<Verdict> {
        let state = match (&self.driver.no_reading, &self.driver.reading) {
            (Some(DeviceState::Released), _) | (None, None) => return None,
            (Some(state), _) => faultless(state, || healthy(state, &Known::default())),
            (None, Some(reading)) => {
                let version = reading.version.as_deref().unwrap_or("unknown");
                let faults = self.driver_faults(reading.mismatch, version);
                let healthy = || State::healthy("GpuUnhealthy/healthy-driver", &[("version", &version)]);
                if faults.is_empty() { healthy() } else { State::Faulty(faults) }
            }
        };
        Some(Verdict { condition: unhealthy(), subject: DRIVER.to_owned(), state })
    }

    fn driver_faults(&self, is_mismatch: bool, version: &str) -> Vec<Fault> {
        let mismatch = is_mismatch.then(|| Fault::of("GpuDriverMismatch", &[("version", &version)]));
        let short = Some(self.short.count()).filter(|short| *short > 0).map(|short| {
            let expected = self.settings.expected.unwrap_or(0);
            Fault::of("GpuCountLow", &[("missing", &short), ("expected", &expected)])
        });
        mismatch.into_iter().chain(short).collect()
    }

    fn hardware(&self, verdicts: &[Verdict]) -> Vec<Hardware> {
        let gpus = self.devices.iter().filter(|(_, device)| device.state.is_counted());
        let names: Vec<_> = gpus.map(|(name, device)| state_name(device, name, verdicts)).collect();
        let total = presence::count(names.len()).saturating_add(self.short.count());
        let mut states = std::collections::BTreeMap::new();
        let short = std::iter::repeat_n("lost", self.short.count() as usize);
        for state_name in names.into_iter().flatten().chain(short) {
            *states.entry(state_name.to_owned()).or_insert(0) += 1;
        }
        let (class, devices) = ("GPUs".to_owned(), self.facts());
        let hardware = Hardware { class, total, states, devices, ..Hardware::default() };
        if total == 0 { Vec::new() } else { vec![hardware] }
    }

    /// Of those that are there and were read once.
    fn facts(&self) -> Vec<DeviceFacts> {
        let is_there = |device: &Device| device.state.is_counted() && device.state != DeviceState::Missing;
        let there = self.devices.iter().filter(|(_, device)| is_there(device)).map(|(name, _)| name);
        let facts = there.filter_map(|name| self.facts_of(name, self.history.get(name)?));
        facts.take(DEVICES_LIMIT).collect()
    }

    fn facts_of(&self, name: &str, known: &Known) -> Option<DeviceFacts> {
        let word = |fact: &Option<String>| line(fact.as_deref().unwrap_or_default(), FACT_LIMIT_BYTES);
        let version = self.driver.reading.as_ref().and_then(|reading| reading.version.as_deref());
        let driver = match (known.vendor, version) {
            (Vendor::Nvidia, Some(version)) => line(&format!("{DRIVER} {version}"), FACT_LIMIT_BYTES),
            // The inventory has it by its link.
            _ => String::new(),
        };
        let (model, firmware) = (word(&known.identity.name), word(&known.identity.vbios));
        let is_known = [&model, &firmware, &driver].iter().any(|fact| !fact.is_empty());
        is_known.then(|| DeviceFacts { name: line(name, FACT_LIMIT_BYTES), model, firmware, driver })
    }
}

fn unhealthy() -> Name {
    Name::fixed("GpuUnhealthy")
}

fn fabric_unhealthy() -> Name {
    Name::fixed("GpuFabricUnhealthy")
}

/// Adds faults whose reason is not there yet: an Xid and a reading may report the same.
fn add(faults: &mut Vec<Fault>, more: Vec<Fault>) {
    for fault in more {
        if !faults.iter().any(|known| known.reason == fault.reason) {
            faults.push(fault);
        }
    }
}

/// The state of a device that has no fault.
fn faultless(state: &DeviceState, healthy: impl FnOnce() -> State) -> State {
    match state {
        DeviceState::Unknown(error) | DeviceState::Unfound(error) => unknown(error),
        _ => healthy(),
    }
}

fn healthy(state: &DeviceState, known: &Known) -> State {
    let name = known.identity.name.as_deref().unwrap_or("a GPU");
    let is_asleep = state.reading().is_some_and(|reading| reading.access == Access::Asleep);
    State::healthy(if is_asleep { "GpuUnhealthy/healthy-asleep" } else { "GpuUnhealthy/healthy" }, &[("name", &name)])
}

/// As the count shows a GPU that is not healthy.
fn state_name(device: &Device, name: &str, verdicts: &[Verdict]) -> Option<&'static str> {
    let is_failing = |verdict: &Verdict| verdict.subject == name && matches!(verdict.state, State::Faulty(_));
    match &device.state {
        DeviceState::Missing => Some("lost"),
        DeviceState::Answered(reading) if reading.access == Access::Lost => Some("lost"),
        DeviceState::Unfound(_) => Some("not found"),
        DeviceState::Unknown(PollError::NoAnswer(_)) => Some("not answering"),
        DeviceState::Unknown(PollError::Read(_)) => Some("not readable"),
        _ if verdicts.iter().any(is_failing) => Some("failing"),
        _ => None,
    }
}
