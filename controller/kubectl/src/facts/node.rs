//! A Node: where it is, how it is, and which of its conditions are nodewell's.

use jiff::Timestamp;
use nodewell_remediation::{
    api::{CONTROLLER_FIELD_MANAGER, CORDONED_BY, SKIP_REMEDIATION},
    facts::{AGENT_CONDITION_TYPES, ConditionStatus, FENCE_READY, OLD_ZONE, ZONE},
    liveness::{ConditionOwners, KUBELET_CONDITIONS},
};
use serde_json::Value;

use super::{text, time};

/// Labels of racks have no name of Kubernetes' own: any key that ends so is taken for one.
const RACK: &str = "rack";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeFacts {
    pub(crate) name: String,
    pub(crate) zone: Option<String>,
    pub(crate) rack: Option<String>,
    /// The kubelet's own condition.
    pub(crate) ready: Ready,
    /// Nothing on a node that takes new pods.
    pub(crate) cordon: Option<Cordon>,
    pub(crate) taints: Vec<TaintFacts>,
    /// A person keeps the controller away from it: the reason.
    pub(crate) skipped: Option<String>,
    /// Those of the agent's types, and the controller's, in the order of the Node.
    pub(crate) conditions: Vec<ConditionFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ready {
    /// Nothing on a Node that no kubelet has reported of.
    pub(crate) status: Option<ConditionStatus>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Who made a node unschedulable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cordon {
    /// The policy that the controller's annotation names; empty where no policy asked for the cordon.
    pub(crate) policy: Option<String>,
    /// Field managers that own the field, the latest first, and when each wrote it last.
    pub(crate) writers: Vec<(String, Option<Timestamp>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaintFacts {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConditionFacts {
    pub(crate) kind: String,
    pub(crate) status: ConditionStatus,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Timestamp>,
    pub(crate) heartbeat: Option<Timestamp>,
    pub(crate) origin: Origin,
}

/// Who reports a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The node's agent, which has applied it.
    Agent,
    Controller,
    /// Another client, which writes a condition of one of the agent's types: its field managers.
    Other(String),
}

impl NodeFacts {
    /// Nothing without a name. The rack is in the label `rack_label`, or in the first whose key ends in `rack`.
    pub(crate) fn read(raw: &Value, rack_label: Option<&str>) -> Option<Self> {
        let (meta, spec) = (&raw["metadata"], &raw["spec"]);
        let label = |key: &str| text(&meta["labels"][key]);
        Some(Self {
            name: text(&meta["name"])?,
            zone: label(ZONE).or_else(|| label(OLD_ZONE)),
            rack: rack_label.map_or_else(|| any_rack(&meta["labels"]), label),
            ready: Ready::read(raw),
            cordon: (spec["unschedulable"] == true).then(|| Cordon::read(meta)),
            taints: list(&spec["taints"]).filter_map(TaintFacts::read).collect(),
            skipped: meta["annotations"][SKIP_REMEDIATION].as_str().map(str::to_owned),
            conditions: conditions(raw),
        })
    }

    pub(crate) fn is_not_ready(&self) -> bool {
        self.ready.status.is_some_and(|status| status != ConditionStatus::True)
    }

    /// Those that its agent has applied.
    pub(crate) fn of_agent(&self) -> impl Iterator<Item = &ConditionFacts> {
        self.conditions.iter().filter(|condition| condition.origin == Origin::Agent)
    }
}

fn any_rack(labels: &Value) -> Option<String> {
    let mut racks = labels.as_object()?.iter().filter(|(key, _)| key.rsplit('/').next() == Some(RACK));
    racks.find_map(|(_, value)| text(value))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn status(value: &Value) -> ConditionStatus {
    match value.as_str() {
        Some("True") => ConditionStatus::True,
        Some("False") => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}

impl Ready {
    fn read(raw: &Value) -> Self {
        let ready = list(&raw["status"]["conditions"]).find(|condition| condition["type"] == "Ready");
        let of = |ready: &Value| Self {
            status: Some(status(&ready["status"])),
            since: time(&ready["lastTransitionTime"]),
            reason: text(&ready["reason"]).unwrap_or_default(),
            message: text(&ready["message"]).unwrap_or_default(),
        };
        ready.map(of).unwrap_or_default()
    }
}

impl Cordon {
    fn read(meta: &Value) -> Self {
        let owns = |entry: &&Value| {
            entry["fieldsV1"]["f:spec"].as_object().is_some_and(|fields| fields.contains_key("f:unschedulable"))
        };
        let entries = list(&meta["managedFields"]).filter(owns);
        let mut writers: Vec<(String, Option<Timestamp>)> =
            entries.map(|entry| (text(&entry["manager"]).unwrap_or_default(), time(&entry["time"]))).collect();
        writers.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        Self { policy: meta["annotations"][CORDONED_BY].as_str().map(str::to_owned), writers }
    }

    /// The controller's mark is there, and no other client has cordoned it since. Where the API server stores no writer
    /// the mark decides, as it does for the controller.
    pub(crate) fn is_ours(&self) -> bool {
        let wrote = |(manager, _): &(String, _)| manager == CONTROLLER_FIELD_MANAGER;
        self.policy.is_some() && (self.writers.is_empty() || self.writers.iter().any(wrote))
    }
}

impl TaintFacts {
    fn read(raw: &Value) -> Option<Self> {
        let value = text(&raw["value"]).unwrap_or_default();
        Some(Self { key: text(&raw["key"])?, value, effect: text(&raw["effect"])? })
    }
}

/// Those of nodewell. The list of types is the controller's own; who reports one is in `managedFields`.
fn conditions(raw: &Value) -> Vec<ConditionFacts> {
    let (all, managed) = (&raw["status"]["conditions"], &raw["metadata"]["managedFields"]);
    let kinds = list(all).filter_map(|condition| condition["type"].as_str());
    // Owners that are not understood are not known: then the type alone decides.
    let owners = ConditionOwners::read(managed, kinds).ok();
    let read = |raw: &Value| {
        let kind = text(&raw["type"])?;
        let origin = origin(&kind, owners.as_ref(), managed)?;
        Some(ConditionFacts {
            kind,
            status: status(&raw["status"]),
            reason: text(&raw["reason"]).unwrap_or_default(),
            message: text(&raw["message"]).unwrap_or_default(),
            since: time(&raw["lastTransitionTime"]),
            heartbeat: time(&raw["lastHeartbeatTime"]),
            origin,
        })
    };
    list(all).filter_map(read).collect()
}

/// Nothing of a condition that is not nodewell's.
fn origin(kind: &str, owners: Option<&ConditionOwners>, managed: &Value) -> Option<Origin> {
    if KUBELET_CONDITIONS.contains(&kind) {
        return None;
    }
    if kind == FENCE_READY {
        return Some(Origin::Controller);
    }
    let is_of_catalogue = AGENT_CONDITION_TYPES.contains(&kind);
    match owners {
        // A type of an administrator's own rules is in no list, and is the agent's all the same.
        Some(owners) if owners.agent.contains_key(kind) => Some(Origin::Agent),
        Some(_) if is_of_catalogue => Some(Origin::Other(managers(kind, managed))),
        None if is_of_catalogue => Some(Origin::Agent),
        Some(_) | None => None,
    }
}

/// The field managers that own something of a condition (FieldsV1, KEP-555).
fn managers(kind: &str, managed: &Value) -> String {
    let key = format!("k:{{\"type\":\"{kind}\"}}");
    let owns = |entry: &&Value| {
        let conditions = entry["fieldsV1"]["f:status"]["f:conditions"].as_object();
        conditions.is_some_and(|conditions| conditions.contains_key(&key))
    };
    let mut names: Vec<&str> = list(managed).filter(owns).filter_map(|entry| entry["manager"].as_str()).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(manager: &str, operation: &str, kinds: &[&str]) -> Value {
        let mut conditions = json!({});
        for kind in kinds {
            conditions[format!("k:{{\"type\":\"{kind}\"}}")] = json!({ ".": {}, "f:type": {}, "f:status": {} });
        }
        json!({ "manager": manager, "operation": operation, "subresource": "status",
            "fieldsV1": { "f:status": { "f:conditions": conditions } } })
    }

    fn node(conditions: &[&str], managed: Value) -> NodeFacts {
        let conditions: Vec<Value> = conditions.iter().map(|kind| json!({ "type": kind, "status": "False" })).collect();
        let raw = json!({ "metadata": { "name": "n1", "managedFields": managed },
            "status": { "conditions": conditions } });
        NodeFacts::read(&raw, None).unwrap()
    }

    #[test]
    fn a_condition_is_that_of_its_field_manager_and_not_of_its_name() {
        let kinds = ["Ready", "DiskUnhealthy", "KernelDeadlock", "RackDoorOpen", "EtcdIsVoter", "FenceReady"];
        let npd = owner("node-problem-detector", "Update", &["KernelDeadlock", "EtcdIsVoter"]);
        let agent = owner("nodewell", "Apply", &["DiskUnhealthy", "RackDoorOpen"]);
        let read = node(&kinds, json!([npd, agent]));
        let found: Vec<(&str, &Origin)> =
            read.conditions.iter().map(|condition| (condition.kind.as_str(), &condition.origin)).collect();
        let other = Origin::Other("node-problem-detector".to_owned());
        let expected = [
            ("DiskUnhealthy", &Origin::Agent),
            ("KernelDeadlock", &other),
            ("RackDoorOpen", &Origin::Agent),
            ("FenceReady", &Origin::Controller),
        ];
        assert_eq!(found, expected);
        assert_eq!(read.of_agent().count(), 2);
    }

    #[test]
    fn where_the_owners_are_unknown_the_catalogue_decides() {
        let read = node(&["DiskUnhealthy", "EtcdIsVoter"], json!({ "odd": true }));
        assert_eq!(read.conditions.len(), 1);
        assert_eq!(read.conditions[0].origin, Origin::Agent);
    }

    #[test]
    fn a_rack_is_found_by_any_label_of_that_name_and_by_the_one_that_is_given() {
        let raw = |labels: Value| json!({ "metadata": { "name": "n1", "labels": labels } });
        let rack = |labels: Value, key| NodeFacts::read(&raw(labels), key).unwrap().rack;
        let labels = json!({ "example.com/rack": "r4", "example.com/cabinet": "c9", ZONE: "a" });
        assert_eq!(rack(labels.clone(), None).as_deref(), Some("r4"));
        assert_eq!(rack(labels.clone(), Some("example.com/cabinet")).as_deref(), Some("c9"));
        assert_eq!(rack(labels.clone(), Some("example.com/row")), None);
        assert_eq!(NodeFacts::read(&raw(labels), None).unwrap().zone.as_deref(), Some("a"));
        assert_eq!(rack(json!({ "example.com/rackmount": "yes" }), None), None);
        assert_eq!(NodeFacts::read(&raw(json!({ OLD_ZONE: "b" })), None).unwrap().zone.as_deref(), Some("b"));
    }

    fn cordoned(policy: Option<&str>, writers: &[(&str, &str)]) -> Cordon {
        let entries: Vec<Value> = writers
            .iter()
            .map(|(manager, time)| {
                json!({ "manager": manager, "time": time, "fieldsV1": { "f:spec": { "f:unschedulable": {} } } })
            })
            .collect();
        let annotations = policy.map_or_else(|| json!({}), |policy| json!({ CORDONED_BY: policy }));
        let raw = json!({ "metadata": { "name": "n1", "annotations": annotations, "managedFields": entries },
            "spec": { "unschedulable": true } });
        NodeFacts::read(&raw, None).unwrap().cordon.unwrap()
    }

    #[test]
    fn a_cordon_is_the_controllers_as_the_controller_itself_decides_it() {
        let (ours, person) =
            (("nodewell-controller", "2026-01-01T00:00:00Z"), ("kubectl-cordon", "2026-01-02T00:00:00Z"));
        assert!(cordoned(Some("p"), &[ours]).is_ours());
        assert!(cordoned(Some(""), &[ours]).is_ours(), "a record by hand has no policy");
        assert!(cordoned(Some("p"), &[]).is_ours(), "where no writer is stored the mark decides");
        assert!(!cordoned(Some("p"), &[person]).is_ours(), "a person has repeated it");
        assert!(!cordoned(None, &[ours]).is_ours());
        assert_eq!(cordoned(None, &[ours, person]).writers[0].0, "kubectl-cordon", "the latest first");
        assert!(node(&[], json!([])).cordon.is_none());
    }
}
