//! Counts of nodes, in the cluster and in each domain (a zone, or the value of another label): which are unavailable, which
//! are dead, and which a policy remediates. What this very pass has decided counts too.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    life::{self, Life},
    reason::POD_RATE,
    stage::{DisruptionLevel, begins_disruptively, has_begun, waits_to_drain_again},
};
use crate::{
    api::{
        OUT_OF_SERVICE, SKIP_REMEDIATION,
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
    /// No pod can be scheduled there, whatever the cause, or it is under remediation.
    Unavailable,
    /// Dead for certain ([`Life::Dead`]).
    Dead,
    /// Dead, or not known to live ([`Life::Unknown`]): they take the slots of the dead.
    Lost,
    /// Lost, or isolated by any policy.
    Isolated,
    /// Lost, or drained, power-cycled or reaped by any policy.
    Disrupted,
}

const CATEGORIES: usize = 5;

#[derive(Default)]
struct Domain {
    total: usize,
    by_category: [usize; CATEGORIES],
}

/// Numbers of nodes of the cluster or of one domain. The node that is asked about counts as one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DomainCounts {
    pub(crate) total: usize,
    /// Unavailable, dead ones too.
    pub(crate) unavailable: usize,
    /// Dead for certain, without the node in question.
    pub(crate) others_dead: usize,
    /// Dead, or not known to live.
    pub(crate) lost: usize,
    /// Those, and nodes under remediation by acts of the level.
    pub(crate) lost_or_remediated: usize,
}

