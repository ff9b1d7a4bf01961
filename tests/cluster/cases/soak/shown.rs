//! What a Node, its record and a BMC's log show.

use std::collections::BTreeSet;

use nodewell_cluster::soak::{
    act::Act::{self, Condition, Cordon, OutOfService, PowerOff, PowerOn, Record, Taint},
    watch::shown,
    well::{conditions, differs},
};
use nodewell_tests::suite::Suite;
use serde_json::{Value, json};

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("acts_on_a_node_are_read_from_it", acts_on_a_node_are_read_from_it)
        .case("to_ask_a_bmc_is_no_act", to_ask_a_bmc_is_no_act)
        .case("a_record_is_its_nodes_until_it_has_ended", a_record_is_its_nodes_until_it_has_ended)
        .case("a_node_is_as_before_or_what_differs_is_named", a_node_is_as_before_or_what_differs_is_named);
}

fn condition(name: &str, status: &str) -> Value {
    json!({ "type": name, "status": status })
}

/// One that is well.
fn node() -> Value {
    let conditions = [
        condition("Ready", "True"),
        condition("MemoryPressure", "False"),
        condition("FenceReady", "True"),
        condition("DiskUnhealthy", "False"),
        condition("NetworkUnhealthy", "Unknown"),
    ];
    json!({ "metadata": { "name": "w1" }, "spec": {}, "status": { "conditions": conditions } })
}

type Change = fn(&mut Value);

fn changed(change: Change) -> Value {
    let mut node = node();
    change(&mut node);
    node
}

fn acts_on_a_node_are_read_from_it() {
    let named = |name: &str| Condition(name.to_owned());
    let taint: Change = |node| {
        node["spec"]["taints"] = json!([
            { "key": "node.kubernetes.io/not-ready" }, { "key": "node.kubernetes.io/out-of-service" },
            { "key": "nodewell.dev/remediation" },
        ]);
    };
    let cases: [(&str, Change, Vec<Act>); 7] = [
        ("well", |_| (), vec![]),
        ("cordoned", |node| node["spec"]["unschedulable"] = true.into(), vec![Cordon]),
        ("tainted", taint, vec![OutOfService, Taint("nodewell.dev/remediation".to_owned())]),
        (
            "ours",
            |node| node["status"]["conditions"][3] = condition("DiskUnhealthy", "True"),
            vec![named("DiskUnhealthy")],
        ),
        ("not known", |node| node["status"]["conditions"][3] = condition("DiskUnhealthy", "Unknown"), vec![]),
        ("the kubelet's", |node| node["status"]["conditions"][1] = condition("MemoryPressure", "True"), vec![]),
        (
            "other way round",
            |node| node["status"]["conditions"][2] = condition("FenceReady", "False"),
            vec![named("FenceReady")],
        ),
    ];
    for (case, change, expected) in cases {
        assert_eq!(Act::shown(&changed(change)), BTreeSet::from_iter(expected), "{case}");
    }
}

fn to_ask_a_bmc_is_no_act() {
    assert_eq!(Act::ordered("set power 0"), Some(PowerOff));
    assert_eq!(Act::ordered("set power 1"), Some(PowerOn));
    assert_eq!(Act::ordered("get power"), None);
}

fn a_record_is_its_nodes_until_it_has_ended() {
    let records = |name: &str| json!({ "items": [{ "metadata": { "name": name } }] });
    let nodes = json!({ "items": [node()] });
    let acts = |name: &str| shown(&nodes, &records(name), &json!({}))["w1"].acts.clone();
    assert_eq!(acts("w1"), BTreeSet::from([Record]));
    assert_eq!(acts("w1-ended-0a1b2c3d"), BTreeSet::new());
    assert_eq!(acts("w2"), BTreeSet::new());
    assert_eq!(shown(&nodes, &records("w2"), &json!({}))["w1"].ready, "True");
}

fn a_node_is_as_before_or_what_differs_is_named() {
    let before = conditions(&node());
    assert_eq!(before.keys().collect::<Vec<_>>(), ["DiskUnhealthy", "FenceReady", "NetworkUnhealthy"]);
    let cases: [(&str, Change); 8] = [
        ("cordoned", |node| node["spec"]["unschedulable"] = true.into()),
        ("taints", |node| node["spec"]["taints"] = json!([{ "key": "node.kubernetes.io/not-ready" }])),
        ("not Ready", |node| node["status"]["conditions"][0] = condition("Ready", "Unknown")),
        ("DiskUnhealthy is True", |node| node["status"]["conditions"][3] = condition("DiskUnhealthy", "True")),
        ("DiskUnhealthy is Unknown", |node| node["status"]["conditions"][3] = condition("DiskUnhealthy", "Unknown")),
        ("NetworkUnhealthy is True", |node| node["status"]["conditions"][4] = condition("NetworkUnhealthy", "True")),
        ("FenceReady is False", |node| node["status"]["conditions"][2] = condition("FenceReady", "False")),
        ("FenceReady is not there", |node| node["status"]["conditions"][2] = condition("TasksUnhealthy", "False")),
    ];
    for (expected, change) in cases {
        let why = differs(&changed(change), None, &before);
        assert!(why.as_ref().is_some_and(|why| why.contains(expected)), "{expected}: {why:?}");
    }
    let well: [Change; 3] = [
        |_| (),
        // It has looked by now, and another check has begun.
        |node| node["status"]["conditions"][4] = condition("NetworkUnhealthy", "False"),
        |node| node["status"]["conditions"][1] = condition("FilesystemFull", "True"),
    ];
    for change in well {
        assert_eq!(differs(&changed(change), None, &before), None);
    }
    let recorded = differs(&node(), Some("\"AwaitReady\""), &before);
    assert!(recorded.as_ref().is_some_and(|why| why.contains("AwaitReady")), "{recorded:?}");
}
