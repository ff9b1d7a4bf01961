//! What is to be read of a node that is under remediation.

use std::time::Duration;

use super::GatherRequest;
use crate::{
    api::{
        STORAGE_RELEASED,
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

/// While the taint waits for them alone.
const ATTACHMENTS_INTERVAL_LAST: Duration = Duration::from_secs(2);
/// While they may only be reported.
const ATTACHMENTS_INTERVAL: Duration = Duration::from_secs(30);

pub(super) fn of(fence: &NodeFence, node: Option<&Node>, policy: &Policy) -> GatherRequest {
    if matches!(fence.status.phase, Phase::Closed | Phase::Quarantined) {
        return GatherRequest::default();
    }
    let has = |kind: fn(&StepSpec) -> bool| fence.spec.steps.iter().any(kind);
    let power = has(|step| step.reboot.is_some() || step.power_cycle.is_some())
        || fence.status.intent.is_some()
        || fence.status.storage_only.is_some()
        || node.is_some_and(|node| node.annotations.contains_key(STORAGE_RELEASED));
    let moves_pods = power || has(|step| step.drain.is_some() || step.reap.is_some());
    let answers = node.is_some_and(Node::is_ready) && fence.status.phase < Phase::AwaitGuards;
    GatherRequest {
        pods: moves_pods,
        attachments: attachments(fence),
        methods: moves_pods,
        power: power.then_some(if answers { POWER_INTERVAL_ANSWERING } else { POWER_INTERVAL }),
        reach: power && policy.fast.is_some(),
    }
}

/// They matter when the out-of-service taint is to go, and are looked at now and then before, once pods were released.
fn attachments(fence: &NodeFence) -> Option<Duration> {
    let status = &fence.status;
    match status.phase {
        Phase::Recovering => Some(ATTACHMENTS_INTERVAL_LAST),
        _ => status.out_of_service.then_some(ATTACHMENTS_INTERVAL),
    }
}
