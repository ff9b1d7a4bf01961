//! Everything a decision looks at, at one instant.

mod denied;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

pub use denied::DeniedMethods;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    api::fence::{Blocker, NodeFence, NodeFenceStatus},
    facts::{Attachment, LeaseView, Node, Pod, PodRef},
    policy::Policy,
    time::Moment,
};

/// The cluster as one controller sees it.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub nodes: BTreeMap<String, Node>,
    /// `kube-node-lease`, by node.
    pub kubelet_leases: BTreeMap<String, LeaseView>,
    /// `nodewell`, by node.
    pub agent_leases: BTreeMap<String, LeaseView>,
    /// Open records, by node.
    pub fences: BTreeMap<String, NodeFence>,
    /// Policies that can be read, in the order of their names.
    pub policies: Vec<Policy>,
    /// Policies that cannot: name and what is wrong. They block what is under way by them.
    pub unreadable_policies: BTreeMap<String, String>,
    /// What was asked about single nodes that are under remediation.
    pub gathered: BTreeMap<String, Gathered>,
    /// Methods that records denied which are gone, or of which a restored store has an older one, by node. The next record of
    /// the node begins with them.
    pub denied: BTreeMap<String, DeniedMethods>,
    /// Nodes with an operation under way: nothing else is begun for them.
    pub busy: BTreeSet<String>,
    /// Pods that drains of this process evicted, or may have.
    pub evicted: Evicted,
    /// Events on Nodes that the API server still has: node → reason → their sum. Only if a policy asks for Events.
    pub events: BTreeMap<String, BTreeMap<String, EventsSeen>>,
    /// Nodes whose present boot is about to end by their own report, and since when this replica knows it.
    pub shutdowns: BTreeMap<String, Moment>,
    pub host: HostView,
    pub peer_leases: PeerLeases,
    /// Remediators that asked this controller for a node and hold its Lease meanwhile, by node.
    pub customers: BTreeMap<String, Customer>,
    pub etcd: Quorum,
    /// Addresses at which one etcd member stands and no other, and whether that one is healthy.
    pub etcd_members: BTreeMap<String, bool>,
    /// Set by a kill switch: the whole controller begins nothing.
    pub stopped: Option<String>,
    /// Everything is decided, nothing is done.
    pub dry_run: bool,
    /// The term of the leader that asks; 0 if it does not lead.
    pub epoch: u64,
}

/// Whose pods go, and by which policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodSource {
    pub policy: String,
    pub node: String,
}

impl PodSource {
    #[must_use]
    pub fn of(fence: &NodeFence) -> Self {
        Self { policy: fence.spec.policy.clone(), node: fence.spec.node_name.clone() }
    }
}

/// When each of them was evicted, or may have been.
pub type Evicted = BTreeMap<PodSource, BTreeMap<PodRef, Moment>>;

/// Events of one reason on one Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsSeen {
    /// Of all objects together.
    pub count: u64,
    /// When we saw the youngest.
    pub last: Moment,
    /// How old it was then, by the API server's times: nothing if we saw it happen.
    pub age_when_seen: Duration,
    /// Who wrote them, by their own claim: `reportingComponent`, or `source.component`.
    pub reporters: BTreeSet<String>,
}

impl EventsSeen {
    #[must_use]
    pub fn age(&self, now: Moment) -> Duration {
        now.since(self.last).saturating_add(self.age_when_seen)
    }

    /// Merges another one of the same reason: both counts, the younger one's age, and the reporters of both.
    pub fn add(&mut self, other: &Self) {
        let is_younger =
            self.age_when_seen.saturating_add(other.last.0) <= other.age_when_seen.saturating_add(self.last.0);
        if !is_younger {
            (self.last, self.age_when_seen) = (other.last, other.age_when_seen);
        }
        self.count = self.count.saturating_add(other.count);
        self.reporters.extend(other.reporters.iter().cloned());
    }
}

/// What is asked only about nodes that need it.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// When these were read. Nothing of it if the read failed.
    pub pods: Option<(Moment, Vec<Pod>)>,
    pub attachments: Option<(Moment, Vec<Attachment>)>,
    /// How this node is fenced, or what speaks against it.
    pub methods: Option<Result<FencePlan, Blocker>>,
    /// The last readings of its power, newest last; at most a few of each level.
    pub power: Vec<PowerReading>,
    /// When it was reported On last: when the answer came, however long ago it was asked.
    pub last_on_answer: Option<Moment>,
    /// Levels whose last question has no answer yet, or none that is On or Off: when the first such question was asked.
    pub unanswered: BTreeMap<Level, Moment>,
    /// Levels that have reported Off, and no On since.
    pub off_runs: BTreeMap<Level, OffRun>,
    /// Denied methods by which a level has reported On since: the record does not show that before it is written the next time.
    pub reported_on: BTreeSet<String>,
    /// Control-plane hosts (this one among them) that tried to reach it: since when they cannot (`Some`), or can (`None`).
    pub reach: BTreeMap<String, Option<Moment>>,
    /// When it last reported that it writes a crash dump.
    pub dumping: Option<Moment>,
}

