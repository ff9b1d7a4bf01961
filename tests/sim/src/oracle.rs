//! What must never be, asked of what really is so. Nothing here looks at what the controller believes.

mod acts;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remedy::time::Moment;

/// What the oracles remember, and what they found.
#[derive(Debug, Default)]
pub struct Oracle {
    pub violations: Vec<String>,
    /// Agent processes that run: which node, of which replica and term, until when at the latest.
    pub agents: Vec<Agent>,
    /// Nodes that we began to turn off and that have not come back: their boots, and when we began.
    pub down: BTreeMap<String, (u64, Moment)>,
    /// When each node was turned off by us.
    pub cycles: BTreeMap<String, Vec<Moment>>,
    /// Nodes whose power was read since the last `off`.
    pub read: BTreeSet<String>,
    /// When each machine was last said to be off.
    pub said_off: BTreeMap<String, Moment>,
    /// Cordons of people.
    pub persons: BTreeSet<String>,
    pub mutations: u64,
    pub offs: u64,
    pub released: u64,
    /// When the pods of the failed node of a plain story were released.
    pub released_at: Option<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub node: String,
    pub replica: usize,
    pub epoch: u64,
    pub until: Moment,
}
