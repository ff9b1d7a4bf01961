//! Requests and answers of the local socket that are not in [`crate::view`] or [`crate::status`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BootId, Name, Severity, view::ProblemView};

/// The answer to `GET /v1/version`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionView {
    pub version: String,
    pub api: String,
    /// What this agent can do; clients ask here instead of guessing from the version.
    pub features: Vec<String>,
    /// The boot as the agent sees it: in a container that may be another one than a shell there sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<BootId>,
}

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorView {
    /// What is wrong, where, and what to do.
    pub error: String,
}

/// `POST /v1/inject`: root asks the agent to expect one marked record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InjectRequest {
    pub reason: Name,
    /// Only the rule of this condition, where several share the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
}

/// What to write, and what will come of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectAnswer {
    /// The record to write to the kernel log, as it must stand: the priority, the marker with the nonce, then the
    /// rule's example.
    pub line: String,
    /// Where to write it.
    pub kmsg: String,
    pub reason: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    pub severity: Severity,
    /// The agent accepts the record for so long.
    pub expires_secs: u64,
    /// The problem ends by itself after so long.
    pub clears_secs: u64,
}

/// `POST /v1/clear`: end the active problems of a condition, whichever daemon claims them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClearRequest {
    pub condition: Name,
    /// Only those with this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Name>,
    /// Only those of this subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only this one, by the id in its view: the way to a problem without a subject and to no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why they are over, for people; the event reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Only those that have not been claimed again since they looked like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_unchanged_since: Option<ProblemVersion>,
}

/// How a problem looked when the evidence against it was gathered: both as its view shows them. What has failed again
/// since then looks different, whatever the clocks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemVersion {
    pub count: u64,
    pub last_seen: Timestamp,
}

/// `POST /v1/forget`: a daemon of another user or unit will not come again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetRequest {
    /// Its name in `GET /v1/daemons`: `source@principal`.
    pub daemon: String,
}

/// The answer to `POST /v1/clear` and `POST /v1/forget`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClearedView {
    /// How many problems ended.
    pub cleared: usize,
    /// Whether it survives a crash of the agent; one that was not started again after an upgrade does not say so.
    #[serde(default)]
    pub durable: bool,
    /// Daemons that may never come again and left the condition Unknown: they are waited for no longer. None unless all
    /// of the condition was to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<String>,
    /// Daemons whose promise of a report still runs: one that is gone leaves the condition Unknown when it ends. None unless
    /// all of the condition was to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<String>,
}

/// One entry of `GET /v1/problems`: a problem and the condition it holds True.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionProblem {
    pub condition: Name,
    #[serde(flatten)]
    pub problem: ProblemView,
    /// The look at the host that ends it, by the rule that raised it: `filesystem-writable`, `device-present`,
    /// `device-recovered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

impl ConditionProblem {
    /// For [`ClearRequest::if_unchanged_since`].
    #[must_use]
    pub fn version(&self) -> ProblemVersion {
        ProblemVersion { count: self.problem.count, last_seen: self.problem.last_seen }
    }
}

/// The answer to `GET /healthz` and `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthView {
    pub ok: bool,
    /// What keeps the agent from being healthy or ready: monitors that have ended, hang, or have not started.
    pub waiting: Vec<String>,
    /// What does not work and is no reason to restart the agent: monitors that cannot see, others' daemons.
    pub degraded: Vec<String>,
}

/// The answer to `POST /v1/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedView {
    /// Whether what was taken survives a crash of the agent.
    pub durable: bool,
    /// This run of the agent. After an answer that was not durable, another instance may have forgotten what was
    /// reported: a daemon that sees one sends all it has to report, with `full`.
    #[serde(default)]
    pub instance: String,
    /// The user or unit that reported: its daemon is `source@principal`. An older agent does not send it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub principal: String,
    /// What was taken and is hardly meant: a last report of a daemon of which nothing is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub warning: String,
}
