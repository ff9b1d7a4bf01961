//! What disks answer when they die.

use std::collections::BTreeMap;

use super::{Class, Known};
use crate::{
    disk::{
        part::Part,
        reading::{DiskReading, Health, Identity, NvmeReading, ScsiReading},
    },
    probe::{Now, RawReading},
};

const WHY: &str = "Input/output error";

/// First nothing of them can be read, then their drivers have given them up.
pub(super) fn rounds(known: &BTreeMap<String, Known>, now: &Now) -> Vec<Vec<(String, RawReading)>> {
    let disks = || known.iter().filter(|(_, known)| known.class == Class::Disk).map(|(device, _)| device);
    let round = |health: fn(&str) -> Health| -> Vec<(String, RawReading)> {
        let answer = |device: &String| {
            let reading = DiskReading { asked: now.wall, identity: Identity::default(), health: health(device) };
            RawReading::of(&reading).ok().map(|reading| (device.clone(), reading))
        };
        disks().filter_map(answer).collect()
    };
    vec![round(unreadable), round(lost)]
}

fn is_nvme(device: &str) -> bool {
    device.starts_with("nvme")
}

fn unreadable(device: &str) -> Health {
    let why = || WHY.to_owned();
    if is_nvme(device) {
        let health = Part::Unreadable(why());
        return Health::Nvme(NvmeReading { state: "live".to_owned(), health, ..NvmeReading::default() });
    }
    let (pages, predicted) = (Part::Unreadable(why()), Part::Unreadable(why()));
    Health::Scsi(ScsiReading { pages, predicted, ..ScsiReading::default() })
}

fn lost(device: &str) -> Health {
    if is_nvme(device) {
        return Health::Nvme(NvmeReading { state: "dead".to_owned(), ..NvmeReading::default() });
    }
    Health::Stopped { state: "offline".to_owned() }
}
