//! What is to be done for a request now, and what its status becomes. Pure: the record and the request come in as they are
//! stored, and one act goes out.
//!
//! The order is what survives a crash: the finalizer, then the node's name in the status, then the record, which names its
//! request. Whatever a leader has left by then, the next one finds.

use jiff::Timestamp;

use super::{
    progress::{self, Progress, Shown, of_record},
    record,
    request::Request,
    request_uid,
};
use crate::{
    api::{
        fence::{Blocker, NodeFence, Phase},
        request::{NodeFenceRemediationSpec, NodeFenceRemediationStatus, RecordRef},
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

/// The request's status as it will be.
struct Draft<'a> {
    view: &'a View<'a>,
    now: Timestamp,
    status: NodeFenceRemediationStatus,
}

impl Draft<'_> {
    fn next(self, act: Option<Act>) -> Next {
        Next { act, status: self.status }
    }

    fn show(mut self, shown: &Shown) -> Self {
        self.status.conditions = shown.write(&self.status, self.now);
        self
    }

    /// As the record has it now.
    fn see(mut self, record: &NodeFence, joined: bool) -> Self {
        self.status.node_name.clone_from(&record.spec.node_name);
        self.status.node_uid.clone_from(&record.spec.node_uid);
        self.status.node_fence = Some(RecordRef {
            uid: record.metadata.uid.clone(),
            joined,
            phase: record.status.phase,
            pods_released: progress::pods_released(record),
            ended: false,
        });
        let shown = Shown::of_record(record, joined);
        self.show(&shown)
    }

    fn end(mut self) -> Self {
        self.status.node_fence.get_or_insert_default().ended = true;
        self
    }

    /// Not fenced in time.
    fn gives_up(self, message: Message, processing: bool) -> Self {
        let failed = Shown::failed(Blocker { reason: message.reason, message: message.text });
        self.show(&Shown { processing, ..failed })
    }

    fn taking_back(self, own: &NodeFence) -> Self {
        let (node, phase) = (&own.spec.node_name, format!("{:?}", own.status.phase));
        let message = if own.status.blocked_by.is_empty() {
            Message::of("TakingBack", &[("node", node), ("phase", &phase)])
        } else {
            let blockers = Blocker::listed(&own.status.blocked_by);
            Message::of("TakingBack/blocked", &[("node", node), ("phase", &phase), ("blockers", &blockers)])
        };
        let seen = self.see(own, false);
        let succeeded = seen.status.conditions.iter().find(|one| one.kind == "Succeeded").map(|one| one.status);
        let shown = Shown::open(message);
        seen.show(&Shown { succeeded: succeeded.unwrap_or(shown.succeeded), ..shown })
    }

    /// The record that served it was closed, or a client deleted it. Where no copy tells how it ended, what was seen last
    /// counts.
    fn own_record_gone(self, known: &RecordRef) -> Next {
        let node = self.status.node_name.clone();
        let copy = self.view.ended.filter(|copy| copy.spec.node_name == node);
        let shown = match copy.map(|copy| (copy, progress::pods_released(copy))) {
            Some((_, true)) => Shown::done(&node),
            Some((copy, false)) => Shown::failed(progress::not_fenced(copy)),
            None if known.pods_released => Shown::done(&node),
            None => Shown::failed(Blocker::of("NotFenced/gone", &[("node", &node)])),
        };
        self.show(&shown).end().next(None)
    }

    /// Another's record, which a request has joined, has fenced the node before it went.
    fn served_by_joined(&self, known: &RecordRef) -> bool {
        known.pods_released || self.view.ended.is_some_and(progress::pods_released)
    }

    /// What is under way for this node already serves the request, by its own steps.
    fn join(self, other: &NodeFence) -> Next {
        let act = (!self.view.request.is_held()).then_some(Act::AddFinalizer);
        match &self.view.target {
            Target::Node(node) if node.name == other.spec.node_name && node.uid == other.spec.node_uid => {
                self.see(other, true).next(act)
            }
            Target::Node(_) => {
                let blocker = Blocker::of("NodeGone", &[("node", &other.spec.node_name)]);
                self.show(&Shown::waits(&[blocker])).next(None)
            }
            Target::Unknown(blocker) => self.show_blocked(blocker.clone()),
            Target::Missing(blocker) => self.show_failed(blocker.clone()),
        }
    }

    fn show_blocked(self, blocker: Blocker) -> Next {
        self.show(&Shown::waits(&[blocker])).next(None)
    }

    fn show_failed(self, blocker: Blocker) -> Next {
        self.show(&Shown::failed(blocker)).next(None)
    }

    fn open(self) -> Next {
        let request = self.view.request;
        let spec = match &request.spec {
            Ok(spec) => spec,
            Err(error) => return self.show_failed(Blocker::of("BadSpec", &[("error", error)])),
        };
        match self.view.target.clone() {
            Target::Missing(blocker) => self.show_failed(blocker),
            Target::Unknown(blocker) => self.show_blocked(blocker),
            Target::Node(node) => self.open_for(spec, node),
        }
    }

    fn open_for(mut self, spec: &NodeFenceRemediationSpec, node: &Node) -> Next {
        let request = self.view.request;
        let blockers: Vec<Blocker> =
            self.view.general.iter().cloned().chain(record::drain_missing(spec, node)).collect();
        if !blockers.is_empty() {
            return self.show(&Shown::waits(&blockers)).next(None);
        }
        let record = match record::opened(request, spec, node) {
            Ok(record) => record,
            Err(error) => return self.show_failed(Blocker::of("BadSpec", &[("error", &error)])),
        };
        let is_named = self.status.node_name == node.name && self.status.node_uid == node.uid;
        self.status.node_fence = None;
        self.status.node_name.clone_from(&node.name);
        self.status.node_uid.clone_from(&node.uid);
        let accepted = Shown::open(Message::of("RequestAccepted", &[("node", &node.name)]));
        let act = match (request.is_held(), is_named) {
            (false, _) => Some(Act::AddFinalizer),
            (true, false) => None,
            (true, true) => Some(Act::Open(Box::new(record))),
        };
        self.show(&accepted).next(act)
    }
}
