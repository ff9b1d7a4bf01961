//! What is remembered of CXL devices that reported something: what they lost in this boot, a day's other errors, their
//! health as they reported it last. One that never reports is not known here.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_message::MessageArgs;
use nodewell_model::text::line;
use serde::{Deserialize, Serialize};

use super::{
    bucket::Bucket,
    cxl::{CxlEvent, CxlReport, Health, MediaError},
    ras::RasEvent,
};
use crate::probe::{DeviceEvent, Fault, State};

/// The start of each subject.
pub(super) const CLASS: &str = "CXL memory ";
/// More devices has no machine.
const DEVICES: usize = 64;
const NAME_BYTES: usize = 64;

/// By subject: `CXL memory 0000:35:00.0`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct CxlDevices(BTreeMap<String, CxlDevice>);

/// One device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct CxlDevice {
    /// What the kernel called it last.
    memdev: String,
    /// Errors of this boot that lost data.
    lost: u64,
    last_lost: String,
    /// The others.
    bucket: Bucket,
    /// In this boot.
    health: Option<Health>,
}

/// What one look brought.
#[derive(Debug, Default)]
pub(super) struct CxlLook {
    pub(super) events: Vec<DeviceEvent>,
    /// A device that lost data.
    pub(super) loss: Option<String>,
}

/// What one look brought of one device: a storm is one Event of each kind.
#[derive(Debug, Default)]
struct Reports {
    errors: u64,
    last_error: String,
    poisoned: u64,
    last_poisoned: u64,
    health: Option<Health>,
}

impl CxlDevices {
    pub(super) fn take(&mut self, events: &[RasEvent], capacity: u32, wall: Timestamp) -> CxlLook {
        let mut look = CxlLook::default();
        let mut reports: BTreeMap<String, Reports> = BTreeMap::new();
        for event in events {
            let RasEvent::Cxl(event) = event else { continue };
            let subject = format!("{CLASS}{}", line(&event.host, NAME_BYTES));
            if self.0.len() >= DEVICES && !self.0.contains_key(&subject) {
                continue;
            }
            let device = self.0.entry(subject.clone()).or_default();
            if device.take(event, capacity, reports.entry(subject.clone()).or_default()) {
                look.loss = Some(subject);
            }
        }
        for (subject, reports) in &reports {
            let memdev = self.0.get(subject).map_or("", |device| device.memdev.as_str());
            look.events.extend(reports.events(subject, memdev, wall));
        }
        look
    }

    pub(super) fn leak(&mut self, hours: usize) {
        self.0.values_mut().for_each(|device| device.bucket.leak(hours));
    }

    /// What wore out is worth remembering over boots; all else may be another device.
    pub(super) fn begin_boot(&mut self) {
        for device in self.0.values_mut() {
            let (memdev, bucket) = (std::mem::take(&mut device.memdev), std::mem::take(&mut device.bucket));
            *device = CxlDevice { memdev, bucket, ..CxlDevice::default() };
        }
        self.0.retain(|_, device| device.bucket.level() > 0);
    }

    pub(super) fn states(&self, capacity: u32) -> impl Iterator<Item = (String, State)> {
        self.0.iter().map(move |(subject, device)| (subject.clone(), device.state(capacity)))
    }
}

impl CxlDevice {
    /// Adds a report; returns whether data was lost.
    fn take(&mut self, event: &CxlEvent, capacity: u32, reports: &mut Reports) -> bool {
        self.memdev = line(&event.memdev, NAME_BYTES);
        match &event.report {
            CxlReport::Media(error) if error.is_loss() => {
                self.lost = self.lost.saturating_add(1);
                self.last_lost = shown(error);
                return true;
            }
            CxlReport::Media(error) => {
                self.bucket.add(1, capacity);
                (reports.errors, reports.last_error) = (reports.errors + 1, shown(error));
            }
            CxlReport::Health(health) => {
                self.health = Some(health.clone());
                reports.health = Some(health.clone());
            }
            CxlReport::Poison { address } => {
                (reports.poisoned, reports.last_poisoned) = (reports.poisoned + 1, *address);
            }
        }
        false
    }

    fn state(&self, capacity: u32) -> State {
        let memdev = &self.memdev;
        let mut faults = Vec::new();
        if self.lost > 0 {
            let (errors, last) = (&self.lost, &self.last_lost);
            faults.push(Fault::of(
                "MemoryUncorrectedError/cxl",
                &[("memdev", memdev), ("errors", errors), ("last", last)],
            ));
        }
        if self.bucket.is_full() {
            let limit = capacity.max(1);
            faults.push(Fault::of("MemoryCorrectedError/cxl", &[("memdev", memdev), ("limit", &limit)]));
        }
        if let Some(health) = self.health.as_ref().filter(|health| health.is_failing()) {
            faults.push(Fault::of("CxlMemoryFailing", &[("memdev", memdev), ("health", &line(&health.shown(), 160))]));
        }
        match faults.is_empty() {
            true => State::healthy("MemoryUnhealthy/healthy-cxl", &[]),
            false => State::Faulty(faults),
        }
    }
}

impl Reports {
    fn events(&self, subject: &str, memdev: &str, wall: Timestamp) -> Vec<DeviceEvent> {
        let mut events = Vec::new();
        if self.errors > 0 {
            let (errors, last) = (&self.errors, &self.last_error);
            let fields: MessageArgs<'_> = &[("memdev", &memdev), ("errors", errors), ("last", last)];
            events.push(DeviceEvent::of("CxlMemoryError", subject, fields, wall));
        }
        if let Some(health) = &self.health {
            let (change, health) = (line(&health.change, NAME_BYTES), line(&health.shown(), 160));
            let fields: MessageArgs<'_> = &[("memdev", &memdev), ("change", &change), ("health", &health)];
            events.push(DeviceEvent::of("CxlMemoryHealthChanged", subject, fields, wall));
        }
        if self.poisoned > 0 {
            let (entries, address) = (&self.poisoned, format!("{:#x}", self.last_poisoned));
            let fields: MessageArgs<'_> = &[("memdev", &memdev), ("entries", entries), ("address", &address)];
            events.push(DeviceEvent::of("CxlMemoryPoison", subject, fields, wall));
        }
        events
    }
}

fn shown(error: &MediaError) -> String {
    format!("{} at {:#x}", line(&error.kind, NAME_BYTES), error.address)
}
