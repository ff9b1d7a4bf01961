//! `[limits]`: levels in pairs, and what else is judged by figures.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use nodewell_checks::settings::{Levels, LimitsSettings};
use nodewell_rules::document::{Report, Section, TableAt};

use super::{LONGEST_INTERVAL, SHORTEST_INTERVAL};
use crate::config::settings::paths;

const KEYS: &[&str] = &[
    "enabled",
    "interval",
    "for",
    "keep-firing-for",
    "conntrack-percent",
    "conntrack-drops",
    "file-handles-percent",
    "tasks-percent",
    "memory-pressure-percent",
    "cpu-pressure-percent",
    "io-pressure-percent",
    "swap-pages-per-second",
    "zombies",
    "blocked-tasks",
    "leaks",
    "oom-kills-per-hour",
    "certificates",
    "certificate-days",
];

/// What is waited for longer is a report and no alarm.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LimitsPart {
    enabled: Option<bool>,
    interval: Option<Duration>,
    for_duration: Option<Duration>,
    keep_firing_for: Option<Duration>,
    conntrack_percent: Option<Levels>,
    conntrack_drops: Option<u32>,
    file_handles_percent: Option<Levels>,
    tasks_percent: Option<Levels>,
    memory_pressure_percent: Option<Levels>,
    cpu_pressure_percent: Option<Levels>,
    io_pressure_percent: Option<Levels>,
    swap_pages_per_second: Option<Levels>,
    zombies: Option<Levels>,
    blocked_tasks: Option<Levels>,
    leaks: Option<bool>,
    oom_kills_per_hour: Option<u32>,
    certificates: Option<Vec<PathBuf>>,
    certificate_days: Option<u32>,
}

pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> LimitsPart {
    let section = Section::new("[limits]", table, KEYS, report);
    let mut percent = |key| levels(section, key, 100, report);
    LimitsPart {
        conntrack_percent: percent("conntrack-percent"),
        file_handles_percent: percent("file-handles-percent"),
        tasks_percent: percent("tasks-percent"),
        memory_pressure_percent: percent("memory-pressure-percent"),
        cpu_pressure_percent: percent("cpu-pressure-percent"),
        io_pressure_percent: percent("io-pressure-percent"),
        swap_pages_per_second: levels(section, "swap-pages-per-second", 100_000_000, report),
        zombies: levels(section, "zombies", 1_000, report),
        blocked_tasks: levels(section, "blocked-tasks", 1_000, report),
        ..rest(section, report)
    }
}

fn rest(section: Section<'_>, report: &mut Report<'_>) -> LimitsPart {
    LimitsPart {
        enabled: section.boolean("enabled", report),
        interval: within(section, "interval", SHORTEST_INTERVAL..=LONGEST_INTERVAL, report),
        for_duration: within(section, "for", Duration::ZERO..=LONGEST_WAIT, report),
        keep_firing_for: within(section, "keep-firing-for", Duration::ZERO..=LONGEST_WAIT, report),
        conntrack_drops: section.number("conntrack-drops", 1..=100_000_000, report),
        leaks: section.boolean("leaks", report),
        oom_kills_per_hour: section.number("oom-kills-per-hour", 1..=100_000, report),
        certificates: certificates(section, report),
        certificate_days: section.number("certificate-days", 1..=3650, report),
        ..LimitsPart::default()
    }
}

fn within(
    section: Section<'_>,
    key: &'static str,
    range: RangeInclusive<Duration>,
    report: &mut Report<'_>,
) -> Option<Duration> {
    let value = section.duration(key, report)?;
    if !range.contains(&value) {
        let (shortest, longest) = (range.start().as_secs(), range.end().as_secs() / 3600);
        let from = if shortest > 0 { format!("from {shortest}s to") } else { "at most".to_owned() };
        report.error(section.position(key), format!("{key:?} is {from} {longest}h"));
    }
    Some(value)
}

