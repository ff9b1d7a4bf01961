//! What is to be read of a node that is under remediation.

use std::time::Duration;

use super::GatherRequest;
use crate::{
    api::{
        fence::{NodeFence, Phase},
        policy::StepSpec,
    },
    facts::Node,
    policy::Policy,
};

/// While power is what is waited for, or may prove a node off without an act. One reading of a BMC takes 0.2 to 2 s.
const POWER_INTERVAL: Duration = Duration::from_secs(2);
/// A node that answers.
const POWER_INTERVAL_ANSWERING: Duration = Duration::from_secs(30);

pub(super) fn of(fence: &NodeFence, node: Option<&Node>, policy: &Policy) -> GatherRequest {
    if matches!(fence.status.phase, Phase::Closed | Phase::Quarantined) {
        return GatherRequest::default();
    }
    let has = |kind: fn(&StepSpec) -> bool| fence.spec.steps.iter().any(kind);
    let power = has(|step| step.reboot.is_some() || step.power_cycle.is_some()) || fence.status.intent.is_some();
    let moves_pods = power || has(|step| step.drain.is_some() || step.reap.is_some());
    let answers = node.is_some_and(Node::is_ready) && fence.status.phase < Phase::AwaitGuards;
    GatherRequest {
        pods: moves_pods,
        attachments: power || fence.status.phase == Phase::Recovering,
        methods: moves_pods,
        power: power.then_some(if answers { POWER_INTERVAL_ANSWERING } else { POWER_INTERVAL }),
        reach: power && policy.fast.is_some(),
    }
}
