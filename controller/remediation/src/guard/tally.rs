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
enum Mark {
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

const MARKS: usize = 5;

#[derive(Default)]
struct Domain {
    total: usize,
    marked: [usize; MARKS],
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
    /// Those, and what is in our hands by acts of the level.
    pub(crate) held: usize,
}

pub(crate) struct Tally<'a> {
    snapshot: &'a Snapshot,
    marked: [Names<'a>; MARKS],
    /// By label and value.
    domains: BTreeMap<&'a str, BTreeMap<&'a str, Domain>>,
    /// By policy: nodes isolated, or further.
    isolated: BTreeMap<&'a str, Names<'a>>,
    /// By policy: nodes drained or powered, or further.
    disrupted: BTreeMap<&'a str, Names<'a>>,
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
        let (isolated, disrupted) = (BTreeMap::new(), BTreeMap::new());
        let mut tally = Self { snapshot, marked: Default::default(), domains, isolated, disrupted, strays };
        snapshot.nodes.values().for_each(|node| tally.count(node));
        tally.mark_what_is_dead(now);
        tally.mark_what_is_out(now);
        tally
    }

    fn count(&mut self, node: &'a Node) {
        for (label, values) in &mut self.domains {
            values.entry(domain(Some(node), label)).or_default().total += 1;
        }
    }

    fn mark_what_is_dead(&mut self, now: Moment) {
        let snapshot = self.snapshot;
        for node in snapshot.nodes.values() {
            let marks: &[Mark] = match life::of(snapshot, node, now) {
                Life::Lives => &[],
                Life::Unknown => &[Mark::Lost, Mark::Isolated, Mark::Disrupted],
                Life::Dead => &[Mark::Dead, Mark::Lost, Mark::Isolated, Mark::Disrupted],
            };
            marks.iter().for_each(|mark| self.mark(*mark, &node.name));
        }
    }

    fn mark_what_is_out(&mut self, now: Moment) {
        let snapshot = self.snapshot;
        for node in snapshot.nodes.values().filter(|node| is_out(node)) {
            self.mark(Mark::Out, &node.name);
        }
        // Not Ready is reported 40 to 50 s later; a budget does not wait for that.
        let leases = snapshot.kubelet_leases.iter().filter(|(_, lease)| lease.stale_for(now) > kubelet::LATE);
        for (name, _) in leases.filter(|(name, _)| snapshot.nodes.contains_key(*name)) {
            self.mark(Mark::Out, name);
        }
        // Whatever is under way for a busy node, it may be the most disruptive.
        for name in &snapshot.busy {
            [Mark::Out, Mark::Isolated, Mark::Disrupted].into_iter().for_each(|mark| self.mark(mark, name));
        }
        for (name, fence) in &snapshot.fences {
            let busy = snapshot.busy.contains(name);
            if busy || has_begun(fence, DisruptionLevel::Isolate) {
                self.give(name, &fence.spec.policy, DisruptionLevel::Isolate);
            }
            if (busy || has_begun(fence, DisruptionLevel::Power)) && !is_back(fence, snapshot.nodes.get(name)) {
                self.give(name, &fence.spec.policy, DisruptionLevel::Power);
            }
        }
    }

    /// `name` is, or is about to be, in the hands of `policy`.
    pub(crate) fn give(&mut self, name: &'a str, policy: &'a str, level: DisruptionLevel) {
        let strays = &self.strays;
        self.isolated.entry(policy).or_insert_with(|| strays.clone()).insert(name);
        if level != DisruptionLevel::Isolate {
            self.disrupted.entry(policy).or_insert_with(|| strays.clone()).insert(name);
            self.mark(Mark::Disrupted, name);
        }
        self.mark(Mark::Isolated, name);
        self.mark(Mark::Out, name);
    }

    /// An open record holds the slot of its first act, once its turn has come.
    pub(crate) fn reserve(&mut self, name: &'a str, fence: &'a NodeFence) {
        match fence.status.phase {
            Phase::Closed | Phase::Recovering => {}
            Phase::Quarantined if is_back(fence, self.snapshot.nodes.get(name)) => {}
            _ if begins_disruptively(&fence.spec.steps) => self.give(name, &fence.spec.policy, DisruptionLevel::Power),
            _ => self.give(name, &fence.spec.policy, DisruptionLevel::Isolate),
        }
    }

    fn mark(&mut self, mark: Mark, name: &'a str) {
        if !self.marked[mark as usize].insert(name) {
            return;
        }
        let node = self.snapshot.nodes.get(name);
        for (label, values) in &mut self.domains {
            values.entry(domain(node, label)).or_default().marked[mark as usize] += 1;
        }
    }

    /// How many nodes there are, are out of service, and are dead of those.
    pub(crate) fn totals(&self) -> (usize, usize, usize) {
        let of = |mark: Mark| self.marked[mark as usize].len();
        (self.snapshot.nodes.len(), of(Mark::Out), of(Mark::Dead))
    }

    fn is(&self, mark: Mark, name: &str) -> bool {
        self.marked[mark as usize].contains(name)
    }

    /// Dead for certain.
    pub(crate) fn is_dead(&self, name: &str) -> bool {
        self.is(Mark::Dead, name)
    }

    /// Of the whole cluster, with `name`.
    pub(crate) fn cluster(&self, name: &str, level: DisruptionLevel) -> Share {
        let marked = std::array::from_fn(|mark| self.marked[mark].len());
        self.share(&Domain { total: self.snapshot.nodes.len(), marked }, name, level)
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
        let with = |mark: Mark| domain.marked[mark as usize] + usize::from(!self.is(mark, name));
        Share {
            total: domain.total,
            out: with(Mark::Out),
            others_dead: with(Mark::Dead) - 1,
            lost: with(Mark::Lost),
            held: with(if level == DisruptionLevel::Isolate { Mark::Isolated } else { Mark::Disrupted }),
        }
    }

    /// It may be dead, and may live.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.is(Mark::Lost, name) && !self.is_dead(name)
    }

    /// Other nodes that `policy` remediates and that compete with `but` for its slots: the lost with the lost, the
    /// living with the living; with one whose state is not known, whichever are more. A busy node without a record may
    /// be any policy's.
    pub(crate) fn under_remediation(&self, policy: &str, level: DisruptionLevel, but: &str) -> usize {
        let hands = if level == DisruptionLevel::Isolate { &self.isolated } else { &self.disrupted };
        let hands = hands.get(policy).unwrap_or(&self.strays);
        let rivals = |competes: &dyn Fn(&str) -> bool| {
            hands.iter().filter(|name| **name != but && (competes(name) || self.strays.contains(**name))).count()
        };
        let dead = || rivals(&|name| self.is(Mark::Lost, name));
        let living = || rivals(&|name| !self.is(Mark::Dead, name));
        match (self.is_dead(but), self.is_unknown(but)) {
            (true, _) => dead(),
            (false, true) => dead().max(living()),
            (false, false) => living(),
        }
    }

    /// Other control-plane nodes that are out.
    pub(crate) fn control_plane_out(&self, but: &str) -> Vec<&'a str> {
        let nodes = self.marked[Mark::Out as usize].iter().filter(|name| **name != but);
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
