//! What is ours is taken back, in the order in which it is safe: Recovering and Closed.

use super::{
    Case, Next, Wanted,
    begin::back_off,
    blockers::{self, pause, wait},
    interrupt::{booted_anew, healthy_for, is_well, own_node},
    power::unread,
    record::{Draft, act},
    restore::{is_alive, is_cut},
};
use crate::{
    action::{Action, ReversibleOp, Telling},
    api::{
        CORDONED_BY, OUT_OF_SERVICE, OUT_OF_SERVICE_BY, STORAGE_RELEASED,
        fence::{Blocker, Phase},
    },
    facts::{Node, Taint},
    guard::reason::{ATTACHMENTS_LEFT, ATTACHMENTS_UNKNOWN, AWAITING_READY, PREDICATE_ERROR},
};

pub(super) fn recovering(case: &Case<'_>) -> Next {
    let blockers = blockers::undoing(case);
    if !blockers.is_empty() {
        return wait(case, blockers, None);
    }
    let Some(node) = own_node(case) else { return wait(case, Vec::new(), None) };
    if let Some(next) = into_service(case, node) {
        return next;
    }
    if let Some(blocker) = &case.fence.status.giving_up {
        return Draft::of(case).quarantine(blocker.clone()).save();
    }
    still_ill(case)
        .or_else(|| methods(case))
        .or_else(|| marks(case, node))
        .unwrap_or_else(|| Draft::of(case).enter(Phase::Closed, "nothing of ours is left on the Node").save())
}

/// The out-of-service taint goes when the old boot is over and its volumes are detached; at once if Off was never true.
fn into_service(case: &Case<'_>, node: &Node) -> Option<Next> {
    let taint = our_out_of_service(case, node)?;
    let untaint = ReversibleOp::Untaint(taint.clone());
    let blockers = if case.fence.status.giving_up.is_some() { Vec::new() } else { in_service_blockers(case, node) };
    if blockers.is_empty() {
        return Some(back_off(case).unwrap_or_else(|| act(case, untaint)));
    }
    ill_again(case).or_else(|| Some(wait(case, blockers, None)))
}

/// As the Node shows it, or as the record remembers it: the Node may be an old copy.
fn our_out_of_service<'a>(case: &Case<'a>, node: &'a Node) -> Option<&'a Taint> {
    let shown = node.taint(OUT_OF_SERVICE).filter(|taint| taint.value == OUT_OF_SERVICE_BY);
    shown.or_else(|| case.fence.status.ours.taints.iter().find(|taint| taint.key == OUT_OF_SERVICE))
}

fn in_service_blockers(case: &Case<'_>, node: &Node) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    // Without a proof of Off it is unknown which boot was to end: the Lease has to show that this one lives.
    let booted = if case.fence.status.off.is_some() { booted_anew(case) } else { is_alive(case) };
    if !booted {
        blockers.push(Blocker::new(AWAITING_READY, "it is not Ready with a new boot id; look at its console"));
    }
    match &case.gathered.attachments {
        Some((at, _)) if *at < case.entered => blockers.push(Blocker::new(ATTACHMENTS_UNKNOWN, "they are read again")),
        Some((_, list)) if list.iter().any(|attachment| attachment.node == node.name) => {
            blockers
                .push(Blocker::new(ATTACHMENTS_LEFT, "its volumes are not detached yet; look at VolumeAttachments"));
        }
        Some(_) => {}
        None => blockers.push(Blocker::new(ATTACHMENTS_UNKNOWN, "its VolumeAttachments cannot be listed right now")),
    }
    blockers
}

/// Not Ready any more before the taint could go: after a while the next step is taken.
fn ill_again(case: &Case<'_>) -> Option<Next> {
    let over = super::begin::left(case, super::begin::LAST_WAIT).is_none();
    let ready = own_node(case).is_some_and(Node::is_ready);
    if ready || !over { None } else { still_ill(case) }
}

/// While the node is not well its policy's predicate decides; an aborted record asks no policy.
fn still_ill(case: &Case<'_>) -> Option<Next> {
    if case.fence.spec.abort || is_well(case) {
        return None;
    }
    Some(match case.wanted {
        Wanted::Yes => {
            let draft = Draft::of(case).with(|status| {
                status.off = None;
                status.out_of_service = false;
            });
            draft.enter(Phase::Waiting, "the node is not well yet").save()
        }
        Wanted::No { since } => pause(case, since.plus(healthy_for(case))),
        Wanted::Unknown => {
            wait(case, vec![Blocker::new(PREDICATE_ERROR, "the policy's predicate cannot be judged")], None)
        }
    })
}

/// Methods of the recovery step, if those of the isolation step were run.
fn methods(case: &Case<'_>) -> Option<Next> {
    if !case.fence.status.isolated {
        return None;
    }
    Some(match &case.gathered.methods {
        Some(Ok(plan)) if plan.recovery.is_empty() => {
            let draft = Draft::of(case).note("NoRecoveryMethods", "no method of recovery is configured");
            draft.with(|status| status.isolated = false).save()
        }
        Some(Ok(plan)) => back_off(case).unwrap_or_else(|| act(case, ReversibleOp::Methods(plan.recovery.clone()))),
        Some(Err(blocker)) => wait(case, vec![blocker.clone()], None),
        None => wait(case, vec![unread()], None),
    })
}

/// Asked for even if the Node does not show them: that may be an old copy, and taking away what is not there costs nothing.
fn marks(case: &Case<'_>, node: &Node) -> Option<Next> {
    let ours = &case.fence.status.ours;
    let next = if let Some(taint) = ours.taints.first() {
        act(case, ReversibleOp::Untaint(taint.clone()))
    } else if ours.cordon || has_our_mark(case, node) {
        act(case, ReversibleOp::Uncordon)
    } else if node.annotations.contains_key(STORAGE_RELEASED) && !is_cut(case.fence, node) {
        act(case, ReversibleOp::ForgetRelease)
    } else {
        return None;
    };
    Some(back_off(case).unwrap_or(next))
}

/// A cordon of ours whose record was lost, or whose outcome was; or what is left of it when another actor uncordoned.
/// Another policy's is for a record of that one.
fn has_our_mark(case: &Case<'_>, node: &Node) -> bool {
    node.annotations.get(CORDONED_BY) == Some(&case.fence.spec.policy)
}

/// An aborted one stays for as long as its node is not well, or a new one would be opened at once: only a person takes
/// the abort back. One without steps was opened for what an older one left behind, and no person aborted it.
pub(super) fn closed(case: &Case<'_>) -> Next {
    let spec = &case.fence.spec;
    if spec.abort && !spec.steps.is_empty() && own_node(case).is_some() && !is_well(case) {
        let blocker = Blocker::new("Aborted", "a person aborted this record; delete it to begin again");
        return wait(case, vec![blocker], None);
    }
    if case.fence.metadata.deletion_timestamp.is_some() {
        let blocker = Blocker::new("Finalizers", "a finalizer keeps this record, which has come to its end; remove it");
        return wait(case, vec![blocker], None);
    }
    let why = Telling::normal("FenceClosed", "the record has come to its end");
    Next::Act(Action::Close { fence: Box::new(case.fence.clone()), why })
}