/// `[90, 80]`: where it begins, and where it ends.
fn levels(section: Section<'_>, key: &'static str, most: u32, report: &mut Report<'_>) -> Option<Levels> {
    section.value(key)?;
    let diagnostics = report.count();
    let numbers = section.numbers(key, 1..=most, report);
    if report.count() > diagnostics {
        return None;
    }
    match numbers[..] {
        [high, low] if low <= high => return Some(Levels { high, low }),
        [high, low] => report.error(
            section.position(key),
            format!("{key:?} begins at {high} and would end below {low}: the first is the higher one"),
        ),
        _ => {
            report.error(section.position(key), format!("{key:?} takes two numbers: [where it begins, where it ends]"))
        }
    }
    None
}

fn certificates(section: Section<'_>, report: &mut Report<'_>) -> Option<Vec<PathBuf>> {
    let value = paths(section, "certificates", report)?;
    for path in value.iter().filter(|path| !path.is_absolute()) {
        report.error(section.position("certificates"), format!("{} is no absolute path", path.display()));
    }
    Some(value)
}

impl LimitsPart {
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            enabled: later.enabled.or(self.enabled),
            interval: later.interval.or(self.interval),
            for_duration: later.for_duration.or(self.for_duration),
            keep_firing_for: later.keep_firing_for.or(self.keep_firing_for),
            conntrack_percent: later.conntrack_percent.or(self.conntrack_percent),
            conntrack_drops: later.conntrack_drops.or(self.conntrack_drops),
            file_handles_percent: later.file_handles_percent.or(self.file_handles_percent),
            tasks_percent: later.tasks_percent.or(self.tasks_percent),
            memory_pressure_percent: later.memory_pressure_percent.or(self.memory_pressure_percent),
            cpu_pressure_percent: later.cpu_pressure_percent.or(self.cpu_pressure_percent),
            io_pressure_percent: later.io_pressure_percent.or(self.io_pressure_percent),
            swap_pages_per_second: later.swap_pages_per_second.or(self.swap_pages_per_second),
            zombies: later.zombies.or(self.zombies),
            blocked_tasks: later.blocked_tasks.or(self.blocked_tasks),
            leaks: later.leaks.or(self.leaks),
            oom_kills_per_hour: later.oom_kills_per_hour.or(self.oom_kills_per_hour),
            certificates: later.certificates.or(self.certificates),
            certificate_days: later.certificate_days.or(self.certificate_days),
        }
    }

    pub(super) fn resolved(self) -> LimitsSettings {
        let usual = LimitsSettings::default();
        LimitsSettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            interval: self.interval.unwrap_or(usual.interval),
            for_duration: self.for_duration.unwrap_or(usual.for_duration),
            keep_firing_for: self.keep_firing_for.unwrap_or(usual.keep_firing_for),
            conntrack_percent: self.conntrack_percent.unwrap_or(usual.conntrack_percent),
            conntrack_drops: self.conntrack_drops.unwrap_or(usual.conntrack_drops),
            file_handles_percent: self.file_handles_percent.unwrap_or(usual.file_handles_percent),
            tasks_percent: self.tasks_percent.unwrap_or(usual.tasks_percent),
            memory_pressure_percent: self.memory_pressure_percent.unwrap_or(usual.memory_pressure_percent),
            cpu_pressure_percent: self.cpu_pressure_percent.unwrap_or(usual.cpu_pressure_percent),
            io_pressure_percent: self.io_pressure_percent.unwrap_or(usual.io_pressure_percent),
            swap_pages_per_second: self.swap_pages_per_second.unwrap_or(usual.swap_pages_per_second),
            zombies: self.zombies.unwrap_or(usual.zombies),
            blocked_tasks: self.blocked_tasks.unwrap_or(usual.blocked_tasks),
            leaks: self.leaks.unwrap_or(usual.leaks),
            oom_kills_per_hour: self.oom_kills_per_hour.unwrap_or(usual.oom_kills_per_hour),
            certificates: self.certificates.unwrap_or(usual.certificates),
            certificate_days: self.certificate_days.unwrap_or(usual.certificate_days),
        }
    }
}

#[cfg(test)]
mod tests;
