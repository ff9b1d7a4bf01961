//! A node that was cut off its storage by a record that a person has deleted: the Node's annotation shows it. This record takes
//! over what that one had yet to do, which is to wait for a new boot and to give the storage back to it.

use super::{
    FenceInput, Next,
    blockers::wait,
    levels::{self, methods_unread},
    record::Draft,
    restore::must_stay_cut_off,
};
use crate::{
    api::{
        STORAGE_RELEASED,
        fence::{Blocker, Phase},
    },
    facts::Node,
    guard::reason::NO_METHODS,
    message::Message,
};

/// Before the node's cordon is taken back: pods that come to it could not write.
pub(super) fn take_over(input: &FenceInput<'_>, node: &Node) -> Option<Next> {
    let cut = node.annotations.get(STORAGE_RELEASED).filter(|_| input.fence.status.storage_only.is_none())?;
    let storage = match &input.gathered.methods {
        Some(Ok(plan)) => plan.storage_only.clone(),
        Some(Err(blocker)) if blocker.reason == NO_METHODS => None,
        Some(Err(blocker)) => return Some(wait(input, vec![blocker.clone()], None)),
        None => return Some(wait(input, vec![methods_unread()], None)),
    };
    let Some(storage) = storage else {
        // A person has changed how it is fenced: nothing is known that could give it back.
        let stays = must_stay_cut_off(input.fence, node);
        return stays.then(|| wait(input, vec![Blocker::plain("LeftCut")], None));
    };
    let draft = Draft::of(input).with(|status| {
        status.level = levels::current(input);
        status.storage_only = Some(storage);
        // The record shows it from now on, for any client may take the annotation away.
        (status.boot_id, status.release_begun) = (cut.clone(), true);
        status.returning = true;
    });
    Some(draft.enter(Phase::PoweringOn, Message::plain("FencePoweringOn/stillCut")).save())
}
