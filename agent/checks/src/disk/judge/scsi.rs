//! A SCSI or SAS disk: its own prediction, its limits, error counters against the baseline.

use super::{
    assessment::{Assessment, WORN_PERCENT},
    self_test,
};
use crate::disk::{
    baseline::{Baseline, Counter, ReadTime},
    reading::ScsiReading,
    scsi::log::Predicted,
};

/// Below its limit by so much before it is cool again.
const COOL_BY_CELSIUS: i16 = 5;

/// All that the log pages can show.
const BY_PAGES: [&str; 5] = ["SmartPrefail", HOT, "MediaErrorsGrowing", "DiskWornOut", "SelfTestFailed"];
const HOT: &str = "DiskOverheating";

pub(super) fn assess(reading: &ScsiReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    judge_all(reading, baseline, moment, found);
    found.retain_unread(baseline);
}

fn judge_all(reading: &ScsiReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    found.carried(&reading.pages, &BY_PAGES);
    let predicted = [reading.sense.as_ref(), found.carried(&reading.predicted, &["SmartPrefail", HOT])];
    let predicts = |is: fn(&Predicted) -> bool| predicted.into_iter().flatten().find(|predicted| is(predicted));
    if let Some(predicted) = predicts(Predicted::is_failure) {
        let code = format!("{:02x}/{:02x}", predicted.code, predicted.qualifier);
        found.fault("SmartPrefail/sense", &[("code", &code)]);
    }
    judge_temperature(reading, predicts(Predicted::is_heat).is_some(), baseline, found);
    // Without its list of pages no more is known than the defects.
    let has_pages = found.need(&reading.pages).is_some();
    judge_counters(reading, baseline, moment, found);
    if !has_pages {
        return;
    }
    // How long ago a test was is not known: the disk's hours are in none of the pages that are read.
    self_test::judge(&reading.self_test, |_| None, baseline, found);
}

impl Predicted {
    /// "Failure prediction threshold exceeded", whatever the part; FFh is what a test of the alarm returns.
    fn is_failure(&self) -> bool {
        self.code == 0x5d && self.qualifier != 0xff
    }

    /// "Warning: specified temperature exceeded".
    fn is_heat(&self) -> bool {
        (self.code, self.qualifier) == (0x0b, 0x01)
    }
}

fn judge_temperature(reading: &ScsiReading, warns: bool, baseline: &mut Baseline, found: &mut Assessment) {
    let read = found.carried(&reading.temperature, &[HOT]);
    if read.is_none() && !warns && (reading.temperature.is_lost() || reading.pages.is_lost()) {
        // As hot as it was.
        return;
    }
    let now = read.and_then(|read| read.celsius);
    let limit = read.and_then(|read| read.limit_celsius);
    let by = if baseline.is_hot { COOL_BY_CELSIUS } else { 0 };
    let is_above = matches!((now, limit), (Some(now), Some(limit)) if now >= limit - by);
    baseline.is_hot = warns || is_above;
    match (baseline.is_hot, limit) {
        (true, Some(limit)) => found.overheating(now, &format!("{limit} °C")),
        (true, None) => found.overheating(now, "the disk's own"),
        (false, _) => found.note_temperature(now),
    }
}

fn judge_counters(reading: &ScsiReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    if let Some(errors) = found.carried(&reading.uncorrected_errors, &["MediaErrorsGrowing"]) {
        let growth = baseline.counted(Counter::MediaErrors, *errors, moment);
        found.growth("MediaErrorsGrowing", growth);
    }
    if let Some(defects) = found.carried(&reading.grown_defects, &["ReallocatedSectorsGrowing"]) {
        let growth = baseline.counted(Counter::Reallocated, *defects, moment);
        found.growth("ReallocatedSectorsGrowing", growth);
    }
    match found.carried(&reading.used_percent, &["DiskWornOut"]) {
        Some(used) if *used >= WORN_PERCENT => found.worn(*used),
        Some(used) => found.note("DiskUnhealthy/figure-worn", &[("used", used)]),
        None => {}
    }
}
