//! What is watched: the node's own services and those that the operator names.

use std::time::Duration;

use nodewell_model::Name;
use serde::{Deserialize, Serialize};

use super::{
    settings::{OwnService, ServiceSettings, Watch},
    target::{At, HttpTarget, Target},
};

/// The kubelet's `healthzPort` and kube-proxy's `healthzBindAddress`, as Kubernetes has them by default.
const KUBELET: &str = "http://127.0.0.1:10248/healthz";
const KUBE_PROXY: &str = "http://127.0.0.1:10256/livez";
/// `/livez` came with Kubernetes 1.28 (KEP-3836). `/healthz` fails there while the node is being deleted, though
/// kube-proxy is healthy.
const KUBE_PROXY_BEFORE_1_28: &str = "/healthz";
/// `/var/run` is the same folder wherever systemd is.
const DOCKER: &str = "/var/run/docker.sock";

/// The names under which distributions run them; the rules on the journal have the same.
const KUBELET_UNITS: [&str; 11] = [
    "kubelet.service",
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
    "k0scontroller.service",
    "k0sworker.service",
    "snap.microk8s.daemon-kubelite.service",
    "snap.microk8s.daemon-kubelet.service",
    "snap.kubelet.daemon.service",
    "snap.kubelet-eks.daemon.service",
];
const CONTAINERD_UNITS: [&str; 2] = ["containerd.service", "snap.microk8s.daemon-containerd.service"];
const DOCKER_UNITS: [&str; 2] = ["docker.service", "snap.docker.dockerd.service"];
const CRIO_UNITS: [&str; 2] = ["crio.service", "cri-o.service"];
const RUNTIME_UNITS: [&str; 5] = [
    "containerd.service",
    "snap.microk8s.daemon-containerd.service",
    "crio.service",
    "cri-o.service",
    "cri-docker.service",
];

/// How often, how long and how many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTiming {
    pub interval: Duration,
    pub timeout: Duration,
    /// So many bad answers in a row are a problem.
    pub failures: u32,
    /// So many good ones in a row end it.
    pub successes: u32,
}

/// One service that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProbe {
    /// Unique: what is remembered has this name.
    pub name: String,
    pub kind: ServiceKind,
    /// `None`: a container runtime that has to be found.
    pub target: Option<Target>,
    pub timing: ProbeTiming,
}

/// What it is to the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceKind {
    Kubelet,
    KubeProxy,
    Runtime,
    Docker,
    /// Restarts of a service of the node, counted: the condition, the units.
    Restarts(&'static str, &'static [&'static str]),
    Own {
        condition: Name,
        is_required: bool,
        for_duration: Duration,
    },
    /// A health check of Node Problem Detector's configuration, with the condition and reason that stand there.
    Configured {
        condition: Name,
        reason: Name,
        subject: String,
        units: Vec<String>,
    },
}

impl ServiceKind {
    /// The units that may hold it, for the question whether it was stopped.
    #[must_use]
    pub fn units(&self) -> Vec<&str> {
        match self {
            Self::Kubelet => KUBELET_UNITS.to_vec(),
            // A pod on nearly every cluster.
            Self::KubeProxy => vec!["kube-proxy.service"],
            Self::Runtime => RUNTIME_UNITS.to_vec(),
            Self::Docker => DOCKER_UNITS.to_vec(),
            Self::Configured { units, .. } => units.iter().map(String::as_str).collect(),
            Self::Restarts(_, units) => units.to_vec(),
            Self::Own { .. } => Vec::new(),
        }
    }
}

impl Default for ProbeTiming {
    /// A problem is reported after 30 s: a bad answer is followed by the next question after a quarter of the interval.
    fn default() -> Self {
        Self { interval: Duration::from_secs(20), timeout: Duration::from_secs(5), failures: 3, successes: 2 }
    }
}

/// Every check that `settings` ask for.
#[must_use]
pub fn service_probes(settings: &ServiceSettings) -> Vec<ServiceProbe> {
    let timing = settings.timing;
    let of = |name: &str, kind: ServiceKind, watch: &Watch, usual: Option<Target>| {
        let target = match watch {
            Watch::Never => return None,
            Watch::Auto => usual,
            Watch::At(target) => Some(target.clone()),
        };
        Some(ServiceProbe { name: name.to_owned(), kind, target, timing })
    };
    let known = [
        of("kubelet", ServiceKind::Kubelet, &settings.kubelet, Target::kubelet()),
        of("kube-proxy", ServiceKind::KubeProxy, &settings.kube_proxy, Target::kube_proxy()),
        of("container-runtime", ServiceKind::Runtime, &settings.runtime, None),
        of("docker", ServiceKind::Docker, &settings.docker, Some(Target::docker())),
    ];
    let own = settings.own.iter().map(|service| own(service, timing));
    known.into_iter().flatten().chain(restarts(settings)).chain(own).collect()
}

fn restarts(settings: &ServiceSettings) -> impl Iterator<Item = ServiceProbe> {
    let counted: [(&str, &[&str]); 4] = [
        ("FrequentKubeletRestart", &KUBELET_UNITS),
        ("FrequentContainerdRestart", &CONTAINERD_UNITS),
        ("FrequentDockerRestart", &DOCKER_UNITS),
        ("FrequentCrioRestart", &CRIO_UNITS),
    ];
    let wanted = counted.into_iter().filter(|_| settings.restarts);
    // A minute is soon enough for five restarts within twenty.
    let timing = ProbeTiming { interval: settings.timing.interval * 3, ..settings.timing };
    wanted.map(move |(condition, units)| ServiceProbe {
        name: condition.to_owned(),
        kind: ServiceKind::Restarts(condition, units),
        target: None,
        timing,
    })
}

fn own(service: &OwnService, usual: ProbeTiming) -> ServiceProbe {
    let timing = service.timing.over(usual);
    let condition = service.condition.clone().unwrap_or_else(|| Name::fixed("ServiceUnhealthy"));
    let kind = ServiceKind::Own { condition, is_required: service.is_required, for_duration: service.for_duration };
    ServiceProbe { name: service.name.clone(), kind, target: Some(service.target.clone()), timing }
}

impl Target {
    /// Where a kubelet reports its health, unless it is configured otherwise.
    #[must_use]
    pub fn kubelet() -> Option<Self> {
        HttpTarget::parse(KUBELET).map(Self::Http).ok()
    }

    /// Where kube-proxy does.
    #[must_use]
    pub fn kube_proxy() -> Option<Self> {
        let target = HttpTarget::parse(KUBE_PROXY).ok()?;
        Some(Self::Http(target.with_fallback(KUBE_PROXY_BEFORE_1_28)))
    }

    /// Where Docker listens.
    #[must_use]
    pub fn docker() -> Self {
        Self::Docker(DOCKER.into())
    }

    /// Whether a connection may start what listens: systemd holds Docker's socket for it.
    #[must_use]
    pub fn may_start_it(&self) -> bool {
        matches!(self, Self::Docker(_)) || matches!(self, Self::Http(HttpTarget { at: At::Unix(_), .. }))
    }
}
