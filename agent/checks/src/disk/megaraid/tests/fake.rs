//! A card that is made up: disks in slots, volumes on them, and answers that a test puts in place of its own.

use std::collections::BTreeMap;

use nodewell_sys::megaraid::Question;

use crate::{
    disk::megaraid::{
        ask::{Firmware, card},
        reading::{CardReading, disk_state},
    },
    probe::ReadError,
};

pub(crate) const OPTIMAL: u8 = 3;
pub(crate) const DEGRADED: u8 = 2;
pub(crate) const OFFLINE: u8 = 0;

/// A physical disk: device id, enclosure, slot, state.
#[derive(Debug, Clone)]
pub(crate) struct FakeDisk {
    pub(crate) device: u16,
    pub(crate) enclosure: u16,
    pub(crate) slot: u8,
    pub(crate) state: u16,
    pub(crate) media_errors: u32,
    pub(crate) predicted_failures: u32,
    pub(crate) rebuild: Option<u16>,
    /// It does not answer INQUIRY.
    pub(crate) is_mute: bool,
}

impl FakeDisk {
    pub(crate) fn at(slot: u8) -> Self {
        Self {
            device: u16::from(slot) + 8,
            enclosure: 252,
            slot,
            state: disk_state::ONLINE,
            media_errors: 0,
            predicted_failures: 0,
            rebuild: None,
            is_mute: false,
        }
    }

    /// `struct mfi_pd_info`.
    pub(crate) fn info(&self) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[..2].copy_from_slice(&self.device.to_le_bytes());
        let serial = format!("ZC10{:04}", self.device);
        for (at, text) in [(12, "SEAGATE "), (20, "ST4000NM0025    "), (36, "N003"), (40, serial.as_str())] {
            bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        if self.is_mute {
            bytes[4] = 0x7f;
        }
        bytes[168..172].copy_from_slice(&self.media_errors.to_le_bytes());
        bytes[176..180].copy_from_slice(&self.predicted_failures.to_le_bytes());
        bytes[184..186].copy_from_slice(&self.state.to_le_bytes());
        bytes[256..258].copy_from_slice(&self.enclosure.to_le_bytes());
        bytes[259] = self.slot;
        if let Some(progress) = self.rebuild {
            bytes[260] = 1;
            bytes[264..266].copy_from_slice(&progress.to_le_bytes());
        }
        bytes
    }
}

/// A virtual disk: target id, state, its disks' device ids; `0xffff` for one that it lacks.
#[derive(Debug, Clone)]
pub(crate) struct FakeVolume {
    pub(crate) target: u8,
    pub(crate) state: u8,
    pub(crate) disks: Vec<u16>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FakeCard {
    pub(crate) disks: Vec<FakeDisk>,
    pub(crate) volumes: Vec<FakeVolume>,
    pub(crate) battery: Vec<u8>,
    /// Status and answer in place of its own.
    pub(crate) script: BTreeMap<String, (u8, Vec<u8>)>,
    /// The configuration's sizes are of all entries together, as QEMU gives them.
    pub(crate) sizes_of_all: bool,
    /// From this question on the driver refuses.
    pub(crate) refuses: Option<String>,
    pub(crate) asked: Vec<Question>,
}

impl FakeCard {
    /// A RAID 5 of three disks in the slots 1 to 3, and a hot spare in slot 4.
    pub(crate) fn new() -> Self {
        let mut disks: Vec<_> = (1..=4).map(FakeDisk::at).collect();
        disks[3].state = disk_state::HOT_SPARE;
        let volumes = vec![FakeVolume { target: 0, state: OPTIMAL, disks: vec![9, 10, 11] }];
        Self { disks, volumes, ..Self::default() }
    }

    /// The disk in slot 2 is pulled: as firmware shows it.
    pub(crate) fn pulled() -> Self {
        let mut fake = Self::new();
        fake.disks.remove(1);
        fake.volumes[0].state = DEGRADED;
        fake.volumes[0].disks[1] = 0xffff;
        fake
    }

    pub(crate) fn with(mut self, question: Question, status: u8, answer: &[u8]) -> Self {
        self.script.insert(format!("{question:?}"), (status, answer.to_vec()));
        self
    }

    pub(crate) fn read(&mut self) -> Result<CardReading, ReadError> {
        card(self, &|| false).map(|(_, reading)| reading)
    }

