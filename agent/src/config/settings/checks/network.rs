//! `[network]`: what of the way out is looked at, and what is too much.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_checks::settings::NetworkSettings;
use nodewell_rules::document::{Report, Section, TableAt};

use super::{LONGEST_INTERVAL, SHORTEST_INTERVAL};

const KEYS: &[&str] = &[
    "enabled",
    "interval",
    "ignore",
    "default-route",
    "for",
    "flaps-per-hour",
    "errors-per-minute",
    "errors-per-million",
    "names",
    "dns-failures",
];

/// What is waited for longer is a report and no alarm.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// Each is asked in turn until one is answered: more cost time and prove nothing.
const MOST_NAMES: usize = 4;

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NetworkPart {
    enabled: Option<bool>,
    interval: Option<Duration>,
    ignore: Option<Vec<String>>,
    default_route: Option<bool>,
    for_duration: Option<Duration>,
    flaps_per_hour: Option<u32>,
    errors_per_minute: Option<u32>,
    errors_per_million: Option<u32>,
    names: Option<Vec<String>>,
    dns_failures: Option<u32>,
}

pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> NetworkPart {
    let section = Section::new("[network]", table, KEYS, report);
    NetworkPart {
        enabled: section.boolean("enabled", report),
        interval: within(section, "interval", SHORTEST_INTERVAL..=LONGEST_INTERVAL, report),
        ignore: globs(section, report),
        default_route: section.boolean("default-route", report),
        for_duration: within(section, "for", Duration::ZERO..=LONGEST_WAIT, report),
        // One would be a cable that was moved once.
        flaps_per_hour: section.number("flaps-per-hour", 2..=100_000, report),
        errors_per_minute: section.number("errors-per-minute", 1..=100_000_000, report),
        errors_per_million: section.number("errors-per-million", 1..=1_000_000, report),
        names: names(section, report),
        dns_failures: section.number("dns-failures", 1..=1000, report),
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
        let (shortest, longest) = range.into_inner();
        let hours = longest.as_secs() / 3600;
        report.error(section.position(key), format!("{key:?} is from {}s to {hours}h", shortest.as_secs()));
    }
    Some(value)
}

/// Each is tried here, so that an error is reported with its line.
fn globs(section: Section<'_>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let globs = string_list(section, "ignore", report)?;
    for glob in &globs {
        if let Err(error) = glob::Pattern::new(glob) {
            report.error(section.position("ignore"), format!("{glob:?} is no pattern of names: {error}"));
        }
    }
    Some(globs)
}

fn names(section: Section<'_>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let names = string_list(section, "names", report)?;
    for name in names.iter().filter(|name| !is_name(name)) {
        report.error(section.position("names"), format!("{name:?} is no name that a resolver could be asked for"));
    }
    if names.len() > MOST_NAMES {
        report.error(
            section.position("names"),
            format!("\"names\" takes {MOST_NAMES} at most; one that is answered is enough"),
        );
    }
    Some(names)
}

/// RFC 1123 2.1, with underscores as some zones have them; an address needs no resolver.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    (1..=253).contains(&name.len()) && name.bytes().all(is_part) && !is_address
}

/// An empty list is valid: it removes what another file named.
fn string_list(section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<String>> {
    let value = section.value(key)?;
    if value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
        return Some(Vec::new());
    }
    Some(section.strings(key, report).into_iter().map(|word| word.text.to_owned()).collect())
}

impl NetworkPart {
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            enabled: later.enabled.or(self.enabled),
            interval: later.interval.or(self.interval),
            ignore: later.ignore.or(self.ignore),
            default_route: later.default_route.or(self.default_route),
            for_duration: later.for_duration.or(self.for_duration),
            flaps_per_hour: later.flaps_per_hour.or(self.flaps_per_hour),
            errors_per_minute: later.errors_per_minute.or(self.errors_per_minute),
            errors_per_million: later.errors_per_million.or(self.errors_per_million),
            names: later.names.or(self.names),
            dns_failures: later.dns_failures.or(self.dns_failures),
        }
    }

    pub(super) fn resolved(self) -> NetworkSettings {
        let usual = NetworkSettings::default();
        NetworkSettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            interval: self.interval.unwrap_or(usual.interval),
            ignore: self.ignore.unwrap_or(usual.ignore),
            default_route: self.default_route.unwrap_or(usual.default_route),
            for_duration: self.for_duration.unwrap_or(usual.for_duration),
            flaps_per_hour: self.flaps_per_hour.unwrap_or(usual.flaps_per_hour),
            errors_per_minute: self.errors_per_minute.unwrap_or(usual.errors_per_minute),
            errors_per_million: self.errors_per_million.unwrap_or(usual.errors_per_million),
            names: self.names.or(usual.names),
            dns_failures: self.dns_failures.unwrap_or(usual.dns_failures),
            kubeconfigs: usual.kubeconfigs,
        }
    }
}

#[cfg(test)]
mod tests;
