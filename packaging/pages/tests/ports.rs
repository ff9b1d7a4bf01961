//! The ports of the defaults. On a control-plane host that is a node, the agent and the controller listen beside each
//! other, beside Kubernetes' own programs, and beside Node Problem Detector until it is gone: where two ports are the
//! same, the program that starts second has none.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, net::SocketAddr, ops::RangeInclusive};

use serde_json::Value;

/// By their flags and by Kubernetes' page "Ports and Protocols".
const OTHERS: [(RangeInclusive<u16>, &str); 13] = [
    (2379..=2381, "etcd"),
    (6443..=6443, "kube-apiserver"),
    (8132..=8134, "konnectivity"),
    (10248..=10248, "the kubelet's healthz"),
    (10249..=10249, "kube-proxy's metrics"),
    (10250..=10250, "the kubelet"),
    (10255..=10255, "the kubelet's read-only port"),
    (10256..=10256, "kube-proxy's healthz"),
    (10257..=10257, "kube-controller-manager"),
    (10258..=10258, "cloud-controller-manager"),
    (10259..=10260, "kube-scheduler, and cloud-controller-manager's webhook"),
    (20256..=20257, "Node Problem Detector"),
    (30000..=60999, "NodePorts, and what Linux gives to clients"),
];
/// What is known to listen, so that a schema which is read wrongly does not pass as one without ports.
const KNOWN: [&str; 3] =
    ["nodewell metrics-address", "nodewell-controller metrics-listen", "nodewell-controller webhook listen"];

/// Each default of a schema that is an address and port, by its program, table and key. A test of their own holds the
/// schemas to the programs.
fn ports() -> Vec<(String, u16)> {
    let mut found = Vec::new();
    for (program, text) in [
        ("nodewell", include_str!("../../schema/nodewell.schema.json")),
        ("nodewell-controller", include_str!("../../schema/nodewell-controller.schema.json")),
    ] {
        collect(program, &serde_json::from_str(text).unwrap(), &mut found);
    }
    found
}

fn collect(name: &str, schema: &Value, found: &mut Vec<(String, u16)>) {
    match schema {
        Value::Object(members) => {
            let address = members.get("default").and_then(Value::as_str).map(str::parse::<SocketAddr>);
            if let Some(Ok(address)) = address {
                found.push((name.to_owned(), address.port()));
            }
            for (key, of) in members {
                let is_member = !["properties", "anyOf", "items"].contains(&key.as_str());
                let name = if is_member { format!("{name} {key}") } else { name.to_owned() };
                collect(&name, of, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, found)),
        _ => {}
    }
}

#[test]
fn no_two_defaults_of_the_programs_are_one_port() {
    let ports = ports();
    for known in KNOWN {
        assert!(ports.iter().any(|(name, _)| name == known), "{known} is not in {ports:?}");
    }
    let mut owners = BTreeMap::new();
    for (name, port) in &ports {
        if let Some(other) = owners.insert(port, name) {
            panic!("{name} and {other} are both at port {port}: the one that starts second has none");
        }
    }
}

#[test]
fn no_default_is_a_port_of_kubernetes_or_of_node_problem_detector() {
    for (name, port) in ports() {
        for (taken, owner) in OTHERS {
            assert!(!taken.contains(&port), "{name} is at port {port}, which is {owner}'s");
        }
    }
}
