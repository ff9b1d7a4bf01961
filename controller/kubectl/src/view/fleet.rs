//! All nodes: what is wrong by condition, with where and since when; whose agent is silent; what is done about it; and
//! how many are well.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_remediation::facts::ConditionStatus;
use serde::Serialize;

use super::{
    agent::{AgentState, AgentView, is_for_a_silent_agent},
    controller::ControllerView,
    health::Health,
    remediation::{self, RemediationView},
};
use crate::facts::{ConditionFacts, Facts, NodeFacts, Origin};

/// The kubelet's condition, whose absence is a problem as well.
pub(crate) const READY: &str = "Ready";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetView {
    pub(crate) counts: Counts,
    pub(crate) controller: ControllerView,
    /// Problems first, those of most nodes on top.
    pub(crate) conditions: Vec<Group>,
    /// Nodes of which nothing is known now, the longest silent first.
    pub(crate) silent: Vec<SilentNode>,
    /// Nodes without any sign of an agent.
    pub(crate) without_agent: Vec<String>,
    pub(crate) remediation: Vec<RemediationView>,
    /// Nodes that are well.
    pub(crate) healthy: Vec<String>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) nodes: usize,
    pub(crate) healthy: usize,
    pub(crate) problems: usize,
    pub(crate) unknown: usize,
    pub(crate) not_ready: usize,
    pub(crate) cordoned: usize,
    pub(crate) under_remediation: usize,
}

/// One condition that is True, or Unknown, on some nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Group {
    pub(crate) condition: String,
    pub(crate) health: Health,
    /// How many nodes of each zone and of each rack have it.
    pub(crate) zones: BTreeMap<String, usize>,
    pub(crate) racks: BTreeMap<String, usize>,
    /// The latest first.
    pub(crate) nodes: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    pub(crate) node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The field managers of another client that reports it in the agent's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reported_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SilentNode {
    pub(crate) node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<String>,
    pub(crate) agent: AgentView,
}

impl FleetView {
    /// Of all conditions, or of one.
    pub(crate) fn of(facts: &Facts, condition: Option<&str>, now: Timestamp) -> Self {
        let mut view = Self {
            counts: Counts::default(),
            controller: ControllerView::of(facts, now),
            conditions: Vec::new(),
            silent: Vec::new(),
            without_agent: Vec::new(),
            remediation: remediation::all(facts, now),
            healthy: Vec::new(),
            notes: facts.notes.clone(),
        };
        let mut groups = Groups::new();
        let is_wanted = |(kind, ..): &Finding<'_>| condition.is_none_or(|wanted| wanted == *kind);
        for node in &facts.nodes {
            let findings = findings(node).into_iter().filter(is_wanted).collect();
            view.add(node, AgentView::of(facts, node, now), findings, &mut groups);
        }
        view.conditions = groups.into_iter().map(|((health, kind), rows)| Group::new(kind, health, rows)).collect();
        let key = |group: &Group| (group.health, std::cmp::Reverse(group.nodes.len()), group.condition.clone());
        view.conditions.sort_by_key(key);
        view.silent.sort_by(|a, b| (a.agent.last_seen, &a.node).cmp(&(b.agent.last_seen, &b.node)));
        view.without_agent.sort();
        view.healthy.sort();
        view.counts.under_remediation = view.remediation.iter().filter(|one| one.phase.is_some()).count();
        view
    }

    fn add(&mut self, node: &NodeFacts, agent: AgentView, findings: Vec<Finding<'_>>, groups: &mut Groups) {
        let of_conditions = findings.iter().map(|(_, health, _)| *health).min();
        let health = of_conditions.unwrap_or(Health::Healthy).min(of_agent(agent.state));
        self.counts.add(node, health);
        match agent.state {
            AgentState::Absent => self.without_agent.push(node.name.clone()),
            AgentState::Silent | AgentState::Starts => self.silent.push(SilentNode::of(node, agent)),
            AgentState::Reports => {}
        }
        if health == Health::Healthy {
            self.healthy.push(node.name.clone());
        }
        for (kind, health, row) in findings.into_iter().filter(|(_, health, _)| *health != Health::Healthy) {
            groups.entry((health, kind.to_owned())).or_default().push(row);
        }
    }

    pub(crate) fn health(&self) -> Health {
        let Counts { nodes, problems, unknown, .. } = self.counts;
        match (nodes, problems, unknown) {
            (0, ..) => Health::Unknown,
            (_, 0, 0) => Health::Healthy,
            (_, 0, _) => Health::Unknown,
            (..) => Health::Problem,
        }
    }
}

/// A condition, what it means, and its row.
type Finding<'a> = (&'a str, Health, Row);
type Groups = BTreeMap<(Health, String), Vec<Row>>;

/// A node whose agent does not report may have anything.
fn of_agent(state: AgentState) -> Health {
    match state {
        AgentState::Reports => Health::Healthy,
        AgentState::Starts | AgentState::Silent | AgentState::Absent => Health::Unknown,
    }
}

/// Its conditions and what each means. Those that the controller has set for a silent agent are one fact, not forty.
fn findings(node: &NodeFacts) -> Vec<Finding<'_>> {
    let conditions = node.conditions.iter().filter(|condition| !is_for_a_silent_agent(condition));
    let of_condition =
        |condition: &ConditionFacts| Health::of_condition(&condition.kind, condition.status, &condition.reason);
    let mut all: Vec<Finding<'_>> = conditions
        .map(|condition| (condition.kind.as_str(), of_condition(condition), Row::of(node, condition)))
        .collect();
    if let Some(status) = node.ready.status {
        let health = if status == ConditionStatus::True { Health::Healthy } else { Health::Problem };
        all.push((READY, health, Row::of_ready(node)));
    }
    all
}

