//! What one observation means by itself: healthy, not healthy, or unknown. Pure.

use std::time::Duration;

use nodewell_faults::reason;
use nodewell_hardware::Fault;
use nodewell_model::{Name, Severity};

use super::{
    check::ServiceKind,
    observation::{Observation, UnitStatus},
    probe::{Down, Runtime},
    target::Target,
};
use crate::systemd::{ActiveState, BusError, Unit};

/// How a service looked once.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Assessment {
    Up {
        message: String,
        latency: Duration,
    },
    Down(Fault),
    /// systemd stopped it, and no unit requires it: its state is unknown.
    Stopped {
        message: String,
    },
    Unknown {
        reason: Name,
        message: String,
    },
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
            Observation::Unit(Ok(None)) if self.is_required() => self.down("ServiceNotRunning", "it is not installed"),
            Observation::Unit(Ok(None)) | Observation::Nowhere => Assessment::Absent,
            Observation::Unit(Err(error)) if error.is_absent() => Assessment::Absent,
            Observation::Unit(Err(error)) => unasked(error),
            Observation::Units(_) => Assessment::Pending,
        }
    }

    fn answered(&self, target: &Target, runtime: Option<&Runtime>, latency: Duration) -> Assessment {
        let pace = format!("answers within {} ms", rounded_up_millis(latency));
        match runtime {
            Some(Runtime { name, version, not_ready: Some(why), .. }) => {
                let message = format!("{name} {version} at {target} says that it is not ready: {why}");
                Assessment::Down(self.fault("ContainerRuntimeNotReady", message))
            }
            Some(Runtime { name, version, .. }) => {
                Assessment::Up { message: format!("{name} {version} {pace}"), latency }
            }
            None => Assessment::Up { message: pace, latency },
        }
    }

    fn unanswered(&self, target: &Target, down: &Down, unit: &UnitStatus) -> Assessment {
        match unit {
            UnitStatus::Stopped(name) if !self.is_required() => Assessment::Stopped {
                message: format!("{name} was stopped and no unit requires it; it is watched again once it runs"),
            },
            UnitStatus::Stopped(name) | UnitStatus::Wanted(name) => {
                Assessment::Down(self.fault(self.reason(target), format!("{} (unit {name})", down.message)))
            }
            UnitStatus::None => Assessment::Down(self.fault(self.reason(target), down.message.clone())),
        }
    }

    fn unit(&self, unit: &Unit) -> Assessment {
        let (sub, result) = (&unit.sub, unit.result.as_deref().unwrap_or("success"));
        let looping =
            || self.down("ServiceRestarting", format!("systemd starts it again and again; it ends with {result}"));
        match unit.active {
            ActiveState::Failed if result == "watchdog" => {
                self.down("ServiceWatchdogExpired", "it gave no sign of life, and systemd ended it")
            }
            ActiveState::Failed => self.down("ServiceFailed", format!("its last run ended with {result}")),
            _ if self.is_looping => looping(),
            ActiveState::Activating | ActiveState::Deactivating => self.on_its_way(unit),
            ActiveState::Inactive if self.is_required() => {
                self.down("ServiceNotRunning", format!("it is inactive ({sub})"))
            }
            ActiveState::Inactive => up(format!("inactive ({sub}), its last run ended with {result}")),
            ActiveState::Active | ActiveState::Reloading | ActiveState::Other => up(format!("active ({sub})")),
        }
    }

    fn on_its_way(&self, unit: &Unit) -> Assessment {
        let ServiceKind::Own { patience, .. } = self.kind else { return Assessment::Pending };
        let (sub, since) = (&unit.sub, self.monotonic.saturating_sub(unit.state_since));
        if since < *patience {
            return Assessment::Pending;
        }
        let mins = patience.as_secs().div_ceil(60);
        match (unit.active, sub.as_str()) {
            (_, "auto-restart") => self.down("ServiceRestarting", "it died and waits for its next start"),
            (ActiveState::Deactivating, _) => {
                self.down("ServiceDeactivatingTooLong", format!("stops for more than {mins} min ({sub})"))
            }
            _ => self.down("ServiceActivatingTooLong", format!("starts for more than {mins} min ({sub})")),
        }
    }

    fn is_required(&self) -> bool {
        matches!(self.kind, ServiceKind::Own { is_required: true, .. } | ServiceKind::Configured { .. })
    }

    fn down(&self, reason: &'static str, message: impl Into<String>) -> Assessment {
        Assessment::Down(self.fault(reason, message))
    }

    /// A configured check takes its reason from its configuration.
    fn fault(&self, reason: &'static str, message: impl Into<String>) -> Fault {
        let fault = Fault::new(reason, message);
        match self.kind {
            ServiceKind::Configured { reason: configured, .. } => {
                let action = reason::named(configured.as_str()).map(|known| known.action);
                Fault { reason: configured.clone(), severity: Severity::Error, action, ..fault }
            }
            _ => fault,
        }
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
    Assessment::Up { message, latency: Duration::ZERO }
}

fn unasked(error: &BusError) -> Assessment {
    Assessment::Unknown { reason: Name::fixed("ServiceManagerNotAnswering"), message: error.to_string() }
}

/// 1, 10, 100, 1000 …: a figure that changes with every poll would be reported with every poll.
fn rounded_up_millis(latency: Duration) -> u128 {
    (0..5).map(|power| 10_u128.pow(power)).find(|bound| latency.as_micros() <= bound * 1000).unwrap_or(100_000)
}
