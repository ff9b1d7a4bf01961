//! `[services]` and `[[service]]`: what is watched, and how often.

use std::time::Duration;

use nodewell_model::Name;
use nodewell_settings::{
    Key, ReadKeys, Report, Section, Table,
    kind::{Bool, Number, Time, Word},
};
use serde::{Deserialize, Serialize};

use super::{
    service_probe::ProbeTiming,
    target::{HttpTarget, Target, socket_path},
};

/// A shorter interval costs more than it shows.
pub(super) const INTERVALS: Time = Time::from(Duration::from_secs(5)).to(Duration::from_hours(24));
/// And the interval is the longest.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
pub(super) const ANSWERS: std::ops::RangeInclusive<u32> = 1..=100;

/// `[services]`, with every `[[service]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceSettings {
    pub enabled: bool,
    /// Of every check that sets nothing else.
    pub timing: ProbeTiming,
    pub kubelet: Watch,
    pub kube_proxy: Watch,
    pub runtime: Watch,
    pub docker: Watch,
    /// Whether restarts of the node's services are counted.
    pub restarts: bool,
    pub own: Vec<OwnService>,
}

/// Whether and where a service of the node is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Watch {
    /// Where it usually is; not published before it was seen there.
    Auto,
    Never,
    At(Target),
}

/// A part of a [`ProbeTiming`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OwnTiming {
    pub interval: Option<Duration>,
    pub timeout: Option<Duration>,
    pub failures: Option<u32>,
    pub successes: Option<u32>,
}

/// One `[[service]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnService {
    /// The subject of its problems.
    pub name: String,
    pub target: Target,
    /// `None`: `ServiceUnhealthy`.
    pub condition: Option<Name>,
    /// Whether it is missed where it is not installed or was stopped.
    pub is_required: bool,
    /// Where it differs from that of `[services]`.
    pub timing: OwnTiming,
    /// Of a unit: it is a problem once it starts or stops for so long.
    pub for_duration: Duration,
}

impl ServiceSettings {
    /// All of them at other times: for tests.
    #[must_use]
    pub fn with_timing(mut self, interval: Option<Duration>, timeout: Option<Duration>) -> Self {
        self.timing.interval = interval.unwrap_or(self.timing.interval);
        self.timing.timeout = timeout.unwrap_or(self.timing.timeout);
        for own in &mut self.own {
            own.timing.interval = interval.or(own.timing.interval);
            own.timing.timeout = timeout.or(own.timing.timeout);
        }
        self
    }
}

impl OwnTiming {
    /// Over `usual`.
    #[must_use]
    pub fn over(self, usual: ProbeTiming) -> ProbeTiming {
        let interval = self.interval.unwrap_or(usual.interval);
        ProbeTiming {
            interval,
            timeout: self.timeout.unwrap_or(usual.timeout),
            failures: self.failures.unwrap_or(usual.failures),
            successes: self.successes.unwrap_or(usual.successes),
        }
    }
}

impl Table for ServiceSettings {
    const NAME: &'static str = "[services]";
    const ABOUT: &'static str = "Services that are asked whether they answer.";

    fn keys() -> Vec<Key<Self>> {
        let watch = |name, field, read, help| {
            let takes = "\"auto\", \"never\" or where it is";
            Self::key(name, field, Word { takes, read, shown: Watch::shown }).help(help)
        };
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether services are asked."),
            Self::key("interval", |it| &mut it.timing.interval, INTERVALS).help("How often each is asked."),
            Self::key("timeout", |it| &mut it.timing.timeout, Time::ANY)
                .help("For one answer; from 100ms to the interval."),
            Self::key("failures", |it| &mut it.timing.failures, Number(ANSWERS))
                .help("So many bad answers in a row are a problem."),
            Self::key("successes", |it| &mut it.timing.successes, Number(ANSWERS))
                .help("So many good ones in a row end it."),
            watch(
                "kubelet",
                |it| &mut it.kubelet,
                Watch::http,
                "The kubelet's healthz, such as http://127.0.0.1:10248/healthz.",
            ),
            watch(
                "kube-proxy",
                |it| &mut it.kube_proxy,
                Watch::http,
                "kube-proxy's livez, such as http://127.0.0.1:10256/livez.",
            ),
            watch("container-runtime", |it| &mut it.runtime, Watch::cri, "The path of the CRI's socket."),
            watch("docker", |it| &mut it.docker, Watch::docker, "The path of Docker's socket."),
            Self::key("restarts", |it| &mut it.restarts, Bool)
                .help("Whether restarts of the node's services are counted."),
        ]
    }

    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        if read.has_all(&["timeout"]) {
            let usual = ProbeTiming::default().interval;
            let interval = if read.has_all(&["interval"]) { self.timing.interval } else { usual };
            check_timeout(read.section, self.timing.timeout, interval, report);
        }
    }

    /// An interval that is shorter than the timeout takes that with it.
    fn resolve(&mut self) {
        self.timing.timeout = self.timing.timeout.min(self.timing.interval);
        for own in &mut self.own {
            let timing = own.timing.over(self.timing);
            own.timing.timeout = Some(timing.timeout.min(timing.interval));
        }
    }
}

/// Reports a timeout that does not fit the interval.
pub(super) fn check_timeout(section: Section<'_>, timeout: Duration, interval: Duration, report: &mut Report<'_>) {
    if !(SHORTEST_TIMEOUT..=interval).contains(&timeout) {
        let refusal = format!("\"timeout\" is from 100ms to the interval, which is {} s", interval.as_secs());
        report.error(section.position("timeout"), refusal);
    }
}

impl Watch {
    fn http(text: &str) -> Result<Self, String> {
        Self::read(text, |text| HttpTarget::parse(text).map(Target::Http).map_err(|error| error.to_string()))
    }

    fn cri(text: &str) -> Result<Self, String> {
        Self::read(text, |text| socket_path(text).map(Target::Cri).map_err(|error| error.to_string()))
    }

    fn docker(text: &str) -> Result<Self, String> {
        Self::read(text, |text| socket_path(text).map(Target::Docker).map_err(|error| error.to_string()))
    }

    fn read(text: &str, target: impl Fn(&str) -> Result<Target, String>) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "never" => Ok(Self::Never),
            text => target(text)
                .map(Self::At)
                .map_err(|error| format!("it takes \"auto\", \"never\" or where it is: {error}")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Never => "never".to_owned(),
            Self::At(target) => target.to_string(),
        }
    }
}

impl OwnService {
    /// Adds those of a later file; each takes the place of one with the same name.
    pub fn add(all: &mut Vec<Self>, later: Vec<Self>) {
        all.retain(|own| later.iter().all(|other| other.name != own.name));
        all.extend(later);
    }

    /// A start takes 90 s by systemd's default (`DefaultTimeoutStartSec=`), a database that recovers some minutes.
    pub const DEFAULT_FOR: Duration = Duration::from_mins(5);
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            timing: ProbeTiming::default(),
            kubelet: Watch::Auto,
            kube_proxy: Watch::Auto,
            runtime: Watch::Auto,
            docker: Watch::Auto,
            restarts: true,
            own: Vec::new(),
        }
    }
}
