//! What one observation means by itself: healthy, not healthy, or unknown. Pure.

use std::time::Duration;

use crate::probe::Fault;
use nodewell_faults::{message, reason};
use nodewell_message::MessageArgs;
use nodewell_model::{Name, Severity};

use super::{
    observation::{Observation, UnitStatus},
    probe::{Down, Runtime},
    restarts::FREQUENT,
    service_probe::ServiceKind,
    target::Target,
};
use crate::{
    duration_text::duration,
    systemd::{ActiveState, BusError, Unit},
};

/// How a service is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ServiceState {
    Up {
        message: String,
    },
    Down(Fault),
    /// systemd stopped its unit, and no other requires it: its state is unknown.
    Stopped {
        unit: String,
    },
    Unknown {
        reason: Name,
        message: String,
    },
}

/// How a service looked once.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Assessment {
    Seen(ServiceState),
    /// On its way; the next observation will show.
    Pending,
    /// Not on this node.
    Absent,
}

/// What is known beside the observation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) kind: &'a ServiceKind,
    /// Since boot, by the clock of systemd's timestamps.
    pub(super) monotonic: Duration,
    /// So many bad answers in a row are a problem.
    pub(super) failures: u32,
    /// Of a unit: whether systemd restarts it again and again.
    pub(super) is_looping: bool,
}

impl Context<'_> {
    pub(super) fn assessment(&self, observation: &Observation) -> Assessment {
        match observation {
            Observation::Endpoint { target, answer, unit } => match &answer.result {
                Ok(up) => self.answered(target, up.runtime.as_ref(), answer.latency),
                Err(down) => self.unanswered(target, down, unit),
            },
            Observation::Unit(Ok(Some(unit))) => self.unit(unit),
            Observation::Unit(Ok(None)) if self.is_required() => self.down("ServiceNotRunning/absent", &[]),
            Observation::Unit(Ok(None)) | Observation::Nowhere => Assessment::Absent,
            Observation::Unit(Err(error)) if error.is_absent() => Assessment::Absent,
            Observation::Unit(Err(error)) => unasked(error),
            Observation::Units(_) => Assessment::Pending,
        }
    }

    fn answered(&self, target: &Target, runtime: Option<&Runtime>, latency: Duration) -> Assessment {
        let millis = rounded_up_millis(latency);
        let message = match runtime {
            Some(Runtime { name, version, not_ready: Some(error), .. }) => {
                let args: MessageArgs<'_> =
                    &[("name", name), ("version", version), ("target", target), ("error", error)];
                return self.down("ContainerRuntimeNotReady", args);
            }
            Some(Runtime { name, version, .. }) => {
                let args: MessageArgs<'_> = &[("name", name), ("version", version), ("latency", &millis)];
                message("ServiceUnhealthy/healthy-runtime", args)
            }
            None => message("ServiceUnhealthy/healthy", &[("latency", &millis)]),
        };
        up(message)
    }

    fn unanswered(&self, target: &Target, down: &Down, unit: &UnitStatus) -> Assessment {
        let error = match unit {
            UnitStatus::Stopped(name) if !self.is_required() => {
                return Assessment::Seen(ServiceState::Stopped { unit: name.clone() });
            }
            UnitStatus::Stopped(name) | UnitStatus::Wanted(name) => format!("{} (unit {name})", down.message),
            UnitStatus::None => down.message.clone(),
        };
        self.down(self.reason(target), &[("error", &error), ("limit", &self.failures)])
    }

    fn unit(&self, unit: &Unit) -> Assessment {
        let (sub, result) = (&unit.sub, unit.result.as_deref().unwrap_or("success"));
        match unit.active {
            ActiveState::Failed if result == "watchdog" => self.down("ServiceWatchdogExpired", &[]),
            ActiveState::Failed => self.down("ServiceFailed", &[("result", &result)]),
            _ if self.is_looping => {
                let (limit, window) = FREQUENT;
                let args: MessageArgs<'_> = &[("limit", &limit), ("window", &duration(window)), ("result", &result)];
                self.down("ServiceRestarting", args)
            }
            ActiveState::Activating | ActiveState::Deactivating => self.on_its_way(unit),
            ActiveState::Inactive if self.is_required() => self.down("ServiceNotRunning", &[("sub", sub)]),
            ActiveState::Inactive => {
                up(message("ServiceUnhealthy/healthy-inactive", &[("sub", sub), ("result", &result)]))
            }
            ActiveState::Active | ActiveState::Reloading | ActiveState::Other => {
                up(message("ServiceUnhealthy/healthy-active", &[("sub", sub)]))
            }
        }
    }

    fn on_its_way(&self, unit: &Unit) -> Assessment {
        let ServiceKind::Own { for_duration, .. } = self.kind else { return Assessment::Pending };
        let (sub, since) = (&unit.sub, self.monotonic.saturating_sub(unit.state_since));
        if since < *for_duration {
            return Assessment::Pending;
        }
        let limit = duration(*for_duration);
        match (unit.active, sub.as_str()) {
            (_, "auto-restart") => self.down("ServiceRestarting/waiting", &[("limit", &limit)]),
            (ActiveState::Deactivating, _) => {
                self.down("ServiceDeactivatingTooLong", &[("limit", &limit), ("sub", sub)])
            }
            _ => self.down("ServiceActivatingTooLong", &[("limit", &limit), ("sub", sub)]),
        }
    }

    fn is_required(&self) -> bool {
        matches!(self.kind, ServiceKind::Own { is_required: true, .. } | ServiceKind::Configured { .. })
    }

    /// A configured check takes its reason from its configuration.
    fn down(&self, key: &'static str, args: MessageArgs<'_>) -> Assessment {
        let fault = Fault::of(key, args);
        Assessment::Seen(ServiceState::Down(match self.kind {
            ServiceKind::Configured { reason: configured, .. } => {
                let action = reason::named(configured.as_str()).map(|known| known.action);
                Fault { reason: configured.clone(), severity: Severity::Error, action, ..fault }
            }
            _ => fault,
        }))
    }

    fn reason(&self, target: &Target) -> &'static str {
        match self.kind {
            ServiceKind::Kubelet => "KubeletUnhealthy",
            ServiceKind::KubeProxy => "KubeProxyUnhealthy",
            ServiceKind::Docker => "DockerUnhealthy",
            ServiceKind::Runtime => runtime_reason(target),
            ServiceKind::Own { .. } | ServiceKind::Configured { .. } | ServiceKind::Restarts(..) => "ServiceUnhealthy",
        }
    }
}

/// By the socket's name: a runtime that does not answer does not identify itself.
fn runtime_reason(target: &Target) -> &'static str {
    let path = target.to_string();
    match () {
        () if path.contains("crio") => "CrioUnhealthy",
        () if path.contains("cri-dockerd") => "CriDockerdUnhealthy",
        () if path.contains("containerd") => "ContainerdUnhealthy",
        () => "ContainerRuntimeUnhealthy",
    }
}

fn up(message: String) -> Assessment {
    Assessment::Seen(ServiceState::Up { message })
}

fn unasked(error: &BusError) -> Assessment {
    let message = message("ServiceManagerNotAnswering", &[("error", error)]);
    Assessment::Seen(ServiceState::Unknown { reason: Name::fixed("ServiceManagerNotAnswering"), message })
}

/// 1, 10, 100, 1000 …: a figure that changes with every poll would be reported with every poll.
fn rounded_up_millis(latency: Duration) -> u128 {
    (0..5).map(|power| 10_u128.pow(power)).find(|bound| latency.as_micros() <= bound * 1000).unwrap_or(100_000)
}
