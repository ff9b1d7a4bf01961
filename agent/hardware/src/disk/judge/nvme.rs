//! An NVMe controller: its driver's state, its own critical warning, its counters against the baseline.

use super::{assessment::Assessment, self_test};
use crate::UnknownReason;
use crate::disk::{
    baseline::{Baseline, Counter, ReadTime},
    nvme::log::{ErrorEntry, HealthLog, Limits, warning},
    part::Part,
    reading::NvmeReading,
};

/// Below the warning limit by so much before it is cool again: at the limit itself it would come and go.
const COOL_BY_CELSIUS: i16 = 5;

pub(super) fn assess(reading: &NvmeReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    match reading.state.as_str() {
        "live" => {}
        // drivers/nvme/host/core.c: no reset brought it back; `deleting` goes on to be gone.
        "dead" => return found.fault("NVMeControllerLost", "the driver has given the controller up".to_owned()),
        state => return found.set_unknown(UnknownReason::NotAnswering, format!("the driver says that it is {state}")),
    }
    if let Some(health) = found.need(&reading.health) {
        judge_health(health, &reading.limits, baseline, found);
        let growth = baseline.counted(Counter::MediaErrors, health.media_errors, moment);
        found.growth("MediaErrorsGrowing", "unrecovered errors", growth);
        let age = |at_hours| Some(health.power_on_hours.saturating_sub(at_hours));
        self_test::judge(&reading.self_test, age, baseline, found);
        found.retain_unread(baseline);
        found.is_over("NVMeControllerLost", "the controller is live and its health log was read");
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
    if has_warning(warning::SPARE) || spare < threshold {
        found.fault("NvmeSpareLow", format!("spare {spare} %, the device's threshold is {threshold} %"));
    }
    let warnings = [
        (warning::RELIABILITY, "NvmeReliabilityDegraded", "the device says that it is not reliable any more"),
        (warning::READ_ONLY, "NvmeReadOnly", "the device takes no writes any more"),
        (warning::VOLATILE_BACKUP, "NvmeVolatileBackupFailed", "the device cannot save its cache when power fails"),
        (
            warning::PERSISTENT_MEMORY,
            "NvmePersistentMemoryFailed",
            "the device's persistent memory is not to be trusted",
        ),
    ];
    for (_, reason, message) in warnings.into_iter().filter(|(bit, ..)| has_warning(*bit)) {
        found.fault(reason, format!("{message}: critical warning {:#04x}", health.warning));
    }
    judge_temperature(health, limits, baseline, found);
    if health.used_percent >= 100 {
        found.fault("DiskWornOut", format!("{} % of its rated life is used", health.used_percent));
    } else {
        found.note(format!("{} % worn", health.used_percent));
    }
    // A controller without real spare blocks has no threshold either: QEMU's.
    if *threshold > 0 {
        found.note(format!("{spare} % spare"));
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
    let now = health.celsius.map_or_else(|| "its temperature is not known".to_owned(), |now| format!("{now} °C"));
    if baseline.is_hot {
        found.fault("DiskOverheating", format!("{now}, {}", limit_description(limits)));
    } else if health.celsius.is_some() {
        found.note(now);
    }
}

fn limit_description(limits: Limits) -> String {
    match (limits.warning_celsius, limits.critical_celsius) {
        (Some(warning), Some(critical)) => format!("it warns from {warning} °C on, {critical} °C is critical"),
        (Some(limit), None) | (None, Some(limit)) => format!("its limit is {limit} °C"),
        (None, None) => "beyond a threshold of the device".to_owned(),
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
        let at = format!("status {:#05x} at block {} of namespace {}", entry.status, entry.lba, entry.namespace);
        found.event("NvmeErrorsLogged", format!("{} new errors of the device in its log, the newest: {at}", new.len()));
    }
}