/// Nodes that other controllers remediate, as their Leases (`medik8s-leases/node-NAME`) show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerLeases {
    /// By node: which Lease is held, by whom.
    pub held: BTreeMap<String, String>,
    /// By the same nodes: the holder's identity.
    pub holders: BTreeMap<String, String>,
    /// There are such Leases, or there may be, and they cannot be read: why. It blocks every node.
    pub unreadable: Option<String>,
    /// There are such Leases in this cluster: a remediator that begins to remediate a node takes its Lease first.
    pub are_kept: bool,
}

/// A remediator that has asked for a node to be fenced, as far as it was proven; see [`crate::external::customer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Customer {
    /// The UID of its request (`NodeFenceRemediation`).
    pub request: String,
    /// As whom it holds the node's Lease.
    pub holder: String,
}

/// What is known of the methods of one node, without their secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FencePlan {
    /// In the order they are to be run.
    pub isolation: Vec<String>,
    /// Ways to its power, the first one first: a level is used when those before it cannot be read or did not obey.
    pub levels: Vec<FenceLevel>,
    pub recovery: Vec<String>,
    /// A method that cuts the node off this storage only (driver or class): only the pods that use it may be released.
    pub storage_only: Option<String>,
}

/// One of the ways to a machine's power. It turns all of the machine off: each of its methods has to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FenceLevel {
    /// In the order they are to be run.
    pub methods: Vec<String>,
    /// The longest an act may take; nothing is started that the leader's Lease does not outlast.
    pub longest: Duration,
    /// It was asked who it is: it is this node's (`Ok`), or why that is not known.
    pub identity: Option<Result<(), String>>,
    /// It reports the power of the machine itself (a BMC), and not that of an outlet, which is On when the machine is off.
    pub asks_machine: bool,
}

impl FencePlan {
    #[must_use]
    pub fn level(&self, level: Level) -> Option<&FenceLevel> {
        self.levels.get(level.index())
    }

    /// All levels with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (Level, &FenceLevel)> {
        (1..).map(Level).zip(&self.levels)
    }

    /// The longest that an act of any level may take.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.levels.iter().map(|level| level.longest).max().unwrap_or_default()
    }
}

/// A fencing level by its number, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Level(pub u32);

impl Level {
    pub const FIRST: Self = Self(1);

    /// Where it stands in a list of levels.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.saturating_sub(1) as usize
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::FIRST
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an act or a reading is of: the machine by one of the ways to its power, or the one storage that a fence cuts off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FenceScope {
    pub storage: Option<String>,
    pub level: Level,
}

impl FenceScope {
    #[must_use]
    pub fn machine(level: Level) -> Self {
        Self { storage: None, level }
    }

    /// What a record that has begun cuts off.
    #[must_use]
    pub fn of(status: &NodeFenceStatus) -> Self {
        Self { storage: status.storage_only.clone(), level: status.level }
    }
}

/// One reading of a node's power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerReading {
    /// When it was asked for.
    pub at: Moment,
    pub level: Level,
    /// Of the machine itself: its On speaks against the Off of any level.
    pub asks_machine: bool,
    pub state: PowerState,
}

/// A level reports Off without a break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffRun {
    /// When it answered so first.
    pub since: Moment,
    /// Of the boot that the Node named then.
    pub boot: String,
    /// What was known then; the first one that was seen, where the Lease had no time.
    pub last_renewal: Option<Renewal>,
    /// The kubelet spoke meanwhile: the level is another machine's, or stuck.
    pub is_contradicted: bool,
    /// What was asked: another level may have this number by now. Nothing if that was not known.
    pub methods: Vec<String>,
}

/// Of a kubelet's Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// By the node's own clock.
    pub at: Timestamp,
    /// By this controller's.
    pub seen_at: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PowerState {
    On,
    Off,
    /// No answer, or one that is neither.
    Unknown,
}

/// So many nodes that look well this host tries at once, to know what its own failure to reach one is worth.
pub const REACH_SAMPLE: usize = 16;

/// A time in which most kubelets were not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    pub since: Moment,
    pub until: Moment,
}

/// What this controller's host sees of itself and around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostView {
    /// Its own Node, if it is one: it never acts on that.
    pub node: Option<String>,
    /// It needs remediation, or cannot reach what it must: another replica is to lead.
    pub in_need: bool,
    /// It leads, is in need, and no other replica has offered to lead.
    pub is_only: bool,
    /// Watches are alive and complete; false blocks everything.
    pub synced: bool,
    /// Kubelets were out of hearing until a moment ago, so that some may be late.
    pub absence: Option<Absence>,
    /// What has not been listed again since the API server's store was seen to have gone back.
    pub unread: Option<String>,
    /// Addresses it is configured to be able to reach (gateway, storage, BMC network), and cannot.
    pub unreachable: Vec<String>,
    /// Of the nodes it tried: how many it could reach, of how many. Nothing if it tries none.
    pub reachable_nodes: Option<(usize, usize)>,
}

/// What is known of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quorum {
    /// It could not be read; nothing is done to control-plane nodes.
    #[default]
    Unknown,
    Members {
        healthy: usize,
        total: usize,
    },
}
