//! Judges GPUs: processes answers, remembers what was there, gives the whole account.

mod account;
mod device;
mod fabric;
mod faults;
mod history;
mod presence;
mod recovery;
#[cfg(test)]
mod tests;
mod text;
mod trends;
mod xids;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_faults::{Branch, xid::Table};
use nodewell_message::MessageArgs;
use serde_json::Value;

use self::{
    device::{Device, DeviceState},
    history::{GpuHistory, Known},
    presence::Short,
};
use super::{
    DRIVER,
    reading::{Access, DeviceReading, DriverReading, GpuReading, XidEvent},
};
use crate::{
    gpu::GpuSettings,
    probe::{Answer, DeviceEvent, Findings, Judge, Now, PollError, RawReading, ReadError, RecoveryEvidence, Round},
};

/// Judges in the check process.
#[derive(Debug)]
pub struct GpuJudge {
    settings: GpuSettings,
    table: Table,
    /// The state saved across restarts.
    history: GpuHistory,
    devices: BTreeMap<String, Device>,
    driver: Driver,
    /// What is listed, while a round is processed.
    listed: Option<BTreeSet<String>>,
    /// GPUs that are expected and were never seen.
    short: Short,
    /// No GPU's driver is there: nothing is published.
    is_bare: bool,
    events: Vec<DeviceEvent>,
    recoveries: Vec<RecoveryEvidence>,
}

/// What is known of NVIDIA's driver.
#[derive(Debug, Default)]
struct Driver {
    reading: Option<DriverReading>,
    /// Why there is no reading in this round: no answer, or the driver is gone.
    no_reading: Option<DeviceState>,
}

impl GpuJudge {
    #[must_use]
    pub fn new(settings: GpuSettings) -> Self {
        let table = xids::table(settings.xids.as_deref());
        Self {
            settings,
            table,
            history: GpuHistory::default(),
            devices: BTreeMap::new(),
            driver: Driver::default(),
            listed: None,
            short: Short::default(),
            is_bare: true,
            events: Vec::new(),
            recoveries: Vec::new(),
        }
    }

    fn take_list(&mut self, listed: &Result<Vec<String>, PollError>) {
        match listed {
            Ok(listed) => {
                self.is_bare = false;
                self.take_presence(listed);
            }
            Err(PollError::Read(ReadError::Gone { .. })) => self.is_bare = true,
            Err(error) => self.take_no_list(&DeviceState::of_error(error)),
        }
    }

    /// It is unknown which GPUs are there: what was known of those that are gone holds.
    fn take_no_list(&mut self, state: &DeviceState) {
        self.is_bare = false;
        let is_there = |known: &DeviceState| !matches!(known, DeviceState::Missing | DeviceState::Released);
        let there = self.devices.values_mut().filter(|device| is_there(&device.state));
        there.for_each(|device| device.lose(state.clone()));
        if self.driver.reading.is_some() {
            self.driver.no_reading = Some(state.clone());
        }
    }

    fn take_answer(&mut self, name: &str, answer: Answer, now: &Now) {
        match answer.and_then(|reading| reading.parse()) {
            Ok(DeviceReading::Driver(driver)) => self.take_driver(driver),
            Ok(DeviceReading::Gpu(gpu)) => self.take_gpu(name, *gpu, now),
            Err(error) if name == DRIVER => self.driver.no_reading = Some(DeviceState::of_error(&error)),
            Err(error) => self.device(name).lose(DeviceState::of_error(&error)),
        }
    }

    fn take_gpu(&mut self, name: &str, reading: GpuReading, now: &Now) {
        let is_another = |known: &Known| known.is_another(&reading.identity);
        if self.history.get(name).is_some_and(is_another) {
            self.history.forget(name);
            self.devices.remove(name);
        }
        if reading.access == Access::Answers {
            self.report_persistence(name, &reading);
            self.report_contained(name, &reading);
            self.history.learn(name, &reading);
        }
        self.take_recovery(name, &reading, now);
        let down = self.history.get(name).is_some_and(|known| !fabric::links_down(known, &reading).is_empty());
        self.device(name).take(reading, now.boottime, down);
    }

    /// Without persistence mode the driver lets go of a GPU that no program uses: each start takes seconds then, and
    /// the counters are lost.
    fn report_persistence(&mut self, name: &str, reading: &GpuReading) {
        let was_off = self.history.get(name).and_then(|known| known.persistence) == Some(false);
        if reading.persistence == Some(false) && !was_off {
            let event = DeviceEvent::of("GpuPersistenceOff", name, &[("address", &name)], reading.read_at);
            self.events.push(event);
        }
    }

    /// A GPU that remaps rows goes on after an uncorrectable error: that it happened is an Event. What is not over
    /// then, it reports by a row that waits, or an Xid.
    fn report_contained(&mut self, name: &str, reading: &GpuReading) {
        let Some(count) = reading.ecc.and_then(|ecc| ecc.uncorrected.or(ecc.uncorrected_ever)) else { return };
        let last = self.device(name).uncorrected_last.replace(count);
        let new = last.and_then(|last| count.checked_sub(last)).unwrap_or(0);
        if reading.remap.is_some() && new > 0 {
            let gpu = text::gpu(&reading.identity);
            let args: MessageArgs<'_> = &[("new", &new), ("total", &count), ("gpu", &gpu)];
            self.events.push(DeviceEvent::of("GpuEccContained", name, args, reading.read_at));
        }
    }

    fn take_driver(&mut self, driver: DriverReading) {
        if let Some(seen_before) = self.history.take_module(&driver) {
            self.end_by_reload(seen_before, &driver.switches);
        }
        self.driver = Driver { reading: Some(driver), no_reading: None };
    }

    /// The driver branch that Xids are read for.
    fn branch(&self) -> Option<Branch> {
        Branch::of_version(self.driver.reading.as_ref()?.version.as_deref()?)
    }

    fn device(&mut self, name: &str) -> &mut Device {
        self.devices.entry(name.to_owned()).or_default()
    }

    fn findings(&mut self) -> Findings {
        let (verdicts, hardware) = if self.is_bare { Default::default() } else { self.account() };
        let events = std::mem::take(&mut self.events);
        Findings { verdicts, events, recoveries: std::mem::take(&mut self.recoveries), hardware }
    }
}

impl Judge for GpuJudge {
    fn judge(&mut self, round: Round) -> Findings {
        self.history.begin_boot(&round.now.boot_id);
        self.take_list(&round.listed);
        for (name, answer) in round.answers {
            self.take_answer(&name, answer, &round.now);
        }
        self.take_absence();
        self.findings()
    }

    fn events(&mut self, events: Vec<RawReading>, now: &Now) -> Findings {
        self.history.begin_boot(&now.boot_id);
        for event in events {
            // The kernel log, too, reports what is not understood here.
            if let Ok(event) = event.parse::<XidEvent>() {
                self.take_xid(&event, now);
            }
        }
        self.findings()
    }

    fn save(&mut self) -> Option<Value> {
        self.history.save()
    }

    fn load(&mut self, saved: Value) {
        self.history = GpuHistory::load(saved);
        for name in self.history.names() {
            self.device(&name);
        }
    }
}
