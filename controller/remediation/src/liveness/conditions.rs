//! What is applied for a silent agent: the full set of its conditions, because an apply without one would delete it, and no
//! condition that is not its own.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::condition_owners::{ConditionOwners, ConditionOwnersError};
use crate::message::Message;

/// The reason of every condition that this controller applied for a silent agent.
pub const AGENT_SILENT: &str = "AgentSilent";

/// Conditions of the kubelet and of kube-controller-manager. They are left alone even where managedFields name the agent.
pub const KUBELET_CONDITIONS: [&str; 5] =
    ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/// One condition as it is applied: its fields, `type` among them, as in the API.
pub type RawCondition = Map<String, Value>;

/// A Node's status, read by the API (not from a cache) with its managedFields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusView {
    pub uid: String,
    pub resource_version: String,
    /// `metadata.managedFields` as it stands there.
    pub managed_fields: Value,
    /// `status.conditions` as it stands there.
    pub conditions: Vec<RawCondition>,
}

impl StatusView {
    /// Who owns which of the conditions.
    ///
    /// # Errors
    /// The list of owners is not understood.
    pub fn owners(&self) -> Result<ConditionOwners, ConditionOwnersError> {
        let kinds = self.conditions.iter().filter_map(|condition| condition.get("type")?.as_str());
        ConditionOwners::read(&self.managed_fields, kinds)
    }

    /// Conditions of the agent have no owner any more (their managedFields were emptied). The API server would name `before-first-apply` for a conflict with
    /// them: only an apply by force takes them back, and it takes nothing else from any manager at this
    /// resourceVersion.
    #[must_use]
    pub fn has_ownerless_conditions(&self) -> bool {
        self.owners().is_ok_and(|owners| !owners.ownerless.is_empty())
    }

    /// The agent's conditions without the kubelet's, with their fields as they are now.
    pub(super) fn of_agent<'a>(
        &'a self,
        owners: &'a ConditionOwners,
    ) -> impl Iterator<Item = (&'a str, &'a RawCondition)> {
        let named = self.conditions.iter().filter_map(|condition| Some((condition.get("type")?.as_str()?, condition)));
        named.filter(|(kind, _)| owners.agent.contains_key(*kind) && !KUBELET_CONDITIONS.contains(kind))
    }
}

/// The body of the apply on `nodes/NODE/status`, sent with `fieldManager=nodewell` and `force=false` unless
/// [`StatusView::has_ownerless_conditions`]. It is refused with 409 if the Node is another one, was written since `status` was
/// read, or another manager owns a field that would change.
#[must_use]
pub fn apply_body(node: &str, status: &StatusView, set: &[RawCondition]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": node, "uid": status.uid, "resourceVersion": status.resource_version },
        "status": { "conditions": set },
    })
}

/// All of the agent's conditions, each Unknown since `now`. One that was Unknown keeps its transition time, one that another
/// manager writes too keeps its content.
pub(super) fn unknown_conditions(
    status: &StatusView,
    owners: &ConditionOwners,
    silent_since: Timestamp,
    now: Timestamp,
) -> Vec<RawCondition> {
    let of_agent = status.of_agent(owners);
    of_agent
        .map(|(kind, condition)| match owners.is_shared(kind) {
            true => owned_fields(condition, &owners.agent[kind]),
            false => unknown_condition(condition, silent_since, now),
        })
        .collect()
}

/// What stays when a removed agent's conditions are deleted: those that another manager writes too. An apply without a condition that the agent made deletes the
/// entry, and the other writer's fields with it (seen on kube-apiserver 1.36).
pub(super) fn shared_conditions(status: &StatusView, owners: &ConditionOwners) -> Vec<RawCondition> {
    let shared = status.of_agent(owners).filter(|(kind, _)| owners.is_shared(kind));
    shared.map(|(kind, condition)| owned_fields(condition, &owners.agent[kind])).collect()
}

/// The fields that the agent owns, as they are: applying the same again is no conflict.
fn owned_fields(condition: &RawCondition, fields: &BTreeSet<String>) -> RawCondition {
    let owned = condition.iter().filter(|(name, _)| *name == "type" || fields.contains(*name));
    owned.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn unknown_condition(condition: &RawCondition, silent_since: Timestamp, now: Timestamp) -> RawCondition {
    let was_unknown = text(condition, "status") == "Unknown";
    let before = condition.get("lastTransitionTime").filter(|_| was_unknown).cloned();
    let pairs = [
        ("type", Value::from(text(condition, "type"))),
        ("status", "Unknown".into()),
        ("reason", AGENT_SILENT.into()),
        ("message", silent_message(condition, silent_since).into()),
        ("lastTransitionTime", before.unwrap_or_else(|| seconds(now).into())),
    ];
    // The last heartbeat stays: it is when the agent reported last.
    let heartbeat = condition.get("lastHeartbeatTime").map(|at| ("lastHeartbeatTime", at.clone()));
    pairs.into_iter().chain(heartbeat).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What a broken node reported last is the first thing that a person asks.
fn silent_message(condition: &RawCondition, silent_since: Timestamp) -> String {
    let (status, reason, message) = (text(condition, "status"), text(condition, "reason"), text(condition, "message"));
    let since = seconds(silent_since);
    if status != "True" {
        return Message::of("AgentSilent/condition", &[("since", &since)]).text;
    }
    Message::of("AgentSilent/wasTrue", &[("since", &since), ("reason", &reason), ("message", &message)]).text
}

/// Every condition that the agent alone owns reports its silence already.
pub(super) fn is_reported_unknown(status: &StatusView, owners: &ConditionOwners) -> bool {
    let mut alone = status.of_agent(owners).filter(|(kind, _)| !owners.is_shared(kind));
    alone.all(|(_, condition)| text(condition, "reason") == AGENT_SILENT && text(condition, "status") == "Unknown")
}

/// Since when all of them report it, by the wall clock of the controller that wrote the last.
pub(super) fn unknown_since(status: &StatusView, owners: &ConditionOwners) -> Option<Timestamp> {
    let alone = status.of_agent(owners).filter(|(kind, _)| !owners.is_shared(kind));
    let times: Option<Vec<Timestamp>> =
        alone.map(|(_, condition)| text(condition, "lastTransitionTime").parse().ok()).collect();
    times?.into_iter().max()
}

/// The agent's last heartbeats, by type. One that another manager writes is a sign of that manager, and counts only
/// where there is no other.
pub(super) fn heartbeats(status: &StatusView, owners: &ConditionOwners) -> BTreeMap<String, Option<Timestamp>> {
    let heartbeat =
        |(kind, condition): (&str, &RawCondition)| (kind.to_owned(), text(condition, "lastHeartbeatTime").parse().ok());
    let own = status.of_agent(owners).filter(|(kind, _)| !owners.has_foreign_heartbeat(kind));
    let own: BTreeMap<_, _> = own.map(heartbeat).collect();
    if own.is_empty() { status.of_agent(owners).map(heartbeat).collect() } else { own }
}

fn text<'a>(condition: &'a RawCondition, name: &str) -> &'a str {
    condition.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// RFC 3339 in whole seconds, the only form `metav1.Time` takes.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
