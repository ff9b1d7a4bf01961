//! The phases Recovering and Closed: the controller's own taints and cordon are taken back, in the order in which that is
//! safe.

use super::{
    FenceInput, Next, PredicateState, attached,
    begin::{back_off, fresh_round},
    blockers::{self, wait, wait_until},
    drain_again,
    interrupt::{booted_anew, healthy_delay, is_healthy, own_node},
    levels::methods_unread,
    record::{Draft, perform},
    restore::{is_alive, must_stay_cut_off},
    still_cut,
};
use crate::{
    action::{Action, EventDraft, ReversibleOp},
    api::{
        CORDONED_BY, OUT_OF_SERVICE, OUT_OF_SERVICE_BY, STORAGE_RELEASED,
        fence::{Blocker, NodeFence, Phase},
    },
    facts::{Node, Taint},
    guard::reason::{ABORTED, ATTACHMENTS_LEFT, ATTACHMENTS_UNKNOWN, AWAITING_READY},
    message::Message,
};

pub(super) fn recovering(input: &FenceInput<'_>) -> Next {
    let blockers = blockers::to_take_back(input);
    if !blockers.is_empty() {
        return wait(input, blockers, None);
    }
    let Some(node) = own_node(input) else { return wait(input, Vec::new(), None) };
    if let Some(next) = remove_out_of_service_taint(input, node) {
        return next;
    }
    if let Some(blocker) = &input.fence.status.giving_up {
        return Draft::of(input).quarantine(blocker.clone()).save();
    }
    still_unhealthy(input)
        .or_else(|| still_cut::take_over(input, node))
        .or_else(|| methods(input))
        .or_else(|| own_changes(input, node))
        .unwrap_or_else(|| Draft::of(input).enter(Phase::Closed, Message::plain("FenceClosed")).save())
}

/// The out-of-service taint goes when the old boot is over and its volumes are detached; at once if Off was never true, or
/// if it is not there.
fn remove_out_of_service_taint(input: &FenceInput<'_>, node: &Node) -> Option<Next> {
    let taint = our_out_of_service(input, node)?;
    let untaint = ReversibleOp::Untaint(taint.clone());
    let at_once = input.fence.status.giving_up.is_some() || was_never_set(input, node);
    let blockers = if at_once { Vec::new() } else { in_service_blockers(input) };
    if blockers.is_empty() {
        return Some(back_off(input).unwrap_or_else(|| perform(input, untaint)));
    }
    unhealthy_again(input).or_else(|| Some(wait(input, blockers, None)))
}

/// As the Node shows it, or as the record remembers it: the Node may be an old copy.
fn our_out_of_service<'a>(input: &FenceInput<'a>, node: &'a Node) -> Option<&'a Taint> {
    let shown = node.taint(OUT_OF_SERVICE).filter(|taint| taint.value == OUT_OF_SERVICE_BY);
    shown.or_else(|| input.fence.status.own_changes.taints.iter().find(|taint| taint.key == OUT_OF_SERVICE))
}

/// The release that was intended did not begin, and so the pods and their volumes are where they were. A Node that names the
/// new boot is no old copy: the taint is set on a Node that names the old one, or not at all.
fn was_never_set(input: &FenceInput<'_>, node: &Node) -> bool {
    let status = &input.fence.status;
    let was_set = status.out_of_service || status.released_at.is_some();
    !was_set && status.off.is_some() && booted_anew(input) && node.taint(OUT_OF_SERVICE).is_none()
}

fn in_service_blockers(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    // Without a proof of Off it is unknown which boot was to end: the Lease has to show that this one lives.
    let booted = if input.fence.status.off.is_some() { booted_anew(input) } else { is_alive(input) };
    if !booted {
        blockers.push(Blocker::plain(AWAITING_READY));
    }
    match &input.gathered.attachments {
        Some((at, _)) if *at < input.entered => blockers.push(Blocker::plain("AttachmentsUnknown/old")),
        Some(_) if attached::left(input).is_none_or(|left| !left.is_empty()) => {
            blockers.push(Blocker::plain(ATTACHMENTS_LEFT));
        }
        Some(_) => {}
        None => blockers.push(Blocker::plain(ATTACHMENTS_UNKNOWN)),
    }
    blockers
}

