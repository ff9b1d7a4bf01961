//! Who is out of service, by domain, and who is in whose hands; also by what this very pass has given out.

use std::collections::{BTreeMap, BTreeSet};

use super::stage::{Grade, begins_harshly, has_begun};
use crate::{
    api::{
        OUT_OF_SERVICE,
        fence::{NodeFence, Phase},
    },
    facts::{Node, ZONE, kubelet},
    snapshot::Snapshot,
    time::Moment,
};

/// Node names, in order.
type Names<'a> = BTreeSet<&'a str>;

pub(crate) struct Tally<'a> {
    snapshot: &'a Snapshot,
    out: Names<'a>,
    /// By label and value: how many there are, and how many of them are out.
    domains: BTreeMap<&'a str, BTreeMap<&'a str, (usize, usize)>>,
    /// By policy: nodes isolated, or further.
    isolated: BTreeMap<&'a str, Names<'a>>,
    /// By policy: nodes drained or powered, or further.
    taken: BTreeMap<&'a str, Names<'a>>,
    /// Busy nodes without a record, which may be in any policy's hands.
    strays: Names<'a>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, now: Moment) -> Self {
        let labels = snapshot.policies.iter().flat_map(|policy| [&policy.cordon_budget, &policy.budget]);
        let labels = labels.flat_map(|budget| budget.topology.iter().map(|(label, _)| label.as_str()));
        let domains = labels.chain([ZONE]).map(|label| (label, BTreeMap::new())).collect();
        let strays =
            snapshot.busy.iter().filter(|name| !snapshot.fences.contains_key(*name)).map(String::as_str).collect();
        let (out, isolated, taken) = (Names::new(), BTreeMap::new(), BTreeMap::new());
        let mut tally = Self { snapshot, out, domains, isolated, taken, strays };
        snapshot.nodes.values().for_each(|node| tally.count(node));
        tally.mark_what_is_out(now);
        tally
    }

    fn count(&mut self, node: &'a Node) {
        for (label, values) in &mut self.domains {
            values.entry(domain(Some(node), label)).or_default().0 += 1;
        }
    }

    fn mark_what_is_out(&mut self, now: Moment) {
        let snapshot = self.snapshot;
        for node in snapshot.nodes.values().filter(|node| is_out(node)) {
            self.mark_out(&node.name);
        }
        // Not Ready is said 40 to 50 s later; a budget does not wait for that.
        let leases = snapshot.kubelet_leases.iter().filter(|(_, lease)| lease.stale_for(now) > kubelet::LATE);
        for (name, _) in leases.filter(|(name, _)| snapshot.nodes.contains_key(*name)) {
            self.mark_out(name);
        }
        // Whatever is under way for a busy node, it may be the harshest.
        for name in &snapshot.busy {
            self.mark_out(name);
        }
        for (name, fence) in &snapshot.fences {
            let busy = snapshot.busy.contains(name);
            if busy || has_begun(fence, Grade::Isolate) {
                self.give(name, &fence.spec.policy, Grade::Isolate);
            }
            if (busy || has_begun(fence, Grade::Power)) && !is_back(fence, snapshot.nodes.get(name)) {
                self.give(name, &fence.spec.policy, Grade::Power);
            }
        }
    }

    /// `name` is, or is about to be, in the hands of `policy`.
    pub(crate) fn give(&mut self, name: &'a str, policy: &'a str, grade: Grade) {
        let strays = &self.strays;
        self.isolated.entry(policy).or_insert_with(|| strays.clone()).insert(name);
        if grade != Grade::Isolate {
            self.taken.entry(policy).or_insert_with(|| strays.clone()).insert(name);
        }
        self.mark_out(name);
    }

    /// An open record holds the place of its first act, once its turn has come.
    pub(crate) fn reserve(&mut self, name: &'a str, fence: &'a NodeFence) {
        match fence.status.phase {
            Phase::Closed | Phase::Recovering => {}
            Phase::Quarantined if is_back(fence, self.snapshot.nodes.get(name)) => {}
            _ if begins_harshly(&fence.spec.steps) => self.give(name, &fence.spec.policy, Grade::Power),
            _ => self.give(name, &fence.spec.policy, Grade::Isolate),
        }
    }

    fn mark_out(&mut self, name: &'a str) {
        if !self.out.insert(name) {
            return;
        }
        let node = self.snapshot.nodes.get(name);
        for (label, values) in &mut self.domains {
            values.entry(domain(node, label)).or_default().1 += 1;
        }
    }

    /// Nodes of the cluster, and how many would be out with `name`.
    pub(crate) fn cluster(&self, name: &str) -> (usize, usize) {
        (self.snapshot.nodes.len(), self.out.len() + usize::from(!self.out.contains(name)))
    }

    /// The same of `node`'s domain by `label`.
    pub(crate) fn domain(&self, node: &Node, label: &str) -> (usize, usize) {
        let counted = self.domains.get(label).and_then(|values| values.get(domain(Some(node), label)));
        let (total, out) = counted.copied().unwrap_or_default();
        (total, out + usize::from(!self.out.contains(node.name.as_str())))
    }

    /// Other nodes that `policy` has in hand. A busy node without a record may be anybody's.
    pub(crate) fn in_hand(&self, policy: &str, grade: Grade, but: &str) -> usize {
        let hands = if grade == Grade::Isolate { &self.isolated } else { &self.taken };
        let hands = hands.get(policy).unwrap_or(&self.strays);
        hands.len() - usize::from(hands.contains(but))
    }

    /// Other control-plane nodes that are out.
    pub(crate) fn control_plane_out(&self, but: &str) -> Vec<&'a str> {
        let nodes = self.out.iter().filter(|name| **name != but);
        nodes.filter(|name| self.snapshot.nodes.get(**name).is_some_and(Node::is_control_plane)).copied().collect()
    }
}

/// The value of a label; the empty domain for nodes without it.
pub(crate) fn domain<'n>(node: Option<&'n Node>, label: &str) -> &'n str {
    let Some(node) = node else { return "" };
    match label {
        ZONE => node.zone().unwrap_or_default(),
        other => node.labels.get(other).map_or("", String::as_str),
    }
}

/// Ours or not, well or not: no pod can be put there.
fn is_out(node: &Node) -> bool {
    !node.is_ready() || node.unschedulable || node.deleting || node.taint(OUT_OF_SERVICE).is_some()
}

/// Given up, and yet the node works: somebody mended it. Or it is gone, and takes nobody's place any more.
fn is_back(fence: &NodeFence, node: Option<&Node>) -> bool {
    let own = node.filter(|node| node.uid == fence.spec.node_uid);
    fence.status.phase == Phase::Quarantined && own.is_none_or(|node| !is_out(node))
}
