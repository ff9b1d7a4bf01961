//! `[disk]`, `[memory]`, `[cpu]`, `[pcie]`, `[fabric]`, `[gpu]`: what the check processes look after, and how often.

use std::{path::PathBuf, time::Duration};

use nodewell_hardware::settings::{
    CpuSettings, DiskSettings, FabricSettings, GpuSettings, MemorySettings, PcieSettings, Settings,
};
use nodewell_rules::document::{Report, Section};

use super::path;

/// The shortest interval, and why none is shorter.
#[derive(Clone, Copy)]
struct ShortestInterval {
    interval: Duration,
    why: &'static str,
}

/// What is asked of a disk keeps it awake.
const DISK_INTERVAL: ShortestInterval =
    ShortestInterval { interval: Duration::from_mins(1), why: "would keep disks awake" };
/// A round of the others reads some hundred small files.
const INTERVAL: ShortestInterval =
    ShortestInterval { interval: Duration::from_secs(5), why: "would cost more than it finds" };
/// A week: what is read less often is reported too late.
const LONGEST_INTERVAL: Duration = Duration::from_hours(7 * 24);

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HardwareSettings {
    disk: Part,
    memory: Part,
    cpu: Part,
    pcie: Part,
    fabric: Part,
    gpu: Part,
    corrected_per_day: Option<u32>,
    corrected_per_hour: Option<u32>,
    ports: Option<Vec<String>>,
    gpus: Option<u32>,
    library: Option<PathBuf>,
    xids: Option<PathBuf>,
}

/// What several tables have.
#[derive(Debug, Clone, Default, PartialEq)]
struct Part {
    enabled: Option<bool>,
    interval: Option<Duration>,
    ignore: Option<Vec<String>>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> HardwareSettings {
    let mut settings = HardwareSettings::default();
    disk(file, &mut settings, report);
    memory(file, &mut settings, report);
    cpu(file, &mut settings, report);
    pcie(file, &mut settings, report);
    fabric(file, &mut settings, report);
    gpu(file, &mut settings, report);
    settings
}

fn disk(file: Section<'_>, settings: &mut HardwareSettings, report: &mut Report<'_>) {
    let Some(table) = file.table("disk", report) else { return };
    let section = Section::new("[disk]", table, &["enabled", "interval", "ignore"], report);
    settings.disk = part(section, DISK_INTERVAL, report);
}

fn memory(file: Section<'_>, settings: &mut HardwareSettings, report: &mut Report<'_>) {
    let Some(table) = file.table("memory", report) else { return };
    let section = Section::new("[memory]", table, &["enabled", "interval", "corrected-per-day"], report);
    settings.memory = part(section, INTERVAL, report);
    settings.corrected_per_day = section.number("corrected-per-day", 1..=1_000_000, report);
}

fn cpu(file: Section<'_>, settings: &mut HardwareSettings, report: &mut Report<'_>) {
    let Some(table) = file.table("cpu", report) else { return };
    let section = Section::new("[cpu]", table, &["enabled", "interval"], report);
    settings.cpu = part(section, INTERVAL, report);
}

fn pcie(file: Section<'_>, settings: &mut HardwareSettings, report: &mut Report<'_>) {
    let Some(table) = file.table("pcie", report) else { return };
    let section = Section::new("[pcie]", table, &["enabled", "interval", "corrected-per-hour", "ignore"], report);
    settings.pcie = part(section, INTERVAL, report);
    settings.corrected_per_hour = section.number("corrected-per-hour", 1..=100_000_000, report);
}

fn fabric(file: Section<'_>, settings: &mut HardwareSettings, report: &mut Report<'_>) {
    let Some(table) = file.table("fabric", report) else { return };
    let section = Section::new("[fabric]", table, &["enabled", "interval", "expected", "ignore"], report);
    settings.fabric = part(section, INTERVAL, report);
    settings.ports = names(section, "expected", report);
}

fn gpu(file: Section<'_>, settings: &mut HardwareSettings, report: &mut Report<'_>) {
    let Some(table) = file.table("gpu", report) else { return };
    let section = Section::new("[gpu]", table, &["enabled", "interval", "expected", "library", "xids"], report);
    settings.gpu = part(section, INTERVAL, report);
    settings.gpus = section.number("expected", 0..=1024, report);
    settings.library = path(section, "library", report);
    settings.xids = path(section, "xids", report);
}

fn part(section: Section<'_>, shortest: ShortestInterval, report: &mut Report<'_>) -> Part {
    let interval = section.duration("interval", report);
    if let Some(interval) = interval.filter(|interval| !(shortest.interval..=LONGEST_INTERVAL).contains(interval)) {
        let message = if interval < shortest.interval {
            format!("\"interval\" below {}s {}", shortest.interval.as_secs(), shortest.why)
        } else {
            "\"interval\" is at most a week (168h)".to_owned()
        };
        report.error(section.position("interval"), message);
    }
    Part { enabled: section.boolean("enabled", report), interval, ignore: globs(section, report) }
}

/// Each is tried here, so that an error is reported with its line.
pub(in crate::config) fn globs(section: Section<'_>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let globs = names(section, "ignore", report)?;
    for glob in &globs {
        if let Err(error) = glob::Pattern::new(glob) {
            report.error(section.position("ignore"), format!("{glob:?} is no pattern of names: {error}"));
        }
    }
    Some(globs)
}

/// An empty list is valid: it removes what another file named.
fn names(section: Section<'_>, key: &str, report: &mut Report<'_>) -> Option<Vec<String>> {
    let value = section.value(key)?;
    if value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
        return Some(Vec::new());
    }
    Some(section.strings(key, report).into_iter().map(|word| word.text.to_owned()).collect())
}