impl Counts {
    fn add(&mut self, node: &NodeFacts, health: Health) {
        self.nodes += 1;
        self.not_ready += usize::from(node.is_not_ready());
        self.cordoned += usize::from(node.cordon.is_some());
        match health {
            Health::Healthy => self.healthy += 1,
            Health::Problem => self.problems += 1,
            Health::Unknown => self.unknown += 1,
        }
    }
}

impl Group {
    fn new(condition: String, health: Health, mut nodes: Vec<Row>) -> Self {
        let latest_first = |row: &Row| (std::cmp::Reverse(row.since), row.node.clone());
        nodes.sort_by_key(latest_first);
        let zones = tally(nodes.iter().filter_map(|row| row.zone.as_deref()));
        let racks = tally(nodes.iter().filter_map(|row| row.rack.as_deref()));
        Self { condition, health, zones, racks, nodes }
    }
}

fn tally<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name.to_owned()).or_default() += 1);
    counts
}

impl Row {
    fn of(node: &NodeFacts, condition: &ConditionFacts) -> Self {
        Self {
            node: node.name.clone(),
            zone: node.zone.clone(),
            rack: node.rack.clone(),
            since: condition.since,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            reported_by: match &condition.origin {
                Origin::Agent | Origin::Controller => None,
                Origin::Other(managers) => Some(managers.clone()),
            },
        }
    }

    fn of_ready(node: &NodeFacts) -> Self {
        Self {
            node: node.name.clone(),
            zone: node.zone.clone(),
            rack: node.rack.clone(),
            since: node.ready.since,
            reason: node.ready.reason.clone(),
            message: node.ready.message.clone(),
            reported_by: None,
        }
    }
}

impl SilentNode {
    fn of(node: &NodeFacts, agent: AgentView) -> Self {
        Self { node: node.name.clone(), zone: node.zone.clone(), rack: node.rack.clone(), agent }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-01T12:00:00Z";

    /// A node with one condition of its agent, who reported right now.
    fn facts(nodes: &[(&str, &str, &str)]) -> Facts {
        let node = |(name, kind, status): &(&str, &str, &str)| {
            let condition: Value = json!({ "type": kind, "status": status, "reason": "R", "lastHeartbeatTime": NOW });
            let raw = json!({ "metadata": { "name": name }, "status": { "conditions": [condition] } });
            NodeFacts::read(&raw, None).unwrap()
        };
        Facts { nodes: nodes.iter().map(node).collect(), ..Facts::default() }
    }

    fn health(facts: &Facts, condition: Option<&str>) -> Health {
        FleetView::of(facts, condition, NOW.parse().unwrap()).health()
    }

    #[test]
    fn the_worst_node_is_the_fleets_health() {
        let well = ("a", "DiskUnhealthy", "False");
        let (sick, blind) = (("b", "DiskUnhealthy", "True"), ("c", "KernelDeadlock", "Unknown"));
        assert_eq!(health(&facts(&[well]), None), Health::Healthy);
        assert_eq!(health(&facts(&[well, blind]), None), Health::Unknown);
        assert_eq!(health(&facts(&[well, blind, sick]), None), Health::Problem);
        assert_eq!(health(&facts(&[]), None), Health::Unknown, "no node is no health");
        // Of one condition the others are no matter.
        assert_eq!(health(&facts(&[well, blind, sick]), Some("KernelDeadlock")), Health::Unknown);
        assert_eq!(health(&facts(&[well, sick]), Some("KernelDeadlock")), Health::Healthy);
    }

    #[test]
    fn what_most_nodes_have_comes_first_and_unknown_last() {
        let facts = facts(&[
            ("a", "KernelDeadlock", "True"),
            ("b", "DiskUnhealthy", "True"),
            ("c", "DiskUnhealthy", "True"),
            ("d", "ClockUnhealthy", "Unknown"),
        ]);
        let view = FleetView::of(&facts, None, NOW.parse().unwrap());
        let groups: Vec<(&str, usize)> =
            view.conditions.iter().map(|group| (group.condition.as_str(), group.nodes.len())).collect();
        assert_eq!(groups, [("DiskUnhealthy", 2), ("KernelDeadlock", 1), ("ClockUnhealthy", 1)]);
        assert_eq!((view.counts.problems, view.counts.unknown, view.counts.healthy), (3, 1, 0));
    }

    #[test]
    fn a_silent_agents_conditions_are_one_fact() {
        let conditions: Vec<Value> = ["DiskUnhealthy", "KernelDeadlock", "ClockUnhealthy"]
            .iter()
            .map(|kind| json!({ "type": kind, "status": "Unknown", "reason": "AgentSilent", "lastHeartbeatTime": NOW }))
            .collect();
        let raw = json!({ "metadata": { "name": "a" }, "status": { "conditions": conditions } });
        let facts = Facts { nodes: NodeFacts::read(&raw, None).into_iter().collect(), ..Facts::default() };
        let view = FleetView::of(&facts, None, NOW.parse().unwrap());
        assert_eq!((view.conditions.len(), view.silent.len(), view.counts.unknown), (0, 1, 1));
    }
}
