//! Asks a card's firmware one question at a time, and not without end: a part that it does not answer does not take the
//! others with it.

use std::collections::BTreeMap;

use nodewell_sys::megaraid::Question;

use super::{
    layout::{
        self, BATTERY_BYTES, CONTROLLER_BYTES, DISK_BYTES, DISKS_BYTES, DiskAddress, FIRST_BYTES, VOLUME_INFO_BYTES,
        VOLUMES_BYTES, VolumeState,
    },
    reading::{Battery, CardDisk, CardReading, Configuration, DiskInfo, Volume, VolumeInfo},
};
use crate::{
    disk::{page::PageError, part::Part, reading::Identity},
    probe::ReadError,
};

/// What answers questions.
pub(super) trait Firmware {
    /// The firmware's status; the answer is in `into` if that is 0.
    fn ask(&mut self, question: Question, into: &mut [u8]) -> Result<u8, ReadError>;
}

/// `enum MFI_STAT` of megaraid_sas.h.
mod status {
    pub(super) const OK: u8 = 0x00;
    pub(super) const INVALID_COMMAND: u8 = 0x01;
    pub(super) const INVALID_DCMD: u8 = 0x02;
    /// There is no such disk or volume, any more.
    pub(super) const DEVICE_NOT_FOUND: u8 = 0x0c;
    /// What is asked for is not on this card: a battery.
    pub(super) const NO_HARDWARE: u8 = 0x22;
    pub(super) const NOT_FOUND: u8 = 0x23;
}

/// What the list has of a volume of which no more has to be known.
const OPTIMAL: u8 = 3;
const NO_ENCLOSURE: u16 = 0xffff;
const NO_SLOT: u8 = 0xff;

/// Why there is no answer.
enum Refusal {
    /// The card itself does not answer: the look is over.
    Card(ReadError),
    Status(u8),
    Page(PageError),
}

/// The whole card; `is_over` once the look has no more time.
pub(super) fn card(
    firmware: &mut dyn Firmware,
    is_over: &dyn Fn() -> bool,
) -> Result<(Identity, CardReading), ReadError> {
    let identity = answer(firmware, Question::Controller, CONTROLLER_BYTES, layout::controller).map_err(whole)?;
    // Volumes after disks and configuration: a disk that goes meanwhile is missed by a volume that shows it.
    let disks = part(answer(firmware, Question::Disks, DISKS_BYTES, layout::disks))?;
    let configuration = part(configuration(firmware))?;
    let mut unread = 0;
    let disks = match disks {
        Part::Read(addresses) => Part::Read(all(firmware, &addresses, is_over, &mut unread)?),
        other => other.map(|_| Vec::new()),
    };
    let volumes = match part(answer(firmware, Question::Volumes, VOLUMES_BYTES, layout::volumes))? {
        Part::Read(listed) => Part::Read(volumes(firmware, &listed)?),
        other => other.map(|_| Vec::new()),
    };
    let battery = battery(firmware)?;
    Ok((identity, CardReading { disks, volumes, configuration, battery, kernel_volumes: Vec::new(), unread }))
}

fn all(
    firmware: &mut dyn Firmware,
    addresses: &[DiskAddress],
    is_over: &dyn Fn() -> bool,
    unread: &mut usize,
) -> Result<Vec<CardDisk>, ReadError> {
    let mut disks: Vec<CardDisk> = Vec::new();
    for address in addresses {
        let info = if is_over() {
            *unread += 1;
            Part::Unreadable("the card was too slow to be asked for it".to_owned())
        } else {
            disk(firmware, address.device)?
        };
        let slot = Some(slot(address)).filter(|slot| !disks.iter().any(|other| other.slot == *slot));
        let slot = slot.unwrap_or_else(|| format!("of disk {}", address.device));
        disks.push(CardDisk { device: address.device, slot, info });
    }
    clear_repeated_serials(&mut disks);
    Ok(disks)
}

/// What two disks report as their serial number is none: one of them would be found in the other's slot.
fn clear_repeated_serials(disks: &mut [CardDisk]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for info in disks.iter().filter_map(|disk| disk.info.read()) {
        *counts.entry(info.identity.serial.clone()).or_default() += 1;
    }
    for disk in disks {
        if let Part::Read(DiskInfo { identity, .. }) = &mut disk.info
            && counts.get(&identity.serial).is_some_and(|count| *count > 1)
        {
            identity.serial.clear();
        }
    }
}

