//! Asks the API server for what a command shows. Nodes, or Events where these are asked for, are what a command cannot
//! do without; everything else that cannot be read is a note beside what can.

mod gaps;

use std::collections::BTreeMap;

use nodewell_remediation::{
    api::{GROUP, LEADER_NAMESPACE, PAUSE_CONFIG_MAP, VERSION},
    leader_report,
};
use serde_json::Value;

use self::gaps::{Gaps, Question};
use crate::{
    access::{Api, ApiError, escaped},
    error::CommandError,
    facts::{AgentLease, EventFacts, Facts, NodeFacts, Reading},
};

const NODES: &str = "/api/v1/nodes";
/// Events of objects that are in no namespace are in this one.
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// What of a cluster is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Where the agents' Leases are.
    pub(crate) namespace: &'a str,
    pub(crate) selector: Option<&'a str>,
    pub(crate) rack_label: Option<&'a str>,
}

/// All nodes that the selector selects, and what is known of them.
pub(crate) async fn fleet(api: &Api, scope: &Scope<'_>) -> Result<Facts, CommandError> {
    let query = scope.selector.map(|selector| format!("&labelSelector={}", escaped(selector))).unwrap_or_default();
    let mut nodes = Vec::new();
    let listed = api.list(NODES, &query, |raw| nodes.extend(NodeFacts::read(&raw, scope.rack_label)));
    let (listed, mut facts) = tokio::join!(listed, beside(api, scope.namespace, None));
    listed.map_err(|error| Question::list("nodes").fatal(error))?;
    facts.nodes = nodes;
    Ok(facts)
}

/// One node, if there is one of this name, and what is known of it.
pub(crate) async fn node(api: &Api, scope: &Scope<'_>, name: &str) -> Result<Facts, CommandError> {
    let path = format!("{NODES}/{}", escaped(name));
    let (node, mut facts) = tokio::join!(api.get(&path), beside(api, scope.namespace, Some(name)));
    match node {
        Ok(raw) => facts.nodes.extend(NodeFacts::read(&raw, scope.rack_label)),
        Err(ApiError::NotFound) => {}
        Err(error) => return Err(Question::get("nodes").fatal(error)),
    }
    Ok(facts)
}

/// The same with its Events.
pub(crate) async fn story(api: &Api, scope: &Scope<'_>, name: &str) -> Result<Facts, CommandError> {
    let (facts, events) = tokio::join!(node(api, scope, name), list_events(api, Some(name)));
    let mut facts = facts?;
    let mut gaps = Gaps::default();
    match events {
        Ok(events) => facts.events = events,
        Err(error) => gaps.add(&events_question(), error, "the story is that of the records alone"),
    }
    facts.notes.extend(gaps.notes());
    Ok(facts)
}

/// Events alone.
pub(crate) async fn events(api: &Api, node: Option<&str>) -> Result<Facts, CommandError> {
    let events = list_events(api, node).await.map_err(|error| events_question().fatal(error))?;
    Ok(Facts { events, ..Facts::default() })
}

fn events_question() -> Question {
    Question::list("events").within("default")
}

async fn list_events(api: &Api, node: Option<&str>) -> Result<Vec<EventFacts>, ApiError> {
    let name = node.map(|node| format!(",involvedObject.name={node}")).unwrap_or_default();
    let query = format!("&fieldSelector={}", escaped(&format!("involvedObject.kind=Node{name}")));
    let mut events = Vec::new();
    api.list(EVENTS, &query, |raw| events.extend(EventFacts::read(&raw))).await?;
    Ok(events)
}

/// Everything but the Nodes: the agents' Leases, records, what the leader reports, and whether everything is paused.
async fn beside(api: &Api, namespace: &str, node: Option<&str>) -> Facts {
    let map = |namespace: &str, name: &str| format!("/api/v1/namespaces/{}/configmaps/{name}", escaped(namespace));
    let (report, pause) = (map(LEADER_NAMESPACE, leader_report::NAME), map(namespace, PAUSE_CONFIG_MAP));
    let (leases, records, report, pause) =
        tokio::join!(leases(api, namespace, node), records(api), api.get(&report), api.get(&pause));
    let (mut facts, mut gaps) = (Facts::default(), Gaps::default());
    match leases {
        Ok(leases) => facts.leases = leases,
        Err(error) => {
            let asked = Question::list("leases.coordination.k8s.io").within(namespace);
            gaps.add(&asked, error, "silent agents are known by their heartbeats alone, after 15 min");
        }
    }
    add_records(&mut facts, &mut gaps, records);
    match report {
        Ok(map) => facts.set_report(&map),
        Err(ApiError::NotFound) => facts.controller.report = Reading::Absent,
        Err(error) => {
            let asked = Question::get("configmaps").within(LEADER_NAMESPACE);
            gaps.add(&asked, error, "what the leader decides now is not shown");
        }
    }
    match pause {
        Ok(map) => facts.set_paused(&map),
        Err(ApiError::NotFound) => {}
        Err(error) => gaps.add(&Question::get("configmaps").within(namespace), error, "a pause is not shown"),
    }
    facts.notes.extend(gaps.notes());
    facts
}

/// Without its kinds no controller is installed; that is no gap.
fn add_records(facts: &mut Facts, gaps: &mut Gaps, records: Result<Vec<Value>, ApiError>) {
    match records {
        Ok(records) => {
            facts.controller.kinds = Reading::There(());
            records.into_iter().for_each(|raw| facts.add_record(raw));
        }
        Err(ApiError::NotFound) => facts.controller.kinds = Reading::Absent,
        Err(error) => {
            gaps.add(&Question::list("nodefences.nodewell.dev"), error, "what is done about nodes is not shown");
        }
    }
}

async fn records(api: &Api) -> Result<Vec<Value>, ApiError> {
    let mut records = Vec::new();
    api.list(&format!("/apis/{GROUP}/{VERSION}/nodefences"), "", |raw| records.push(raw)).await?;
    Ok(records)
}

/// Of one node by its name, which is that of its Lease.
async fn leases(api: &Api, namespace: &str, node: Option<&str>) -> Result<BTreeMap<String, AgentLease>, ApiError> {
    let collection = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", escaped(namespace));
    let mut leases = BTreeMap::new();
    match node {
        None => api.list(&collection, "", |raw| leases.extend(AgentLease::read(&raw))).await?,
        Some(node) => match api.get(&format!("{collection}/{}", escaped(node))).await {
            Ok(raw) => leases.extend(AgentLease::read(&raw)),
            Err(ApiError::NotFound) => {}
            Err(error) => return Err(error),
        },
    }
    Ok(leases)
}
