//! I7, I12: the status of a record is dropped at its creation; the first one that is written has what its opening knew.

use nodewell_remediation::{
    api::fence::{NodeFence, NodeFenceStatus},
    facts::Taint,
};

use crate::truth::Truth;

impl Truth {
    pub(crate) fn created(&mut self, uid: &str, intended: &NodeFenceStatus) {
        self.oracle.unwritten.insert(uid.to_owned(), intended.clone());
    }

    /// Asked of the term that opened it, which knows no less by now: of taints that the same Node still bears, and of
    /// power cycles. Another leader may never have known of them, as any after a restore.
    pub(super) fn check_first_status(&mut self, stored: &NodeFence, next: &NodeFenceStatus) {
        let Some(intended) = self.oracle.unwritten.remove(&stored.metadata.uid) else { return };
        let (name, uid) = (&stored.spec.node_name, &stored.spec.node_uid);
        let is_same_term = intended.epoch == next.epoch && self.store.set_back == 0;
        let node = self.store.nodes.get(name).filter(|node| is_same_term && node.uid == *uid);
        let Some(node) = node else { return };
        let is_forgotten = |taint: &&Taint| node.taints.contains(*taint) && !next.own_changes.taints.contains(*taint);
        let taint = intended.own_changes.taints.iter().find(is_forgotten).map(|taint| &taint.key);
        let cycle = intended.earlier_cycles.iter().find(|at| !next.earlier_cycles.contains(at));
        if let Some(key) = taint {
            self.violate("I12", format!("the record of {name} begins without {key}, which is ours"));
        }
        if let Some(at) = cycle {
            self.violate("I7", format!("the record of {name} begins without the power cycle of {at}"));
        }
    }
}
