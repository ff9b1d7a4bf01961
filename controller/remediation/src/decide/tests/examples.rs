//! The policies that are shipped as examples act in a small cluster, where a share of it is less than a node.

use std::path::Path;

use super::*;
use crate::{
    api::policy::RemediationPolicy,
    facts::{LeaseView, Taint},
    guard::never,
};

/// What makes a node ill.
type Change = fn(&mut Node);

/// The policy of this name, enforced.
fn example(name: &str) -> Policy {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/policies");
    let text = std::fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
    let mut policy: RemediationPolicy = serde_saphyr::from_str(&text).unwrap();
    policy.spec.mode = Mode::Enforce;
    Policy::compile(&policy).unwrap()
}

/// Three nodes in one zone, of which `n0` is what the policy of this name is for.
fn three(name: &str, make_ill: Change) -> Snapshot {
    let mut snapshot = Snapshot { epoch: 1, policies: vec![example(name)], ..Snapshot::default() };
    snapshot.host.synced = true;
    for name in ["n0", "n1", "n2"] {
        let mut node = node(name);
        node.labels.insert("nvidia.com/gpu.present".into(), "true".into());
        node.labels.insert("example.com/lifecycle".into(), "spot".into());
        snapshot.nodes.insert(name.into(), node);
        let lease = LeaseView {
            resource_version: String::new(),
            holder: name.into(),
            renewed: None,
            duration: Duration::from_secs(40),
            change_seen_at: at(995),
        };
        snapshot.kubelet_leases.insert(name.into(), lease);
    }
    make_ill(snapshot.nodes.get_mut("n0").unwrap());
    snapshot
}

fn report(node: &mut Node, condition: &str) {
    set_condition(node, condition, ConditionStatus::True, "Fault", at(900));
    node.conditions.iter_mut().filter(|one| one.kind == condition).for_each(|one| one.is_own_report = true);
    node.resource_version.push('x');
}

fn leaves(node: &mut Node) {
    let key = "aws-node-termination-handler/scheduled-maintenance".to_owned();
    node.taints.push(Taint { key, value: String::new(), effect: crate::facts::Effect::NoSchedule });
    node.resource_version.push('x');
}

#[test]
fn every_example_acts_in_a_cluster_of_three_nodes() {
    let cases: [(&str, Change); 4] = [
        ("cordon-gpu-faults", |node| report(node, "GpuUnhealthy")),
        ("dead-nodes", kill),
        ("drain-and-reboot", |node| report(node, "KernelDeadlock")),
        ("reap", leaves),
    ];
    for (name, make_ill) in cases {
        let mut snapshot = three(name, make_ill);
        assert_eq!(never::in_cluster(&snapshot), [].into(), "{name}");
        let first = run(&snapshot, Memory::default(), 1000);
        snapshot.kubelet_leases.values_mut().for_each(|lease| lease.change_seen_at = at(1999));
        let second = run(&snapshot, first.memory.clone(), 2000);
        let opened: Vec<&str> = [opened(&first), opened(&second)].concat();
        assert!(opened.contains(&"n0"), "{name}: {:?} {:?}", reasons(&first, "n0"), reasons(&second, "n0"));
        // And every later step has room, too.
        let mut snapshot = snapshot.clone();
        store(&mut snapshot, if opened.is_empty() { &second } else { &first }, 1000);
        store(&mut snapshot, &second, 1000);
        for step in 0..snapshot.policies[0].steps.len() {
            snapshot.fences.get_mut("n0").unwrap().status.policy_step = step;
            let decision = run(&snapshot, second.memory.clone(), 2001);
            let budgets = reasons(&decision, "n0").into_iter();
            let budgets: Vec<_> = budgets.filter(|reason| reason.starts_with("Budget") || *reason == "Storm").collect();
            assert_eq!(budgets, [""; 0], "{name}, step {step}");
        }
    }
}
