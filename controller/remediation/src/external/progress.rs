//! What a request shows of the record that serves it: how far that is, and the conditions of that.

use jiff::Timestamp;

use crate::{
    api::{
        fence::{Blocker, IntendedOp, NodeFence, Phase},
        policy::StepSpec,
        request::{Condition, ConditionWord, NodeFenceRemediationStatus},
    },
    fence,
    guard::{
        reason::POWER_CYCLE_LIMIT,
        stage::{DisruptionLevel, disruption_level},
    },
    message::{Message, MessageArgs},
};

/// `medik8s/common`, `pkg/conditions/conditions.go`.
const PROCESSING: &str = "Processing";
pub const SUCCEEDED: &str = "Succeeded";
const NODE_DELETION_EXPECTED: &str = "PermanentNodeDeletionExpected";

/// How far a record is, as far as its request is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    UnderWay,
    /// Off was confirmed and the pods are released; the machine is being turned on.
    TurningOn,
    /// The machine is back, and what is ours is taken back.
    Back,
    /// It has ended, after all of that.
    Done,
    /// Off was confirmed, the pods are released, and the machine stays off as it was asked.
    LeftOff,
    /// Nothing more is done, and it was not fenced, or not as asked: why.
    Failed(Blocker),
}

impl Progress {
    /// The node was fenced as asked.
    #[must_use]
    pub fn is_success(&self) -> bool {
        match self {
            Self::Back | Self::Done | Self::LeftOff => true,
            Self::UnderWay | Self::TurningOn | Self::Failed(_) => false,
        }
    }
}

/// Off was confirmed, and the pods were released upon it: a record has no time of a release before that. A confirmation
/// that was found false is none.
#[must_use]
pub fn pods_released(record: &NodeFence) -> bool {
    let status = &record.status;
    let is_releasing = status.intent.as_ref().is_some_and(|intent| intent.op == IntendedOp::Release);
    status.released_at.is_some() && !is_releasing && status.giving_up.is_none()
}

#[must_use]
pub fn of_record(record: &NodeFence) -> Progress {
    let (status, released) = (&record.status, pods_released(record));
    match status.phase {
        Phase::Quarantined => Progress::Failed(first(&status.blocked_by)),
        Phase::Closed if released => Progress::Done,
        Phase::Closed => Progress::Failed(not_fenced(record)),
        Phase::Recovering if released => Progress::Back,
        Phase::PodsReleased if released && status.is_blocked_by("LeftOff") => Progress::LeftOff,
        Phase::PodsReleased if released && status.is_blocked_by(POWER_CYCLE_LIMIT) => {
            Progress::Failed(first(&status.blocked_by))
        }
        Phase::PodsReleased | Phase::PoweringOn | Phase::AwaitReady if released => Progress::TurningOn,
        Phase::Waiting if status.is_blocked_by("StepsExhausted") => Progress::Failed(first(&status.blocked_by)),
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::Recovering => {
            undrained(record).map_or(Progress::UnderWay, Progress::Failed)
        }
        Phase::AwaitGuards => Progress::UnderWay,
        Phase::KdumpWait | Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased => Progress::UnderWay,
        Phase::PoweringOn | Phase::AwaitReady | Phase::Reaping => Progress::UnderWay,
        Phase::InDoubt | Phase::Failed => Progress::UnderWay,
    }
}

/// No step of the record cuts the power, and its drain left pods: it may be begun again for ever, and fences no node.
fn undrained(record: &NodeFence) -> Option<Blocker> {
    let is_irreversible = |step: &StepSpec| disruption_level(step) == DisruptionLevel::Power;
    fence::undrained(record).filter(|_| !record.spec.steps.iter().any(is_irreversible))
}

/// What a record that ended without a release ended by.
#[must_use]
pub fn not_fenced(record: &NodeFence) -> Blocker {
    let node = &record.spec.node_name;
    if record.spec.abort {
        return Blocker::of("NotFenced/aborted", &[("node", node), ("by", &record.metadata.asked_by())]);
    }
    let last = record.status.log.last().map_or("nothing was done", |entry| entry.text.as_str());
    Blocker::of("NotFenced", &[("node", node), ("last", &last)])
}

