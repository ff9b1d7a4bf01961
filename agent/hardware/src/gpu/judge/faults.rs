//! The faults of one GPU that answered, or for which the bus or the driver reports why it does not.

use nodewell_faults::{codes::Meaning, xid::Recovery};
use nodewell_model::{Action, Severity};

use super::{
    GpuJudge,
    device::Device,
    history::Known,
    text,
    trends::Brake,
    xids::{self, FALLEN_OFF_BUS, NO_POWER, RECOVERY_ACTION},
};
use crate::{
    Fault,
    gpu::{Access, Ecc, GpuReading, Remap, Retired, Vendor},
};

/// NVIDIA replaces a board with so many retired pages; at 64 it cannot retire more (Dynamic Page Retirement).
const MOST_RETIRED: u64 = 60;

impl GpuJudge {
    /// What holds `GpuUnhealthy`, apart from Xids.
    pub(super) fn gpu_faults(&self, device: &Device, known: &Known, reading: &GpuReading) -> Vec<Fault> {
        let identity = text::identity(&known.identity);
        match reading.access {
            Access::Answers => self.answering(device, known, reading),
            Access::Asleep => Vec::new(),
            Access::Lost => self.xid(FALLEN_OFF_BUS, format!("fallen off the bus{identity}")),
            Access::NoPower => self.xid(NO_POWER, format!("its power cables are not attached{identity}")),
            Access::ResetRequired => self.recovery(Some(1), &identity),
            Access::NoInterrupts => {
                vec![Fault::new("GpuInterruptsLost", format!("its interrupts do not arrive{identity}"))]
            }
            Access::Unlisted if device.unlisted.is_sure() => {
                let message = format!("on the bus, and the driver does not offer it{identity}");
                vec![Fault::new("GpuInitFailed", message)]
            }
            Access::Unlisted => Vec::new(),
        }
    }

    fn answering(&self, device: &Device, known: &Known, reading: &GpuReading) -> Vec<Fault> {
        let identity = text::identity(&known.identity);
        let uncorrectable =
            if reading.vendor == Vendor::Amd { amds(device, reading) } else { uncorrectable(known, reading) };
        let uncorrectable = uncorrectable.filter(|_| !xids::explains_ecc(known));
        let corrected = device.corrected.is_high().then(|| Fault::new("GpuEccCorrectedGrowing", corrected(&identity)));
        let mig = device.mig_pending.is_sure().then(|| Fault::new("GpuMigModePending", mig(reading)));
        let mut faults = self.recovery(reading.recovery, &identity);
        faults.extend(uncorrectable.into_iter().chain(corrected).chain(mig));
        faults.extend(reading.remap.into_iter().flat_map(|remap| remapped(remap, &identity)));
        faults.extend(reading.retired.into_iter().flat_map(|retired| pages(retired, &identity)));
        faults.extend(device.slowdown.brakes().map(braked));
        faults
    }

    /// The driver's report of what the GPU needs: what Xid 154 reports in the kernel log.
    fn recovery(&self, number: Option<u64>, identity: &str) -> Vec<Fault> {
        let Some(number) = number else { return Vec::new() };
        let recovery = u32::try_from(number).ok().and_then(Recovery::numbered);
        let needs = match recovery {
            Some(Recovery::None) => return Vec::new(),
            Some(Recovery::GpuReset) => "a reset",
            Some(Recovery::NodeReboot) => "a reboot of the node",
            Some(Recovery::DrainPeers) => "its traffic with other GPUs to end",
            Some(Recovery::DrainAndReset) => "a reset once its programs have ended",
            None => "something that this version does not know",
        };
        let (severity, action) =
            recovery.map_or((Severity::Warn, Action::Watch), |needs| (needs.severity(), needs.action()));
        let meaning = self.meaning(RECOVERY_ACTION).map(|meaning| meaning.needing(severity, action));
        reported_by_xid(meaning, format!("the driver says that it needs {needs}{identity}"))
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

/// Errors since the reset; where only those of its life are counted, their growth since this boot. A GPU that remaps rows
/// contains them, and reports by other means what is not over.
fn uncorrectable(known: &Known, reading: &GpuReading) -> Option<Fault> {
    if reading.remap.is_some() {
        return None;
    }
    let Ecc { uncorrected, uncorrected_ever, .. } = reading.ecc?;
    let identity = text::identity(&known.identity);
    let message = match (uncorrected, uncorrected_ever) {
        (Some(0), _) => return None,
        (Some(count), _) => format!("{count} uncorrectable memory errors since its reset{identity}"),
        (None, Some(count)) if known.has_grown => format!("{count} uncorrectable memory errors, growing{identity}"),
        (None, _) => return None,
    };
    Some(Fault::new("GpuEccUncorrectable", message))
}

/// amdgpu resets a GPU with such an error by itself, and its counter stays.
fn amds(device: &Device, reading: &GpuReading) -> Option<Fault> {
    let count = reading.ecc?.uncorrected?;
    let message = format!("{count} errors that it could not correct, and more within the last hour");
    device.uncorrected.is_high().then(|| Fault::new("AmdGpuUncorrectedError", message))
}

fn corrected(identity: &str) -> String {
    format!("a hundred and more corrected memory errors within an hour{identity}")
}

fn remapped(remap: Remap, identity: &str) -> impl Iterator<Item = Fault> {
    let failed = remap.failed.then(|| {
        Fault::new("GpuRowRemapFailed", format!("a bad memory row could not be replaced by a spare one{identity}"))
    });
    let pending = remap.pending.then(|| {
        Fault::new("GpuRowRemapPending", format!("a bad memory row waits for a reset to be replaced{identity}"))
    });
    failed.into_iter().chain(pending)
}

fn pages(retired: Retired, identity: &str) -> impl Iterator<Item = Fault> {
    let pending = retired.pending.then(|| {
        Fault::new("GpuPageRetirementPending", format!("a bad memory page waits for a reset to be retired{identity}"))
    });
    let many = retired.pages.filter(|pages| *pages >= MOST_RETIRED).map(|pages| {
        Fault::new("GpuPagesRetired", format!("{pages} memory pages are retired; there is room for 64{identity}"))
    });
    pending.into_iter().chain(many)
}

fn mig(reading: &GpuReading) -> String {
    let next = reading.mig.map_or(0, |mig| mig.pending);
    format!("multi-instance mode is to be {} after a reset", if next == 0 { "off" } else { "on" })
}

fn braked(brake: Brake) -> Fault {
    match brake {
        Brake::Thermal => Fault::new("GpuThermalSlowdown", "too hot: the hardware halves its clocks"),
        Brake::Power => Fault::new("GpuPowerBrake", "the machine's power supply makes it halve its clocks"),
        Brake::Other => Fault::new("GpuHardwareSlowdown", "the hardware halves its clocks for its own power draw"),
    }
}
