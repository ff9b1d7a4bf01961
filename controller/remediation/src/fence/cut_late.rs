//! A node that recovered while the order for its power was under way, and was cut all the same: some BMCs take 20 s. Its policy
//! asks for nothing any more, and its machine is off.

use std::time::Duration;

use super::{
    FenceInput, Next, evidence,
    interrupt::{is_healthy, own_node},
    levels,
    power::off_read_at,
    record::Draft,
};
use crate::{
    api::fence::{Confirmation, Phase},
    facts::kubelet,
    message::Message,
};

/// This record ordered it off and the cycle has not ended, and its BMC has reported Off ever since the kubelet spoke last. At the limit of its power cycles
/// that is waited upon for as long as the cluster takes to give a node up: then it is a dead node as any other, for whichever
/// policy is true of it.
pub(super) fn is_cut(input: &FenceInput<'_>) -> bool {
    let status = &input.fence.status;
    let is_given_up = status.at_limit && is_silent_for(input, kubelet::NODE_MONITOR_GRACE);
    let is_ours = status.at_limit || status.cycle_begun;
    is_ours && !is_given_up && status.storage_only.is_none() && evidence::bmc_off(input).is_some()
}

/// Once its kubelet is silent too: until then its BMC may be wrong. Its pods are its own still, so none is released. At the limit
/// of its power cycles it is not turned on.
pub(super) fn turn_on(input: &FenceInput<'_>) -> Option<Next> {
    if !is_silent_for(input, kubelet::OVERDUE_AFTER) || !is_healthy(input) || input.fence.status.at_limit {
        return None;
    }
    let (at, node) = off_read_at(input).zip(own_node(input))?;
    let by = evidence::bmc_off(input).map(|age| evidence::Witness::BmcOff(age).to_string());
    let draft = Draft::of(input).with(|status| {
        status.boot_id.clone_from(&node.boot_id);
        status.lease_renewed = input.kubelet_lease.and_then(|lease| lease.renewed);
        status.level = levels::current(input);
        status.returning = true;
        (status.failures, status.last_failure) = (0, None);
        status.off = Some(Confirmation {
            at,
            reads: 2,
            by: by.into_iter().collect(),
            boot_id: node.boot_id.clone(),
            already_off: false,
            epoch: input.epoch,
        });
    });
    Some(draft.enter(Phase::PoweringOn, Message::plain("FencePoweringOn/cutLate")).save())
}

/// Its kubelet is; without a Lease that is not known.
fn is_silent_for(input: &FenceInput<'_>, span: Duration) -> bool {
    input.kubelet_lease.is_some_and(|lease| lease.stale_for(input.now.moment) >= span)
}
