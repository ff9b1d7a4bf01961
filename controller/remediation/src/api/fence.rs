//! `NodeFence`: the record of one node's remediation, from the first step to its end. It is the controller's only
//! memory: a new leader reads where the one before stopped. A record is named like its node.
//!
//! Its operations are [`crate::action::Op`]s; those that cannot be taken back are written into the record as an [`Intent`]
//! before they are begun. What a release is stands in [`super`].
//!
//! `step`, `status`, `retries` and `jobs` are the names of the node-fencing proposal (kubernetes/community#1416), beside the
//! finer [`Phase`].

mod unknown;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Meta, policy::StepSpec};
use crate::{
    facts::Taint,
    message::{Message, MessageArgs},
    snapshot::Level,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFence {
    pub metadata: Meta,
    pub spec: NodeFenceSpec,
    #[serde(default, deserialize_with = "unknown::with_unknown_fields")]
    pub status: NodeFenceStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeFenceSpec {
    pub node_name: String,
    /// The UID of the Node it was opened for; another Node of the same name is another node.
    #[serde(rename = "nodeUID")]
    pub node_uid: String,
    /// The policy that asked for it; empty if a person did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// What the policy's predicate was true of, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// The steps as they were when the record was opened: an edited policy does not change a fence under way.
    #[serde(default)]
    pub steps: Vec<StepSpec>,
    /// Set by a person: nothing irreversible is begun any more; what is ours is taken back as far as it is safe.
    #[serde(default)]
    pub abort: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeFenceStatus {
    pub phase: Phase,
    /// The proposal's name for this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<ProposalStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ProposalStatus>,
    pub retries: u32,
    /// Fence agents that are, or may be, running for this node: `METHOD/ACTION`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,

    /// Which of `spec.steps` is being taken.
    pub policy_step: usize,
    /// The fencing level by which its power is, or was last, cut; the steps' acts begin with the first.
    #[serde(rename = "fencingLevel", skip_serializing_if = "is_first")]
    pub level: Level,
    /// Levels by which the present step's power off failed, one for each try.
    #[serde(rename = "failedFencingLevels", skip_serializing_if = "Vec::is_empty")]
    pub failed_levels: Vec<Level>,
    /// Methods of levels that reported Off while the kubelet spoke: no leader believes a level of these alone before it reports
    /// On.
    #[serde(rename = "deniedFencingMethods", skip_serializing_if = "BTreeSet::is_empty")]
    pub denied_methods: BTreeSet<String>,
    /// Methods of levels that were ordered to turn it off, or that reported Off of it without an order: any of them may
    /// have reported what turns out to be false.
    #[serde(rename = "offFencingMethods", skip_serializing_if = "BTreeSet::is_empty")]
    pub off_methods: BTreeSet<String>,
    /// When this phase was entered, by the wall clock of the controller that led.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Why nothing is done, while nothing is done: everything that speaks against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Blocker>,
    /// When `blocked_by` was written, with the numbers of then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_at: Option<Timestamp>,
    /// The term of the leader that wrote last: a number that each new leader raises.
    pub epoch: u64,
    /// Of `status.nodeInfo`, before the first operation.
    #[serde(rename = "bootID", skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    #[serde(rename = "systemUUID", skip_serializing_if = "String::is_empty")]
    pub system_uuid: String,
    /// How often the steps were gone through and begun again.
    pub step_rounds: u32,
    /// How often they were begun again because their drain left pods.
    #[serde(skip_serializing_if = "is_zero")]
    pub drain_rounds: u32,
    /// Attempts of the current operation that failed.
    pub failures: u32,
    /// The irreversible operation that is about to be begun, or that was and whose end is not known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// Power was read as off; the proof that pods may be released.
    /// On the wire its name is longer: a bare `off` is a boolean to many readers of YAML.
    #[serde(rename = "offConfirmed", skip_serializing_if = "Option::is_none")]
    pub off: Option<Confirmation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainReport>,
    /// When this round's drain was begun, by the wall clock of the controller that led: it is stored before the first pod is
    /// evicted. From then on the drain's time counts, and budgets and storms stop it no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_begun_at: Option<Timestamp>,
    /// In how many portions the node is drained, of which each has a window of `spec.pods` of the policy; 0 and 1: at once.
    #[serde(skip_serializing_if = "is_zero")]
    pub drain_portions: u32,
    /// What the controller set on the Node and has to take back.
    pub own_changes: OwnChanges,
    /// How many pods were released so far.
    pub released: u32,
    /// When pods were released last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Timestamp>,
    /// The Node carries the out-of-service taint since its Off was confirmed.
    pub out_of_service: bool,
    /// A release was intended, whatever came of it: storage that was cut off is not restored to the same boot. Beyond
    /// the record the Node carries this ([`super::STORAGE_RELEASED`]).
    pub release_begun: bool,
    /// The boot whose pods were released when its machine was off: should it live on, its BMC lied, whatever it reports
    /// by now.
    #[serde(rename = "releasedBootID", skip_serializing_if = "String::is_empty")]
    pub released_boot: String,
    /// The `isolation` methods of the fence-config ConfigMap were run, and its `recovery` methods have to be.
    pub isolated: bool,
    /// The node had its time for a crash dump.
    pub dump_waited: bool,
    /// The fence cuts the node off this storage only (driver or class).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_only: Option<String>,
    /// UIDs of the pods that used that storage when it was about to be cut off: it is restored to the same boot only
    /// while all of them are there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage_pods: Vec<String>,
    /// `renewTime` of the kubelet's Lease when power was about to be cut: any later one proves that it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_renewed: Option<Timestamp>,
    /// When an act failed last; the next try waits from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Timestamp>,
    /// Why it will be quarantined once the out-of-service taint is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub giving_up: Option<Blocker>,
    /// The last value of annotation [`super::RETRY`] that was acted upon.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub observed_retry: String,
    /// The limit of power cycles was reached when its power was about to be cut, or was found off: it is left off.
    #[serde(rename = "atPowerCycleLimit")]
    pub at_limit: bool,
    /// A person has it given back although it is left off.
    pub returning: bool,
    /// The last value of annotation [`super::RELEASE`] that was acted upon, or that was there before the machine was off.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub observed_release: String,
    /// The last of `cycles` has not come to a confirmed Off yet: another try of it is no other cycle.
    pub cycle_begun: bool,
    /// This record ordered it off, and has not found it on since.
    pub ordered_off: bool,
    /// That order is one of `cycles`.
    pub order_counted: bool,
    /// Times of the node's power cycles by records before this one, for the limit of a window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_cycles: Vec<Timestamp>,
    /// Times of this record's power cycles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<Timestamp>,
    /// The last [`LOG_ENTRIES`] things that were intended, done and seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogEntry>,

    /// Fields that a newer controller wrote and this one does not know: they are stored again as they were read, so
    /// that the newer one finds them when it leads again.
    #[serde(flatten, skip_deserializing)]
    pub unknown: BTreeMap<String, Value>,
}

fn is_first(level: &Level) -> bool {
    *level == Level::FIRST
}

impl NodeFenceStatus {
    #[must_use]
    pub fn is_blocked_by(&self, reason: &str) -> bool {
        self.blocked_by.iter().any(|blocker| blocker.reason == reason)
    }
}

impl NodeFence {
    /// Times of the node's power cycles, as far as this record knows: earlier ones, its own, and one that is intended.
    pub fn power_cycles(&self) -> impl Iterator<Item = Timestamp> {
        let status = &self.status;
        let intended = status.intent.iter().filter(|intent| intent.op == IntendedOp::PowerOff).map(|intent| intent.at);
        status.earlier_cycles.iter().chain(&status.cycles).copied().chain(intended)
    }
}

/// A record is no place for everything: the journal on the hosts has that.
pub const LOG_ENTRIES: usize = 40;

/// The states of a fence, in the order of one that goes well. `docs/remediation-states.md` has the
/// edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Phase {
    /// Opened; nothing has been done.
    #[default]
    Pending,
    /// Taint and cordon.
    Isolating,
    Draining,
    /// Waits after a step for the node to be well, or for the next step's time.
    Waiting,
    /// Waits until all guards allow the irreversible operation that the step asks for.
    AwaitGuards,
    /// Leaves a node that writes a crash dump (kdump) alone until it ends, or for the step's `kdumpWait`.
    KdumpWait,
    PoweringOff,
    /// The power was read as off, twice.
    OffConfirmed,
    /// The release is intended or done: the out-of-service taint, and with it the deletion of the node's pods.
    PodsReleased,
    PoweringOn,
    AwaitReady,
    /// The provider deletes the machine.
    Reaping,
    /// Takes back the controller's own taints and cordon.
    Recovering,
    Closed,
    /// An operation was begun and its end is unknown: the first thing to do is to ask for the power's status.
    InDoubt,
    /// An operation failed; it is tried again after a while, up to the limit.
    Failed,
    /// Given up: a person has to look. Nothing is done any more.
    Quarantined,
}

/// The three steps of the node-fencing proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalStep {
    Isolation,
    PowerManagement,
    Recovery,
}

/// How far such a step is, as the proposal names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalStatus {
    New,
    Running,
    Done,
    Error,
}

