//! One node: all conditions of nodewell, its agent, and what the controller does about it.

use jiff::Timestamp;
use nodewell_remediation::facts::ConditionStatus;
use serde::Serialize;

use super::{
    agent::AgentView,
    controller::ControllerView,
    health::Health,
    remediation::{self, RemediationView},
    words,
};
use crate::facts::{ConditionFacts, Facts, NodeFacts, Origin, TaintFacts};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<String>,
    pub(crate) health: Health,
    /// As `kubectl get nodes` shows it.
    pub(crate) state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state_since: Option<Timestamp>,
    /// Why it is not Ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_ready: Option<String>,
    /// By whom it is cordoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cordoned: Option<String>,
    pub(crate) taints: Vec<TaintView>,
    /// A person keeps the controller away from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
    pub(crate) agent: AgentView,
    /// Problems first, then what is unknown.
    pub(crate) conditions: Vec<ConditionView>,
    pub(crate) controller: ControllerView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remediation: Option<RemediationView>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TaintView {
    /// `KEY=VALUE:EFFECT`.
    pub(crate) taint: String,
    /// Of one that is the controller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explained: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConditionView {
    pub(crate) condition: String,
    pub(crate) status: ConditionStatus,
    pub(crate) health: Health,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) reported_by: String,
}

impl NodeView {
    pub(crate) fn of(facts: &Facts, node: &NodeFacts, now: Timestamp) -> Self {
        let record = facts.open_record(&node.name);
        let agent = AgentView::of(facts, node, now);
        let mut conditions: Vec<ConditionView> = node.conditions.iter().map(ConditionView::of).collect();
        conditions.sort_by(|a, b| (a.health, &a.condition).cmp(&(b.health, &b.condition)));
        let taint =
            |taint: &TaintFacts| TaintView { taint: words::shown(taint), explained: words::taint(taint, record) };
        Self {
            node: node.name.clone(),
            zone: node.zone.clone(),
            rack: node.rack.clone(),
            health: health(node, &agent, &conditions),
            state: words::state(node),
            state_since: node.ready.since,
            not_ready: node.is_not_ready().then(|| format!("{}: {}", node.ready.reason, node.ready.message)),
            cordoned: node.cordon.as_ref().map(|cordon| words::cordoned(cordon, record)),
            taints: node.taints.iter().map(taint).collect(),
            skipped: node.skipped.clone(),
            agent,
            conditions,
            controller: ControllerView::of(facts, now),
            remediation: remediation::of(facts, &node.name, now),
            notes: facts.notes.clone(),
        }
    }
}

/// As in the account of the fleet.
fn health(node: &NodeFacts, agent: &AgentView, conditions: &[ConditionView]) -> Health {
    let of_agent = if agent.reports() { Health::Healthy } else { Health::Unknown };
    let of_kubelet = if node.is_not_ready() { Health::Problem } else { Health::Healthy };
    let of_conditions = conditions.iter().map(|condition| condition.health);
    Health::worst(of_conditions.chain([of_agent, of_kubelet]))
}

impl ConditionView {
    fn of(condition: &ConditionFacts) -> Self {
        Self {
            condition: condition.kind.clone(),
            status: condition.status,
            health: Health::of_condition(&condition.kind, condition.status, &condition.reason),
            since: condition.since,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            reported_by: match &condition.origin {
                Origin::Agent => "agent".to_owned(),
                Origin::Controller => "controller".to_owned(),
                Origin::Other(managers) => managers.clone(),
            },
        }
    }
}
