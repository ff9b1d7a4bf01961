//! `[limits]`, `[mounts]`, `[clock]`, `[network]`, `[services]`: what is looked at beside devices, and how often.

mod clock;
mod limits;
mod mounts;
mod network;
mod services;

use std::time::Duration;

use nodewell_checks::Settings;
use nodewell_rules::document::{Report, Section};

/// A round reads some hundred small files.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(5);
/// A week: what is read less often is reported too late.
const LONGEST_INTERVAL: Duration = Duration::from_hours(7 * 24);

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckSettings {
    limits: limits::LimitsPart,
    mounts: mounts::Mounts,
    clock: clock::Clock,
    network: network::NetworkPart,
    services: services::ServicesPart,
}

/// What all tables have.
#[derive(Debug, Clone, Default, PartialEq)]
struct Part {
    enabled: Option<bool>,
    interval: Option<Duration>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> CheckSettings {
    CheckSettings {
        limits: file.table("limits", report).map(|table| limits::read(table, report)).unwrap_or_default(),
        mounts: mounts::read(file, report),
        clock: clock::read(file, report),
        network: file.table("network", report).map(|table| network::read(table, report)).unwrap_or_default(),
        services: services::read(file, report),
    }
}

fn part(section: Section<'_>, report: &mut Report<'_>) -> Part {
    let interval = section.duration("interval", report);
    if interval.is_some_and(|interval| !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval)) {
        report.error(section.position("interval"), "\"interval\" is from 5s to a week (168h)");
    }
    Part { enabled: section.boolean("enabled", report), interval }
}

impl Part {
    fn merged(self, later: Self) -> Self {
        Self { enabled: later.enabled.or(self.enabled), interval: later.interval.or(self.interval) }
    }
}

impl CheckSettings {
    /// Both merged; `later` overrides.
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            limits: self.limits.merged(later.limits),
            mounts: self.mounts.merged(later.mounts),
            clock: self.clock.merged(later.clock),
            network: self.network.merged(later.network),
            services: self.services.merged(later.services),
        }
    }

    /// The defaults are the checks' own, each replaced by what is set.
    pub(in crate::config) fn resolved(self) -> Settings {
        Settings {
            limits: self.limits.resolved(),
            mounts: self.mounts.resolved(),
            clock: self.clock.resolved(),
            network: self.network.resolved(),
            services: self.services.resolved(),
        }
    }
}
