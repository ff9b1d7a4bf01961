//! Xids that NVML reports: those that hold a condition are retained until they are over, the others are Events.

use std::{fmt::Display, path::Path, time::Duration};

use jiff::Timestamp;
use nodewell_faults::{codes::Meaning, message, xid::Table};
use nodewell_model::Name;

use super::{GpuJudge, device::ReportedXids, history::Known, text};
use crate::{
    gpu::XidEvent,
    probe::{DeviceEvent, Fault, Now},
};

/// The same Xid of the same GPU is reported once a minute: a program that fails in a loop prints thousands.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// What a GPU needs, reported by the driver beside another Xid; the action is not in the event, and is read with the
/// GPU.
pub(super) const RECOVERY_ACTION: u32 = 154;
pub(super) const FALLEN_OFF_BUS: u32 = 79;
pub(super) const NO_POWER: u32 = 54;
/// The power smoothing circuit is back, and was off.
const SMOOTHING_BACK: u32 = 162;
const SMOOTHING_OFF: u32 = 163;

/// Memory errors that the counters show, too.
const ECC: [u32; 3] = [48, 95, 140];

/// The table, with an operator's overrides. The loading of the configuration refuses a file that cannot be read.
pub(super) fn table(overrides: Option<&Path>) -> Table {
    let merged = overrides.and_then(|path| Table::with_overrides(path).ok());
    merged.unwrap_or_else(|| Table::shipped().clone())
}

impl GpuJudge {
    pub(super) fn take_xid(&mut self, event: &XidEvent, now: &Now) {
        let Ok(code) = u32::try_from(event.xid) else { return };
        if code == SMOOTHING_BACK {
            self.history.update(&event.device, |known| _ = known.xids.remove(&SMOOTHING_OFF));
        }
        let Some(meaning) = self.table.classify(code, self.branch()) else { return };
        if code == RECOVERY_ACTION {
            return;
        }
        match &meaning.condition {
            Some(_) => self.hold(&event.device, code, now),
            None => self.report_xid(event, &meaning, now),
        }
    }

    /// What was seen of the GPU before proves nothing about it now. Of a mere Event it does: a program that fails in a
    /// loop must not keep the evidence away.
    fn hold(&mut self, name: &str, code: u32, now: &Now) {
        self.device(name).recovery = Default::default();
        self.history.update(name, |known| _ = known.xids.entry(code).or_insert(now.wall));
    }

    fn report_xid(&mut self, event: &XidEvent, meaning: &Meaning, now: &Now) {
        let Some(times) = due(&mut self.device(&event.device).reported_xids, meaning.code, event.times, now.boottime)
        else {
            return;
        };
        let known = self.history.get(&event.device).map(|known| known.identity.clone());
        let gpu = text::gpu(&known.unwrap_or_default());
        self.events.push(DeviceEvent {
            reason: meaning.reason.clone(),
            severity: meaning.severity,
            subject: Some(event.device.clone()),
            message: described(meaning, times, &gpu),
            time: now.wall,
            is_in_kernel_log: true,
        });
    }

    /// The faults of a condition that Xids of NVML hold.
    pub(super) fn xid_faults(&self, known: &Known, condition: &Name) -> Vec<Fault> {
        let held = known.xids.iter().filter_map(|(code, since)| Some((self.meaning(*code)?, *since)));
        let fitting = held.filter(|(meaning, _)| meaning.condition.as_ref() == Some(condition));
        fitting.map(|(meaning, since)| fault(&meaning, known, since)).collect()
    }

    pub(super) fn meaning(&self, code: u32) -> Option<Meaning> {
        self.table.classify(code, self.branch())
    }
}

fn fault(meaning: &Meaning, known: &Known, since: Timestamp) -> Fault {
    Fault {
        reason: meaning.reason.clone(),
        severity: meaning.severity,
        action: Some(meaning.action),
        message: described(meaning, 1, &text::gpu(&known.identity)),
        since: Some(since),
    }
}

fn described(meaning: &Meaning, times: u64, gpu: &str) -> String {
    let sentence = meaning.meaning.trim_end_matches('.');
    let args: [(&str, &dyn Display); 4] =
        [("code", &meaning.code), ("meaning", &sentence), ("reason", &meaning.reason), ("gpu", &gpu)];
    match times {
        ..=1 => message("GpuXid", &args),
        _ => message("GpuXid/times", &[&args[..], &[("times", &times)]].concat()),
    }
}

/// Whether an Xid already reports what the counters of memory errors show.
pub(super) fn explains_ecc(known: &Known) -> bool {
    ECC.iter().any(|code| known.xids.contains_key(code))
}

/// How often a code came since it was last reported, if that was long enough ago.
fn due(reported: &mut ReportedXids, code: u32, times: u64, at: Duration) -> Option<u64> {
    // More codes than there are: numbers made up by something broken.
    if reported.len() > 512 {
        reported.clear();
    }
    let (last, held_back) = reported.get(&code).copied().unzip();
    let times = held_back.unwrap_or(0).saturating_add(times);
    if last.is_some_and(|last: Duration| at.saturating_sub(last) < REPORT_EVERY && at >= last) {
        reported.insert(code, (last.unwrap_or(at), times));
        return None;
    }
    reported.insert(code, (at, 0));
    Some(times)
}