    pub(crate) fn controller() -> Vec<u8> {
        let mut bytes = vec![0; 2048];
        for (at, text) in [(0x540, "PERC H730 Mini"), (0x590, "53H00AB"), (0x640, "25.5.9.0001")] {
            bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        bytes
    }

    /// With the enclosure, which is on the list too.
    pub(crate) fn disk_list(&self) -> Vec<u8> {
        let count = self.disks.len() as u32 + 1;
        let mut bytes = [(8 + 24 * count).to_le_bytes(), count.to_le_bytes()].concat();
        let entry = |device: u16, enclosure: u16, slot: u8, kind: u8| {
            let [d, e] = [device.to_le_bytes(), enclosure.to_le_bytes()];
            [&[d[0], d[1], e[0], e[1], 1, slot, kind, 1][..], &[0; 16]].concat()
        };
        bytes.extend(entry(252, 252, 0xff, 0x0d));
        self.disks.iter().for_each(|disk| bytes.extend(entry(disk.device, disk.enclosure, disk.slot, 0)));
        bytes
    }

    pub(crate) fn volume_list(&self) -> Vec<u8> {
        let mut bytes = [(self.volumes.len() as u32).to_le_bytes(), [0; 4]].concat();
        for volume in &self.volumes {
            bytes.extend([volume.target, 0, 1, 0, volume.state, 0, 0, 0]);
            bytes.extend(4096_u64.to_le_bytes());
        }
        bytes
    }

    fn volume_head(volume: &FakeVolume) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[0] = volume.target;
        bytes[4..8].copy_from_slice(b"data");
        (bytes[32], bytes[36], bytes[37], bytes[38]) = (5, volume.disks.len() as u8, 1, volume.state);
        bytes[64 + 16] = volume.target + 1;
        bytes
    }

    pub(crate) fn volume_info(volume: &FakeVolume) -> Vec<u8> {
        [Self::volume_head(volume), vec![0; 128]].concat()
    }

    /// Array N + 1 holds volume N.
    pub(crate) fn configuration(&self) -> Vec<u8> {
        let count = self.volumes.len() as u16;
        let factor = if self.sizes_of_all { count } else { 1 };
        let size = 32 + u32::from(count) * (288 + 256);
        let mut bytes = size.to_le_bytes().to_vec();
        for half in [count, 288 * factor, count, 256 * factor, 0, 40] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.resize(32, 0);
        for volume in &self.volumes {
            let mut array = vec![0; 288];
            (array[8], array[10]) = (volume.disks.len() as u8, volume.target + 1);
            for (n, device) in volume.disks.iter().enumerate() {
                let state = self.disks.iter().find(|disk| disk.device == *device).map_or(0, |disk| disk.state);
                array[32 + 8 * n..][..2].copy_from_slice(&device.to_le_bytes());
                array[36 + 8 * n..][..2].copy_from_slice(&state.to_le_bytes());
            }
            bytes.extend(array);
        }
        self.volumes.iter().for_each(|volume| bytes.extend(Self::volume_head(volume)));
        bytes
    }

    fn own(&self, question: Question) -> Option<Vec<u8>> {
        match question {
            Question::Controller => Some(Self::controller()),
            Question::Disks => Some(self.disk_list()),
            Question::Disk(device) => self.disks.iter().find(|disk| disk.device == device).map(FakeDisk::info),
            Question::Volumes => Some(self.volume_list()),
            Question::Volume(target) => {
                self.volumes.iter().find(|volume| volume.target == target).map(Self::volume_info)
            }
            Question::Configuration => Some(self.configuration()),
            Question::Battery => (!self.battery.is_empty()).then(|| self.battery.clone()),
        }
    }
}

impl Firmware for FakeCard {
    fn ask(&mut self, question: Question, into: &mut [u8]) -> Result<u8, ReadError> {
        self.asked.push(question);
        let name = format!("{question:?}");
        if self.refuses.as_ref() == Some(&name) {
            return Err(ReadError::Failed { message: "the card does not answer: EBUSY".to_owned() });
        }
        let (status, answer) = match self.script.get(&name) {
            Some((status, answer)) => (*status, answer.clone()),
            None => match self.own(question) {
                Some(answer) => (0, answer),
                None => (0x0c, Vec::new()),
            },
        };
        let length = answer.len().min(into.len());
        into[..length].copy_from_slice(&answer[..length]);
        Ok(status)
    }
}
