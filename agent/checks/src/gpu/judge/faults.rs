//! The faults of one GPU that answered, or for which the bus or the driver reports why it does not.

use nodewell_faults::{codes::Meaning, message, xid::Recovery};
use nodewell_message::MessageArgs;
use nodewell_model::{Action, Severity};

use super::{
    GpuJudge,
    device::Device,
    history::Known,
    text,
    trends::{Corrected, SlowdownKind, Uncorrected},
    xids::{self, FALLEN_OFF_BUS, NO_POWER, RECOVERY_ACTION},
};
use crate::{
    gpu::{Access, Ecc, GpuReading, Remap, Retired, Vendor},
    probe::Fault,
};

/// NVIDIA replaces a board with so many retired pages (Dynamic Page Retirement).
const MANY_RETIRED: u64 = 60;
/// It cannot retire more.
const MOST_RETIRED: u64 = 64;

impl GpuJudge {
    /// What holds `GpuUnhealthy`, apart from Xids.
    pub(super) fn gpu_faults(&self, device: &Device, known: &Known, reading: &GpuReading) -> Vec<Fault> {
        let gpu = text::gpu(&known.identity);
        let args: MessageArgs<'_> = &[("gpu", &gpu)];
        match reading.access {
            Access::Answers => self.answering(device, known, reading),
            Access::Asleep => Vec::new(),
            Access::Lost => self.xid(FALLEN_OFF_BUS, message("GpuXid79FallenOffBus", args)),
            Access::NoPower => self.xid(NO_POWER, message("GpuXid54AuxiliaryPowerMissing", args)),
            Access::ResetRequired => self.recovery(Some(1), &gpu),
            Access::NoInterrupts => vec![Fault::of("GpuInterruptsLost", args)],
            Access::Unlisted if device.unlisted.is_sure() => vec![Fault::of("GpuInitFailed", args)],
            Access::Unlisted => Vec::new(),
        }
    }

    fn answering(&self, device: &Device, known: &Known, reading: &GpuReading) -> Vec<Fault> {
        let gpu = text::gpu(&known.identity);
        let uncorrectable =
            if reading.vendor == Vendor::Amd { amds(device, reading) } else { uncorrectable(known, reading) };
        let uncorrectable = uncorrectable.filter(|_| !xids::explains_ecc(known));
        let corrected = device.corrected.is_high().then(|| corrected(&gpu));
        let mig = device.mig_pending.is_sure().then(|| mig(reading));
        let mut faults = self.recovery(reading.recovery, &gpu);
        faults.extend(uncorrectable.into_iter().chain(corrected).chain(mig));
        faults.extend(reading.remap.into_iter().flat_map(|remap| remapped(remap, &gpu)));
        faults.extend(reading.retired.into_iter().flat_map(|retired| pages(retired, &gpu)));
        faults.extend(device.slowdown.slowdowns().map(slowed));
        let file = reading.missing_file.as_ref().filter(|_| device.no_file.is_sure());
        faults.extend(file.map(|file| Fault::of("AmdGpuDeviceFileMissing", &[("file", file)])));
        faults
    }

    /// The driver's report of what the GPU needs: what Xid 154 reports in the kernel log.
    fn recovery(&self, number: Option<u64>, gpu: &str) -> Vec<Fault> {
        let Some(number) = number else { return Vec::new() };
        let recovery = u32::try_from(number).ok().and_then(Recovery::numbered);
        let args: MessageArgs<'_> = &[("gpu", &gpu)];
        let message = match recovery {
            Some(Recovery::None) => return Vec::new(),
            Some(Recovery::GpuReset) => message("GpuXid154RecoveryAction/reset", args),
            Some(Recovery::NodeReboot) => message("GpuXid154RecoveryAction/reboot", args),
            Some(Recovery::DrainPeers) => message("GpuXid154RecoveryAction/drain-peers", args),
            Some(Recovery::DrainAndReset) => message("GpuXid154RecoveryAction/drain-reset", args),
            None => message("GpuXid154RecoveryAction/unknown", &[("number", &number), ("gpu", &gpu)]),
        };
        let (severity, action) =
            recovery.map_or((Severity::Warn, Action::Watch), |needs| (needs.severity(), needs.action()));
        let meaning = self.meaning(RECOVERY_ACTION).map(|meaning| meaning.needing(severity, action));
        reported_by_xid(meaning, message)
    }

