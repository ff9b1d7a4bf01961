//! A node that recovered while the order for its power was under way, and was cut all the same: some BMCs take 20 s. Its policy
//! asks for nothing any more, and its machine is off.

use std::time::Duration;

use super::{
    FenceInput, Next,
    blockers::wait,
    evidence::{self, Witness},
    interrupt::{is_healthy, own_node},
    levels,
    power::off_read_at,
    record::Draft,
};
use crate::{
    api::fence::{Blocker, Confirmation, Phase},
    facts::kubelet,
    message::Message,
    snapshot::Level,
};

/// This record ordered it off and has not found it on since, and its BMC has reported Off ever since the kubelet spoke last. At the
/// limit of its power cycles that is waited upon for as long as the cluster takes to give a node up: then it is a dead node as any
/// other, for whichever policy is true of it.
pub(super) fn is_cut(input: &FenceInput<'_>) -> bool {
    let status = &input.fence.status;
    let is_given_up = status.at_limit && !input.fence.spec.abort && is_silent_for(input, kubelet::NODE_MONITOR_GRACE);
    let is_ours = status.at_limit || status.ordered_off;
    is_ours && !is_given_up && reads_off(input).is_some()
}

/// Once its kubelet is silent too: until then its BMC may be wrong. Its pods are its own still, so none is released. At the limit
/// of its power cycles it is not turned on.
pub(super) fn turn_on(input: &FenceInput<'_>) -> Option<Next> {
    if !is_silent_for(input, kubelet::OVERDUE_AFTER) || !is_healthy(input) || input.fence.status.at_limit {
        return None;
    }
    Some(draft(input)?.enter(Phase::PoweringOn, Message::plain("FencePoweringOn/cutLate")).save())
}

/// A person who aborts its record wants it back, whatever the limit of its power cycles.
pub(super) fn turn_on_aborted(input: &FenceInput<'_>) -> Next {
    let draft = draft(input).filter(|_| is_silent_for(input, kubelet::OVERDUE_AFTER));
    let by = input.fence.metadata.asked_by();
    match draft {
        Some(draft) => {
            let message = Message::of("FencePhase/abortedOff", &[("by", &by)]);
            draft.count_order().enter(Phase::PoweringOn, message).save()
        }
        None => wait(input, vec![Blocker::plain("WithinGracePeriod/abortedOff")], None),
    }
}

/// As if its Off was confirmed now.
fn draft(input: &FenceInput<'_>) -> Option<Draft> {
    let (level, age) = reads_off(input)?;
    let (at, node) = off_read_at(input, level).zip(own_node(input))?;
    Some(Draft::of(input).with(|status| {
        status.boot_id.clone_from(&node.boot_id);
        status.lease_renewed = input.kubelet_lease.and_then(|lease| lease.renewed);
        status.level = level;
        status.off_methods.extend(levels::methods_of(input, level));
        status.returning = true;
        (status.failures, status.last_failure) = (0, None);
        status.failed_levels.clear();
        status.off = Some(Confirmation {
            at,
            reads: 2,
            by: vec![Witness::BmcOff(age).to_string()],
            boot_id: node.boot_id.clone(),
            already_off: false,
            epoch: input.epoch,
        });
    }))
}

/// The level at hand, or another one that asks the machine itself: an outlet that is on does not show that the machine is. Nothing
/// of a node that is, or was to be, cut off its storage.
fn reads_off(input: &FenceInput<'_>) -> Option<(Level, Duration)> {
    if input.fence.status.storage_only.is_some() || levels::is_of_storage(input) {
        return None;
    }
    let mut levels = std::iter::once(levels::current(input)).chain(levels::that_ask_the_machine(input));
    levels.find_map(|level| Some((level, evidence::off_at(input, level)?)))
}

/// Its kubelet is; without a Lease that is not known.
fn is_silent_for(input: &FenceInput<'_>, span: Duration) -> bool {
    input.kubelet_lease.is_some_and(|lease| lease.stale_for(input.now.moment) >= span)
}
