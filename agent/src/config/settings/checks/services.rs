//! `[services]` and `[[service]]`: which services are asked, where and how patiently.

mod own;

use std::time::Duration;

use nodewell_checks::service::{HttpTarget, ProbeTiming, ServiceSettings, Target, TargetError, Watch, socket_path};
use nodewell_rules::document::{Report, Section, tables};

use own::Own;

/// A shorter interval costs more than it shows.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(5);
const LONGEST_INTERVAL: Duration = Duration::from_hours(24);
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
const TIMES: std::ops::RangeInclusive<u32> = 1..=100;
const KEYS: &[&str] = &[
    "enabled",
    "interval",
    "timeout",
    "failures",
    "successes",
    "kubelet",
    "kube-proxy",
    "container-runtime",
    "docker",
    "restarts",
];

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ServicesPart {
    enabled: Option<bool>,
    timing: ProbeTimingPart,
    kubelet: Option<Watch>,
    kube_proxy: Option<Watch>,
    runtime: Option<Watch>,
    docker: Option<Watch>,
    restarts: Option<bool>,
    /// Of all files together.
    own: Vec<Own>,
}

/// How often, how long, how many times.
#[derive(Debug, Clone, Default, PartialEq)]
struct ProbeTimingPart {
    interval: Option<Duration>,
    timeout: Option<Duration>,
    failures: Option<u32>,
    successes: Option<u32>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> ServicesPart {
    let mut services = file.table("services", report).map_or_else(ServicesPart::default, |table| {
        let section = Section::new("[services]", table, KEYS, report);
        ServicesPart {
            enabled: section.boolean("enabled", report),
            timing: timing(section, report),
            kubelet: watch(section, "kubelet", http, report),
            kube_proxy: watch(section, "kube-proxy", http, report),
            runtime: watch(section, "container-runtime", |text| socket_path(text).map(Target::Cri), report),
            docker: watch(section, "docker", |text| socket_path(text).map(Target::Docker), report),
            restarts: section.boolean("restarts", report),
            own: Vec::new(),
        }
    });
    services.own = own::read_all(tables(file, "service", report), report);
    services
}

fn http(text: &str) -> Result<Target, TargetError> {
    HttpTarget::parse(text).map(Target::Http)
}

/// `"auto"`, `"never"`, or where it is.
fn watch(
    section: Section<'_>,
    key: &str,
    target: impl Fn(&str) -> Result<Target, TargetError>,
    report: &mut Report<'_>,
) -> Option<Watch> {
    let word = section.string(key, report)?;
    match word.text {
        "auto" => Some(Watch::Auto),
        "never" => Some(Watch::Never),
        text => target(text)
            .map(Watch::At)
            .map_err(|error| {
                report.error(word.at, format!("{key:?} takes \"auto\", \"never\" or where it is: {error}"))
            })
            .ok(),
    }
}

fn timing(section: Section<'_>, report: &mut Report<'_>) -> ProbeTimingPart {
    let interval = section.duration("interval", report);
    if interval.is_some_and(|interval| !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval)) {
        report.error(section.position("interval"), "\"interval\" is from 5s to a day (24h)");
    }
    let timeout = section.duration("timeout", report);
    let longest = interval.unwrap_or(ProbeTiming::default().interval);
    if timeout.is_some_and(|timeout| !(SHORTEST_TIMEOUT..=longest).contains(&timeout)) {
        let message = format!("\"timeout\" is from 100ms to the interval, which is {} s", longest.as_secs());
        report.error(section.position("timeout"), message);
    }
    ProbeTimingPart {
        interval,
        timeout,
        failures: section.number("failures", TIMES, report),
        successes: section.number("successes", TIMES, report),
    }
}

impl ProbeTimingPart {
    fn merged(self, later: Self) -> Self {
        Self {
            interval: later.interval.or(self.interval),
            timeout: later.timeout.or(self.timeout),
            failures: later.failures.or(self.failures),
            successes: later.successes.or(self.successes),
        }
    }

    /// Over `usual`; an interval that is shorter than the usual timeout takes that with it.
    fn resolved(&self, usual: ProbeTiming) -> ProbeTiming {
        let interval = self.interval.unwrap_or(usual.interval);
        ProbeTiming {
            interval,
            timeout: self.timeout.unwrap_or(usual.timeout).min(interval),
            failures: self.failures.unwrap_or(usual.failures),
            successes: self.successes.unwrap_or(usual.successes),
        }
    }
}

impl ServicesPart {
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            enabled: later.enabled.or(self.enabled),
            timing: self.timing.merged(later.timing),
            kubelet: later.kubelet.or(self.kubelet),
            kube_proxy: later.kube_proxy.or(self.kube_proxy),
            runtime: later.runtime.or(self.runtime),
            docker: later.docker.or(self.docker),
            restarts: later.restarts.or(self.restarts),
            own: own::joined(self.own, later.own),
        }
    }

    pub(super) fn resolved(self) -> ServiceSettings {
        let usual = ServiceSettings::default();
        let timing = self.timing.resolved(usual.timing);
        ServiceSettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            timing,
            kubelet: self.kubelet.unwrap_or(usual.kubelet),
            kube_proxy: self.kube_proxy.unwrap_or(usual.kube_proxy),
            runtime: self.runtime.unwrap_or(usual.runtime),
            docker: self.docker.unwrap_or(usual.docker),
            restarts: self.restarts.unwrap_or(usual.restarts),
            own: self.own.into_iter().map(|own| own.resolved(timing)).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