    fn xid(&self, code: u32, message: String) -> Vec<Fault> {
        reported_by_xid(self.meaning(code), message)
    }
}

/// A fault that the kernel log reports by an Xid: the same reason, so that both are one problem. It is none where an
/// operator's override has the Xid hold nothing.
fn reported_by_xid(meaning: Option<Meaning>, message: String) -> Vec<Fault> {
    let holding = meaning.filter(|meaning| meaning.condition.is_some());
    let fault = |Meaning { reason, severity, action, .. }: Meaning| Fault {
        reason,
        severity,
        action: Some(action),
        message,
        since: None,
    };
    holding.map(fault).into_iter().collect()
}

/// Errors since the reset; where only those of its life are counted, their growth since this boot. A GPU that remaps
/// rows contains them, and reports by other means what is not over.
fn uncorrectable(known: &Known, reading: &GpuReading) -> Option<Fault> {
    if reading.remap.is_some() {
        return None;
    }
    let Ecc { uncorrected, uncorrected_ever, .. } = reading.ecc?;
    let (key, count) = match (uncorrected, uncorrected_ever) {
        (Some(0), _) => return None,
        (Some(count), _) => ("GpuEccUncorrectable", count),
        (None, Some(count)) if known.has_grown => ("GpuEccUncorrectable/growing", count),
        (None, _) => return None,
    };
    Some(Fault::of(key, &[("errors", &count), ("gpu", &text::gpu(&known.identity))]))
}

/// amdgpu resets a GPU with such an error by itself, and its counter stays.
fn amds(device: &Device, reading: &GpuReading) -> Option<Fault> {
    let count = reading.ecc?.uncorrected?;
    let args: MessageArgs<'_> = &[("errors", &count), ("limit", &Uncorrected::LIMIT)];
    device.uncorrected.is_high().then(|| Fault::of("AmdGpuUncorrectedError", args))
}

fn corrected(gpu: &str) -> Fault {
    Fault::of("GpuEccCorrectedGrowing", &[("limit", &Corrected::LIMIT), ("gpu", &gpu)])
}

fn remapped(remap: Remap, gpu: &str) -> impl Iterator<Item = Fault> {
    let failed = remap.failed.then(|| Fault::of("GpuRowRemapFailed", &[("gpu", &gpu)]));
    let pending = remap.pending.then(|| Fault::of("GpuRowRemapPending", &[("gpu", &gpu)]));
    failed.into_iter().chain(pending)
}

fn pages(retired: Retired, gpu: &str) -> impl Iterator<Item = Fault> {
    let pending = retired.pending.then(|| Fault::of("GpuPageRetirementPending", &[("gpu", &gpu)]));
    let many = retired.pages.filter(|pages| *pages >= MANY_RETIRED).map(|pages| {
        let args: MessageArgs<'_> =
            &[("pages", &pages), ("limit", &MANY_RETIRED), ("most", &MOST_RETIRED), ("gpu", &gpu)];
        Fault::of("GpuPagesRetired", args)
    });
    pending.into_iter().chain(many)
}

fn mig(reading: &GpuReading) -> Fault {
    let next = reading.mig.map_or(0, |mig| mig.pending);
    Fault::of("GpuMigModePending", &[("mode", if next == 0 { &"off" } else { &"on" })])
}

fn slowed(kind: SlowdownKind) -> Fault {
    match kind {
        SlowdownKind::Thermal => Fault::of("GpuThermalSlowdown", &[]),
        SlowdownKind::Power => Fault::of("GpuPowerBrake", &[]),
        SlowdownKind::Other => Fault::of("GpuHardwareSlowdown", &[]),
    }
}