/// Why nothing is done. The reason is one word for machines; the message says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Blocker {
    pub reason: String,
    pub message: String,
}

impl Blocker {
    #[must_use]
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into() }
    }

    /// The message of `key` with its arguments; the reason is the key's.
    #[must_use]
    pub fn of(key: &str, args: MessageArgs<'_>) -> Self {
        let Message { reason, text } = Message::of(key, args);
        Self { reason, message: text }
    }

    /// One without arguments.
    #[must_use]
    pub fn plain(key: &str) -> Self {
        Self::of(key, &[])
    }

    /// All of them in one line.
    #[must_use]
    pub fn listed(blockers: &[Self]) -> String {
        blockers.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

/// An irreversible operation, as a record names it: [`crate::action::IrreversibleOp`] without its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IntendedOp {
    PowerOff,
    PowerOn,
    /// The node's pods are released.
    Release,
    /// The provider deletes the machine (node-reaper's word).
    Reap,
}

/// What is written into the record before an irreversible operation is begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub op: IntendedOp,
    pub epoch: u64,
    pub at: Timestamp,
    /// Of a release: how many pods were counted. If there are more by then, none is released.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pods: u32,
}

/// The proof that a node is off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// When it was read as off last.
    pub at: Timestamp,
    /// How often it was read as off, one after the other.
    pub reads: u32,
    /// The methods that reported it.
    pub by: Vec<String>,
    /// The boot that ended.
    #[serde(rename = "bootID", default)]
    pub boot_id: String,
    /// It was off before the power was to be cut: no fence agent was run.
    #[serde(default)]
    pub already_off: bool,
    pub epoch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainReport {
    /// Every pod that had to go is gone.
    pub done: bool,
    /// Pods that were not evicted, and why; the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_evictions: Vec<String>,
    /// How many pods the step's own options left on the node; those of DaemonSets and static ones do not count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u32,
}

impl DrainReport {
    /// No pod is left that a power off would end: a power step after a drain relies on that.
    #[must_use]
    pub fn emptied(&self) -> bool {
        self.done && self.left == 0
    }
}

// serde gives a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnChanges {
    pub cordon: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub at: Timestamp,
    pub epoch: u64,
    pub text: String,
}

#[cfg(test)]
mod tests;
