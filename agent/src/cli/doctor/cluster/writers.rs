//! Other clients that write conditions of our types to the Node, by its `managedFields`.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::Name;
use serde_json::Value;

use crate::{
    cli::doctor::check::Check,
    exporters::apiserver::{CONTROLLER_MANAGER, FIELD_MANAGER},
};

const NAME: &str = "writers";
const ADVICE: &str = "two writers of one condition: stop the other one (such as Node Problem Detector's DaemonSet or unit). Until \
     it has been silent for `take-over` in [apiserver], its values stand";

/// Looks whether `node` has a second writer of any of `conditions`.
pub(super) fn examine(node: &Value, conditions: &BTreeSet<Name>) -> Check {
    let found = others(node, conditions);
    if found.is_empty() {
        return Check::ok(NAME, "no other client writes conditions of nodewell's types");
    }
    let one = |(writer, types): (&str, BTreeSet<&str>)| {
        format!("{writer:?} writes {}", types.into_iter().collect::<Vec<_>>().join(", "))
    };
    Check::warn(NAME, found.into_iter().map(one).collect::<Vec<_>>().join("; "), ADVICE)
}

/// The types that each other field manager owns something of, beside the key.
fn others<'a>(node: &'a Value, conditions: &BTreeSet<Name>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut others: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in node["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let Some(writer) = entry["manager"].as_str().filter(|name| ![FIELD_MANAGER, CONTROLLER_MANAGER].contains(name))
        else {
            continue;
        };
        for (key, fields) in entry["fieldsV1"]["f:status"]["f:conditions"].as_object().into_iter().flatten() {
            let owns = fields.as_object().is_some_and(|fields| fields.contains_key("f:status"));
            if let Some(condition) = condition_of(key).filter(|name| owns && conditions.contains(*name)) {
                others.entry(writer).or_default().insert(condition);
            }
        }
    }
    others
}

/// The type in a key such as `k:{"type":"KernelDeadlock"}`.
fn condition_of(key: &str) -> Option<&str> {
    key.strip_prefix("k:{\"type\":\"")?.strip_suffix("\"}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::doctor::check::CheckVerdict;

    fn entry(manager: &str, conditions: &[&str], field: &str) -> Value {
        let owned = |name: &&str| (format!("k:{{\"type\":\"{name}\"}}"), json!({".": {}, field: {}}));
        let conditions: serde_json::Map<String, Value> = conditions.iter().map(owned).collect();
        json!({"manager": manager, "fieldsV1": {"f:status": {"f:conditions": conditions}}})
    }

    fn found(entries: Value) -> Check {
        let ours = ["KernelDeadlock", "ReadonlyFilesystem"].map(Name::fixed).into();
        examine(&json!({"metadata": {"managedFields": entries}}), &ours)
    }

    #[test]
    fn a_second_writer_is_named_with_what_it_writes() {
        let check = found(json!([
            entry("kubelet", &["Ready"], "f:status"),
            entry("nodewell", &["KernelDeadlock"], "f:status"),
            entry("nodewell-controller", &["KernelDeadlock"], "f:status"),
            entry("node-problem-detector", &["KernelDeadlock", "ReadonlyFilesystem", "NTPProblem"], "f:status"),
        ]));
        assert_eq!(check.verdict, CheckVerdict::Warn);
        assert_eq!(check.detail, "\"node-problem-detector\" writes KernelDeadlock, ReadonlyFilesystem");
    }

    #[test]
    fn of_the_key_alone_nothing_is_written() {
        let check = found(json!([entry("another", &["KernelDeadlock"], "f:type"), {"manager": 7}, "?"]));
        assert_eq!(check.verdict, CheckVerdict::Ok);
    }
}
