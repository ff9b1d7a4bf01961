//! What is remembered of a RAID card: the disks that its volumes are made of, so that one that is gone has a slot and a
//! serial number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::reading::{
    Battery, BatteryKind, CardDisk, CardReading, Volume, VolumeHealth,
    battery_status::{
        CHARGE_ACTIVE, DISCHARGE_ACTIVE, LEARN_ACTIVE, LEARN_REQUESTED, LEARN_REQUIRED, PACK_MISSING, REPLACE_PACK,
    },
};
use crate::disk::reading::Identity;

/// Twice what a card can have.
const DISKS_LIMIT: usize = 512;
/// So many looks in a row have to show it: the driver takes a volume away some seconds after the firmware, and a battery is
/// bad for a moment after a start.
const LOOKS: u8 = 2;
const LEARNS: u32 = LEARN_ACTIVE | DISCHARGE_ACTIVE;
/// While a battery has one of these, bad health is no word on its age: it was put in or was empty, and will be measured.
const UNMEASURED: u32 = CHARGE_ACTIVE | LEARN_REQUESTED | LEARN_REQUIRED;

/// Of one card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::disk) struct CardMemory {
    /// By slot.
    disks: BTreeMap<String, KnownDisk>,
    /// The battery was there.
    had_battery: bool,
    /// In so many looks the battery was bad.
    bad_battery: u8,
}

/// A disk that volumes are made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct KnownDisk {
    identity: Identity,
    volumes: Vec<u8>,
    /// It is gone, and this is why that is a fault.
    missing: Option<Lack>,
    /// In so many looks it and its volumes were gone.
    lost_looks: u8,
}

/// Why a disk that is gone is missed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::disk) enum Lack {
    /// A volume of which it is a part is not whole, by the firmware's own word.
    Volume(String),
    /// Its volume went with it, and the kernel has that still.
    LostVolume(String),
}

/// A disk that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::disk) struct LostDisk {
    pub(in crate::disk) slot: String,
    pub(in crate::disk) identity: Identity,
    pub(in crate::disk) volumes: Vec<u8>,
    pub(in crate::disk) loss: Loss,
}

/// What that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::disk) enum Loss {
    Missing(Lack),
    /// Nothing misses it: disk and volume may have been taken away on purpose.
    Gone(String),
}

/// What became of a disk that the card does not list.
enum Fate {
    /// It sits in another slot, or its volumes do without it.
    Dispensable,
    /// It shows at another look; until then it is as it was.
    Unclear,
    Missing(Lack),
    Gone(String),
}

impl CardMemory {
    /// Compares with what was there. Without both lists nothing is known to be gone: what was missing is.
    pub(in crate::disk) fn look(&mut self, card: &CardReading) -> Vec<LostDisk> {
        let (Some(disks), Some(volumes)) = (card.disks.read(), card.volumes.read()) else {
            return self.disks.iter().filter_map(|(slot, known)| known.as_before(slot)).collect();
        };
        self.learn(card, disks);
        let may_be_elsewhere = disks.iter().any(|disk| self.is_stranger(disk));
        let mut lost = Vec::new();
        self.disks.retain(|slot, known| {
            if disks.iter().any(|disk| disk.slot == *slot) {
                (known.missing, known.lost_looks) = (None, 0);
                return true;
            }
            let fate = known.fate(card, disks, volumes, may_be_elsewhere);
            let is_remembered = matches!(fate, Fate::Unclear | Fate::Missing(_));
            lost.extend(known.lost(slot, fate));
            is_remembered
        });
        lost
    }

    /// A disk whose serial number could not be read, now or before: it may be any that is not in its slot, for the numbers of
    /// enclosures change when cables do.
    fn is_stranger(&self, CardDisk { slot, info, .. }: &CardDisk) -> bool {
        info.is_lost() && self.disks.get(slot).is_none_or(|known| known.identity.serial.is_empty())
    }

