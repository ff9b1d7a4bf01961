//! What the GPU judge remembers across restarts: which GPUs there were, links that were up, Xids that are not over.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gpu::{DriverReading, GpuReading, Identity, Vendor};

/// More GPUs than any machine has: a reader gone mad must not fill the disk.
const MOST_GPUS: usize = 256;

/// The saved state.
#[derive(Debug, Default)]
pub(super) struct GpuHistory {
    saved: SavedGpus,
    has_changed: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct SavedGpus {
    boot_id: String,
    /// The loading of NVIDIA's module, and when it was last seen.
    module: Option<u64>,
    module_seen: Timestamp,
    gpus: BTreeMap<String, Known>,
}

/// One GPU that was seen once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Known {
    pub(super) vendor: Vendor,
    pub(super) identity: Identity,
    /// It was gone when it was last looked for.
    pub(super) is_missing: bool,
    /// NVLinks that were up once.
    pub(super) links: BTreeSet<usize>,
    pub(super) persistence: Option<bool>,
    /// Uncorrectable errors of its life, where it does not count those since the reset.
    pub(super) uncorrected_ever: Option<u64>,
    /// That count has grown since this boot or loading of the driver.
    pub(super) has_grown: bool,
    /// Xids of NVML that hold a condition, by code: since when.
    pub(super) xids: BTreeMap<u32, Timestamp>,
}

impl GpuHistory {
    /// The saved state; what is not understood is forgotten.
    pub(super) fn load(saved: Value) -> Self {
        Self { saved: serde_json::from_value(saved).unwrap_or_default(), has_changed: false }
    }

    /// What has to be saved, if it is another than last time.
    pub(super) fn save(&mut self) -> Option<Value> {
        let changed = std::mem::take(&mut self.has_changed);
        if changed { serde_json::to_value(&self.saved).ok() } else { None }
    }

    /// A boot resets every GPU.
    pub(super) fn begin_boot(&mut self, boot_id: &str) {
        if !boot_id.is_empty() && self.saved.boot_id != boot_id {
            boot_id.clone_into(&mut self.saved.boot_id);
            self.saved.module = None;
            self.saved.gpus.values_mut().for_each(|known| known.xids.clear());
            self.begin_driver();
        }
    }

    /// Records the loaded module. If it is another than before: when that was last seen.
    pub(super) fn take_module(&mut self, driver: &DriverReading) -> Option<Timestamp> {
        let (old, old_seen) = (self.saved.module, self.saved.module_seen);
        let new = driver.module.or(old);
        // The time is not worth a write by itself.
        (self.saved.module, self.saved.module_seen) = (new, driver.read_at);
        self.has_changed |= new != old;
        (old.is_some() && new != old).then_some(old_seen)
    }

    /// Forgets what a driver counts from zero when it starts. Xids that a reset ends are ended by themselves; what
    /// needs manual work or a reboot is as it was.
    pub(super) fn begin_driver(&mut self) {
        self.saved.gpus.values_mut().for_each(|known| known.has_grown = false);
        self.has_changed = true;
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.saved.gpus.keys().cloned().collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Known> {
        self.saved.gpus.get(name)
    }

    /// Changes what is known of a GPU.
    pub(super) fn update(&mut self, name: &str, change: impl FnOnce(&mut Known)) {
        if !self.saved.gpus.contains_key(name) && self.saved.gpus.len() >= MOST_GPUS {
            return;
        }
        let known = self.saved.gpus.entry(name.to_owned()).or_default();
        let before = known.clone();
        change(known);
        self.has_changed |= *known != before;
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.has_changed |= self.saved.gpus.remove(name).is_some();
    }

    /// Learns from a reading of a GPU that answers. The same board at another address is not remembered at its old one.
    pub(super) fn learn(&mut self, name: &str, reading: &GpuReading) {
        self.forget_moved(name, &reading.identity);
        self.update(name, |known| known.learn(reading));
    }

    fn forget_moved(&mut self, name: &str, identity: &Identity) {
        let Some(uuid) = &identity.uuid else { return };
        let is_old = |(at, known): (&String, &Known)| at != name && known.identity.uuid.as_ref() == Some(uuid);
        let old: Vec<_> = self.saved.gpus.iter().filter(|&entry| is_old(entry)).map(|(at, _)| at.clone()).collect();
        old.iter().for_each(|at| self.forget(at));
    }
}

impl Known {
    fn learn(&mut self, reading: &GpuReading) {
        self.vendor = reading.vendor;
        self.is_missing = false;
        let reported = &reading.identity;
        for (mine, new) in [
            (&mut self.identity.name, &reported.name),
            (&mut self.identity.uuid, &reported.uuid),
            (&mut self.identity.serial, &reported.serial),
            (&mut self.identity.vbios, &reported.vbios),
        ] {
            if new.is_some() {
                mine.clone_from(new);
            }
        }
        let up = reading.links.iter().enumerate().filter(|(_, is_up)| **is_up == Some(true));
        self.links.extend(up.map(|(link, _)| link));
        self.persistence = reading.persistence.or(self.persistence);
        self.learn_ecc(reading);
    }

    fn learn_ecc(&mut self, reading: &GpuReading) {
        let Some(ever) = reading.ecc.and_then(|ecc| ecc.uncorrected_ever) else { return };
        self.has_grown |= self.uncorrected_ever.is_some_and(|known| ever > known);
        self.uncorrected_ever = Some(ever);
    }

    /// Another board stands in the slot.
    pub(super) fn is_another(&self, reported: &Identity) -> bool {
        self.identity.uuid.is_some() && reported.uuid.is_some() && self.identity.uuid != reported.uuid
    }
}
