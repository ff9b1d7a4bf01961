//! What arrives beside the watches: nodes that write crash dumps, and nodes that other controllers remediate.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    snapshot::{Customer, PeerLeases, Snapshot},
    time::Moment,
};

use super::Cache;

/// `fence_kdump_send` repeats itself every 10 s; what is older than this concerns no decision any more.
const REMEMBERED: Duration = Duration::from_secs(120);

/// When each node last reported a dump. Stored here and not with what is gathered: a dump begins before a decision
/// wants it, and a new leader forgets those.
#[derive(Debug, Default)]
pub(super) struct Dumps(BTreeMap<String, Moment>);

impl Dumps {
    /// Gives it to the nodes that have a record.
    pub(super) fn show(&mut self, snapshot: &mut Snapshot, now: Moment) {
        self.0.retain(|_, at| now.since(*at) < REMEMBERED);
        let Snapshot { fences, gathered, .. } = snapshot;
        for (node, at) in self.0.iter().filter(|(node, _)| fences.contains_key(*node)) {
            gathered.entry(node.clone()).or_default().dumping = Some(*at);
        }
    }
}

impl Cache {
    /// This node reports that it writes a crash dump, now. A name that is no Node's is not remembered.
    pub fn dumps(&self, node: &str) {
        let now = self.clock.moment();
        let mut state = self.lock();
        let is_news = state.snapshot.nodes.contains_key(node) && state.dumps.0.insert(node.to_owned(), now).is_none();
        drop(state);
        self.notify_if(is_news);
    }

    /// The agent of this node reports that this boot is about to end, in an orderly way.
    pub fn announce_shutdown(&self, node: &str, boot_id: &str) {
        let now = self.clock.moment();
        self.lock().shutdowns.announce(node, boot_id, now);
    }

    /// What other remediators' Leases hold now.
    pub fn set_peer_leases(&self, leases: PeerLeases) {
        let mut state = self.lock();
        let loud = state.snapshot.peer_leases != leases;
        state.snapshot.peer_leases = leases;
        drop(state);
        self.notify_if(loud);
    }

    /// Which remediators have asked for which nodes, as far as it was proven now.
    pub fn set_customers(&self, customers: BTreeMap<String, Customer>) {
        let mut state = self.lock();
        let loud = state.snapshot.customers != customers;
        state.snapshot.customers = customers;
        drop(state);
        self.notify_if(loud);
    }
}
