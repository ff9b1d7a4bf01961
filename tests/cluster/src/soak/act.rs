//! What nodewell does to a node or reports of it, as the API server and the BMCs show it, and whether a planted fault
//! is its cause.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::fault::Fault;

/// True is well.
pub(super) const FENCE_READY: &str = "FenceReady";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// What nodewell's own taints begin with. Others are Kubernetes'.
const OWN: &str = "nodewell.dev/";
/// The kubelet's own.
pub(super) const KUBELETS: [&str; 5] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
/// What all machines share with the outer one: its load, its disk, its clock, its one kernel, which lets go of network
/// cards late and has tasks of all that hang. A slow disk holds up mounts and what agents save, and its tasks pile up.
/// Such a report is true of that, and no fault that was planted is its cause.
pub(super) const OUTER: [&str; 10] = [
    "CpuPressureHigh",
    "MemoryPressureHigh",
    "IoPressureHigh",
    "ClockUnhealthy",
    "FilesystemFull",
    "FrequentUnregisterNetDevice",
    "KernelDeadlock",
    STATE,
    "MountHung",
    "TasksUnhealthy",
];
/// An agent's state has faults of its own, too. Of the outer machine are a disk that is slow and one that is full.
const STATE: &str = "AgentStateUnwritable";
const OF_OUTER_DISK: [&str; 2] = ["StateHangs", "StateDiskFull"];

/// One thing that was done or reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Its BMC was ordered to turn it off.
    PowerOff,
    /// Its BMC was ordered to turn it on.
    PowerOn,
    /// The taint that releases its pods.
    OutOfService,
    /// Another taint of nodewell's.
    Taint(String),
    /// It is cordoned.
    Cordon,
    /// It has a record.
    Record,
    /// A pod on it is deleted or gone.
    PodDeleted(String),
    /// A condition is True; of `FenceReady`, False.
    Condition(String),
}

impl Act {
    /// Of a line of a BMC's log; to be asked is no act.
    #[must_use]
    pub fn ordered(text: &str) -> Option<Self> {
        match text {
            "set power 0" => Some(Self::PowerOff),
            "set power 1" => Some(Self::PowerOn),
            _ => None,
        }
    }

    /// What a Node shows.
    #[must_use]
    pub fn shown(node: &Value) -> BTreeSet<Self> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let taints =
            list(&node["spec"]["taints"]).into_iter().filter_map(|taint| Self::of_taint(taint["key"].as_str()?));
        let conditions = list(&node["status"]["conditions"]).into_iter().filter_map(|condition| {
            let name = condition["type"].as_str().filter(|name| !KUBELETS.contains(name))?;
            let bad = if name == FENCE_READY { "False" } else { "True" };
            (condition["status"] == bad).then(|| Self::Condition(name.to_owned()))
        });
        let cordon = (node["spec"]["unschedulable"] == true).then_some(Self::Cordon);
        taints.chain(conditions).chain(cordon).collect()
    }

    fn of_taint(key: &str) -> Option<Self> {
        match key {
            OUT_OF_SERVICE => Some(Self::OutOfService),
            own if own.starts_with(OWN) => Some(Self::Taint(own.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerOff => f.write_str("its BMC was ordered to turn it off"),
            Self::PowerOn => f.write_str("its BMC was ordered to turn it on"),
            Self::OutOfService => f.write_str("its pods were released"),
            Self::Taint(key) => write!(f, "taint {key}"),
            Self::Cordon => f.write_str("cordoned"),
            Self::Record => f.write_str("under remediation"),
            Self::PodDeleted(pod) => write!(f, "pod {pod} is deleted"),
            Self::Condition(name) if name == FENCE_READY => write!(f, "{name} is False"),
            Self::Condition(name) => write!(f, "{name} is True"),
        }
    }
}

/// What is planted, or was lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    pub fault: Fault,
    /// The node that has it; none has what is the control plane's.
    pub node: Option<String>,
    /// It is over, but a condition may be late.
    pub is_over: bool,
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node.as_deref().map_or_else(String::new, |node| format!(" on {node}"));
        let over = if self.is_over { ", over" } else { "" };
        write!(f, "{}{node}{over}", self.fault)
    }
}

/// What an act is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The planted fault is its cause.
    Caused,
    /// Done without a cause, or to another node.
    Wrong,
    /// Reported without a cause.
    False,
    /// Reported, and true of the machine that all others run on.
    Outer,
}

impl Verdict {
    /// The same, once the reason of a condition is known.
    pub(super) fn because(self, act: &Act, reason: &str) -> Self {
        let is_agents = matches!(act, Act::Condition(name) if name == STATE) && !OF_OUTER_DISK.contains(&reason);
        if self == Self::Outer && is_agents { Self::False } else { self }
    }
}

/// Judges what was done to `node`, or reported of it.
#[must_use]
pub fn judge(act: &Act, node: &str, planted: Option<&Planted>) -> Verdict {
    let is_report = matches!(act, Act::Condition(_));
    let is_cause = |planted: &&Planted| {
        planted.node.as_deref() == Some(node) && planted.fault.may_cause(act) && (is_report || !planted.is_over)
    };
    match (planted.filter(is_cause), act) {
        (Some(_), _) => Verdict::Caused,
        (None, Act::Condition(name)) if OUTER.contains(&name.as_str()) => Verdict::Outer,
        (None, Act::Condition(_)) => Verdict::False,
        (None, _) => Verdict::Wrong,
    }
}
