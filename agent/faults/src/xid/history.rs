//! What a single Xid does not show: a GPU that fails again after each restart, and crashes that all come from one part
//! of a GPU, whatever program runs there.

mod crashes;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use nodewell_model::{Action, BootId, FindingKind, Name, Severity};

use self::crashes::Crashes;
use super::Line;
use crate::{Decoded, message, pci};

/// So long a failure or a crash counts.
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// NVSentinel's figure, too.
const FAILURES: usize = 5;
/// A GPU that stays broken is started again by each program that tries, and fails again: that is one failure, until it
/// has been silent for so long.
const SILENT: Duration = Duration::from_secs(1_800);
/// More GPUs than any machine has: addresses that something broken makes up must not fill the memory.
const MOST_GPUS: usize = 256;
/// What the driver reports of a GPU beside another Xid: no failure by itself.
const RECOVERY_ACTION: u32 = 154;
/// The driver's line when its module is loaded: it names version and build.
const LOADING: &str = "NVRM: loading NVIDIA UNIX ";

/// When a line was written: since the boot if its record has that, else by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    pub boot_id: Option<BootId>,
    pub at: Duration,
}

/// What the lines of a GPU show together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    pub decoded: Decoded,
    /// In place of the line.
    pub message: String,
    /// When it is over, if nothing repeats it.
    pub ends_after_quiet: Option<Duration>,
}

/// What is remembered of the GPUs of one kernel log.
#[derive(Debug, Default)]
pub struct XidHistory {
    boot_id: Option<BootId>,
    /// The line of the driver that is loaded, if it was seen.
    driver: Option<String>,
    gpus: BTreeMap<String, Gpu>,
}

#[derive(Debug, Default)]
struct Gpu {
    /// Whether it was started, or the driver reported that it needs nothing, since it failed last.
    has_restarted: bool,
    failed_last: Option<Duration>,
    /// Its latest failures with a restart between them.
    failures: VecDeque<Duration>,
    crashes: BTreeMap<u32, Crashes>,
}

impl XidHistory {
    /// Takes a line, and what it was decoded to.
    pub fn take(&mut self, text: &str, decoded: &[Decoded], written: Written) -> Vec<Repeated> {
        if self.boot_id != written.boot_id {
            *self = Self { boot_id: written.boot_id, ..Self::default() };
        }
        if text.starts_with(LOADING) {
            self.load(text);
            return Vec::new();
        }
        if let Some(address) = started(text) {
            if let Some(gpu) = self.gpus.get_mut(&address) {
                gpu.has_restarted = true;
            }
            return Vec::new();
        }
        let Some(line) = Line::parse(text) else { return Vec::new() };
        if !self.gpus.contains_key(&line.address) && self.gpus.len() >= MOST_GPUS {
            return Vec::new();
        }
        let gpu = self.gpus.entry(line.address.clone()).or_default();
        gpu.has_restarted |= is_recovered(&line, decoded);
        let failed = gpu.fail(&line, decoded, written.at);
        failed.into_iter().chain(gpu.crash(&line, text, written.at)).collect()
    }

    /// What failed with another driver may have been that one's fault.
    fn load(&mut self, line: &str) {
        if self.driver.as_deref() != Some(line) {
            *self = Self { boot_id: self.boot_id, driver: Some(line.to_owned()), ..Self::default() };
        }
    }
}

impl Gpu {
    /// A GPU that is broken prints its Xid whenever a program asks it: only what follows a restart is another failure.
    fn fail(&mut self, line: &Line<'_>, decoded: &[Decoded], at: Duration) -> Option<Repeated> {
        if line.code == RECOVERY_ACTION || !decoded.iter().any(is_failure) {
            return None;
        }
        let has_restarted = std::mem::take(&mut self.has_restarted);
        let was_silent = self.failed_last.replace(at).is_some_and(|last| last.abs_diff(at) >= SILENT);
        self.failures.retain(|then| then.abs_diff(at) < DAY);
        if self.failures.is_empty() || (has_restarted && was_silent) {
            self.failures.push_back(at);
        }
        if self.failures.len() > FAILURES {
            self.failures.pop_front();
        }
        let oldest = *self.failures.front().filter(|_| self.failures.len() == FAILURES)?;
        let decoded = Decoded {
            kind: FindingKind::Raise,
            reason: Name::fixed("GpuFailsRepeatedly"),
            condition: Some(Name::fixed("GpuUnhealthy")),
            severity: Severity::Critical,
            action: Action::InspectHardware,
            subject: line.address.clone(),
        };
        let message = message("GpuFailsRepeatedly", &[("failures", &FAILURES), ("code", &line.code)]);
        let left = DAY.saturating_sub(oldest.abs_diff(at)).max(Duration::from_secs(1));
        Some(Repeated { decoded, message, ends_after_quiet: Some(left) })
    }

    fn crash(&mut self, line: &Line<'_>, text: &str, at: Duration) -> Option<Repeated> {
        if let Some(program) = crashes::program(line) {
            self.crashes.values_mut().for_each(|crashes| crashes.name(program, at));
        }
        let place = crashes::place(line, text)?;
        let found = self.crashes.entry(line.code).or_default().take(place, crashes::program(line), at)?;
        let decoded = Decoded {
            kind: FindingKind::Raise,
            reason: Name::fixed("GpuCrashesInOnePart"),
            condition: None,
            severity: Severity::Warn,
            // What a pod can bring about asks for no more.
            action: Action::Watch,
            subject: line.address.clone(),
        };
        let message = message(
            "GpuCrashesInOnePart",
            &[
                ("code", &line.code),
                ("crashes", &found.crashes),
                ("programs", &found.programs),
                ("place", &found.place),
            ],
        );
        Some(Repeated { decoded, message, ends_after_quiet: None })
    }
}

/// What leaves the GPU itself unusable. Errors of its links may be another GPU's or a switch's.
fn is_failure(decoded: &Decoded) -> bool {
    let is_held = decoded.condition.as_ref().is_some_and(|name| name.as_str() == "GpuUnhealthy");
    decoded.kind == FindingKind::Raise && is_held && decoded.severity >= Severity::Error
}

/// Xid 154, when it reports that the GPU needs nothing any more.
fn is_recovered(line: &Line<'_>, decoded: &[Decoded]) -> bool {
    let is_clear = |decoded: &Decoded| decoded.kind == FindingKind::Clear;
    line.code == RECOVERY_ACTION && !decoded.is_empty() && decoded.iter().all(is_clear)
}

/// `NVRM: GPU at PCI:0000:05:00: GPU-6f8e2a1c-…`: the driver prints it before the first Xid since it has started the
/// GPU (open-gpu-kernel-modules, src/nvidia/src/kernel/gpu/rc/kernel_rc.c, `_krcLogUuidOnce`).
fn started(text: &str) -> Option<String> {
    let (address, _) = text.strip_prefix("NVRM: GPU at PCI:")?.split_once(": ")?;
    pci::address(address)
}