/// Not Ready any more before the taint could go: after a while the next step is taken.
fn unhealthy_again(input: &FenceInput<'_>) -> Option<Next> {
    let over = super::begin::phase_deadline(input, super::begin::LAST_WAIT).is_none();
    let ready = own_node(input).is_some_and(Node::is_ready);
    if ready || !over { None } else { still_unhealthy(input) }
}

/// While the node is not well its policy's predicate decides; an aborted record asks no policy.
fn still_unhealthy(input: &FenceInput<'_>) -> Option<Next> {
    if input.fence.spec.abort || is_healthy(input) {
        return None;
    }
    Some(match input.predicate {
        PredicateState::Yes => {
            let draft = Draft::of(input).with(|status| {
                status.off = None;
                status.out_of_service = false;
            });
            if was_well(input.fence) {
                return Some(fresh_round(draft));
            }
            draft.enter(Phase::Waiting, Message::plain("FenceWaiting/unhealthy")).save()
        }
        PredicateState::No { since } => wait_until(input, since.plus(healthy_delay(input))),
        PredicateState::Unknown => wait(input, vec![Blocker::plain("PredicateError/record")], None),
    })
}

/// It was well before anything irreversible was done: what isolated it may be taken back already, and a drain, a reboot or a reap
/// needs that first. As if its record had been closed, and another one opened.
pub(super) fn was_well(fence: &NodeFence) -> bool {
    let status = &fence.status;
    let is_released =
        status.out_of_service || status.own_changes.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE);
    !drain_again::is_ordered(status) && !is_released && status.cycles.is_empty() && status.released_at.is_none()
}

/// Methods of the recovery step, if those of the isolation step were run.
fn methods(input: &FenceInput<'_>) -> Option<Next> {
    if !input.fence.status.isolated {
        return None;
    }
    Some(match &input.gathered.methods {
        Some(Ok(plan)) if plan.recovery.is_empty() => {
            let draft = Draft::of(input).note(Message::plain("NoRecoveryMethods"));
            draft.with(|status| status.isolated = false).save()
        }
        Some(Ok(plan)) => {
            back_off(input).unwrap_or_else(|| perform(input, ReversibleOp::Methods(plan.recovery.clone())))
        }
        Some(Err(blocker)) => wait(input, vec![blocker.clone()], None),
        None => wait(input, vec![methods_unread()], None),
    })
}

/// Takes the own changes back, one after the other, even if the Node does not show them: that may be an old copy, and
/// removing what is not there costs nothing.
fn own_changes(input: &FenceInput<'_>, node: &Node) -> Option<Next> {
    let ours = &input.fence.status.own_changes;
    let next = if let Some(taint) = ours.taints.first() {
        perform(input, ReversibleOp::Untaint(taint.clone()))
    } else if ours.cordon || has_own_cordon_annotation(input, node) {
        perform(input, ReversibleOp::Uncordon)
    } else if node.annotations.contains_key(STORAGE_RELEASED) && !must_stay_cut_off(input.fence, node) {
        perform(input, ReversibleOp::ForgetRelease)
    } else {
        return None;
    };
    Some(back_off(input).unwrap_or(next))
}

/// The annotation of a cordon by this policy: its record or its outcome was lost, or another actor uncordoned. Another
/// policy's is for a record of that policy.
pub(super) fn has_own_cordon_annotation(input: &FenceInput<'_>, node: &Node) -> bool {
    node.annotations.get(CORDONED_BY) == Some(&input.fence.spec.policy)
}

/// An aborted one stays for as long as its node is not well, or a new one would be opened at once: only a person takes
/// the abort back. One without steps was opened for what an older one left behind, and no person aborted it.
pub(super) fn closed(input: &FenceInput<'_>) -> Next {
    let spec = &input.fence.spec;
    if spec.abort && !spec.steps.is_empty() && own_node(input).is_some() && !is_healthy(input) {
        return wait(input, vec![Blocker::plain(ABORTED)], None);
    }
    // From here on its deletion is no person's, and takes nothing back of what it denied.
    if input.fence.status.is_blocked_by(ABORTED) {
        return wait(input, Vec::new(), None);
    }
    if input.fence.metadata.deletion_timestamp.is_some() {
        return wait(input, vec![Blocker::plain("Finalizers")], None);
    }
    let why = EventDraft::normal(Message::plain("FenceClosed/end"));
    Next::Act(Action::Close { fence: Box::new(input.fence.clone()), why })
}
