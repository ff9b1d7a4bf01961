//! What the ledger does not take, in words for the client that sent it.

use std::sync::Arc;

use jiff::Timestamp;
use nodewell_model::Name;

/// Why something was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("condition {0} is not in the catalogue; declare it as a [[condition]] in a rule file and reload nodewell")]
    UnknownCondition(Name),
    #[error("condition {0} has too many active reasons; clear some")]
    TooManyReasons(Name),
    #[error("{0} is claimed by too many sources already")]
    TooManySources(Name),
    #[error("too many problem daemons; {0} is not taken")]
    TooManyDaemons(Arc<str>),
    #[error("{0} may speak of {1} types, subjects and reasons, and this is more; report that some are over first")]
    TooManySubjects(Arc<str>, usize),
    #[error("too many problems are active on this node; clear some")]
    TooManyProblems,
    #[error(
        "the daemons of {0} have as many problems as they may have together ({1} of one user or unit); report that some are over first"
    )]
    ShareOfProblems(String, usize),
    #[error(
        "the daemons of {0} have as many subjects of {2} as they may have together ({1} of one user or unit); report that some are over first"
    )]
    ShareOfSubjects(String, usize, Name),
    #[error(
        "the daemons of {0} have as many reasons of {2} as they may have together ({1} of one user or unit); report that some are over first"
    )]
    ShareOfReasons(String, usize, Name),
    #[error(
        "as many daemons of {0} claim {2} of one subject as may do so together ({1} of one user or unit); report it by fewer of them"
    )]
    ShareOfClaims(String, usize, Name),
    #[error("{0} problems are muted, and no more may be; unmute some")]
    TooManyMutes(usize),
    #[error("{0} is muted by the configuration ({1}); change it there and reload nodewell")]
    MutedByConfiguration(String, String),
    #[error("the mute of {0} has ended already: its time was over at {1}")]
    MuteIsOver(String, Timestamp),
    #[error(
        "there is no active problem {0}, and only one that is there is called a false positive; see `nodewell status`"
    )]
    NoSuchProblem(String),
    #[error("{0} is a test, which ends by itself and is no false positive")]
    OnlyTests(String),
    #[error("{0} is called a false positive already; `nodewell ack` lists by whom and why")]
    AckedAlready(String),
    #[error("no active problem {0} is called a false positive; `nodewell ack` lists which are")]
    NotAcked(String),
}

/// Why a batch of reports was not taken, and what in it stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ReportRejection {
    /// The report's index in the batch.
    pub report: usize,
    /// The condition's index in the report, if it is about one.
    pub condition: Option<usize>,
    pub why: Rejection,
}
