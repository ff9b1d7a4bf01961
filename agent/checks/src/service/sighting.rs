//! What one look means by itself: healthy, not healthy, or unknown. Pure.

use std::time::Duration;

use nodewell_faults::reason;
use nodewell_hardware::Fault;
use nodewell_model::{Name, Severity};

use super::{
    check::Kind,
    look::{Look, UnitStatus},
    probe::{Down, Runtime},
    target::Target,
};
use crate::systemd::{ActiveState, BusError, Unit};

/// How a service looked once.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sighting {
    Up {
        message: String,
        latency: Duration,
    },
    Down(Fault),
    Unknown {
        reason: Name,
        message: String,
    },
    /// On its way; the next look will show.
    Pending,
    /// Not on this node.
    Absent,
}

/// What is known beside the look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) kind: &'a Kind,
    /// Since boot, by the clock of systemd's timestamps.
    pub(super) monotonic: Duration,
    /// Of a unit: whether systemd restarts it again and again.
    pub(super) is_looping: bool,
}

impl Context<'_> {
    pub(super) fn sighting(&self, look: &Look) -> Sighting {
        match look {
            Look::Endpoint { target, answer, unit } => match &answer.result {
                Ok(up) => self.answered(target, up.runtime.as_ref(), answer.latency),
                Err(down) => self.unanswered(target, down, unit),
            },
            Look::Unit(Ok(Some(unit))) => self.unit(unit),
            Look::Unit(Ok(None)) if self.is_required() => self.down("ServiceNotRunning", "it is not installed"),
            Look::Unit(Ok(None)) | Look::Nowhere => Sighting::Absent,
            Look::Unit(Err(error)) if error.is_absent() => Sighting::Absent,
            Look::Unit(Err(error)) => unasked(error),
            Look::Units(_) => Sighting::Pending,
        }
    }

    fn answered(&self, target: &Target, runtime: Option<&Runtime>, latency: Duration) -> Sighting {
        let pace = format!("answers within {} ms", rounded_up_millis(latency));
        match runtime {
            Some(Runtime { name, version, not_ready: Some(why), .. }) => {
                let message = format!("{name} {version} at {target} says that it is not ready: {why}");
                Sighting::Down(self.fault("ContainerRuntimeNotReady", message))
            }
            Some(Runtime { name, version, .. }) => {
                Sighting::Up { message: format!("{name} {version} {pace}"), latency }
            }
            None => Sighting::Up { message: pace, latency },
        }
    }

    fn unanswered(&self, target: &Target, down: &Down, unit: &UnitStatus) -> Sighting {
        match unit {
            UnitStatus::Stopped(name) if !self.is_required() => Sighting::Unknown {
                reason: Name::fixed("ServiceStopped"),
                message: format!("{name} was stopped and no unit requires it; it is watched again once it runs"),
            },
            UnitStatus::Stopped(name) | UnitStatus::Wanted(name) => {
                Sighting::Down(self.fault(self.reason(target), format!("{} (unit {name})", down.message)))
            }
            UnitStatus::None => Sighting::Down(self.fault(self.reason(target), down.message.clone())),
        }
    }

    fn unit(&self, unit: &Unit) -> Sighting {
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

    fn on_its_way(&self, unit: &Unit) -> Sighting {
        let Kind::Own { patience, .. } = self.kind else { return Sighting::Pending };
        let (sub, since) = (&unit.sub, self.monotonic.saturating_sub(unit.state_since));
        if since < *patience {
            return Sighting::Pending;
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
        matches!(self.kind, Kind::Own { is_required: true, .. } | Kind::Configured { .. })
    }

    fn down(&self, reason: &'static str, message: impl Into<String>) -> Sighting {
        Sighting::Down(self.fault(reason, message))
    }

    /// A configured check takes its reason from its configuration.
    fn fault(&self, reason: &'static str, message: impl Into<String>) -> Fault {
        let fault = Fault::new(reason, message);
        match self.kind {
            Kind::Configured { reason: configured, .. } => {
                let action = reason::named(configured.as_str()).map(|known| known.action);
                Fault { reason: configured.clone(), severity: Severity::Error, action, ..fault }
            }
            _ => fault,
        }
    }

    fn reason(&self, target: &Target) -> &'static str {
        match self.kind {
            Kind::Kubelet => "KubeletUnhealthy",
            Kind::KubeProxy => "KubeProxyUnhealthy",
            Kind::Docker => "DockerUnhealthy",
            Kind::Runtime => runtime_reason(target),
            Kind::Own { .. } | Kind::Configured { .. } | Kind::Restarts(..) => "ServiceUnhealthy",
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

fn up(message: String) -> Sighting {
    Sighting::Up { message, latency: Duration::ZERO }
}

fn unasked(error: &BusError) -> Sighting {
    Sighting::Unknown { reason: Name::fixed("ServiceManagerNotAnswering"), message: error.to_string() }
}

/// 1, 10, 100, 1000 …: a figure that changes with every look would be reported with every look.
fn rounded_up_millis(latency: Duration) -> u128 {
    (0..5).map(|power| 10_u128.pow(power)).find(|bound| latency.as_micros() <= bound * 1000).unwrap_or(100_000)
}
