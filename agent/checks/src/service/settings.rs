//! `[services]` and `[[service]]`: what is watched, and how often.

use std::time::Duration;

use nodewell_model::Name;
use serde::{Deserialize, Serialize};

use super::{service_probe::ProbeTiming, target::Target};

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
    pub timing: ProbeTiming,
    /// Of a unit: it is a problem once it starts or stops for so long.
    pub for_duration: Duration,
}

impl ServiceSettings {
    /// All of them at other times: for tests.
    #[must_use]
    pub fn with_timing(mut self, interval: Option<Duration>, timeout: Option<Duration>) -> Self {
        for timing in std::iter::once(&mut self.timing).chain(self.own.iter_mut().map(|own| &mut own.timing)) {
            timing.interval = interval.unwrap_or(timing.interval);
            timing.timeout = timeout.unwrap_or(timing.timeout);
        }
        self
    }
}

impl OwnService {
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
