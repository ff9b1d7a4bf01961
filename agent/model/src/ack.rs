//! False positives: a person says that a problem that is there is none. It is shown and counted until it ends, and does
//! not turn its condition any more; the next problem of its kind does.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Name;

/// Who called a problem a false positive, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    pub at: Timestamp,
    /// A user, the service it is in, and the person behind it.
    pub by: String,
    /// Why, for people.
    pub why: String,
}

/// `POST /v1/ack`: the active problems of this reason are false positives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckRequest {
    pub reason: Name,
    /// Only of this condition, where several share the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    /// Only of this subject; without one of every subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub why: String,
    /// The person, where the peer acts for one (`sudo`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
