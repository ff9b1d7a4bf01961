//! What is to be done for a request now, and what its status becomes. Pure: the record and the request come in as they are
//! stored, and one act goes out.
//!
//! The order is what survives a crash: the finalizer, then the node's name in the status, then the record, which names its
//! request. Whatever a leader has left by then, the next one finds.

mod draft;

use jiff::Timestamp;

use self::draft::Draft;
use super::{
    progress::{self, Progress, of_record},
    request::Request,
    request_uid,
};
use crate::{
    api::{
        fence::{Blocker, NodeFence, Phase},
        request::NodeFenceRemediationStatus,
    },
    facts::Node,
    message::{Message, MessageArgs},
};

/// Which Node a request is of.
#[derive(Debug, Clone, PartialEq)]
pub enum Target<'a> {
    Node(&'a Node),
    /// Not known, or not proven; it may become so.
    Unknown(Blocker),
    /// There is none, and the request will not come to one.
    Missing(Blocker),
}

impl Target<'_> {
    /// The API server has no Node of this name.
    #[must_use]
    pub fn missing(node: &str) -> Self {
        Self::Missing(Blocker::of("NodeNotFound", &[("node", &node)]))
    }
}

/// A request, and all that is known of its node's records.
#[derive(Debug, Clone)]
pub struct View<'a> {
    pub request: &'a Request,
    pub target: Target<'a>,
    /// The open record of the node, as it is stored.
    pub record: Option<&'a NodeFence>,
    /// The copy of the record that this request named last, where that has ended.
    pub ended: Option<&'a NodeFence>,
    /// Another request that wants the same node fenced, as its records name it.
    pub heir: Option<&'a str>,
    /// What blocks the opening of any record.
    pub general: &'a [Blocker],
}

/// One thing to do. Each is a compare-and-swap on what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    AddFinalizer,
    RemoveFinalizer,
    /// Creates a record; one that exists already stays.
    Open(Box<NodeFence>),
    /// As a person's `abort`: nothing irreversible is begun any more, what is ours is taken back as far as it is safe.
    Abort(Box<NodeFence>),
    /// Nothing of ours is left on the Node: the aborted record is deleted.
    Close(Box<NodeFence>),
    /// The record goes on for another request.
    HandOver(Box<NodeFence>, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    pub act: Option<Act>,
    pub status: NodeFenceRemediationStatus,
}

#[must_use]
pub fn next(view: &View<'_>, now: Timestamp) -> Next {
    let own = view.record.filter(|record| request_uid(record) == Some(&view.request.uid));
    let draft = Draft { view, now, status: view.request.status.clone() };
    if view.request.deleting {
        return deleting(draft, own);
    }
    if view.request.timed_out {
        return timed_out(draft, own);
    }
    let known = view.request.status.node_fence.as_ref();
    match (own, known, view.record) {
        (Some(own), _, _) => draft.see(own, false).next(None),
        (None, Some(known), _) if known.ended => draft.next(None),
        (None, Some(known), _) if !known.joined => draft.own_record_gone(known),
        (None, _, Some(other)) => draft.join(other),
        (None, Some(known), None) if draft.served_by_joined(known) => draft.own_record_gone(known),
        (None, _, None) => draft.open(),
    }
}

/// Its client needs it no more. What was begun for it is taken back first.
fn deleting(draft: Draft<'_>, own: Option<&NodeFence>) -> Next {
    if !draft.view.request.is_held() {
        return draft.next(None);
    }
    let Some(own) = own else { return draft.next(Some(Act::RemoveFinalizer)) };
    match take_back(draft.view, own) {
        TakeBack::Over => draft.next(Some(Act::RemoveFinalizer)),
        TakeBack::By(act) => draft.taking_back(own).next(Some(act)),
        TakeBack::Waits => draft.taking_back(own).next(None),
    }
}

/// Its client tries another remediator: no new act is begun, and what is under way comes to a known end. What has succeeded
/// by then stays so.
fn timed_out(draft: Draft<'_>, own: Option<&NodeFence>) -> Next {
    let known = draft.view.request.status.node_fence.clone().unwrap_or_default();
    let node = draft.view.request.status.node_name.clone();
    let is_served = |record: &NodeFence| of_record(record).is_success();
    match (own, draft.view.record) {
        (Some(own), _) if is_served(own) => draft.see(own, false).next(None),
        (Some(own), _) => {
            let phase = format!("{:?}", own.status.phase);
            let message = Message::of("TimedOut", &[("node", &node), ("phase", &phase)]);
            match (of_record(own), take_back(draft.view, own)) {
                (Progress::Failed(_), TakeBack::Over) => draft.see(own, false).next(None),
                (_, TakeBack::By(act)) => draft.see(own, false).gives_up(message, true).next(Some(act)),
                (_, TakeBack::Over | TakeBack::Waits) => draft.see(own, false).gives_up(message, true).next(None),
            }
        }
        (None, _) if known.ended => draft.next(None),
        (None, Some(other)) if known.joined && known.uid == other.metadata.uid => match is_served(other) {
            true => draft.see(other, true).next(None),
            false => {
                let whose = progress::whose(other);
                let args: MessageArgs<'_> = &[("node", &node), ("whose", &whose)];
                draft.gives_up(Message::of("TimedOut/joined", args), false).end().next(None)
            }
        },
        (None, _) if known.pods_released => draft.own_record_gone(&known),
        (None, _) => draft.gives_up(Message::plain("TimedOut/over"), false).end().next(None),
    }
}

/// How far the taking back of a record is.
enum TakeBack {
    /// Nothing more is done for the request that it was opened for.
    Over,
    By(Act),
    Waits,
}

/// A record that another request wants goes on. What was given up is a person's, and a machine that is left off is not
/// turned on because its request went: that is a person's, too (`release`).
fn take_back(view: &View<'_>, own: &NodeFence) -> TakeBack {
    if let Some(heir) = view.heir {
        return TakeBack::By(Act::HandOver(Box::new(own.clone()), heir.to_owned()));
    }
    let is_over = is_a_persons(own);
    orphaned(own).map_or(if is_over { TakeBack::Over } else { TakeBack::Waits }, TakeBack::By)
}

/// Given up, or left off.
fn is_a_persons(record: &NodeFence) -> bool {
    let progress = of_record(record);
    let is_left_off = record.status.phase == Phase::PodsReleased && matches!(progress, Progress::Failed(_));
    record.status.phase == Phase::Quarantined || progress == Progress::LeftOff || is_left_off
}

/// What becomes of a record whose request is gone without its finalizer: the same as if it were being deleted.
#[must_use]
pub fn orphaned(record: &NodeFence) -> Option<Act> {
    let record_at_hand = || Box::new(record.clone());
    match (record.spec.abort, record.status.phase == Phase::Closed) {
        _ if is_a_persons(record) => None,
        (true, true) => Some(Act::Close(record_at_hand())),
        (false, false) => Some(Act::Abort(record_at_hand())),
        (true, false) | (false, true) => None,
    }
}

/// The request that a record goes on for when `request` goes: the first by name that wants the same node.
#[must_use]
pub fn heir<'a>(requests: &'a [Request], request: &Request) -> Option<&'a Request> {
    let node = &request.status.node_name;
    let is_heir = |other: &&Request| {
        let is_of_node = !node.is_empty() && other.status.node_name == *node;
        other.uid != request.uid && is_of_node && other.is_wanted() && other.is_held()
    };
    requests.iter().filter(is_heir).min_by_key(|other| other.id())
}
