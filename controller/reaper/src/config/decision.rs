//! Whether node-reaper would reap a node now: the predicate, the grace of new nodes, and how many are unhealthy.

use std::{fmt, time::Duration};

use jiff::SignedDuration;
use nodewell_remediation::{
    api::CORDONED_BY,
    facts::{Node, OLD_ZONE},
    snapshot::Snapshot,
    time::Now,
};

use super::{
    Maximum,
    keys::{Compat, Predicate, ReaperConfig},
};
use crate::govaluate::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReapDecision {
    Reap,
    Not(Reason),
}

/// Why a node is not reaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// `reapPredicate` is false: the node needs nothing.
    PredicateFalse,
    TooNew {
        age: Duration,
        grace: Duration,
    },
    /// Only with `compat: fixed`.
    ControlPlane,
    TooMany {
        unhealthy: usize,
        total: usize,
        most: Maximum,
        /// Nothing for the cluster.
        zone: Option<String>,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PredicateFalse => f.write_str("reapPredicate is false"),
            Self::TooNew { age, grace } => {
                write!(f, "it is {} s old, newNodeGracePeriodSeconds is {}", age.as_secs(), grace.as_secs())
            }
            Self::ControlPlane => f.write_str("it is a control-plane node; compat: fixed never reaps those"),
            Self::TooMany { unhealthy, total, most, zone: None } => {
                write!(f, "{unhealthy} of {total} nodes are unhealthy, maxNodesUnhealthy is {most}")
            }
            Self::TooMany { unhealthy, total, most, zone: Some(zone) } => write!(
                f,
                "{unhealthy} of {total} nodes are unhealthy in zone {zone}, maxNodesUnhealthyInSameZone is {most}"
            ),
        }
    }
}

/// In node-reaper's order. Errors (a predicate that cannot be judged on *any* node, a missing zone) reap nothing.
pub(super) fn decide_one(
    config: &ReaperConfig,
    node: &Node,
    snapshot: &Snapshot,
    now: Now,
) -> Result<ReapDecision, String> {
    let evaluation = PredicateEvaluation::new(config, snapshot, now);
    if !evaluation.is_reapable(node)? {
        return Ok(ReapDecision::Not(Reason::PredicateFalse));
    }
    if config.compat == Compat::Fixed && node.is_control_plane() {
        return Ok(ReapDecision::Not(Reason::ControlPlane));
    }
    if let Some(reason) = too_new(config, node, now) {
        return Ok(ReapDecision::Not(reason));
    }
    let unhealthy = evaluation.unhealthy()?;
    if let Some(reason) = too_many_in_cluster(config, snapshot, &unhealthy) {
        return Ok(ReapDecision::Not(reason));
    }
    let zone = too_many_in_zone(config, node, snapshot, &unhealthy)?;
    Ok(zone.map_or(ReapDecision::Reap, ReapDecision::Not))
}

/// Evaluates both predicates, in the way that `compat` asks for.
pub(super) struct PredicateEvaluation<'a> {
    config: &'a ReaperConfig,
    snapshot: &'a Snapshot,
    now: Now,
    /// The kubelet dropped OutOfDisk in 1.12: nil on every node, which `!= 'False'` takes for a problem.
    no_out_of_disk: bool,
}

impl<'a> PredicateEvaluation<'a> {
    pub(super) fn new(config: &'a ReaperConfig, snapshot: &'a Snapshot, now: Now) -> Self {
        let no_node_has_it = !snapshot.nodes.values().any(|node| node.condition("OutOfDisk").is_some());
        Self { config, snapshot, now, no_out_of_disk: config.compat == Compat::Fixed && no_node_has_it }
    }

    /// The controller's own cordon is the first step of the reaping: if it counted as Cordoned, the default predicate would
    /// turn false and stop the reaping.
    pub(super) fn is_reapable(&self, node: &Node) -> Result<bool, String> {
        let is_own_cordon = node.unschedulable && node.annotations.contains_key(CORDONED_BY);
        let instead = |name: &str| match name {
            "Cordoned" if is_own_cordon => Some(Value::Bool(false)),
            _ => self.known(name),
        };
        self.judge("reapPredicate", &self.config.reap, node, instead)
    }

    fn unhealthy(&self) -> Result<Vec<&'a Node>, String> {
        let mut unhealthy = Vec::new();
        for node in self.snapshot.nodes.values() {
            if self.judge("unhealthyPredicate", &self.config.unhealthy, node, |name| self.known(name))? {
                unhealthy.push(node);
            }
        }
        Ok(unhealthy)
    }

    fn known(&self, name: &str) -> Option<Value> {
        (self.no_out_of_disk && name == "Conditions.OutOfDisk").then(|| Value::from("False"))
    }

    fn judge(
        &self,
        name: &str,
        predicate: &Predicate,
        node: &Node,
        instead: impl Fn(&str) -> Option<Value>,
    ) -> Result<bool, String> {
        let judged = predicate.compiled.as_ref().map_err(String::clone);
        let judged = judged.and_then(|expression| expression.judge_with(node, self.snapshot, self.now, instead));
        judged.map_err(|error| format!("{name} on node {}: {error}", node.name))
    }
}

fn too_new(config: &ReaperConfig, node: &Node, now: Now) -> Option<Reason> {
    let age = now.wall.duration_since(node.created).max(SignedDuration::ZERO).unsigned_abs();
    (age < config.node_startup_grace_period).then_some(Reason::TooNew { age, grace: config.node_startup_grace_period })
}

fn too_many_in_cluster(config: &ReaperConfig, snapshot: &Snapshot, unhealthy: &[&Node]) -> Option<Reason> {
    let (unhealthy, total, most) = (unhealthy.len(), snapshot.nodes.len(), config.max_unhealthy);
    (!most.allows(unhealthy, total)).then_some(Reason::TooMany { unhealthy, total, most, zone: None })
}

fn too_many_in_zone(
    config: &ReaperConfig,
    node: &Node,
    snapshot: &Snapshot,
    unhealthy: &[&Node],
) -> Result<Option<Reason>, String> {
    let zone = zone(config.compat, node)?;
    // An empty label is the whole cluster to node-reaper.
    let everywhere = config.compat == Compat::Strict && zone.is_empty();
    let here = |other: &Node| everywhere || zone_of(config.compat, other).unwrap_or_default() == zone;
    let unhealthy = unhealthy.iter().filter(|other| here(other)).count();
    let total = match config.compat {
        // node-reaper divides by the cluster, which makes a share of a zone three times as generous with three zones.
        Compat::Strict => snapshot.nodes.len(),
        Compat::Fixed => snapshot.nodes.values().filter(|other| here(other)).count(),
    };
    let most = config.max_unhealthy_in_zone;
    let zone = Some(zone.to_owned());
    Ok((!most.allows(unhealthy, total)).then_some(Reason::TooMany { unhealthy, total, most, zone }))
}

/// Nodes without the label are one zone in `fixed`, and an error in `strict`.
fn zone(compat: Compat, node: &Node) -> Result<&str, String> {
    match (zone_of(compat, node), compat) {
        (Some(zone), _) => Ok(zone),
        (None, Compat::Fixed) => Ok(""),
        (None, Compat::Strict) => Err(format!("label {OLD_ZONE:?} is not on node {}", node.name)),
    }
}

fn zone_of(compat: Compat, node: &Node) -> Option<&str> {
    match compat {
        Compat::Strict => node.labels.get(OLD_ZONE).map(String::as_str),
        Compat::Fixed => node.zone(),
    }
}
