//! The whole account: a verdict for each GPU and condition, one for the driver, and the inventory.

use nodewell_model::{Inventory, Name};

use super::{
    DRIVER, GpuJudge,
    device::{Device, Standing},
    fabric,
    history::Known,
    presence, words,
};
use crate::{
    Fault, PollError, State, Verdict,
    gpu::{Access, GpuReading},
    unknown,
};

impl GpuJudge {
    pub(super) fn account(&self) -> (Vec<Verdict>, Vec<Inventory>) {
        let gpus = self.devices.iter().flat_map(|(name, device)| self.of_device(name, device));
        let verdicts: Vec<_> = self.of_driver().into_iter().chain(gpus).collect();
        let inventory = self.inventory(&verdicts);
        (verdicts, inventory)
    }

    fn of_device(&self, name: &str, device: &Device) -> Vec<Verdict> {
        let unknown = Known::default();
        let known = self.history.get(name).unwrap_or(&unknown);
        let states =
            [(unhealthy(), self.gpu_state(device, known)), (fabric_unhealthy(), self.fabric_state(device, known))];
        let told = states.into_iter().filter_map(|(condition, state)| Some((condition, state?)));
        told.map(|(condition, state)| Verdict { condition, subject: name.to_owned(), state }).collect()
    }

    fn gpu_state(&self, device: &Device, known: &Known) -> Option<State> {
        let mut faults = self.xid_faults(known, &unhealthy());
        match &device.standing {
            Standing::Unasked | Standing::Released => return None,
            Standing::Missing => {
                let message = format!("not on the bus any more{}", words::identity(&known.identity));
                faults.push(Fault::new("GpuMissing", message));
            }
            Standing::Answered(reading) => add(&mut faults, self.gpu_faults(device, known, reading)),
            Standing::Unfound(_) => {}
            Standing::Unknown(_) if faults.is_empty() => {}
            Standing::Unknown(_) => {
                let last = device.last.iter().flat_map(|reading| self.gpu_faults(device, known, reading));
                add(&mut faults, last.collect());
            }
        }
        Some(if faults.is_empty() { faultless(&device.standing, known) } else { State::Faulty(faults) })
    }

    /// Nothing, for a GPU without a fabric, or one that is gone, which the other condition reports.
    fn fabric_state(&self, device: &Device, known: &Known) -> Option<State> {
        let mut faults = self.xid_faults(known, &fabric_unhealthy());
        let has_fabric = match &device.standing {
            Standing::Unasked | Standing::Unfound(_) | Standing::Released | Standing::Missing => return None,
            Standing::Unknown(_) => {
                let is_said = !faults.is_empty();
                let last = device.last.iter().filter(|last| is_said && last.access == Access::Answers);
                add(&mut faults, last.flat_map(|reading| fabric::faults(device, known, reading)).collect());
                !known.links.is_empty()
            }
            Standing::Answered(reading) if reading.access == Access::Answers => {
                add(&mut faults, fabric::faults(device, known, reading));
                !known.links.is_empty() || reading.fabric.is_some()
            }
            Standing::Answered(_) => false,
        };
        if !faults.is_empty() {
            return Some(State::Faulty(faults));
        }
        has_fabric.then(|| faultless(&device.standing, known))
    }

    fn of_driver(&self) -> Option<Verdict> {
        let state = match (&self.driver.no_reading, &self.driver.reading) {
            (Some(Standing::Released), _) | (None, None) => return None,
            (Some(standing), _) => faultless(standing, &Known::default()),
            (None, Some(reading)) => {
                let version = reading.version.as_deref().unwrap_or("of unknown version");
                let faults = self.driver_faults(reading.mismatch, version);
                let healthy = State::Healthy { message: format!("driver {version}") };
                if faults.is_empty() { healthy } else { State::Faulty(faults) }
            }
        };
        Some(Verdict { condition: unhealthy(), subject: DRIVER.to_owned(), state })
    }

    fn driver_faults(&self, is_mismatch: bool, version: &str) -> Vec<Fault> {
        let mismatch = is_mismatch.then(|| {
            let message = format!("the loaded driver is {version}, and its library is of another version");
            Fault::new("GpuDriverMismatch", message)
        });
        let short = Some(self.short.count()).filter(|short| *short > 0).map(|short| {
            let expected = words::gpus(self.settings.expected.unwrap_or(0));
            Fault::new("GpuCountLow", format!("{short} of {expected} that are expected were never seen"))
        });
        mismatch.into_iter().chain(short).collect()
    }

    fn inventory(&self, verdicts: &[Verdict]) -> Vec<Inventory> {
        let gpus = self.devices.iter().filter(|(_, device)| device.standing.is_counted());
        let words: Vec<_> = gpus.map(|(name, device)| word(device, name, verdicts)).collect();
        let total = presence::count(words.len()).saturating_add(self.short.count());
        let mut states = std::collections::BTreeMap::new();
        let short = std::iter::repeat_n("lost", self.short.count() as usize);
        for word in words.into_iter().flatten().chain(short) {
            *states.entry(word.to_owned()).or_insert(0) += 1;
        }
        let inventory = Inventory { class: "GPUs".to_owned(), total, states };
        if total == 0 { Vec::new() } else { vec![inventory] }
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
fn faultless(standing: &Standing, known: &Known) -> State {
    match standing {
        Standing::Unknown(error) | Standing::Unfound(error) => unknown(error),
        other => State::Healthy { message: healthy(other.reading(), known) },
    }
}

fn healthy(reading: Option<&GpuReading>, known: &Known) -> String {
    let name = known.identity.name.as_deref().unwrap_or("a GPU");
    let asleep = if reading.is_some_and(|reading| reading.access == Access::Asleep) { ", asleep" } else { "" };
    format!("{name}{asleep}")
}

/// What the inventory shows of a GPU that is not healthy.
fn word(device: &Device, name: &str, verdicts: &[Verdict]) -> Option<&'static str> {
    let is_failing = |verdict: &Verdict| verdict.subject == name && matches!(verdict.state, State::Faulty(_));
    match &device.standing {
        Standing::Missing => Some("lost"),
        Standing::Answered(reading) if reading.access == Access::Lost => Some("lost"),
        Standing::Unfound(_) => Some("not found"),
        Standing::Unknown(PollError::NoAnswer(_)) => Some("not answering"),
        Standing::Unknown(PollError::Read(_)) => Some("not readable"),
        _ if verdicts.iter().any(is_failing) => Some("failing"),
        _ => None,
    }
}
