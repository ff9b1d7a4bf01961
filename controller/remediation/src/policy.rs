//! A policy as decisions use it: checked, with every default filled in.

mod amount;
mod compile;
pub mod duration;
pub mod selector;
mod steps;

use std::time::Duration;

pub use self::amount::Quota;
pub(crate) use self::steps::name as step_name;
use crate::{
    api::{
        Meta,
        policy::{ControlPlane, Mode, RemediationPolicy, RemediationPolicySpec, Selector, StepSpec},
    },
    predicate::Predicate,
};

/// One policy. [`Policy::default`] matches nothing and has every limit at its default: it is what a record is held to that
/// no policy asked for.
#[derive(Debug, Clone)]
pub struct Policy {
    pub name: String,
    pub selector: Selector,
    pub when: Predicate,
    /// Events alone may open a record, whichever client wrote them.
    pub trust_events: bool,
    pub held_for: Duration,
    pub healthy_delay: Duration,
    /// Every field that has a default carries it; only kinds and spans that can be read.
    pub steps: Vec<StepSpec>,
    pub mode: Mode,
    pub control_plane: ControlPlane,
    pub node_startup_grace_period: Duration,
    /// For taints and cordons.
    pub cordon_budget: Budget,
    /// For drains, reboots, power cycles and reaps.
    pub budget: Budget,
    pub storm: Storm,
    /// Power cycles of one node.
    pub power_cycles: Rate,
    /// Pods evicted or released by this policy.
    pub pods: Rate,
    /// Acting before the cluster itself would; nothing if it is not to.
    pub fast: Option<Fast>,
}

/// How many nodes may be unavailable, and how many under remediation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub cluster: Quota,
    /// Of the cluster, dead nodes beside those; of zones and other domains as many as of the living, but no more than these.
    pub dead: Quota,
    pub zone: Quota,
    /// By node label; a node without the label is in a domain of its own name, the empty one.
    pub topology: Vec<(String, Quota)>,
    /// Nothing is no limit.
    pub max_concurrent: Option<u32>,
    /// New nodes whose remediation began; nothing is no limit.
    pub rate: Option<Rate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub window: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storm {
    /// More nodes than this that are not well are a storm. A share is never less than one node: one is no storm.
    pub unhealthy: Quota,
    /// So many nodes, or more, that became unhealthy within the window are one.
    pub rate: Rate,
    pub cooldown: Duration,
    /// If the judging host can reach less of the nodes than this, the fault is its own.
    pub reachable: Quota,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fast {
    /// Silence of the kubelet's Lease before a BMC's answer OFF is acted on.
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

    /// The same of a policy whose predicate is of another language: `spec.when` is not read.
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
