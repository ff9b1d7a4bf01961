//! An NVMe controller: its driver's state, its own critical warning, its counters against the baseline.

use nodewell_message::MessageArgs;

use super::{
    assessment::{Assessment, WORN_PERCENT},
    self_test,
};
use crate::disk::{
    baseline::{Baseline, Counter, ReadTime},
    nvme::log::{ErrorEntry, HealthLog, Limits, warning},
    part::Part,
    reading::NvmeReading,
};
use crate::probe::State;

/// Below the warning limit by so much before it is cool again: at the limit itself it would come and go.
const COOL_BY_CELSIUS: i16 = 5;

pub(super) fn assess(reading: &NvmeReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    match reading.state.as_str() {
        "live" => {}
        // drivers/nvme/host/core.c: no reset brought it back; `deleting` goes on to be gone.
        "dead" => return found.fault("NVMeControllerLost", &[]),
        state => {
            return found.set_unknown(State::not_answering("DeviceNotAnswering/nvme", &[("state", &state)]));
        }
    }
    if let Some(health) = found.need(&reading.health) {
        judge_health(health, &reading.limits, baseline, found);
        let growth = baseline.counted(Counter::MediaErrors, health.media_errors, moment);
        found.growth("MediaErrorsGrowing", growth);
        let age = |at_hours| Some(health.power_on_hours.saturating_sub(at_hours));
        self_test::judge(&reading.self_test, age, baseline, found);
        found.retain_unread(baseline);
        found.is_over("NVMeControllerLost", "DiskUnhealthy/ended-live", &[]);
    }
    let has_errors = reading.health.read().is_some_and(|health| health.error_entries > 0);
    // An empty page of a controller that counts errors is a slip: all of its log would be new the next time.
    if let Some(errors) = reading.errors.read().filter(|errors| !(errors.is_empty() && has_errors)) {
        report_errors(errors, baseline, found);
    }
}

fn judge_health(health: &HealthLog, limits: &Part<Limits>, baseline: &mut Baseline, found: &mut Assessment) {
    let HealthLog { spare_percent: spare, spare_threshold_percent: threshold, .. } = health;
    let has_warning = |bit: u8| health.warning & bit != 0;
    let bits = format!("{:#04x}", health.warning);
    if spare < threshold {
        found.fault("NvmeSpareLow", &[("spare", spare), ("limit", threshold)]);
    } else if has_warning(warning::SPARE) {
        found.fault("NvmeSpareLow/warning", &[("warning", &bits), ("spare", spare)]);
    }
    let warnings = [
        (warning::RELIABILITY, "NvmeReliabilityDegraded"),
        (warning::READ_ONLY, "NvmeReadOnly"),
        (warning::VOLATILE_BACKUP, "NvmeVolatileBackupFailed"),
        (warning::PERSISTENT_MEMORY, "NvmePersistentMemoryFailed"),
    ];
    for (_, reason) in warnings.into_iter().filter(|(bit, _)| has_warning(*bit)) {
        found.fault(reason, &[("warning", &bits)]);
    }
    judge_temperature(health, limits, baseline, found);
    if health.used_percent >= WORN_PERCENT {
        found.worn(health.used_percent);
    } else {
        found.note("DiskUnhealthy/figure-worn", &[("used", &health.used_percent)]);
    }
    // A controller without real spare blocks has no threshold either: QEMU's.
    if *threshold > 0 {
        found.note("DiskUnhealthy/figure-spare", &[("spare", spare)]);
    }
}

fn judge_temperature(health: &HealthLog, limits: &Part<Limits>, baseline: &mut Baseline, found: &mut Assessment) {
    let is_lost = limits.is_lost();
    let limits = found.carried(limits, &["DiskOverheating"]).copied().unwrap_or_default();
    let is_above =
        |limit: Option<i16>, by: i16| matches!((health.celsius, limit), (Some(now), Some(limit)) if now >= limit - by);
    let warns = health.warning & warning::TEMPERATURE != 0;
    let still_hot = baseline.is_hot && (is_lost || is_above(limits.warning_celsius, COOL_BY_CELSIUS));
    baseline.is_hot = warns || is_above(limits.critical_celsius, 0) || still_hot;
    if baseline.is_hot {
        found.overheating(health.celsius, &limit_description(limits));
    } else {
        found.note_temperature(health.celsius);
    }
}

fn limit_description(limits: Limits) -> String {
    match (limits.warning_celsius, limits.critical_celsius) {
        (Some(warning), Some(critical)) => format!("{warning} °C, critical {critical} °C"),
        (Some(limit), None) | (None, Some(limit)) => format!("{limit} °C"),
        (None, None) => "the disk's own".to_owned(),
    }
}

/// Those that the device is to blame for and that were not reported yet; none at the first sight of a disk.
fn report_errors(errors: &[ErrorEntry], baseline: &mut Baseline, found: &mut Assessment) {
    let newest = errors.iter().map(|entry| entry.count).max().unwrap_or(0);
    let reported = baseline.reported_errors.replace(newest);
    // A count below what was reported: the log was restarted.
    let Some(reported) = reported.filter(|reported| *reported <= newest) else { return };
    let new: Vec<_> = errors.iter().filter(|entry| entry.count > reported && entry.is_the_devices()).collect();
    if let Some(entry) = new.first() {
        let (count, status) = (new.len(), format!("{:#05x}", entry.status));
        let args: MessageArgs<'_> =
            &[("new", &count), ("status", &status), ("block", &entry.lba), ("namespace", &entry.namespace)];
        found.event("NvmeErrorsLogged", args);
    }
}
