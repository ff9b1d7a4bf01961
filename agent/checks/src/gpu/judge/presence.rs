//! Which GPUs are there, which are missing: by their addresses, by their UUIDs, by the count that is expected.

use std::collections::BTreeSet;

use super::{DRIVER, GpuJudge, device::DeviceState, trends::Streak};
use crate::{
    gpu::Vendor,
    probe::{PollError, ReadError},
};

/// GPUs that are expected and have never been seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Short {
    count: u32,
    streak: Streak,
}

impl Short {
    /// How many, once it is sure.
    pub(super) fn count(self) -> u32 {
        if self.streak.is_sure() { self.count } else { 0 }
    }
}

impl GpuJudge {
    pub(super) fn take_presence(&mut self, listed: &[String]) {
        if !listed.iter().any(|name| name == DRIVER) {
            self.driver = super::Driver::default();
        }
        for name in listed.iter().filter(|name| *name != DRIVER) {
            let device = self.device(name);
            device.absent.clear();
            if matches!(device.state, DeviceState::Missing | DeviceState::Released | DeviceState::Unfound(_)) {
                device.state = DeviceState::Unasked;
            }
        }
        self.listed = Some(listed.iter().cloned().collect());
    }

    /// What is not listed: known after the answers, which show boards that moved and GPUs given to others.
    pub(super) fn take_absence(&mut self) {
        let Some(listed) = self.listed.take() else { return };
        let present = count(listed.iter().filter(|name| *name != DRIVER).count());
        let absent: Vec<_> = self.devices.keys().filter(|name| !listed.contains(*name)).cloned().collect();
        for name in &absent {
            self.take_absent(name, listed.contains(DRIVER), present);
        }
        self.take_count(present);
    }

    fn take_absent(&mut self, name: &str, has_driver: bool, present: u32) {
        let Some(known) = self.history.get(name) else {
            self.devices.remove(name);
            return;
        };
        let (is_nvidias, was_missing) = (known.vendor == Vendor::Nvidia, known.is_missing);
        let driver = self.driver.reading.as_ref();
        let elsewhere = driver.is_some_and(|driver| driver.elsewhere.iter().any(|other| other == name));
        let is_certain = driver.is_some();
        let unfound = self.unfound(present);
        let device = self.device(name);
        device.absent.count(is_certain);
        if !is_nvidias || !has_driver || elsewhere {
            device.state = DeviceState::Released;
        } else if device.absent.is_sure() || was_missing {
            device.state = DeviceState::Missing;
            self.history.update(name, |known| known.is_missing = true);
        } else if matches!(device.state, DeviceState::Unasked | DeviceState::Unfound(_)) {
            device.state = unfound;
        }
    }

    /// The state of a GPU that this run has not seen yet, and that may be gone, moved, or given away. An earlier run may
    /// have reported more of it than it could save: to report nothing would take that back.
    fn unfound(&self, present: u32) -> DeviceState {
        if self.settings.expected.is_some_and(|expected| present >= expected) {
            return DeviceState::Unasked;
        }
        match (&self.driver.reading, &self.driver.no_reading) {
            (Some(_), _) => {
                let message = "not on the bus at the first poll".to_owned();
                DeviceState::Unfound(PollError::Read(ReadError::Failed { message }))
            }
            (None, Some(DeviceState::Unknown(error))) => DeviceState::Unfound(error.clone()),
            (None, _) => DeviceState::Unasked,
        }
    }

    /// Holds the count against what the operator expects: missing GPUs that are not expected are forgotten.
    fn take_count(&mut self, present: u32) {
        let (Some(expected), true) = (self.settings.expected, self.driver.reading.is_some()) else {
            self.short = Short::default();
            return;
        };
        let mut missing: BTreeSet<String> = self.missing().map(str::to_owned).collect();
        while present.saturating_add(count(missing.len())) > expected {
            let Some(name) = missing.pop_last() else { break };
            self.history.forget(&name);
            self.devices.remove(&name);
        }
        self.short.count = expected.saturating_sub(present.saturating_add(count(missing.len())));
        self.short.streak.count(self.short.count > 0);
    }

    fn missing(&self) -> impl Iterator<Item = &str> {
        let missing = self.devices.iter().filter(|(_, device)| device.state == DeviceState::Missing);
        missing.map(|(name, _)| name.as_str())
    }
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
