//! What can be planted, and what it may cause.

use std::fmt;

use super::act::Act;

/// One thing that goes wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A worker loses its power.
    PlugPulled,
    /// A worker is cut off, and plugged in again once it was fenced.
    CablePulled,
    /// Its administrator stops a worker's kubelet; pods run on.
    KubeletStopped,
    /// containerd is stopped for a while; the kubelet speaks.
    RuntimeStopped,
    /// A filesystem of `w1` fails.
    DiskFailed,
    /// A service of a worker reports a fault, and later that it is over.
    Reported,
    /// SIGKILL to an agent.
    AgentKilled,
    /// SIGKILL to the controller that leads.
    LeaderKilled,
    /// The API server is away for a while, and a worker's service reports a fault meanwhile.
    ApiServerAway,
    /// A worker is shut down in an orderly way, and turned on again.
    OrderlyReboot,
}

/// Of a machine that boots: its services are asked before they all answer.
const BOOTS: [&str; 3] = ["KubeletUnhealthy", "ContainerRuntimeUnhealthy", "NetworkUnhealthy"];

impl Fault {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::PlugPulled,
        Self::CablePulled,
        Self::KubeletStopped,
        Self::RuntimeStopped,
        Self::DiskFailed,
        Self::Reported,
        Self::AgentKilled,
        Self::LeaderKilled,
        Self::ApiServerAway,
        Self::OrderlyReboot,
    ];

    /// Whether the node is dead by it, and to be fenced.
    #[must_use]
    pub const fn is_fenced(self) -> bool {
        matches!(self, Self::PlugPulled | Self::CablePulled | Self::KubeletStopped)
    }

    /// Whether nodewell may do or report this of the node that has it.
    #[must_use]
    pub fn may_cause(self, act: &Act) -> bool {
        match act {
            Act::PowerOff | Act::PowerOn | Act::OutOfService => self.is_fenced(),
            // By a release or a drain; a cordon alone moves none.
            Act::PodDeleted(_) => self.is_fenced() || self == Self::DiskFailed,
            Act::Cordon | Act::Record => self.is_fenced() || matches!(self, Self::RuntimeStopped | Self::DiskFailed),
            // No policy of the soak has a step that taints.
            Act::Taint(_) => false,
            Act::Condition(name) => self.conditions().contains(&name.as_str()),
        }
    }

    /// Conditions that are another thing than well by it.
    const fn conditions(self) -> &'static [&'static str] {
        match self {
            // While a node is off or under remediation its BMC may be found in any state.
            Self::PlugPulled | Self::CablePulled | Self::KubeletStopped => {
                &[BOOTS[0], BOOTS[1], BOOTS[2], super::act::FENCE_READY]
            }
            Self::RuntimeStopped | Self::OrderlyReboot => &BOOTS,
            Self::DiskFailed => &["ReadonlyFilesystem", "DiskUnhealthy"],
            Self::Reported | Self::ApiServerAway => &["DiskUnhealthy"],
            Self::AgentKilled | Self::LeaderKilled => &[],
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PlugPulled => "plug pulled",
            Self::CablePulled => "cable pulled",
            Self::KubeletStopped => "kubelet stopped",
            Self::RuntimeStopped => "containerd stopped",
            Self::DiskFailed => "filesystem fails",
            Self::Reported => "fault reported",
            Self::AgentKilled => "agent killed",
            Self::LeaderKilled => "leader killed",
            Self::ApiServerAway => "API server away",
            Self::OrderlyReboot => "orderly reboot",
        })
    }
}
