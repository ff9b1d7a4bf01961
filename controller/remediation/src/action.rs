//! What can be done to a cluster, each a value, and what came of it.
//!
//! An [`Action`] is what a decision asks for: to write a record, or to perform an [`Op`], an operation on the node. An
//! irreversible operation is named in the record (its [`IntendedOp`]) before it is performed. What a release is stands in
//! [`crate::api`]; to reap is to have the provider delete the machine.

use std::{fmt, time::Duration};

use crate::{
    api::fence::{Confirmation, DrainReport, IntendedOp, NodeFence},
    drain::DrainRules,
    facts::{PodRef, Taint},
    message::Message,
    snapshot::PowerState,
};

/// One thing to do. At most one is under way for each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Creates a record; one that exists already stays.
    Open(Box<NodeFence>),
    /// Writes `status` if the record is still the one that was decided upon (its resourceVersion), then reports `why`
    /// to the journal and the Node's Events.
    Save { fence: Box<NodeFence>, why: EventDraft },
    /// Deletes a record that has come to its end, if it is still the same.
    Close { fence: Box<NodeFence>, why: EventDraft },
    /// An operation on a node, for the record as it is stored: its outcome goes to [`crate::fence::apply_outcome`].
    Perform { fence: Box<NodeFence>, op: Op },
}

impl Action {
    #[must_use]
    pub fn node(&self) -> &str {
        match self {
            Self::Open(fence) | Self::Save { fence, .. } | Self::Close { fence, .. } | Self::Perform { fence, .. } => {
                &fence.spec.node_name
            }
        }
    }
}

/// An Event on a Node and a line in the journal, nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    pub node: String,
    pub uid: String,
    pub event: EventDraft,
}

/// The report of a decision: an Event's reason and message, with the inputs of the decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventDraft {
    pub reason: String,
    pub message: String,
    pub warning: bool,
}

impl EventDraft {
    #[must_use]
    pub fn normal(Message { reason, text }: Message) -> Self {
        Self { reason, message: text, warning: false }
    }

    #[must_use]
    pub fn warning(message: Message) -> Self {
        Self { warning: true, ..Self::normal(message) }
    }
}

/// What is done to a node. The two kinds are two types: a new operation has to name its kind, and no wildcard reaches
/// an irreversible one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Reversible(ReversibleOp),
    Irreversible(IrreversibleOp),
}

impl From<ReversibleOp> for Op {
    fn from(op: ReversibleOp) -> Self {
        Self::Reversible(op)
    }
}

impl From<IrreversibleOp> for Op {
    fn from(op: IrreversibleOp) -> Self {
        Self::Irreversible(op)
    }
}

/// What can be repeated, and taken back or waited out. Each names its Node by UID: another Node of the same name is left
/// alone ([`Failed::Gone`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReversibleOp {
    /// Sets this taint. A taint of its key and effect with another value belongs to another writer ([`Done::NotOurs`]).
    Taint(Taint),
    /// Removes this taint. One with another value belongs to another writer and stays ([`Done::NotOurs`]).
    Untaint(Taint),
    /// Cordons the node, with the annotation [`crate::api::CORDONED_BY`]. A node that is cordoned already stays another
    /// writer's ([`Done::NotOurs`]).
    Cordon,
    /// Uncordons a node with that annotation, and removes it. A cordon that a person has set again stays
    /// ([`Done::NotOurs`]); the annotation is removed all the same.
    Uncordon,
    /// Removes the annotation [`crate::api::STORAGE_RELEASED`], once the node has booted since.
    ForgetRelease,
    /// Evicts the pods as their disruption budgets allow; it deletes pods past these only if its rules allow that.
    Drain(DrainRules),
    /// Reads the power state this many times, one after the other.
    ReadPower { times: u32 },
    /// Runs these fence methods, in order: the `isolation` or the `recovery` ones of the fence-config ConfigMap.
    Methods(Vec<String>),
}

/// What cannot be taken back. It is named in the record before it is begun, and every guard is asked again right before
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IrreversibleOp {
    PowerOff,
    PowerOn,
    /// Sets the out-of-service taint, which begins the deletion of all pods that do not tolerate it, and deletes these with
    /// grace 0, each with its UID as a precondition. A node that is only cut off one storage is not tainted: it gets the
    /// annotation [`crate::api::STORAGE_RELEASED`] with its boot id.
    Release {
        pods: Vec<PodRef>,
    },
    /// Runs the provider's program, which deletes the machine.
    Reap,
}

impl IrreversibleOp {
    /// What the record has to name as its intent before this is begun.
    #[must_use]
    pub fn intended(&self) -> IntendedOp {
        match self {
            Self::PowerOff => IntendedOp::PowerOff,
            Self::PowerOn => IntendedOp::PowerOn,
            Self::Release { .. } => IntendedOp::Release,
            Self::Reap => IntendedOp::Reap,
        }
    }
}

/// An operation's end.
pub type Outcome = Result<Done, Failed>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It was done.
    Yes,
    /// Another actor had done it before.
    NotOurs,
    Drain(DrainReport),
    Power(Vec<PowerState>),
    /// The power was read as off twice after it was cut.
    Off(Confirmation),
    /// The boot that was to end has ended: another one is alive, however the power was read meanwhile.
    Booted,
    /// How many pods were deleted.
    Released(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    /// The Node, or the record, is not there any more, or is another one of the same name.
    Gone(String),
    /// It was certainly not begun: leadership lost, kill switch, node Ready again, a newer record.
    NotBegun(String),
    /// It was begun and failed; for power this still leaves the state unknown.
    Refused(String),
    /// It is unknown whether it took effect.
    InDoubt(String),
    /// No end within its time.
    Timeout(Duration),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(what) => write!(f, "gone: {what}"),
            Self::NotBegun(why) => write!(f, "not begun: {why}"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::InDoubt(why) => write!(f, "in doubt: {why}"),
            Self::Timeout(after) => write!(f, "no end within {} s", after.as_secs()),
        }
    }
}
