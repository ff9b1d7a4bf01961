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
    /// A step on a node, for the record as it is stored: its outcome goes to [`crate::fence::absorb`].
    Step { fence: Box<NodeFence>, step: Step },
}

impl Action {
    #[must_use]
    pub fn node(&self) -> &str {
        match self {
            Self::Open(fence) | Self::Save { fence, .. } | Self::Close { fence, .. } | Self::Step { fence, .. } => {
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

/// What is done to a node. Whatever `is_irreversible` has its intent in the record before it is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Each names the Node by UID; another Node of the name is left alone ([`Failed::Gone`]). One with the key and effect and
    /// another value is somebody else's ([`Done::NotOurs`]).
    Taint(Taint),
    /// This very one: of another value it is somebody else's and stays ([`Done::NotOurs`]).
    Untaint(Taint),
    /// With our mark. A node that is cordoned already is left to whoever did it ([`Done::NotOurs`]).
    Cordon,
    /// Only with our mark. A cordon that a person has set anew stays ([`Done::NotOurs`]), and the mark goes.
    Uncordon,
    Drain(DrainRules),
    /// Reads the power state this many times, one after the other.
    ReadPower {
        times: u32,
    },
    PowerOff,
    PowerOn,
    /// Methods of the isolation and recovery steps, in order.
    Methods(Vec<String>),
    /// Deletes these pods with grace 0, each with its UID as a precondition, once the Node carries the taint.
    Release {
        pods: Vec<PodRef>,
    },
    /// The provider's plug-in.
    Reap,
}

impl Step {
    #[must_use]
    pub fn irreversible(&self) -> Option<Irreversible> {
        match self {
            Self::PowerOff => Some(Irreversible::PowerOff),
            Self::PowerOn => Some(Irreversible::PowerOn),
            Self::Release { .. } => Some(Irreversible::Release),
            Self::Reap => Some(Irreversible::Reap),
            _ => None,
        }
    }
}

/// A step's end.
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