fn first(blockers: &[Blocker]) -> Blocker {
    blockers.first().cloned().unwrap_or_else(|| Blocker::plain("NotFenced/unknown"))
}

/// What a request reports of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub processing: bool,
    pub succeeded: ConditionWord,
    pub message: Message,
}

impl Shown {
    /// It waits, or is under way.
    pub(crate) fn open(message: Message) -> Self {
        Self { processing: true, succeeded: ConditionWord::Unknown, message }
    }

    /// It has ended without what was asked.
    pub(crate) fn failed(blocker: Blocker) -> Self {
        let message = Message { reason: blocker.reason, text: blocker.message };
        Self { processing: false, succeeded: ConditionWord::False, message }
    }

    pub(crate) fn waits(blockers: &[Blocker]) -> Self {
        Self::open(Message::of("RequestWaits", &[("blockers", &Blocker::listed(blockers))]))
    }

    pub(crate) fn of_record(record: &NodeFence, joined: bool) -> Self {
        let whose = if joined { whose(record) } else { String::new() };
        let (node, phase) = (&record.spec.node_name, format!("{:?}", record.status.phase));
        let args: MessageArgs<'_> = &[("node", node), ("phase", &phase), ("whose", &whose)];
        let succeeded = ConditionWord::True;
        match of_record(record) {
            Progress::UnderWay if record.status.blocked_by.is_empty() => Self::open(Message::of("Fencing", args)),
            Progress::UnderWay => {
                let blockers = Blocker::listed(&record.status.blocked_by);
                let args: MessageArgs<'_> =
                    &[("node", node), ("phase", &phase), ("whose", &whose), ("blockers", &blockers)];
                Self::open(Message::of("FencingBlocked", args))
            }
            Progress::TurningOn => Self::open(Message::of("TurningOn", args)),
            Progress::Back => Self { processing: true, succeeded, message: Message::of("Fenced/back", args) },
            Progress::Done => Self::done(node),
            Progress::LeftOff => Self { processing: false, succeeded, message: Message::of("Fenced/leftOff", args) },
            Progress::Failed(blocker) => Self::failed(blocker),
        }
    }

    pub(crate) fn done(node: &str) -> Self {
        let message = Message::of("Fenced", &[("node", &node)]);
        Self { processing: false, succeeded: ConditionWord::True, message }
    }

    /// `before` with these conditions. A transition is a change of the status alone.
    pub(crate) fn write(&self, before: &NodeFenceRemediationStatus, now: Timestamp) -> Vec<Condition> {
        let processing = if self.processing { ConditionWord::True } else { ConditionWord::False };
        let stays = Message::plain("NodeStays");
        let conditions = [
            (PROCESSING, processing, &self.message),
            (SUCCEEDED, self.succeeded, &self.message),
            (NODE_DELETION_EXPECTED, ConditionWord::False, &stays),
        ];
        conditions.map(|(kind, status, message)| condition(before, now, kind, status, message)).to_vec()
    }
}

fn condition(
    before: &NodeFenceRemediationStatus,
    now: Timestamp,
    kind: &str,
    status: ConditionWord,
    message: &Message,
) -> Condition {
    let known = before.conditions.iter().find(|known| known.kind == kind && known.status == status);
    let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
    Condition {
        kind: kind.to_owned(),
        status,
        reason: message.reason.clone(),
        message: message.text.clone(),
        last_transition_time: known.map_or(whole, |known| known.last_transition_time),
    }
}

/// Whose record it is that a request has joined.
pub(crate) fn whose(record: &NodeFence) -> String {
    match (record.spec.policy.as_str(), super::request_uid(record)) {
        ("", Some(_)) => " (of another request)".to_owned(),
        ("", None) => " (of a person)".to_owned(),
        (policy, _) => format!(" (of policy {policy})"),
    }
}
