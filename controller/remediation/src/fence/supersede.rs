//! A record gives way to one of another policy: its node died, and its own steps leave the pods there.

use super::{
    FenceInput, Next,
    begin::back_off,
    record::{Draft, perform},
    recover::was_well,
};
use crate::{
    action::ReversibleOp,
    api::{
        REMEDIATION_TAINT,
        fence::{NodeFence, Phase},
    },
    guard::stage::frees_pods,
    message::Message,
};

/// Whether it was opened by a policy, and has done nothing but what another record, or none, can take back.
#[must_use]
pub fn may_give_way(fence: &NodeFence) -> bool {
    let (spec, status) = (&fence.spec, &fence.status);
    let is_early = match status.phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting => true,
        Phase::AwaitGuards | Phase::Recovering => true,
        Phase::KdumpWait | Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased => false,
        Phase::PoweringOn | Phase::AwaitReady | Phase::Reaping | Phase::InDoubt | Phase::Failed => false,
        Phase::Quarantined | Phase::Closed => false,
    };
    let is_touched = status.isolated || status.release_begun || status.storage_only.is_some();
    let is_given_up = status.giving_up.is_some() || status.at_limit;
    let is_own = !spec.policy.is_empty() && !spec.abort;
    is_own && is_early && was_well(fence) && !is_touched && !is_given_up && !frees_pods(&spec.steps)
}

/// Our own taint stays for whichever record comes next, and a cordon for the next one of its policy. A taint with a key of the
/// policy's choice is found by no other record, and is taken back first; if the heir may not act by then, the steps begin again.
pub(super) fn superseded(input: &FenceInput<'_>) -> Option<Next> {
    let heir = input.superseded_by?;
    if !may_give_way(input.fence) {
        return None;
    }
    let taint = input.fence.status.own_changes.taints.iter().find(|taint| taint.key != REMEDIATION_TAINT);
    if let Some(taint) = taint {
        if input.fence.status.phase != Phase::Recovering {
            let message = Message::of("FenceRecovering/superseded", &[("policy", &heir), ("taint", &taint.key)]);
            return Some(Draft::of(input).enter(Phase::Recovering, message).save());
        }
        return Some(back_off(input).unwrap_or_else(|| perform(input, ReversibleOp::Untaint(taint.clone()))));
    }
    let message = Message::of("FenceClosed/superseded", &[("policy", &heir)]);
    Some(Draft::of(input).enter(Phase::Closed, message).save())
}
