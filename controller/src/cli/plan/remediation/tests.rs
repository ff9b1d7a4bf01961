//! When the controller would be done with a node, beside the cluster.

use nodewell_remediation::{
    api::{
        Meta,
        fence::{NodeFence, NodeFenceSpec, NodeFenceStatus},
        policy::RemediationPolicy,
    },
    snapshot::{HostView, Quorum},
};
use serde_json::{Value, json};

use super::*;
use crate::kube::convert;

fn now() -> Now {
    Now { moment: Moment(Duration::from_secs(100_000)), wall: "2026-01-02T00:00:00Z".parse().unwrap() }
}

fn node(name: &str) -> Node {
    let raw = json!({
        "metadata": { "name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady" }] },
    });
    convert::node(serde_json::from_value(raw).unwrap(), Moment(Duration::from_secs(50_000))).unwrap()
}

/// Ten nodes that are well, and one policy.
fn snapshot(when: &str, change: impl FnOnce(&mut Value)) -> Snapshot {
    let mut spec =
        json!({ "when": when, "mode": "Enforce", "for": "0s", "steps": [{ "cordon": {} }, { "powerCycle": {} }] });
    change(&mut spec);
    let policy = json!({ "metadata": { "name": "lost" }, "spec": spec });
    let policy: RemediationPolicy = serde_json::from_value(policy).unwrap();
    let mut snapshot = Snapshot {
        policies: vec![Policy::compile(&policy).unwrap()],
        host: HostView { synced: true, ..HostView::default() },
        etcd: Quorum::Members { healthy: 3, total: 3 },
        epoch: 1,
        ..Snapshot::default()
    };
    for number in 1..=10 {
        let name = format!("n{number}");
        let lease = LeaseView {
            resource_version: String::new(),
            holder: name.clone(),
            renewed: None,
            duration: Duration::from_secs(40),
            change_seen_at: now().moment,
        };
        snapshot.kubelet_leases.insert(name.clone(), lease);
        snapshot.nodes.insert(name.clone(), node(&name));
    }
    snapshot
}

fn fenced() -> Result<FencePlan, Blocker> {
    let level = FenceLevel { longest: Duration::from_secs(20), identity: Some(Ok(())), ..FenceLevel::default() };
    Ok(FencePlan { levels: vec![level], ..FencePlan::default() })
}

const LOST: &str = "conditions.Ready.status != 'True'";
const SILENT: &str = "conditions.Ready.status != 'True' || lease.age > duration('12s')";

#[test]
fn a_node_that_is_well_would_be_fenced_if_it_failed() {
    let remediation = remediation(&snapshot(LOST, |_| {}), "n1", &fenced(), now()).unwrap();
    assert_eq!((remediation.policy.as_str(), remediation.off), ("lost", Some(Duration::from_secs(20))));
    assert_eq!((remediation.silent_for, remediation.evidence), (None, None), "Ready has to be Unknown first");
    assert_eq!(remediation.blockers, Vec::<String>::new());
}

#[test]
fn a_policy_that_hears_the_silence_acts_by_it() {
    let fast = |spec: &mut Value| spec["fast"] = json!({ "silentFor": "15s", "unreachableFrom": 2 });
    let early = remediation(&snapshot(SILENT, fast), "n1", &fenced(), now()).unwrap();
    assert_eq!(early.silent_for, Some(Duration::from_secs(15)));
    assert!(early.evidence.unwrap().contains("2 hosts"));
    let late = remediation(&snapshot(LOST, fast), "n1", &fenced(), now()).unwrap();
    assert_eq!(late.silent_for, None, "its predicate waits for the cluster");
}

#[test]
fn what_blocks_it_now_is_named() {
    let blocked = |snapshot: &Snapshot, plan: Result<FencePlan, Blocker>| {
        remediation(snapshot, "n1", &plan, now()).unwrap().blockers
    };
    let observe = |spec: &mut Value| spec["mode"] = json!("Observe");
    assert_eq!(blocked(&snapshot(LOST, observe), fenced()), ["Observe"]);
    let dry = Snapshot { dry_run: true, ..snapshot(LOST, |_| {}) };
    assert_eq!(blocked(&dry, fenced()), ["DryRun"]);
    for reason in ["NoMethods", "FenceNotReady"] {
        let unset = Err(Blocker::new(reason, "fence-config-n1: it has no option lanpluss"));
        assert_eq!(blocked(&snapshot(LOST, |_| {}), unset), [reason]);
    }
    let mut unproven = fenced().unwrap();
    unproven.levels[0].identity = Some(Err("another's".into()));
    assert_eq!(blocked(&snapshot(LOST, |_| {}), Ok(unproven)), ["IdentityUnproven"]);
    let cordons = |spec: &mut Value| spec["steps"] = json!([{ "cordon": {} }]);
    let only = remediation(&snapshot(LOST, cordons), "n1", &fenced(), now()).unwrap();
    assert_eq!((only.off, only.blockers), (None, vec!["its policy has no powerCycle".to_owned()]));
}