/// As storcli and MegaCli show it.
fn slot(DiskAddress { device, enclosure, slot }: &DiskAddress) -> String {
    match (*enclosure, *slot) {
        (_, NO_SLOT) => format!("of disk {device}"),
        (NO_ENCLOSURE, slot) => slot.to_string(),
        (enclosure, slot) => format!("{enclosure}:{slot}"),
    }
}

/// One that is gone since the list was read is no error; it is missed by the next list.
fn disk(firmware: &mut dyn Firmware, device: u16) -> Result<Part<DiskInfo>, ReadError> {
    let found = answer(firmware, Question::Disk(device), DISK_BYTES, |bytes| layout::disk(device, bytes));
    part(found).map(present)
}

fn volumes(firmware: &mut dyn Firmware, listed: &[VolumeState]) -> Result<Vec<Volume>, ReadError> {
    let mut volumes = Vec::new();
    for VolumeState { target, state } in listed.iter().copied() {
        let info = if state == OPTIMAL { Part::Absent } else { volume(firmware, target)? };
        volumes.push(Volume { target, state, info });
    }
    Ok(volumes)
}

fn volume(firmware: &mut dyn Firmware, target: u8) -> Result<Part<VolumeInfo>, ReadError> {
    let found = answer(firmware, Question::Volume(target), VOLUME_INFO_BYTES, |bytes| layout::volume(target, bytes));
    part(found).map(present)
}

fn configuration(firmware: &mut dyn Firmware) -> Result<Configuration, Refusal> {
    let first = answer(firmware, Question::Configuration, FIRST_BYTES, |bytes| Ok(bytes.to_vec()))?;
    match layout::configuration_bytes(&first).map_err(Refusal::Page)? {
        None => layout::configuration(&first).map_err(Refusal::Page),
        Some(length) => answer(firmware, Question::Configuration, length, layout::configuration),
    }
}

/// A card that has none refuses the question, or answers with nothing.
fn battery(firmware: &mut dyn Firmware) -> Result<Part<Option<Battery>>, ReadError> {
    match answer(firmware, Question::Battery, BATTERY_BYTES, layout::battery) {
        Err(Refusal::Status(status::NO_HARDWARE | status::NOT_FOUND | status::DEVICE_NOT_FOUND)) => {
            Ok(Part::Read(None))
        }
        other => part(other),
    }
}

fn answer<T>(
    firmware: &mut dyn Firmware,
    question: Question,
    length: usize,
    parse: impl FnOnce(&[u8]) -> Result<T, PageError>,
) -> Result<T, Refusal> {
    let mut bytes = vec![0; length];
    match firmware.ask(question, &mut bytes).map_err(Refusal::Card)? {
        status::OK => parse(&bytes).map_err(Refusal::Page),
        status => Err(Refusal::Status(status)),
    }
}

/// Only a card that does not answer ends the look.
fn part<T>(answer: Result<T, Refusal>) -> Result<Part<T>, ReadError> {
    match answer {
        Ok(value) => Ok(Part::Read(value)),
        Err(Refusal::Card(error)) => Err(error),
        Err(Refusal::Status(status::INVALID_COMMAND | status::INVALID_DCMD | status::DEVICE_NOT_FOUND)) => {
            Ok(Part::Absent)
        }
        Err(Refusal::Status(status)) => Ok(Part::Unreadable(refused(status))),
        Err(Refusal::Page(error)) => Ok(Part::Unreadable(error.to_string())),
    }
}

fn whole(refusal: Refusal) -> ReadError {
    match refusal {
        Refusal::Card(error) => error,
        Refusal::Status(status) => ReadError::Failed { message: refused(status) },
        Refusal::Page(error) => ReadError::Failed { message: error.to_string() },
    }
}

fn refused(status: u8) -> String {
    format!("the card refused with status {status:#04x}")
}

/// Data of another device is none of this one's.
fn present<T>(part: Part<Option<T>>) -> Part<T> {
    match part {
        Part::Read(Some(value)) => Part::Read(value),
        Part::Read(None) | Part::Absent => Part::Absent,
        Part::Unreadable(why) => Part::Unreadable(why),
        Part::Denied(why) => Part::Denied(why),
    }
}
