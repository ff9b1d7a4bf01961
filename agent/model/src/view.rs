//! What the socket, the command line and every exporter are shown: the ledger's content at one moment.
//!
//! The JSON of these types is a promise to scripts: fields are only ever added.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Ack, ConditionStatus, DeviceFacts, Mute, Name, Severity};

/// The whole account of one node: what `nodewell status --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    pub node: String,
    /// Shared: most of them are the same from one account to the next.
    pub conditions: Vec<Arc<ConditionView>>,
    pub daemons: Vec<DaemonView>,
    pub apiserver: ApiserverView,
    /// The devices that daemons look after, by class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hardware: Vec<HardwareView>,
    /// Peers that tried to report, clear or inject and may not, newest first; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedView>,
    /// Problems that people muted, whether there are some now or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutes: Vec<Mute>,
    /// What the agent goes by; an older agent does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Arc<ConfigurationView>>,
}

/// What the agent goes by. Of two nodes with one version of nodewell, equal hashes are the same configuration and rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationView {
    /// `sha256:…` over what is set in the configuration that is in force, but for the node's own name.
    pub hash: String,
    /// `sha256:…` over the names and bytes of the rule files that are in force.
    pub rules_hash: String,
    /// When both were taken: at the agent's start, or at its last reload without errors.
    pub loaded: Timestamp,
}

/// The devices of one class on this node, over all daemons that count some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareView {
    /// In the plural, as people say it: `disks`, `GPUs`, `memory modules`.
    pub class: String,
    /// All of them, also those that are expected and gone.
    pub total: u32,
    /// As far as is known.
    pub healthy: u32,
    /// The others, by one word each: `lost`, `failing`, `not answering`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, u32>,
    /// A daemon that counts some of them went silent at this time; its last count stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed_since: Option<Timestamp>,
    /// No devices: a fact about the host that is no fault, such as a reboot that is due.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub informational: bool,
    /// What some of them are and run, for `GET /v1/inventory` and metrics.
    #[serde(skip)]
    pub devices: Vec<DeviceFacts>,
}

/// A peer that was refused on the socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefusedView {
    /// The systemd unit, container or user: `raid-monitor.service (uid 990)`.
    pub peer: String,
    /// What it called itself; empty if it was refused before it could.
    pub source: String,
    pub count: u64,
    pub last: Timestamp,
    /// Why the last one was refused.
    pub why: String,
}

/// One condition with the problems that hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionView {
    #[serde(rename = "type")]
    pub condition: Name,
    pub status: ConditionStatus,
    pub reason: Name,
    pub message: String,
    /// When the status last changed, by record time: what a report of the condition calls `transition`, too.
    pub transition: Timestamp,
    /// Active problems, what turns it first, then the worst, then the oldest.
    #[serde(default)]
    pub problems: Vec<ProblemView>,
}

/// One active problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProblemView {
    pub id: String,
    pub reason: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub severity: Severity,
    pub since: Timestamp,
    pub last_seen: Timestamp,
    pub count: u64,
    pub message: String,
    /// The monitor or daemon that claims it; several are joined by a comma.
    pub source: String,
    /// The recommended remediation, if its rule names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The claimant went silent at this time; its last report stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed_since: Option<Timestamp>,
    /// Made by `nodewell inject`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
    /// It does not turn its condition before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Timestamp>,
    /// A person called it a false positive: it does not turn its condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_positive: Option<Ack>,
}

impl ProblemView {
    /// Whether its condition is True by it: it is neither muted nor a false positive.
    #[must_use]
    pub fn turns_condition(&self) -> bool {
        self.muted_until.is_none() && self.false_positive.is_none()
    }
}

/// One monitor or external problem daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DaemonView {
    pub name: String,
    pub state: DaemonState,
    /// CamelCase, why it is in this state; empty while it is well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people: what is missing and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Records it read since the agent started.
    #[serde(default)]
    pub records: u64,
    /// Records that it knows it lost.
    #[serde(default)]
    pub lost: u64,
    /// Its report holds for so many seconds; it has to report again in time.
    #[serde(default, rename = "ttl", skip_serializing_if = "Option::is_none")]
    pub ttl_secs: Option<u64>,
    /// Since when its report is not confirmed any more: what it claims stands, what it watches is Unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    /// It has sent a full report since it was started: all that it watches was looked at once. Our own monitors send
    /// none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
}

impl DaemonView {
    /// Whether it reports over the socket: its name is `source@principal`. Our own monitors have plain names.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.name.contains('@')
    }
}

/// Whether a daemon's reports can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DaemonState {
    /// Not heard of yet.
    Starting,
    Running,
    /// It cannot see what it watches: no permission, no such device, no library.
    Blind,
    /// It should have reported by now.
    Stale,
    /// It ended.
    Dead,
}

/// How the connection to the API server stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiserverView {
    pub state: ApiserverState,
    /// The last time the server took what we sent.
    pub last_success: Option<Timestamp>,
    /// What went wrong last, and what to do; empty while connected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Events that wait for delivery.
    #[serde(default)]
    pub undelivered: u64,
}

/// The states of the API server exporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApiserverState {
    /// `--standalone`, or no kubeconfig.
    Disabled,
    /// Nothing has been answered yet.
    Connecting,
    Connected,
    /// The server cannot be reached or does not take what we send; retried with back-off.
    Failing,
}

/// One event as `GET /v1/events` and `nodewell events` show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// Counts up from 1 within a run of the agent.
    pub id: u64,
    pub severity: Severity,
    /// The record's own time.
    pub timestamp: Timestamp,
    pub reason: Name,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub source: String,
    /// The condition, if the event is the start or the end of a problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    pub count: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
}
