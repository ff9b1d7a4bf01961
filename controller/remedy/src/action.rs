//! What can be done to a cluster, each a value; and what came of it.

use std::time::Duration;

use crate::{
    api::fence::{Confirmation, DrainReport, Irreversible, NodeFence},
    drain::DrainRules,
    facts::{PodRef, Taint},
    snapshot::PowerState,
};

/// One thing to do. At most one is under way for each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Makes a record. Loses against one that is there already.
    Open(Box<NodeFence>),
    /// Writes `status` if the record is still the one that was decided upon (its resourceVersion), then tells the journal
    /// and the Node's Events `why`.
    Save { fence: Box<NodeFence>, why: Telling },
    /// Deletes a record that has come to its end, if it is still the same.
    Close { fence: Box<NodeFence>, why: Telling },
    /// An operation on a node, for the record as it is stored: its outcome goes to [`crate::fence::absorb`].
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
pub struct Tell {
    pub node: String,
    pub uid: String,
    pub telling: Telling,
}

/// Words about a decision: an Event's reason and message, with the inputs of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    pub reason: String,
    pub message: String,
    pub warning: bool,
}

impl Telling {
    #[must_use]
    pub fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), warning: false }
    }

    #[must_use]
    pub fn warning(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), warning: true }
    }
}

/// What is done to a node. The two kinds are two types, so that an operation that is new has to say which it is, and none
/// of the irreversible ones can be reached by a wildcard.
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

/// What can be repeated, and taken back or waited out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReversibleOp {
    /// Each names the Node by UID; another Node of the name is left alone ([`Failed::Gone`]). One with the key and effect and
    /// another value is somebody else's ([`Done::NotOurs`]).
    Taint(Taint),
    /// This very one: of another value it is somebody else's and stays ([`Done::NotOurs`]).
    Untaint(Taint),
    /// With our mark. A node that is cordoned already is left to whoever did it ([`Done::NotOurs`]).
    Cordon,
    /// Only with our mark. A cordon that a person has set anew stays ([`Done::NotOurs`]), and the mark goes.
    Uncordon,
    /// Takes [`crate::api::STORAGE_RELEASED`] off the Node, once it has booted since.
    ForgetRelease,
    /// Evicts by the disruption budgets; it never deletes around them unless its rules say so.
    Drain(DrainRules),
    /// Reads the power state this many times, one after the other.
    ReadPower { times: u32 },
    /// Methods of the isolation and recovery steps, in order.
    Methods(Vec<String>),
}

/// What cannot be taken back. Its intent is in the record before it is begun, and the last look comes right before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IrreversibleOp {
    PowerOff,
    PowerOn,
    /// Sets the out-of-service taint, which begins the deletion of all pods that do not tolerate it, and deletes these with
    /// grace 0, each with its UID as a precondition. A node that is only cut off one storage is not tainted, but marked with
    /// its boot ([`crate::api::STORAGE_RELEASED`]).
    Release {
        pods: Vec<PodRef>,
    },
    /// The provider's plug-in.
    Reap,
}

impl IrreversibleOp {
    /// What the record has to intend before it.
    #[must_use]
    pub fn intent(&self) -> Irreversible {
        match self {
            Self::PowerOff => Irreversible::PowerOff,
            Self::PowerOn => Irreversible::PowerOn,
            Self::Release { .. } => Irreversible::Release,
            Self::Reap => Irreversible::Reap,
        }
    }
}

/// An operation's end.
pub type Outcome = Result<Done, Failed>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It is so now.
    Yes,
    /// It was so before, by somebody else.
    NotOurs,
    Drain(DrainReport),
    Power(Vec<PowerState>),
    /// Off was read twice after the act.
    Off(Confirmation),
    Released(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    /// The Node, or the record, is not there any more, or is another one of the same name.
    Gone(String),
    /// It was certainly not begun: leadership lost, kill switch, node ready again, a newer record.
    NotBegun(String),
    /// It was begun and failed; for power this still leaves the state unknown.
    Refused(String),
    /// Nobody knows whether it took effect.
    InDoubt(String),
    /// No end within its time.
    Timeout(Duration),
}
