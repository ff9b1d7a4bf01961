//! A policy (`RemediationPolicy`) as decisions use it: checked, with every default filled in.

mod amount;
mod compile;
pub mod duration;
mod read;
pub mod selector;
mod steps;
pub mod warnings;

use std::time::Duration;

pub use self::amount::CountOrPercent;
pub use self::read::read;
pub(crate) use self::steps::name as step_name;
use crate::{
    api::{
        Meta,
        policy::{ControlPlane, Mode, OffUntil, RemediationPolicy, RemediationPolicySpec, Selector, StepSpec},
    },
    predicate::Predicate,
};

/// One policy. [`Policy::default`] matches nothing and has every limit at its default: these are the limits of a record that
/// no policy asked for.
#[derive(Debug, Clone)]
pub struct Policy {
    pub name: String,
    pub selector: Selector,
    pub when: Predicate,
    /// Events alone, whichever client wrote them, may open a record (`NodeFence`), which begins a remediation.
    pub trust_events: bool,
    /// `spec.for`: how long the predicate has to be true first.
    pub held_for: Duration,
    /// How long the predicate has to be false before the node is given back.
    pub healthy_delay: Duration,
    /// Checked, and with every default written out.
    pub steps: Vec<StepSpec>,
    pub mode: Mode,
    pub control_plane: ControlPlane,
    /// Younger Nodes are left alone.
    pub node_startup_grace_period: Duration,
    /// Nodes that announced their shutdown are left alone for so long.
    pub reboot_grace_period: Duration,
    /// For taints and cordons.
    pub cordon_budget: Budget,
    /// For drains, reboots, power cycles and reaps (the provider deletes the machine).
    pub budget: Budget,
    pub storm: Storm,
    /// Power cycles of one node.
    pub power_cycles: Rate,
    /// What gives a machine back that is left off at that limit.
    pub off_until: OffUntil,
    /// Pods evicted or released by this policy.
    pub pods: Rate,
    /// `spec.fast`: act before kube-controller-manager would; nothing if it is not to.
    pub fast: Option<Fast>,
}

/// How many nodes may be unavailable, and how many under remediation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub cluster: CountOrPercent,
    /// `maxDead`: how many dead nodes of the cluster do not count against `cluster`. Of a zone or another domain these are as
    /// many as its own limit, but no more than `maxDead` of the cluster.
    pub dead: CountOrPercent,
    pub zone: CountOrPercent,
    /// Limits by node label. All nodes without the label are one domain, the empty one.
    pub topology: Vec<(String, CountOrPercent)>,
    /// Nothing is no limit.
    pub max_concurrent: Option<u32>,
    /// How many remediations may begin within a window; nothing is no limit.
    pub rate: Option<Rate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub window: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storm {
    /// More unhealthy nodes than this are a storm. A percentage is never less than one node: a single node is no storm.
    pub unhealthy: CountOrPercent,
    /// So many nodes, or more, that became unhealthy within the window are a storm.
    pub rate: Rate,
    pub cooldown: Duration,
    /// If the controller's host can reach fewer nodes than this, the fault is its own.
    pub reachable: CountOrPercent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fast {
    /// How long the kubelet's Lease is silent before the controller acts on a BMC's answer OFF.
    pub silent_for: Duration,
    /// Control-plane hosts that cannot reach the node.
    pub unreachable_from: u32,
}

/// One error: the field as `kubectl explain` writes it, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct PolicyDiagnostic {
    pub field: String,
    pub problem: String,
}

impl Policy {
    /// Every error at once.
    pub fn compile(policy: &RemediationPolicy) -> Result<Self, Vec<PolicyDiagnostic>> {
        compile::compile(policy)
    }

    /// The same with a predicate in another language than CEL: `spec.when` is not read.
    pub fn compile_with(
        name: &str,
        spec: RemediationPolicySpec,
        when: Predicate,
    ) -> Result<Self, Vec<PolicyDiagnostic>> {
        let metadata = Meta { name: name.to_owned(), ..Meta::default() };
        let spec = RemediationPolicySpec { when: "false".to_owned(), ..spec };
        Self::compile(&RemediationPolicy { metadata, spec }).map(|policy| Self { when, ..policy })
    }
}

impl Default for Policy {
    fn default() -> Self {
        compile::defaults()
    }
}

#[cfg(test)]
mod tests;