pub(crate) struct Tally<'a> {
    snapshot: &'a Snapshot,
    by_category: [Names<'a>; CATEGORIES],
    /// By label and value.
    domains: BTreeMap<&'a str, BTreeMap<&'a str, Domain>>,
    /// By policy: nodes isolated, or further.
    isolated: BTreeMap<&'a str, Names<'a>>,
    /// By policy: nodes drained, or further.
    disrupted: BTreeMap<&'a str, Names<'a>>,
    /// Nodes for which something is being done and that have no record: any policy may remediate them.
    unattributed: Names<'a>,
    /// Records that wait for nothing but the rate of pods, the oldest first.
    waiting_for_pods: Vec<&'a NodeFence>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, now: Moment) -> Self {
        let labels = snapshot.policies.iter().flat_map(|policy| [&policy.cordon_budget, &policy.budget]);
        let labels = labels.flat_map(|budget| budget.topology.iter().map(|(label, _)| label.as_str()));
        let domains = labels.chain([ZONE]).map(|label| (label, BTreeMap::new())).collect();
        let unattributed =
            snapshot.busy.iter().filter(|name| !snapshot.fences.contains_key(*name)).map(String::as_str).collect();
        let (isolated, disrupted, waiting_for_pods) = (BTreeMap::new(), BTreeMap::new(), waiting_for_pods(snapshot));
        let by_category = Default::default();
        let mut tally = Self { snapshot, by_category, domains, isolated, disrupted, unattributed, waiting_for_pods };
        snapshot.nodes.values().for_each(|node| tally.count(node));
        tally.count_dead(now);
        tally.count_unavailable(now);
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

    fn count_unavailable(&mut self, now: Moment) {
        let snapshot = self.snapshot;
        for node in snapshot.nodes.values().filter(|node| is_unavailable(node)) {
            self.count_as(NodeCategory::Unavailable, &node.name);
        }
        // Not Ready is reported 40 to 50 s later; a budget does not wait for that.
        let leases = snapshot.kubelet_leases.iter().filter(|(_, lease)| lease.stale_for(now) > kubelet::OVERDUE_AFTER);
        for (name, _) in leases.filter(|(name, _)| snapshot.nodes.contains_key(*name)) {
            self.count_as(NodeCategory::Unavailable, name);
        }
        // Whatever is under way for a busy node, it may be the most disruptive.
        for name in &snapshot.busy {
            [NodeCategory::Unavailable, NodeCategory::Isolated, NodeCategory::Disrupted]
                .into_iter()
                .for_each(|category| self.count_as(category, name));
        }
        for (name, fence) in &snapshot.fences {
            let busy = snapshot.busy.contains(name);
            if busy || has_begun(fence, DisruptionLevel::Isolate) {
                self.charge(name, &fence.spec.policy, DisruptionLevel::Isolate);
            }
            if (busy || has_begun(fence, DisruptionLevel::Power)) && !is_mended(fence, snapshot.nodes.get(name)) {
                self.charge(name, &fence.spec.policy, DisruptionLevel::Power);
            }
        }
    }

    /// `policy` remediates `name`, or is about to: it takes a slot of that policy's budget from now on.
    pub(crate) fn charge(&mut self, name: &'a str, policy: &'a str, level: DisruptionLevel) {
        let unattributed = &self.unattributed;
        self.isolated.entry(policy).or_insert_with(|| unattributed.clone()).insert(name);
        if level != DisruptionLevel::Isolate {
            self.disrupted.entry(policy).or_insert_with(|| unattributed.clone()).insert(name);
            self.count_as(NodeCategory::Disrupted, name);
        }
        self.count_as(NodeCategory::Isolated, name);
        self.count_as(NodeCategory::Unavailable, name);
    }

    /// An open record takes the slot of its first act before that has begun.
    pub(crate) fn reserve(&mut self, name: &'a str, fence: &'a NodeFence) {
        match fence.status.phase {
            Phase::Closed | Phase::Recovering => {}
            Phase::Quarantined if is_mended(fence, self.snapshot.nodes.get(name)) => {}
            _ if begins_disruptively(&fence.spec.steps) && !waits_to_drain_again(fence) => {
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

    /// How many nodes there are, how many are unavailable, and how many of those are dead.
    pub(crate) fn totals(&self) -> (usize, usize, usize) {
        let of = |category: NodeCategory| self.by_category[category as usize].len();
        (self.snapshot.nodes.len(), of(NodeCategory::Unavailable), of(NodeCategory::Dead))
    }

    fn is(&self, category: NodeCategory, name: &str) -> bool {
        self.by_category[category as usize].contains(name)
    }

    /// Dead for certain.
    pub(crate) fn is_dead(&self, name: &str) -> bool {
        self.is(NodeCategory::Dead, name)
    }

    /// Counts of the whole cluster, with `name`.
    pub(crate) fn cluster(&self, name: &str, level: DisruptionLevel) -> DomainCounts {
        let by_category = std::array::from_fn(|category| self.by_category[category].len());
        self.counts(&Domain { total: self.snapshot.nodes.len(), by_category }, name, level)
    }

    /// Counts of `node`'s domain by `label`, with it.
    pub(crate) fn domain(&self, node: &Node, label: &str, level: DisruptionLevel) -> DomainCounts {
        match self.domains.get(label).and_then(|values| values.get(domain(Some(node), label))) {
            Some(counted) => self.counts(counted, &node.name, level),
            // A domain that was not counted is as full as the cluster.
            None => self.cluster(&node.name, level),
        }
    }

    fn counts(&self, domain: &Domain, name: &str, level: DisruptionLevel) -> DomainCounts {
        let with =
            |category: NodeCategory| domain.by_category[category as usize] + usize::from(!self.is(category, name));
        DomainCounts {
            total: domain.total,
            unavailable: with(NodeCategory::Unavailable),
            others_dead: with(NodeCategory::Dead) - 1,
            lost: with(NodeCategory::Lost),
            lost_or_remediated: with(if level == DisruptionLevel::Isolate {
                NodeCategory::Isolated
            } else {
                NodeCategory::Disrupted
            }),
        }
    }

    /// Whether it lives is not known.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.is(NodeCategory::Lost, name) && !self.is_dead(name)
    }

    /// Nodes other than `except` that `policy` remediates and that compete with it for slots: the lost with the lost, the
    /// living with the living; with one whose state is not known, whichever are more. A busy node without a record may
    /// be any policy's.
    pub(crate) fn under_remediation(&self, policy: &str, level: DisruptionLevel, except: &str) -> usize {
        let remediated = if level == DisruptionLevel::Isolate { &self.isolated } else { &self.disrupted };
        let remediated = remediated.get(policy).unwrap_or(&self.unattributed);
        let rivals = |competes: &dyn Fn(&str) -> bool| {
            remediated
                .iter()
                .filter(|name| **name != except && (competes(name) || self.unattributed.contains(**name)))
                .count()
        };
        let dead = || rivals(&|name| self.is(NodeCategory::Lost, name));
        let living = || rivals(&|name| !self.is(NodeCategory::Dead, name));
        match (self.is_dead(except), self.is_unknown(except)) {
            (true, _) => dead(),
            (false, true) => dead().max(living()),
            (false, false) => living(),
        }
    }

    /// Of the same policy the oldest record before `fence` that waits for the rate of pods alone and whose node has more
    /// than `most` of them; with their number.
    pub(crate) fn waits_with_more_pods(&self, fence: &NodeFence, most: usize) -> Option<(&'a str, usize)> {
        let before = self.waiting_for_pods.iter().take_while(|other| turn(other) < turn(fence));
        let mut before = before.filter(|other| other.spec.policy == fence.spec.policy);
        before.find_map(|other| {
            let (_, pods) = self.snapshot.gathered.get(&other.spec.node_name)?.pods.as_ref()?;
            (pods.len() > most).then_some((other.spec.node_name.as_str(), pods.len()))
        })
    }

    /// Other control-plane nodes that are unavailable.
    pub(crate) fn unavailable_control_plane(&self, except: &str) -> Vec<&'a str> {
        let nodes = self.by_category[NodeCategory::Unavailable as usize].iter().filter(|name| **name != except);
        nodes.filter(|name| self.snapshot.nodes.get(**name).is_some_and(Node::is_control_plane)).copied().collect()
    }
}

fn waiting_for_pods(snapshot: &Snapshot) -> Vec<&NodeFence> {
    let waits = |fence: &&NodeFence| {
        let blockers = &fence.status.blocked_by;
        !blockers.is_empty() && blockers.iter().all(|blocker| blocker.reason == POD_RATE)
    };
    // A person who skips a node leaves it as it is, with what blocked it then: it has no turn.
    let is_skipped = |fence: &&NodeFence| {
        let node = snapshot.nodes.get(&fence.spec.node_name);
        let of_node = node.is_some_and(|node| node.annotations.contains_key(SKIP_REMEDIATION));
        of_node || fence.metadata.annotations.contains_key(SKIP_REMEDIATION)
    };
    let mut waiting: Vec<&NodeFence> =
        snapshot.fences.values().filter(waits).filter(|fence| !is_skipped(fence)).collect();
    waiting.sort_by_key(|fence| turn(fence));
    waiting
}

/// Records have their turns in the order in which they were opened.
fn turn(fence: &NodeFence) -> (Option<Timestamp>, &str) {
    (fence.metadata.creation_timestamp, &fence.spec.node_name)
}

/// The value of a label; the empty domain for nodes without it.
pub(crate) fn domain<'n>(node: Option<&'n Node>, label: &str) -> &'n str {
    let Some(node) = node else { return "" };
    match label {
        ZONE => node.zone().unwrap_or_default(),
        other => node.labels.get(other).map_or("", String::as_str),
    }
}

/// No pod can be scheduled there, whichever client caused it.
fn is_unavailable(node: &Node) -> bool {
    !node.is_ready() || node.unschedulable || node.deleting || node.taint(OUT_OF_SERVICE).is_some()
}

/// The remediation was given up (Quarantined) and a person mended the node; or the Node is gone, and takes no slot any
/// more.
fn is_mended(fence: &NodeFence, node: Option<&Node>) -> bool {
    let own = node.filter(|node| node.uid == fence.spec.node_uid);
    fence.status.phase == Phase::Quarantined && own.is_none_or(|node| !is_unavailable(node))
}