impl Part {
    fn merged(self, later: Self) -> Self {
        Self {
            enabled: later.enabled.or(self.enabled),
            interval: later.interval.or(self.interval),
            ignore: later.ignore.or(self.ignore),
        }
    }
}

impl HardwareSettings {
    /// Both merged; `later` overrides.
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            disk: self.disk.merged(later.disk),
            memory: self.memory.merged(later.memory),
            cpu: self.cpu.merged(later.cpu),
            pcie: self.pcie.merged(later.pcie),
            fabric: self.fabric.merged(later.fabric),
            gpu: self.gpu.merged(later.gpu),
            corrected_per_day: later.corrected_per_day.or(self.corrected_per_day),
            corrected_per_hour: later.corrected_per_hour.or(self.corrected_per_hour),
            ports: later.ports.or(self.ports),
            gpus: later.gpus.or(self.gpus),
            library: later.library.or(self.library),
            xids: later.xids.or(self.xids),
        }
    }

    /// The defaults are the hardware's own, each replaced by what is set.
    pub(in crate::config) fn resolved(self) -> Settings {
        let Settings { disk, memory, cpu, pcie, fabric, gpu } = Settings::default();
        let enabled = |part: &Part, usual| part.enabled.unwrap_or(usual);
        let interval = |part: &Part, usual| part.interval.unwrap_or(usual);
        Settings {
            disk: DiskSettings {
                enabled: enabled(&self.disk, disk.enabled),
                interval: interval(&self.disk, disk.interval),
                ignore: self.disk.ignore.unwrap_or(disk.ignore),
            },
            memory: MemorySettings {
                enabled: enabled(&self.memory, memory.enabled),
                interval: interval(&self.memory, memory.interval),
                corrected_per_day: self.corrected_per_day.unwrap_or(memory.corrected_per_day),
            },
            cpu: CpuSettings { enabled: enabled(&self.cpu, cpu.enabled), interval: interval(&self.cpu, cpu.interval) },
            pcie: PcieSettings {
                enabled: enabled(&self.pcie, pcie.enabled),
                interval: interval(&self.pcie, pcie.interval),
                corrected_per_hour: self.corrected_per_hour.unwrap_or(pcie.corrected_per_hour),
                ignore: self.pcie.ignore.unwrap_or(pcie.ignore),
            },
            fabric: FabricSettings {
                enabled: enabled(&self.fabric, fabric.enabled),
                interval: interval(&self.fabric, fabric.interval),
                expected: self.ports.unwrap_or(fabric.expected),
                ignore: self.fabric.ignore.unwrap_or(fabric.ignore),
            },
            gpu: GpuSettings {
                enabled: enabled(&self.gpu, gpu.enabled),
                interval: interval(&self.gpu, gpu.interval),
                expected: self.gpus.or(gpu.expected),
                library: self.library.or(gpu.library),
                xids: self.xids.or(gpu.xids),
            },
        }
    }
}

#[cfg(test)]
mod tests;
