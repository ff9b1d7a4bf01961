//! Which nodes are out of service, by domain, which are dead, and which are in a policy's hands; also by what this very
//! pass has given out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    life::{self, Life},
    stage::{DisruptionLevel, begins_disruptively, has_begun},
};
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

/// What nodes are counted for.
#[derive(Clone, Copy)]
enum NodeCategory {
    /// Out of service, whyever.
    Out,
    /// Dead for certain.
    Dead,
    /// Dead, or not known to live: they take the slots of the dead.
    Lost,
    /// Lost, or isolated by any policy.
    Isolated,
    /// Lost, or drained or powered by any policy.
    Disrupted,
}

const CATEGORIES: usize = 5;

#[derive(Default)]
struct Domain {
    total: usize,
    by_category: [usize; CATEGORIES],
}

/// Numbers of the cluster or of one domain, each with the node in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share {
    pub(crate) total: usize,
    /// Out of service, dead ones too.
    pub(crate) out: usize,
    /// Dead for certain, without the node in question.
    pub(crate) others_dead: usize,
    /// Dead, or not known to live.
    pub(crate) lost: usize,
    /// Those, and nodes under remediation by acts of the level.
    pub(crate) held: usize,
}

pub(crate) struct Tally<'a> {
    snapshot: &'a Snapshot,
    by_category: [Names<'a>; CATEGORIES],
    /// By label and value.
    domains: BTreeMap<&'a str, BTreeMap<&'a str, Domain>>,
    /// By policy: nodes isolated, or further.
    isolated: BTreeMap<&'a str, Names<'a>>,
    /// By policy: nodes drained or powered, or further.
    disrupted: BTreeMap<&'a str, Names<'a>>,
    /// Busy nodes without a record, which may be in any policy's hands.
    unattributed: Names<'a>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, now: Moment) -> Self {
        let labels = snapshot.policies.iter().flat_map(|policy| [&policy.cordon_budget, &policy.budget]);
        let labels = labels.flat_map(|budget| budget.topology.iter().map(|(label, _)| label.as_str()));
        let domains = labels.chain([ZONE]).map(|label| (label, BTreeMap::new())).collect();
        let unattributed =
            snapshot.busy.iter().filter(|name| !snapshot.fences.contains_key(*name)).map(String::as_str).collect();
        let (isolated, disrupted) = (BTreeMap::new(), BTreeMap::new());
        let mut tally = Self { snapshot, by_category: Default::default(), domains, isolated, disrupted, unattributed };
        snapshot.nodes.values().for_each(|node| tally.count(node));
        tally.count_dead(now);
        tally.count_out(now);
        tally
    }

    fn count(&mut self, node: &'a Node) {
        for (label, values) in &mut self.domains {
            values.entry(domain(Some(node), label)).or_default().total += 1;
        }
    }

    fn count_dead(&mut self, now: Moment) {
        let snapshot = self.snapshot;
        for node in snapshot.nodes.values() {
            let categories: &[NodeCategory] = match life::of(snapshot, node, now) {
                Life::Lives => &[],
                Life::Unknown => &[NodeCategory::Lost, NodeCategory::Isolated, NodeCategory::Disrupted],
                Life::Dead => {
                    &[NodeCategory::Dead, NodeCategory::Lost, NodeCategory::Isolated, NodeCategory::Disrupted]
                }
            };
            categories.iter().for_each(|category| self.count_as(*category, &node.name));
        }
    }

    fn count_out(&mut self, now: Moment) {
        let snapshot = self.snapshot;
        for node in snapshot.nodes.values().filter(|node| is_out(node)) {
            self.count_as(NodeCategory::Out, &node.name);
        }
        // Not Ready is reported 40 to 50 s later; a budget does not wait for that.
        let leases = snapshot.kubelet_leases.iter().filter(|(_, lease)| lease.stale_for(now) > kubelet::LATE);
        for (name, _) in leases.filter(|(name, _)| snapshot.nodes.contains_key(*name)) {
            self.count_as(NodeCategory::Out, name);
        }
        // Whatever is under way for a busy node, it may be the most disruptive.
        for name in &snapshot.busy {
            [NodeCategory::Out, NodeCategory::Isolated, NodeCategory::Disrupted]
                .into_iter()
                .for_each(|category| self.count_as(category, name));
        }
        for (name, fence) in &snapshot.fences {
            let busy = snapshot.busy.contains(name);
            if busy || has_begun(fence, DisruptionLevel::Isolate) {
                self.charge(name, &fence.spec.policy, DisruptionLevel::Isolate);
            }
            if (busy || has_begun(fence, DisruptionLevel::Power)) && !is_back(fence, snapshot.nodes.get(name)) {
                self.charge(name, &fence.spec.policy, DisruptionLevel::Power);
            }
        }
    }

    /// `name` is, or is about to be, in the hands of `policy`.
    pub(crate) fn charge(&mut self, name: &'a str, policy: &'a str, level: DisruptionLevel) {
        let unattributed = &self.unattributed;
        self.isolated.entry(policy).or_insert_with(|| unattributed.clone()).insert(name);
        if level != DisruptionLevel::Isolate {
            self.disrupted.entry(policy).or_insert_with(|| unattributed.clone()).insert(name);
            self.count_as(NodeCategory::Disrupted, name);
        }
        self.count_as(NodeCategory::Isolated, name);
        self.count_as(NodeCategory::Out, name);
    }

    /// An open record holds the slot of its first act, once its turn has come.
    pub(crate) fn reserve(&mut self, name: &'a str, fence: &'a NodeFence) {
        match fence.status.phase {
            Phase::Closed | Phase::Recovering => {}
            Phase::Quarantined if is_back(fence, self.snapshot.nodes.get(name)) => {}
            _ if begins_disruptively(&fence.spec.steps) => {
                self.charge(name, &fence.spec.policy, DisruptionLevel::Power)
            }
            _ => self.charge(name, &fence.spec.policy, DisruptionLevel::Isolate),
        }
    }

    fn count_as(&mut self, category: NodeCategory, name: &'a str) {
        if !self.by_category[category as usize].insert(name) {
            return;
        }
        let node = self.snapshot.nodes.get(name);
        for (label, values) in &mut self.domains {
            values.entry(domain(node, label)).or_default().by_category[category as usize] += 1;
        }
    }

    /// How many nodes there are, are out of service, and are dead of those.
    pub(crate) fn totals(&self) -> (usize, usize, usize) {
        let of = |category: NodeCategory| self.by_category[category as usize].len();
        (self.snapshot.nodes.len(), of(NodeCategory::Out), of(NodeCategory::Dead))
    }

    fn is(&self, category: NodeCategory, name: &str) -> bool {
        self.by_category[category as usize].contains(name)
    }

    /// Dead for certain.
    pub(crate) fn is_dead(&self, name: &str) -> bool {
        self.is(NodeCategory::Dead, name)
    }

    /// Of the whole cluster, with `name`.
    pub(crate) fn cluster(&self, name: &str, level: DisruptionLevel) -> Share {
        let by_category = std::array::from_fn(|category| self.by_category[category].len());
        self.share(&Domain { total: self.snapshot.nodes.len(), by_category }, name, level)
    }

    /// Of `node`'s domain by `label`, with it.
    pub(crate) fn domain(&self, node: &Node, label: &str, level: DisruptionLevel) -> Share {
        match self.domains.get(label).and_then(|values| values.get(domain(Some(node), label))) {
            Some(counted) => self.share(counted, &node.name, level),
            // One that was not counted is as full as the cluster.
            None => self.cluster(&node.name, level),
        }
    }

    fn share(&self, domain: &Domain, name: &str, level: DisruptionLevel) -> Share {
        let with =
            |category: NodeCategory| domain.by_category[category as usize] + usize::from(!self.is(category, name));
        Share {
            total: domain.total,
            out: with(NodeCategory::Out),
            others_dead: with(NodeCategory::Dead) - 1,
            lost: with(NodeCategory::Lost),
            held: with(if level == DisruptionLevel::Isolate {
                NodeCategory::Isolated
            } else {
                NodeCategory::Disrupted
            }),
        }
    }

    /// It may be dead, and may live.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.is(NodeCategory::Lost, name) && !self.is_dead(name)
    }

    /// Other nodes that `policy` remediates and that compete with `but` for its slots: the lost with the lost, the
    /// living with the living; with one whose state is not known, whichever are more. A busy node without a record may
    /// be any policy's.
    pub(crate) fn under_remediation(&self, policy: &str, level: DisruptionLevel, but: &str) -> usize {
        let hands = if level == DisruptionLevel::Isolate { &self.isolated } else { &self.disrupted };
        let hands = hands.get(policy).unwrap_or(&self.unattributed);
        let rivals = |competes: &dyn Fn(&str) -> bool| {
            hands.iter().filter(|name| **name != but && (competes(name) || self.unattributed.contains(**name))).count()
        };
        let dead = || rivals(&|name| self.is(NodeCategory::Lost, name));
        let living = || rivals(&|name| !self.is(NodeCategory::Dead, name));
        match (self.is_dead(but), self.is_unknown(but)) {
            (true, _) => dead(),
            (false, true) => dead().max(living()),
            (false, false) => living(),
        }
    }

    /// Other control-plane nodes that are out.
    pub(crate) fn control_plane_out(&self, but: &str) -> Vec<&'a str> {
        let nodes = self.by_category[NodeCategory::Out as usize].iter().filter(|name| **name != but);
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

/// Given up, and yet the node works: a person mended it. Or it is gone, and takes no slot any more.
fn is_back(fence: &NodeFence, node: Option<&Node>) -> bool {
    let own = node.filter(|node| node.uid == fence.spec.node_uid);
    fence.status.phase == Phase::Quarantined && own.is_none_or(|node| !is_out(node))
}