    /// Only what a volume is made of is missed. Where the configuration was not read, all is as it was.
    fn learn(&mut self, card: &CardReading, disks: &[CardDisk]) {
        for CardDisk { device, slot, info } in disks {
            let Some(volumes) = card.volumes_of(*device) else { return };
            if volumes.is_empty() {
                self.disks.remove(slot);
                continue;
            }
            if self.disks.len() >= DISKS_LIMIT && !self.disks.contains_key(slot) {
                continue;
            }
            let known = self.disks.entry(slot.clone()).or_default();
            known.volumes = volumes;
            if let Some(info) = info.read() {
                known.identity.clone_from(&info.identity);
            }
        }
    }

    /// The key of the battery's fault, if it has one. A learning cycle discharges the battery and charges it again: meanwhile
    /// its health is what it was.
    pub(in crate::disk) fn battery(&mut self, battery: &Battery) -> Option<&'static str> {
        let has = |bits: u32| battery.status & bits != 0;
        let is_missing = has(PACK_MISSING) && self.had_battery;
        self.had_battery |= !has(PACK_MISSING);
        let is_unhealthy = battery.kind == BatteryKind::WithHealth { is_good: false };
        self.bad_battery = match () {
            () if has(REPLACE_PACK) || is_missing => self.bad_battery.saturating_add(1).min(LOOKS),
            () if has(LEARNS) || (is_unhealthy && has(UNMEASURED)) => self.bad_battery,
            () if is_unhealthy && !has(PACK_MISSING) => self.bad_battery.saturating_add(1).min(LOOKS),
            () => 0,
        };
        let key = if is_missing { "RaidBatteryFailed/missing" } else { "RaidBatteryFailed" };
        (self.bad_battery == LOOKS).then_some(key)
    }
}

impl KnownDisk {
    /// In this order: it is found elsewhere, or may be there; a volume of it is not whole; one may be changing; all are whole
    /// without it; all are gone with it.
    fn fate(&mut self, card: &CardReading, disks: &[CardDisk], volumes: &[Volume], may_be_elsewhere: bool) -> Fate {
        let serial = &self.identity.serial;
        let is_it = |disk: &CardDisk| disk.info.read().is_some_and(|info| info.identity.serial == *serial);
        if !serial.is_empty() && disks.iter().any(is_it) {
            return Fate::Dispensable;
        }
        if may_be_elsewhere {
            return Fate::Unclear;
        }
        let listed = || volumes.iter().filter(|volume| self.volumes.contains(&volume.target));
        let with = |health: VolumeHealth| listed().find(|volume| volume.health() == health);
        if let Some(volume) = with(VolumeHealth::Offline).or_else(|| with(VolumeHealth::Degraded)) {
            return Fate::Missing(Lack::Volume(volume.label()));
        }
        if with(VolumeHealth::Unclear).is_some() {
            return Fate::Unclear;
        }
        if listed().next().is_some() {
            return Fate::Dispensable;
        }
        let names: Vec<_> = self.volumes.iter().map(|target| format!("volume {target}")).collect();
        let names = names.join(", ");
        if !self.volumes.iter().any(|target| card.kernel_volumes.contains(target)) {
            return if self.missing.is_some() { Fate::Dispensable } else { Fate::Gone(names) };
        }
        self.lost_looks = self.lost_looks.saturating_add(1).min(LOOKS);
        if self.lost_looks < LOOKS { Fate::Unclear } else { Fate::Missing(Lack::LostVolume(names)) }
    }

    fn lost(&mut self, slot: &str, fate: Fate) -> Option<LostDisk> {
        let loss = match fate {
            Fate::Dispensable => return None,
            Fate::Unclear => return self.as_before(slot),
            Fate::Missing(lack) => {
                self.missing = Some(lack.clone());
                Loss::Missing(lack)
            }
            Fate::Gone(volumes) => Loss::Gone(volumes),
        };
        Some(self.with(slot, loss))
    }

    fn as_before(&self, slot: &str) -> Option<LostDisk> {
        self.missing.clone().map(|lack| self.with(slot, Loss::Missing(lack)))
    }

    fn with(&self, slot: &str, loss: Loss) -> LostDisk {
        LostDisk { slot: slot.to_owned(), identity: self.identity.clone(), volumes: self.volumes.clone(), loss }
    }
}
