//! A node that recovered while the order for its power was under way, and was cut all the same: some BMCs take 20 s. Its policy
//! asks for nothing any more, and its machine is off.

use super::{
    FenceInput, Next, evidence,
    interrupt::{is_healthy, own_node},
    levels,
    power::off_read_at,
    record::Draft,
};
use crate::{
    api::fence::{Confirmation, Phase},
    message::Message,
};

/// This record ordered it off, and its BMC has reported Off ever since the kubelet spoke last.
pub(super) fn is_cut(input: &FenceInput<'_>) -> bool {
    let status = &input.fence.status;
    let is_ours = status.at_limit || !status.cycles.is_empty();
    is_ours && status.storage_only.is_none() && evidence::bmc_off(input).is_some()
}

/// Its pods are its own still, so none is released. At the limit of its power cycles it stays off, until its silence is evidence
/// again.
pub(super) fn turn_on(input: &FenceInput<'_>) -> Option<Next> {
    if !is_healthy(input) || input.fence.status.at_limit {
        return None;
    }
    let (at, node) = off_read_at(input).zip(own_node(input))?;
    let by = evidence::bmc_off(input).map(|age| evidence::Witness::BmcOff(age).to_string());
    let draft = Draft::of(input).with(|status| {
        status.boot_id.clone_from(&node.boot_id);
        status.lease_renewed = input.kubelet_lease.and_then(|lease| lease.renewed);
        status.level = levels::current(input);
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
