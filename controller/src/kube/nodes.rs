//! Taints and cordons: read, change, write if nothing was written in between; tried again a few times.

use nodewell_reconcile::{api_error::ApiError, cluster::ReleaseMark};
use nodewell_remediation::{
    api::{CORDONED_BY, SKIP_REMEDIATION, STORAGE_RELEASED},
    facts::{Node, Taint},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    FIELD_MANAGER,
    wire::{Wire, escaped},
};

/// Kubelets and controllers write Nodes all the time; each try is one more read.
const TRIES: usize = 5;

pub(super) fn path(name: &str) -> String {
    format!("/api/v1/nodes/{}", escaped(name))
}

/// What a change comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// It is so already.
    Nothing,
    /// It is not ours to change.
    NotOurs,
    /// A merge patch without its preconditions.
    Patch(Value),
    /// The same, and what it leaves is not ours.
    Disown(Value),
}

/// Applies what `change` makes of the Node with this UID. False if it is not ours to change.
pub(super) async fn change(
    wire: &Wire,
    name: &str,
    uid: &str,
    change: impl Fn(&Value) -> Change,
) -> Result<bool, ApiError> {
    let mut last = ApiError::Conflict("it is changed all the time".into());
    for _ in 0..TRIES {
        let node: Value = wire.get(&path(name)).await?.ok_or(ApiError::NotFound)?;
        if node["metadata"]["uid"].as_str() != Some(uid) {
            return Err(ApiError::NotFound);
        }
        let (mut patch, is_ours) = match change(&node) {
            Change::Nothing => return Ok(true),
            Change::NotOurs => return Ok(false),
            Change::Patch(patch) => (patch, true),
            Change::Disown(patch) => (patch, false),
        };
        patch["metadata"]["uid"] = json!(uid);
        patch["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"].clone();
        match wire.merge::<Value>(&path(name), &patch).await {
            Ok(_) => return Ok(is_ours),
            Err(conflict @ ApiError::Conflict(_)) => last = conflict,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Marks the Node for a release if it still is the version that was seen: the last look and the mark are one.
pub(super) async fn mark_release(wire: &Wire, seen: &Node, mark: &ReleaseMark) -> Result<(), ApiError> {
    let path = path(&seen.name);
    let node: Value = wire.get(&path).await?.ok_or(ApiError::NotFound)?;
    if node["metadata"]["uid"].as_str() != Some(&seen.uid) {
        return Err(ApiError::NotFound);
    }
    if node["metadata"]["resourceVersion"].as_str() != Some(&seen.resource_version) {
        return Err(ApiError::Conflict(format!("Node {} was changed since it was looked at", seen.name)));
    }
    let Change::Patch(mut patch) = marked(&node, mark) else { return Ok(()) };
    patch["metadata"]["uid"] = json!(seen.uid);
    patch["metadata"]["resourceVersion"] = json!(seen.resource_version);
    wire.merge::<Value>(&path, &patch).await.map(drop)
}

/// Another client's out-of-service taint with another value does the same, and stays theirs.
fn marked(node: &Value, mark: &ReleaseMark) -> Change {
    match mark {
        ReleaseMark::OutOfService(taint) => tainted(node, taint),
        ReleaseMark::StorageOf(boot) if node["metadata"]["annotations"][STORAGE_RELEASED] == *boot => Change::Nothing,
        ReleaseMark::StorageOf(boot) => {
            Change::Patch(json!({ "metadata": { "annotations": { STORAGE_RELEASED: boot } } }))
        }
    }
}

/// Without the boot whose storage was released.
pub(super) fn unmarked(node: &Value) -> Change {
    match &node["metadata"]["annotations"][STORAGE_RELEASED] {
        Value::Null => Change::Nothing,
        _ => Change::Patch(json!({ "metadata": { "annotations": { STORAGE_RELEASED: null } } })),
    }
}

/// With the taint. Others stay as they are, unknown fields included; a Node has one with a key and an effect, so that
/// of another value belongs to another client.
pub(super) fn tainted(node: &Value, taint: &Taint) -> Change {
    match like(node, taint) {
        Some(one) if has_value(one, taint) => Change::Nothing,
        Some(_) => Change::NotOurs,
        None => {
            let mut taints = others(node, taint);
            taints.push(json!(taint));
            Change::Patch(json!({ "spec": { "taints": taints } }))
        }
    }
}

/// Without this very taint.
pub(super) fn untainted(node: &Value, taint: &Taint) -> Change {
    match like(node, taint) {
        Some(one) if has_value(one, taint) => Change::Patch(json!({ "spec": { "taints": others(node, taint) } })),
        Some(_) => Change::NotOurs,
        None => Change::Nothing,
    }
}

fn like<'a>(node: &'a Value, taint: &Taint) -> Option<&'a Value> {
    all(node).find(|one| is_same(one, taint))
}

fn has_value(one: &Value, taint: &Taint) -> bool {
    one["value"].as_str().unwrap_or_default() == taint.value
}

fn all(node: &Value) -> impl Iterator<Item = &Value> {
    node["spec"]["taints"].as_array().into_iter().flatten()
}

fn others(node: &Value, taint: &Taint) -> Vec<Value> {
    all(node).filter(|one| !is_same(one, taint)).cloned().collect()
}

fn is_same(one: &Value, taint: &Taint) -> bool {
    one["key"] == taint.key && one["effect"] == taint.effect.to_string()
}

/// Unschedulable, with our mark.
pub(super) fn cordoned(node: &Value, by: &str) -> Change {
    match (is_cordoned(node), has_our_cordon(node, by)) {
        (true, true) => Change::Nothing,
        (true, false) => Change::NotOurs,
        (false, _) => Change::Patch(cordon(by)),
    }
}

fn cordon(by: &str) -> Value {
    json!({ "metadata": { "annotations": { CORDONED_BY: by } }, "spec": { "unschedulable": true } })
}

/// Cordons a Node that was schedulable when it was seen, if it still is that version; it as it is then.
pub(super) async fn cordon_seen<T: DeserializeOwned>(wire: &Wire, seen: &Node, by: &str) -> Result<T, ApiError> {
    let mut patch = cordon(by);
    patch["metadata"]["uid"] = json!(seen.uid);
    patch["metadata"]["resourceVersion"] = json!(seen.resource_version);
    wire.merge(&path(&seen.name), &patch).await
}

/// Schedulable again, if the cordon is ours; our mark goes in any case. Of a node that a person has skipped both stay: a
/// cordon beside ours leaves no trace, and the annotation is how a person asks for one.
pub(super) fn uncordoned(node: &Value, by: &str) -> Change {
    let without_mark = || json!({ "metadata": { "annotations": { CORDONED_BY: null } } });
    if mark(node) != Some(by) || !node["metadata"]["annotations"][SKIP_REMEDIATION].is_null() {
        return Change::NotOurs;
    }
    if !is_cordoned(node) {
        // A person was faster, and left our mark.
        return Change::Patch(without_mark());
    }
    if !has_our_cordon(node, by) {
        // It names the wrong one: a record would ask for this cordon again and again, and the next one too.
        return Change::Disown(without_mark());
    }
    let mut patch = without_mark();
    patch["spec"] = json!({ "unschedulable": null });
    Change::Patch(patch)
}

fn is_cordoned(node: &Value) -> bool {
    node["spec"]["unschedulable"] == true
}

fn mark(node: &Value) -> Option<&str> {
    node["metadata"]["annotations"][CORDONED_BY].as_str()
}

/// Our mark is there, and no client has uncordoned and cordoned it since: the server stores who wrote `unschedulable`
/// last, once anything of the Node was ever applied (as our agents apply conditions). Where it stores nothing the mark
/// decides.
fn has_our_cordon(node: &Value, by: &str) -> bool {
    let managed = node["metadata"]["managedFields"].as_array();
    let mut writers = managed.into_iter().flatten().filter(|entry| {
        entry["fieldsV1"]["f:spec"].as_object().is_some_and(|fields| fields.contains_key("f:unschedulable"))
    });
    let first = writers.next();
    let ours =
        first.is_none_or(|first| std::iter::once(first).chain(writers).any(|entry| entry["manager"] == FIELD_MANAGER));
    mark(node) == Some(by) && ours
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::facts::Effect;

    use super::*;

    fn taint(key: &str, value: &str) -> Taint {
        Taint { key: key.into(), value: value.into(), effect: Effect::NoSchedule }
    }

    fn node() -> Value {
        json!({ "metadata": {}, "spec": { "taints": [
            { "key": "other", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" },
            { "key": "ours", "value": "old", "effect": "NoSchedule" },
            { "key": "ours", "effect": "NoExecute" },
        ] } })
    }

    #[test]
    fn a_taint_leaves_others_whole() {
        let Change::Patch(patch) = tainted(&node(), &taint("more", "new")) else { panic!("no patch") };
        let taints = patch["spec"]["taints"].as_array().unwrap();
        assert_eq!(taints.len(), 4);
        assert_eq!(taints[0]["timeAdded"], "2026-01-01T00:00:00Z");
        assert_eq!(taints[3]["value"], "new");
        let Change::Patch(patch) = untainted(&node(), &taint("ours", "old")) else { panic!("no patch") };
        assert_eq!(patch["spec"]["taints"], json!([node()["spec"]["taints"][0], node()["spec"]["taints"][2]]));
    }

    #[test]
    fn a_taint_of_another_value_is_another_clients() {
        let none = |key: &str, value: &str| Taint { effect: Effect::NoExecute, ..taint(key, value) };
        for (taint, set, taken) in [
            (taint("ours", "old"), "nothing", "patch"),
            (taint("ours", "new"), "not ours", "not ours"),
            (taint("ours", ""), "not ours", "not ours"),
            (none("ours", ""), "nothing", "patch"),
            (none("other", "nodewell"), "not ours", "not ours"),
            (taint("other", ""), "patch", "nothing"),
        ] {
            let name = |change| match change {
                Change::Nothing => "nothing",
                Change::NotOurs => "not ours",
                Change::Patch(_) => "patch",
                Change::Disown(_) => "disown",
            };
            assert_eq!((name(tainted(&node(), &taint)), name(untainted(&node(), &taint))), (set, taken), "{taint:?}");
        }
    }

    #[test]
    fn a_release_is_marked_once_and_leaves_other_marks_whole() {
        let out = Taint { effect: Effect::NoExecute, ..taint("node.kubernetes.io/out-of-service", "nodewell.dev") };
        let out = ReleaseMark::OutOfService(out);
        let Change::Patch(patch) = marked(&node(), &out) else { panic!("no patch") };
        assert_eq!(patch["spec"]["taints"].as_array().map(Vec::len), Some(4));
        let tainted = json!({ "metadata": {}, "spec": patch["spec"] });
        assert_eq!(marked(&tainted, &out), Change::Nothing);
        let boot = ReleaseMark::StorageOf("boot-1".into());
        let Change::Patch(patch) = marked(&node(), &boot) else { panic!("no patch") };
        assert!(patch.get("spec").is_none(), "its taints stay: {patch}");
        let annotated = json!({ "metadata": patch["metadata"], "spec": {} });
        assert_eq!(marked(&annotated, &boot), Change::Nothing);
        assert!(matches!(marked(&annotated, &ReleaseMark::StorageOf("boot-2".into())), Change::Patch(_)));
        assert!(matches!(unmarked(&annotated), Change::Patch(_)));
        assert_eq!(unmarked(&node()), Change::Nothing);
    }

    fn cordoned_node(by: Option<&str>, writer: &str) -> Value {
        json!({
            "metadata": { "annotations": by.map(|by| json!({ CORDONED_BY: by })), "managedFields": [
                { "manager": writer, "fieldsV1": { "f:spec": { "f:unschedulable": {} } } },
                { "manager": "kubelet", "fieldsV1": { "f:status": {} } },
            ] },
            "spec": { "unschedulable": true },
        })
    }

    #[test]
    fn only_a_cordon_of_ours_is_removed() {
        let ours = cordoned_node(Some("p"), FIELD_MANAGER);
        assert_eq!(cordoned(&ours, "p"), Change::Nothing);
        assert!(matches!(uncordoned(&ours, "p"), Change::Patch(patch) if patch["spec"]["unschedulable"].is_null()));
        for theirs in [cordoned_node(None, "kubectl-cordon"), cordoned_node(Some("q"), FIELD_MANAGER)] {
            assert_eq!(cordoned(&theirs, "p"), Change::NotOurs, "{theirs}");
            assert_eq!(uncordoned(&theirs, "p"), Change::NotOurs, "{theirs}");
        }
    }

    /// Uncordoned and cordoned again by a person, who knows nothing of the mark.
    #[test]
    fn a_cordon_that_a_person_repeated_stays_and_loses_our_mark() {
        let theirs = cordoned_node(Some("p"), "kubectl-cordon");
        assert_eq!(cordoned(&theirs, "p"), Change::NotOurs);
        let without_mark = json!({ "metadata": { "annotations": { CORDONED_BY: null } } });
        assert_eq!(uncordoned(&theirs, "p"), Change::Disown(without_mark));
    }

    /// The annotation may come between the decision and the act.
    #[test]
    fn a_node_that_a_person_skips_stays_cordoned_with_our_mark() {
        let mut skipped = cordoned_node(Some("p"), FIELD_MANAGER);
        skipped["metadata"]["annotations"][SKIP_REMEDIATION] = json!("rack 4 is rewired");
        assert_eq!(uncordoned(&skipped, "p"), Change::NotOurs);
        skipped["metadata"]["annotations"].as_object_mut().unwrap().remove(SKIP_REMEDIATION);
        assert!(matches!(uncordoned(&skipped, "p"), Change::Patch(patch) if patch["spec"]["unschedulable"].is_null()));
    }

    #[test]
    fn a_mark_without_a_cordon_goes() {
        let left = json!({ "metadata": { "annotations": { CORDONED_BY: "p" } }, "spec": {} });
        assert!(matches!(uncordoned(&left, "p"), Change::Patch(patch) if patch.get("spec").is_none()));
    }
}
