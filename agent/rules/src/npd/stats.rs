//! Node Problem Detector's system-stats-monitor: which figures of the node to export, and under which names.

mod known;
mod metrics;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use regex::bytes::Regex;

pub(super) use known::text as known_modules_text;
pub use metrics::{METRICS, StatsMetric, prometheus_name};

use super::{json::Object, translate_re2};
use crate::{Location, draft::Draft, report::Report};

/// Keys that only this monitor's files have.
pub(super) const KEYS: [&str; 8] = ["invokeInterval", "procPath", "cpu", "disk", "host", "memory", "osFeature", "net"];
/// Its own defaults.
const INTERVAL: Duration = Duration::from_mins(1);
const LSBLK_TIMEOUT: Duration = Duration::from_secs(5);
const PROC: &str = "/proc";
pub(super) const KNOWN_MODULES: &str = "guestosconfig/known-modules.json";

/// One file of it.
#[derive(Debug, Clone)]
pub struct SystemStats {
    pub location: Location,
    /// What is exported, in the order of [`METRICS`].
    pub metrics: Vec<StatsMetric>,
    pub disks: DiskChoice,
    /// Interfaces that are left out.
    pub exclude_interfaces: Option<Regex>,
    /// Modules that are expected.
    pub known_modules: Vec<String>,
    /// What is averaged is averaged over at least this.
    pub interval: Duration,
    /// Where procfs is.
    pub proc: PathBuf,
}

/// Which block devices count. Neither is all of them, as in Node Problem Detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskChoice {
    /// Those that are no part of another one and not made of others.
    pub whole: bool,
    /// Those that are mounted.
    pub mounted: bool,
}

/// The sections that are there, and what each may have.
type Sections<'a> = Vec<(&'static str, Object<'a>)>;
const SECTIONS: [(&str, &[&str]); 6] = [
    ("cpu", &["metricsConfigs"]),
    ("disk", &["metricsConfigs", "includeRootBlk", "includeAllAttachedBlk", "lsblkTimeout"]),
    ("host", &["metricsConfigs"]),
    ("memory", &["metricsConfigs"]),
    ("osFeature", &["metricsConfigs", "knownModulesConfigPath"]),
    ("net", &["metricsConfigs", "excludeInterfaceRegexp"]),
];

pub(super) fn read(object: &Object<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    let before = report.count();
    object.note_unknown(&KEYS, report);
    let sections = sections(object, report);
    let section = |name: &str| sections.iter().find(|(known, _)| *known == name).map(|(_, section)| section);
    let interval = interval(object, report);
    let metrics = metrics::read(&sections, report);
    let features = section("osFeature").filter(|_| metrics.iter().any(|metric| metric.id == "system/os_feature"));
    let stats = SystemStats {
        location: report.location(object.at),
        disks: section("disk").map(|disk| disks(disk, interval, report)).unwrap_or_default(),
        exclude_interfaces: section("net").and_then(|net| exclude(net, report)),
        known_modules: features.and_then(|features| known::read(features, report)).unwrap_or_default(),
        interval,
        proc: proc(object, report),
        metrics,
    };
    if report.count() == before {
        let message = "a system-stats monitor: what it names is read and exported whenever /metrics is asked";
        report.note(object.at, format!("{message} ({} metrics)", stats.metrics.len()));
        draft.statistics = Some(stats);
    }
}

fn sections<'a>(object: &Object<'a>, report: &mut Report<'_>) -> Sections<'a> {
    let mut found = Sections::new();
    for (name, keys) in SECTIONS {
        let section = object.value(name).and_then(|value| value.object(name, report));
        section.iter().for_each(|section| section.note_unknown(keys, report));
        found.extend(section.map(|section| (name, section)));
    }
    found
}

fn interval(object: &Object<'_>, report: &mut Report<'_>) -> Duration {
    let Some(interval) = positive(object, "invokeInterval", report) else { return INTERVAL };
    let message =
        "nothing is read in between: \"invokeInterval\" is only what disk/avg_queue_len is an average of, at least";
    report.note(object.position("invokeInterval"), message);
    interval
}

fn positive(object: &Object<'_>, key: &str, report: &mut Report<'_>) -> Option<Duration> {
    let duration = super::read_duration(object, key, report)?;
    if duration.is_zero() {
        report.error(object.position(key), format!("{key:?} must be more than nothing"));
        return None;
    }
    Some(duration)
}

fn disks(disk: &Object<'_>, interval: Duration, report: &mut Report<'_>) -> DiskChoice {
    let timeout = positive(disk, "lsblkTimeout", report);
    if timeout.unwrap_or(LSBLK_TIMEOUT) > interval {
        report.error(disk.position("lsblkTimeout"), "\"lsblkTimeout\" must not be longer than \"invokeInterval\"");
    } else if timeout.is_some() {
        report.note(disk.position("lsblkTimeout"), "\"lsblkTimeout\" is not used: no program is run to list devices");
    }
    DiskChoice { whole: flag(disk, "includeRootBlk", report), mounted: flag(disk, "includeAllAttachedBlk", report) }
}

fn flag(object: &Object<'_>, key: &str, report: &mut Report<'_>) -> bool {
    object.value(key).and_then(|value| value.read(key, "a boolean", report)).unwrap_or_default()
}

fn exclude(net: &Object<'_>, report: &mut Report<'_>) -> Option<Regex> {
    let pattern = net.text("excludeInterfaceRegexp", report);
    if pattern.text.is_empty() {
        return None;
    }
    let compiled = translate_re2(&pattern.text)
        .and_then(|translated| Regex::new(&translated).map_err(|error| last_line(&error.to_string())));
    compiled
        .inspect_err(|error| report.error(pattern.at, format!("invalid regex in \"excludeInterfaceRegexp\": {error}")))
        .ok()
}

/// The crate prints the pattern first and names in the last line what is wrong.
fn last_line(message: &str) -> String {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Node Problem Detector in a container is given the host's elsewhere; without that folder it would not start.
fn proc(object: &Object<'_>, report: &mut Report<'_>) -> PathBuf {
    let path = object.text("procPath", report);
    if path.text.is_empty() || path.text == PROC {
        return PROC.into();
    }
    if !Path::new(&path.text).join("stat").exists() {
        report.note(path.at, format!("there is no procfs at \"procPath\" {:?}: {PROC} is read", path.text));
        return PROC.into();
    }
    path.text.into()
}
