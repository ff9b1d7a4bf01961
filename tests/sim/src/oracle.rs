//! What must never be, asked of what really is so. Nothing here looks at what the controller believes.
//!
//! | invariant | asked where |
//! |---|---|
//! | I1 budgets, I4 nodes that live, I6 the order of acts and questions, I8 control plane, I9 storms | [`acts`], when an agent begins |
//! | I1 drains at once, I4 reboots, I9 storms, I16 | [`drains`], when the record of a drain has that it begins |
//! | I7 power cycles | [`cycles`], when an agent begins, of what machines really did |
//! | I1 pods in a window | [`rate`], when a pod goes by our doing |
//! | I2 power before pods | [`taint`], of the out-of-service taint, which is the release; [`pods`], of each deletion, and of what the garbage collector deletes for us |
//! | I13 the right pods, I14 drains | [`pods`]; I13 also in [`taint`] |
//! | I3 two writers, I12 marks, I17 liveness | [`state`] |
//! | I4 reboots that were announced | [`reboots`], when a record is opened and when its first agent begins |
//! | I4 kubelets that are heard late after the API server was away | [`absence`], at the same times |
//! | I4, I12, I17 records that give way | [`heirs`], when one is opened or gives way, and every second |
//! | I17 volumes that stay attached | [`volumes`], every second, and when the out-of-service taint goes |
//! | I5 two leaders | [`acts`]: every write and every agent, and what lands late; [`restored`]: one number, one leader |
//! | I9 cooldown | [`storm`] |
//! | I10 what is missing, I16 what cannot be read | [`monotone`], beside real decisions; I16 also in [`acts`] and [`taint`] |
//! | I11 stop, skip, abort, pause | [`acts`], [`pods`], [`records`], [`taint`] |
//! | I15 dry run | every write; the controller's own status and ConfigMaps, which a dry run may write, are not played |
//! | I18 edges | [`records`] |
//! | I7, I12 what a record begins with | [`bare`], when its first status is written |
//! | I20 clocks | half of the seeds have skewed ones; the same seed with and without has to do the same (`tests/sim.rs`) |
//! | I21 BMCs that were found to lie | [`liars`], every second, and when an agent begins or is to |
//!
//! What follows from a BMC's lie about a machine that was silent for as long as the policy asks is not the controller's
//! fault, until the machine is heard again or the BMC reports otherwise: [`excuse`].
//!
//! I19 (no secret in argv, logs, records or Events) has no meaning here: secrets are read and passed to processes by
//! `nodewell-power` alone, which the simulation replaces, and the traits that it does play never carry one. It is
//! proven where the secrets are: `controller/power/tests/agents.rs` (stdin only, scrubbed answers), `tests/ipmi.rs` and
//! `tests/redfish.rs` there with real agents and BMCs.

mod absence;
mod acts;
mod bare;
mod cycles;
mod drains;
mod excuse;
mod heirs;
mod liars;
pub mod monotone;
mod pods;
mod rate;
mod reboots;
mod records;
mod restored;
mod state;
mod storm;
mod taint;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::{api::fence::NodeFenceStatus, time::Moment};

pub use self::reboots::Announced;
use self::{
    absence::Absence, cycles::Powered, heirs::Waiting, liars::Shown, rate::Gone, storm::Storm, volumes::Watched,
};

/// What the oracles remember, and what they found.
#[derive(Debug, Default)]
pub struct Oracle {
    pub violations: Vec<String>,
    /// The replica that wrote the leader's Lease last, and when.
    pub led: Option<(usize, Moment)>,
    /// The replica that led when the store was set back, and until when its term may last: that the Lease names another
    /// is not its doing.
    pub led_before: Option<(usize, Moment)>,
    /// UIDs of Nodes, by name, whose records a restored store has forgotten.
    pub forgotten: BTreeMap<String, String>,
    /// When a person deleted a record last.
    pub record_deleted: Moment,
    /// When a person edited the policy last.
    pub policy_edited: Moment,
    /// Pods of machines whose BMCs lied, by their UIDs: they go by a taint that was set while no replica could know
    /// better.
    let_go: BTreeSet<String>,
    /// Nodes with an out-of-service taint on its way, and no order since it was begun.
    taints_begun: BTreeSet<String>,
    /// Agent processes that run: which node, of which replica and term, until when at the latest.
    pub agents: Vec<Agent>,
    begun: u64,
    /// Which life of which replica acted under each term.
    terms: BTreeMap<u64, (usize, u32)>,
    /// The newest term that began an act on each node.
    newest: BTreeMap<String, u64>,
    /// Nodes that we began to turn off and that have not come back: their boots, and when we began.
    pub down: BTreeMap<String, (u64, Moment)>,
    /// When a BMC took an order of ours to turn each node off.
    pub cycles: BTreeMap<String, Vec<Moment>>,
    powered: BTreeMap<String, Powered>,
    /// Nodes whose power was read since the last `off`, and since the last `on`.
    pub read: BTreeSet<String>,
    pub read_on: BTreeSet<String>,
    turned_on: BTreeSet<String>,
    /// When each machine was last reported to be off.
    pub read_off: BTreeMap<String, Moment>,
    /// When each machine was reported to be off, since the last order to it landed and since it was last reported to be
    /// on.
    off_readings: BTreeMap<String, Vec<Moment>>,
    /// When a record of each machine began to state that its boot has ended.
    confirmed: BTreeMap<String, Moment>,
    /// Machines that live on with a boot that was confirmed to have ended.
    shown: Shown,
    /// Pods that went by our doing, by drains too.
    gone: Vec<Gone>,
    gone_uids: BTreeSet<String>,
    /// What the status of each new record was to be, by its UID, until one is written.
    unwritten: BTreeMap<String, NodeFenceStatus>,
    /// Records that have ordered something, by their UIDs.
    ordered_by: BTreeSet<String>,
    /// How often pods were deleted again that only wait for their finalizers, by their UIDs.
    deleted_again: BTreeMap<String, u32>,
    volumes: Watched,
    /// Records that should have given way.
    heirs: Waiting,
    /// When each kubelet's Lease was last looked at by itself, not through a watch.
    pub looked: BTreeMap<String, Moment>,
    /// Cordons of people.
    pub persons: BTreeSet<String>,
    /// When each record's drain began, by its UID.
    drains: BTreeMap<String, Moment>,
    /// When each node was last not Ready.
    unready: BTreeMap<String, Moment>,
    /// Pods whose release was tried, and taints.
    tried: BTreeSet<String>,
    pub absence: Absence,
    /// How often each record was in doubt after everything was mended.
    circles: BTreeMap<String, u32>,
    /// How often each record was written in vain after everything was mended.
    refused: BTreeMap<String, u32>,
    storm: Storm,
    pub mutations: u64,
    pub offs: u64,
    pub released: u64,
    /// What was really done, in the order of time; clocks have no part in it.
    pub deeds: Vec<String>,
    /// When the pods of the failed node of a plain story were released.
    pub released_at: Option<Moment>,
}

impl Oracle {
    /// The next process's number.
    pub fn next_agent(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub number: u64,
    pub node: String,
    pub replica: usize,
    pub epoch: u64,
    pub until: Moment,
}