/// As the controller has it of a node that is dead: who only cordons it steps aside.
#[test]
fn of_a_dead_node_the_policy_that_cuts_its_power_decides() {
    let beside = |mode: &str, name: &str| {
        let only_cordons = snapshot(LOST, |spec| {
            spec["mode"] = json!(mode);
            spec["steps"] = json!([{ "cordon": {} }]);
        });
        let mut both = snapshot(LOST, |_| {});
        both.policies.push(Policy { name: name.into(), ..only_cordons.policies[0].clone() });
        both.policies.sort_by(|a, b| a.name.cmp(&b.name));
        both
    };
    for (mode, name, decides) in [
        ("Enforce", "a-cordons", "lost"),
        ("Observe", "a-cordons", "a-cordons"),
        ("Paused", "a-cordons", "a-cordons"),
        ("Observe", "z-cordons", "lost"),
    ] {
        let found = remediation(&beside(mode, name), "n1", &fenced(), now()).unwrap();
        let is_fenced = decides == "lost";
        assert_eq!((found.policy.as_str(), found.off.is_some()), (decides, is_fenced), "{mode} {name}");
        assert_eq!(found.blockers.is_empty(), is_fenced, "{mode} {name}: {:?}", found.blockers);
    }
}

/// `SILENT`, and the policy acts by that.
fn by_silence() -> Snapshot {
    snapshot(SILENT, |spec| spec["fast"] = json!({ "silentFor": "15s", "unreachableFrom": 2 }))
}

/// By the silence alone it is not dead yet: until then none steps aside, whatever its steps are.
#[test]
fn a_policy_acts_by_the_silence_if_it_is_the_first_by_name_that_is_true_by_it() {
    let beside = |when: &str, name: &str| {
        let only_cordons = snapshot(when, |spec| spec["steps"] = json!([{ "cordon": {} }]));
        let mut both = by_silence();
        both.policies.push(Policy { name: name.into(), ..only_cordons.policies[0].clone() });
        both.policies.sort_by(|a, b| a.name.cmp(&b.name));
        both
    };
    let early = Some(Duration::from_secs(15));
    for (when, name, silent_for) in
        [(SILENT, "a-cordons", None), (SILENT, "z-cordons", early), (LOST, "a-cordons", early)]
    {
        let found = remediation(&beside(when, name), "n1", &fenced(), now()).unwrap();
        assert_eq!(found.policy, "lost", "{name}: it decides once the node is dead");
        assert_eq!((found.silent_for, found.evidence.is_some()), (silent_for, silent_for.is_some()), "{when} {name}");
    }
}

/// A record gives way no sooner than its node is dead; that of another node is in no way.
#[test]
fn a_policy_does_not_act_by_the_silence_while_another_has_the_nodes_record() {
    let early = Some(Duration::from_secs(15));
    for (node, policy, silent_for) in [("n1", "lost", early), ("n1", "a-cordons", None), ("n2", "a-cordons", early)] {
        let mut snapshot = by_silence();
        let record = NodeFence {
            metadata: Meta { name: node.into(), uid: "f".into(), ..Meta::default() },
            spec: NodeFenceSpec {
                node_name: node.into(),
                node_uid: node.into(),
                policy: policy.into(),
                ..NodeFenceSpec::default()
            },
            status: NodeFenceStatus::default(),
        };
        snapshot.fences.insert(node.into(), record);
        let found = remediation(&snapshot, "n1", &fenced(), now()).unwrap();
        assert_eq!((found.policy.as_str(), found.silent_for), ("lost", silent_for), "{policy} of {node}");
    }
}

/// Ages are whole seconds: by a limit of just that long it is true one second later.
#[test]
fn a_policy_acts_by_the_silence_that_its_predicate_waits_for_too() {
    for (limit, silent_for) in [(15, Some(Duration::from_secs(15))), (16, None)] {
        let when = format!("conditions.Ready.status != 'True' || lease.age > duration('{limit}s')");
        let fast = |spec: &mut Value| spec["fast"] = json!({ "silentFor": "15s", "unreachableFrom": 2 });
        let found = remediation(&snapshot(&when, fast), "n1", &fenced(), now()).unwrap();
        assert_eq!(found.silent_for, silent_for, "{limit} s");
    }
}

#[test]
fn steps_before_the_power_cycle_take_their_time() {
    let drains = |spec: &mut Value| {
        spec["for"] = json!("1m");
        spec["steps"] =
            json!([{ "cordon": {} }, { "drain": { "timeout": "5m" }, "thenWait": "30s" }, { "powerCycle": {} }]);
    };
    let remediation = remediation(&snapshot(LOST, drains), "n1", &fenced(), now()).unwrap();
    assert_eq!(remediation.held_for, Duration::from_secs(60 + 300 + 30));
}

#[test]
fn no_policy_no_remediation() {
    assert_eq!(remediation(&snapshot("false", |_| {}), "n1", &fenced(), now()), None);
    let elsewhere = |spec: &mut Value| spec["selector"] = json!({ "matchLabels": { "pool": "b" } });
    assert_eq!(remediation(&snapshot(LOST, elsewhere), "n1", &fenced(), now()), None);
    assert_eq!(remediation(&snapshot(LOST, |_| {}), "absent", &fenced(), now()), None);
}
