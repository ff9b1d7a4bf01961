//! The request's status as it becomes, and the act that goes with it.

use jiff::Timestamp;

use super::{Act, Next, Target, View};
use crate::{
    api::{
        fence::{Blocker, NodeFence},
        request::{NodeFenceRemediationSpec, NodeFenceRemediationStatus, RecordRef},
    },
    external::{
        progress::{self, Shown},
        record,
    },
    facts::Node,
    message::Message,
};

/// The request's status as it will be.
pub(super) struct Draft<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) now: Timestamp,
    pub(super) status: NodeFenceRemediationStatus,
}

impl Draft<'_> {
    pub(super) fn next(self, act: Option<Act>) -> Next {
        Next { act, status: self.status }
    }

    fn show(mut self, shown: &Shown) -> Self {
        self.status.conditions = shown.write(&self.status, self.now);
        self
    }

    /// As the record has it now.
    pub(super) fn see(mut self, record: &NodeFence, joined: bool) -> Self {
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

    pub(super) fn end(mut self) -> Self {
        self.status.node_fence.get_or_insert_default().ended = true;
        self
    }

    /// Not fenced in time.
    pub(super) fn gives_up(self, message: Message, processing: bool) -> Self {
        let failed = Shown::failed(Blocker { reason: message.reason, message: message.text });
        self.show(&Shown { processing, ..failed })
    }

    pub(super) fn taking_back(self, own: &NodeFence) -> Self {
        let (node, phase) = (&own.spec.node_name, format!("{:?}", own.status.phase));
        let message = if own.status.blocked_by.is_empty() {
            Message::of("TakingBack", &[("node", node), ("phase", &phase)])
        } else {
            let blockers = Blocker::listed(&own.status.blocked_by);
            Message::of("TakingBack/blocked", &[("node", node), ("phase", &phase), ("blockers", &blockers)])
        };
        let seen = self.see(own, false);
        let succeeded = seen.status.conditions.iter().find(|one| one.kind == progress::SUCCEEDED).map(|one| one.status);
        let shown = Shown::open(message);
        seen.show(&Shown { succeeded: succeeded.unwrap_or(shown.succeeded), ..shown })
    }

    /// The record that served it was closed, or a client deleted it. Where no copy tells how it ended, what was seen last
    /// counts.
    pub(super) fn own_record_gone(self, known: &RecordRef) -> Next {
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
    pub(super) fn served_by_joined(&self, known: &RecordRef) -> bool {
        known.pods_released || self.view.ended.is_some_and(progress::pods_released)
    }

    /// What is under way for this node already serves the request, by its own steps.
    pub(super) fn join(self, other: &NodeFence) -> Next {
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

    pub(super) fn open(self) -> Next {
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
