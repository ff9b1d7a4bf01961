//! The baselines of all disks, by identity: a disk that moves to another slot is still that disk, and a new one in an
//! old slot starts from zero.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Known;
use crate::{
    disk::{
        baseline::{Baseline, ReadTime, known_entries},
        reading::Identity,
    },
    probe::{Now, last_saved::LastSaved},
};

/// Baselines of disks that are not there any more go first when there are more than this: far more than a machine holds.
const MOST: usize = 512;
/// A step of the clock that is longer was not reading time: the disk slept, or was away.
const LONGEST_STEP: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Default)]
pub(super) struct DiskHistory {
    disks: BTreeMap<String, Baseline>,
    /// Which disk a name means at present.
    names: BTreeMap<String, String>,
    /// When each disk was read last.
    read: BTreeMap<String, Now>,
    last_saved: LastSaved,
}

#[derive(Serialize, Deserialize)]
struct Disks {
    version: u32,
    #[serde(deserialize_with = "known_entries")]
    disks: BTreeMap<String, Baseline>,
}

const VERSION: u32 = 1;

impl DiskHistory {
    pub(super) fn of(&mut self, device: &str, identity: &Identity, now: &Now) -> (&mut Baseline, ReadTime) {
        let key = self.key(device, identity);
        self.names.insert(device.to_owned(), key.clone());
        let before = self.read.insert(key.clone(), now.clone());
        let passed = before.map_or(Duration::ZERO, |before| passed(&before, now));
        let baseline = self.disks.entry(key).or_default();
        baseline.boot_id.clone_from(&now.boot_id);
        (baseline, ReadTime { wall: now.wall, boottime: now.boottime, passed })
    }

    /// The serial number; with the name where two disks report the same one, or a disk reports none. Not the model,
    /// which reads differently while a disk sleeps.
    fn key(&self, device: &str, Identity { serial: key, .. }: &Identity) -> String {
        let is_taken = key.is_empty() || self.names.iter().any(|(name, taken)| taken == key && name != device);
        if is_taken { format!("{key}@{device}") } else { key.clone() }
    }

    /// Names that are not there any more mean no disk, and disks that are long gone are forgotten if there are many.
    pub(super) fn prune(&mut self, known: &BTreeMap<String, Known>) {
        self.names.retain(|name, _| known.contains_key(name));
        let present: BTreeSet<_> = self.names.values().cloned().collect();
        self.read.retain(|key, _| present.contains(key));
        let excess = self.disks.len().saturating_sub(MOST);
        let gone: Vec<_> = self.disks.keys().filter(|key| !present.contains(*key)).take(excess).cloned().collect();
        for key in gone {
            self.disks.remove(&key);
        }
    }

    pub(super) fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&Disks { version: VERSION, disks: self.disks.clone() })
    }

    pub(super) fn load(&mut self, saved: Value) {
        if let Ok(Disks { version: VERSION, disks }) = serde_json::from_value(saved) {
            self.disks = disks;
        }
    }
}

/// Between two readings of the same boot; the wall clock is not asked, because it jumps.
fn passed(before: &Now, now: &Now) -> Duration {
    if before.boot_id != now.boot_id {
        return Duration::ZERO;
    }
    now.boottime.saturating_sub(before.boottime).min(LONGEST_STEP)
}
