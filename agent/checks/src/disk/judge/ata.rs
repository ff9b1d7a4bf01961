//! A SATA disk: its own prediction, attributes at their thresholds, error counters against the baseline.

use nodewell_faults::message;

use super::{assessment::Assessment, self_test};
use crate::disk::{
    ata::page::Attribute,
    baseline::{Baseline, Counter, ReadTime},
    page::celsius,
    reading::{AtaReading, Smart},
};

/// Attributes whose numbers mean much the same at every maker.
mod id {
    pub(super) const REALLOCATED: u8 = 5;
    pub(super) const POWER_ON_HOURS: u8 = 9;
    pub(super) const UNCORRECTABLE: u8 = 187;
    pub(super) const AIR_TEMPERATURE: u8 = 190;
    pub(super) const TEMPERATURE: u8 = 194;
    pub(super) const PENDING: u8 = 197;
    pub(super) const OFFLINE_UNCORRECTABLE: u8 = 198;
    pub(super) const INTERFACE_CRC: u8 = 199;
}

/// In degrees and in steps of the normalized value, which are degrees at most makers: by so much below its limit before it
/// is cool again, or it would come and go.
const COOL_BY: u8 = 5;

/// All that the attributes can show, and what of it is by their thresholds.
const BY_ATTRIBUTES: [&str; 7] = [
    "SmartPrefail",
    "DiskWornOut",
    "DiskOverheating",
    "PendingSectorsGrowing",
    "MediaErrorsGrowing",
    "OfflineUncorrectableGrowing",
    "ReallocatedSectorsGrowing",
];
const BY_THRESHOLDS: [&str; 3] = ["SmartPrefail", "DiskWornOut", "DiskOverheating"];

pub(super) fn assess(reading: &AtaReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    judge_all(reading, baseline, moment, found);
    found.retain_unread(baseline);
}

fn judge_all(reading: &AtaReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    match reading.smart {
        Smart::On => {}
        Smart::Off => return found.set_healthy("DiskUnhealthy/healthy-smart-off", &[]),
        Smart::Unsupported => return found.set_healthy("DiskUnhealthy/healthy-no-smart", &[]),
    }
    found.carried(&reading.failing, &["SmartPrefail"]);
    found.carried(&reading.thresholds, &BY_THRESHOLDS);
    found.carried(&reading.attributes, &BY_ATTRIBUTES);
    let attributes = found.need(&reading.attributes).map(Vec::as_slice).unwrap_or_default();
    // Either of the two may be missing; without both, the state is unknown.
    let failing = found.need_either(&reading.failing, !attributes.is_empty());
    judge_prediction(failing, attributes, found);
    if !reading.attributes.is_lost() {
        judge_temperature(reading, attributes, baseline, found);
    }
    judge_counters(attributes, baseline, moment, found);
    // The log has 16 bits of hours; the attribute has 24, and other things above them.
    let hours = raw(attributes, id::POWER_ON_HOURS);
    let age = |at_hours| Some(hours?.wrapping_sub(at_hours) & 0xffff);
    self_test::judge(&reading.self_test, age, baseline, found);
}

fn is_temperature(attribute: &Attribute) -> bool {
    matches!(attribute.id, id::AIR_TEMPERATURE | id::TEMPERATURE)
}

fn judge_prediction(failing: Option<&bool>, attributes: &[Attribute], found: &mut Assessment) {
    let reached = |is_prefailure: bool| {
        let at_threshold =
            attributes.iter().filter(|attribute| attribute.is_at_threshold() && !is_temperature(attribute));
        let notes: Vec<_> =
            at_threshold.filter(|attribute| attribute.is_prefailure == is_prefailure).map(description).collect();
        notes.join(", ")
    };
    let (failed, aged) = (reached(true), reached(false));
    match (failing, failed.is_empty()) {
        (Some(true), true) => found.fault("SmartPrefail", &[]),
        (_, false) => found.fault("SmartPrefail/attributes", &[("attributes", &failed)]),
        (Some(false), true) => found.note("DiskUnhealthy/figure-prediction", &[]),
        (None, true) => {}
    }
    if !aged.is_empty() {
        found.fault("DiskWornOut/attributes", &[("attributes", &aged)]);
    }
}

fn description(attribute: &Attribute) -> String {
    let Attribute { id, value, threshold, .. } = attribute;
    let threshold = threshold.unwrap_or_default();
    message("SmartPrefail/figure", &[("id", id), ("value", value), ("threshold", &threshold)])
}

fn raw(attributes: &[Attribute], wanted: u8) -> Option<u64> {
    attributes.iter().find(|attribute| attribute.id == wanted).map(|attribute| attribute.raw)
}

/// The lowest byte is degrees at every maker; what is above it are the lowest and highest ever, or nothing.
fn degrees(attributes: &[Attribute]) -> Option<i16> {
    let raw =
        raw(attributes, id::TEMPERATURE).filter(|raw| *raw != 0).or_else(|| raw(attributes, id::AIR_TEMPERATURE))?;
    let [lowest, ..] = raw.to_le_bytes();
    if raw == 0 { None } else { celsius(i64::from(lowest.cast_signed())) }
}

fn judge_temperature(reading: &AtaReading, attributes: &[Attribute], baseline: &mut Baseline, found: &mut Assessment) {
    let now = degrees(attributes);
    let by = if baseline.is_hot { COOL_BY } else { 0 };
    let is_at_limit = attributes.iter().any(|attribute| is_temperature(attribute) && attribute.is_within(by));
    let limit = hot_celsius(reading);
    baseline.is_hot = is_at_limit || now.is_some_and(|now| now >= limit - i16::from(by));
    match (baseline.is_hot, is_at_limit) {
        (true, true) => found.overheating(now, "the disk's own"),
        (true, false) => found.overheating(now, &format!("{limit} °C")),
        (false, _) => found.note_temperature(now),
    }
}

/// Makers allow 60 °C for disks that turn and 70 °C for those that do not, and those reach it under load; where the disk
/// itself names no limit, this is beyond.
fn hot_celsius(reading: &AtaReading) -> i16 {
    if reading.is_solid_state { 80 } else { 70 }
}

/// Only the part of the raw value that is a count at every maker; above it some store other numbers.
fn judge_counters(attributes: &[Attribute], baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    const WORD: u64 = 0xffff;
    const DOUBLE_WORD: u64 = 0xffff_ffff;
    let counters = [
        (id::PENDING, DOUBLE_WORD, Counter::Pending, "PendingSectorsGrowing"),
        (id::UNCORRECTABLE, WORD, Counter::MediaErrors, "MediaErrorsGrowing"),
        (id::OFFLINE_UNCORRECTABLE, DOUBLE_WORD, Counter::OfflineUncorrectable, "OfflineUncorrectableGrowing"),
        (id::REALLOCATED, WORD, Counter::Reallocated, "ReallocatedSectorsGrowing"),
    ];
    for (id, mask, counter, reason) in counters {
        if let Some(raw) = raw(attributes, id) {
            found.growth(reason, baseline.counted(counter, raw & mask, moment));
        }
    }
    if let Some(raw) = raw(attributes, id::INTERFACE_CRC) {
        let growth = baseline.counted(Counter::InterfaceCrc, raw & DOUBLE_WORD, moment);
        if growth.step > 0 {
            let total = growth.base + growth.grown;
            found.event("InterfaceCrcErrors", &[("new", &growth.step), ("total", &total)]);
        }
    }
}
