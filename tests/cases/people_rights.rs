//! The roles for people, bound to no user as they ship: what each may do on the real server, what it may not, and that
//! the record names the user who asked.

use std::{path::Path, time::Duration};

use nodewell_tests::{
    cluster::{Call, Client, Cluster, Identity},
    controller::{Controller, apply_manifests, apply_policy, fence},
    stand_in::{AlwaysOn, Make, StandIn},
    suite::Suite,
    wait::until,
};
use serde_json::{Value, json};

use crate::identity_rights::{allowed, refused};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("people_rights")
        .real_alone("each_role_does_what_its_name_promises", each_role_does_what_its_name_promises)
        .real_alone("who_aborted_and_why_is_in_the_log", who_aborted_and_why_is_in_the_log);
}

const OPERATOR: Identity = Identity::Person("operator");
const FENCER: Identity = Identity::Person("fencer");
const AUTHOR: Identity = Identity::Person("policy-author");
const STRANGER: Identity = Identity::Stranger;
const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const POLICIES: &str = "/apis/nodewell.dev/v1alpha1/remediationpolicies";
const MAPS: &str = "/api/v1/namespaces/nodewell/configmaps";
const FORBIDDEN: &str = "cannot";
const PATIENCE: Duration = Duration::from_secs(60);

/// The roles, each bound to the group of its name.
fn bind(cluster: &Cluster) {
    apply_manifests(cluster);
    let real = cluster.as_real();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac/people/nodewell-people.yaml");
    let kubectl = |words: &[&str]| {
        let outcome = real.kubectl(words);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    };
    kubectl(&["apply", "--filename", &path.to_string_lossy()]);
    for name in ["operator", "fencer", "policy-author"] {
        let (role, group) = (format!("--clusterrole=nodewell:{name}"), format!("--group={name}"));
        kubectl(&["create", "clusterrolebinding", name, &role, &group]);
    }
    for name in ["operator", "fencer"] {
        let (role, group) = (format!("--role=nodewell:{name}"), format!("--group={name}"));
        kubectl(&["create", "rolebinding", name, "--namespace=nodewell", &role, &group]);
    }
    until("the bindings are in force", || {
        let reads = |who: &Identity| cluster.client(who).call(&Call::get(FENCES)).0 == 200;
        let holds = |who: &Identity| cluster.client(who).call(&Call::get(&hold_path())).0 == 404;
        ([OPERATOR, FENCER, AUTHOR].iter().all(reads) && [OPERATOR, FENCER].iter().all(holds)).then_some(())
    });
    let retried = merge("probe", &json!({ "metadata": { "annotations": retry() } }), "&dryRun=All");
    open(cluster, "probe");
    let released = merge("probe", &json!({ "metadata": { "annotations": release() } }), "&dryRun=All");
    for (what, call) in [("the policy for tries is in force", &retried), ("that for releases is", &released)] {
        until(what, || (cluster.client(&OPERATOR).call(call).0 == 422).then_some(()));
    }
}

fn hold_path() -> String {
    format!("{MAPS}/nodewell-pause")
}

fn retry() -> Value {
    json!({ "nodewell.dev/retry": "2026-11-22T10:00:00Z" })
}

fn release() -> Value {
    json!({ "nodewell.dev/release": "2026-11-22T10:00:00Z" })
}

fn merge(name: &str, change: &Value, more: &str) -> Call {
    Call::merge(&format!("{FENCES}/{name}?fieldManager=person{more}"), change)
}

fn open(cluster: &Cluster, name: &str) {
    let record = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFence", "metadata": { "name": name },
        "spec": { "nodeName": name, "nodeUID": "u", "policy": "p", "steps": [{ "cordon": {} }] } });
    assert_eq!(cluster.admin(&Call::post(FENCES, &record)).0, 201);
}

fn policy(name: &str) -> Value {
    json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy", "metadata": { "name": name },
        "spec": { "when": "false", "steps": [{ "cordon": {} }] } })
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "reason": "r" } })
}

fn apply(name: &str) -> Call {
    Call::apply(&format!("{MAPS}/{name}?fieldManager=person"), &map(name))
}

fn each_role_does_what_its_name_promises(cluster: &Cluster) {
    bind(cluster);
    ["stopped", "retried", "ended"].into_iter().for_each(|name| open(cluster, name));
    assert_eq!(cluster.admin(&Call::post(POLICIES, &policy("theirs"))).0, 201);
    let [operator, fencer, author, stranger] = [OPERATOR, FENCER, AUTHOR, STRANGER].map(|who| cluster.client(&who));
    stops(&operator);
    decides(&fencer);
    writes_policies(&author);
    for (who, name) in [(&operator, "operator"), (&fencer, "fencer"), (&author, "author"), (&stranger, "stranger")] {
        takes_no_other_way(who, name);
    }
    refused(&stranger, "reading records", &Call::get(FENCES), FORBIDDEN);
}

fn stops(operator: &Client) {
    let abort = json!({ "spec": { "abort": true } });
    allowed(operator, "aborting", &merge("stopped", &abort, ""));
    allowed(operator, "pausing everything", &apply("nodewell-pause"));
    let again = json!({ "metadata": { "annotations": retry() } });
    refused(operator, "another try", &merge("retried", &again, ""), "takes the verb retry");
    let back = json!({ "metadata": { "annotations": release() } });
    refused(operator, "giving a machine back", &merge("retried", &back, ""), "takes the verb release");
    let both = json!({ "metadata": { "annotations": retry() }, "spec": { "abort": true } });
    refused(operator, "another try beside an abort", &merge("retried", &both, ""), "takes the verb retry");
    let unsaid = json!({ "spec": { "abort": false } });
    refused(operator, "unsaying an abort", &merge("stopped", &unsaid, ""), "cannot be unsaid");
    refused(operator, "other steps", &merge("retried", &json!({ "spec": { "steps": [] } }), ""), "do not change");
    refused(operator, "deleting a record", &Call::delete(&format!("{FENCES}/ended")), FORBIDDEN);
    refused(operator, "going on", &Call::delete(&hold_path()), FORBIDDEN);
    let status = Call::merge(&format!("{FENCES}/retried/status"), &json!({ "status": { "phase": "Closed" } }));
    refused(operator, "what the controller knows", &status, FORBIDDEN);
    policies_are_not_theirs(operator);
}

fn decides(fencer: &Client) {
    let again = json!({ "metadata": { "annotations": retry() } });
    allowed(fencer, "another try", &merge("retried", &again, ""));
    let back = json!({ "metadata": { "annotations": release() } });
    allowed(fencer, "giving a machine back", &merge("retried", &back, ""));
    allowed(fencer, "aborting", &merge("retried", &json!({ "spec": { "abort": true } }), ""));
    allowed(fencer, "deleting a record", &Call::delete(&format!("{FENCES}/ended")));
    allowed(fencer, "going on", &Call::delete(&hold_path()));
    allowed(fencer, "pausing everything", &apply("nodewell-pause"));
    let status = Call::merge(&format!("{FENCES}/retried/status"), &json!({ "status": { "phase": "Closed" } }));
    refused(fencer, "what the controller knows", &status, FORBIDDEN);
    policies_are_not_theirs(fencer);
}

fn policies_are_not_theirs(who: &Client) {
    let theirs = format!("{POLICIES}/theirs");
    allowed(who, "reading policies", &Call::get(&theirs));
    refused(who, "editing a policy", &Call::merge(&theirs, &json!({ "spec": { "when": "true" } })), FORBIDDEN);
    refused(who, "making a policy", &Call::post(POLICIES, &policy("mine")), FORBIDDEN);
    refused(who, "deleting a policy", &Call::delete(&theirs), FORBIDDEN);
}

fn writes_policies(author: &Client) {
    let mine = format!("{POLICIES}/mine");
    allowed(author, "making a policy", &Call::post(POLICIES, &policy("mine")));
    allowed(author, "editing it", &Call::merge(&mine, &json!({ "spec": { "when": "true" } })));
    allowed(author, "deleting it", &Call::delete(&mine));
    allowed(author, "reading records", &Call::get(&format!("{FENCES}/stopped")));
    refused(author, "aborting", &merge("stopped", &json!({ "spec": { "abort": true } }), ""), FORBIDDEN);
    refused(author, "deleting a record", &Call::delete(&format!("{FENCES}/stopped")), FORBIDDEN);
    refused(author, "pausing", &apply("nodewell-pause"), FORBIDDEN);
    refused(author, "going on", &Call::delete(&hold_path()), FORBIDDEN);
}

/// How nodes are fenced, which machine belongs to which node, passwords, and the nodes themselves.
fn takes_no_other_way(who: &Client, name: &str) {
    let secrets = "/api/v1/namespaces/nodewell/secrets";
    let cordon = json!({ "spec": { "unschedulable": true } });
    for call in [
        apply("fence-config-worker-1"),
        Call::post(MAPS, &map("nodewell-pause")),
        Call::get(MAPS),
        Call::get(secrets),
        Call::get(&format!("{secrets}/secret-fence-method-ipmi-worker-1")),
        Call::merge("/api/v1/nodes/worker-1", &cordon),
        Call::post(
            FENCES,
            &json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFence",
            "metadata": { "name": "made" }, "spec": { "nodeName": "made", "nodeUID": "u" } }),
        ),
        Call::get("/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases/nodewell-controller"),
    ] {
        refused(who, name, &call, FORBIDDEN);
    }
}

fn who_aborted_and_why_is_in_the_log(cluster: &Cluster) {
    bind(cluster);
    assert_eq!(cluster.admin(&Call::delete(&format!("{FENCES}/probe"))).0, 200);
    let make = |name| Make { name, address: "127.0.0.1".to_owned(), ..Make::default() };
    let start = |name| StandIn::start(cluster, &make(name), std::sync::Arc::new(AlwaysOn));
    let (sick, _well) = (start("sick"), start("well"));
    let spec = json!({ "when": "conditions.?DiskPressure.?status.orValue('') == 'True'", "mode": "Enforce",
        "nodeStartupGracePeriod": "0s", "for": "0s", "healthyDelay": "1h", "steps": [{ "cordon": {} }],
        "cordonBudget": { "maxUnavailable": 1 }, "storm": { "unhealthy": 1 } });
    apply_policy(cluster, "full-disks", &spec);
    let controller = Controller::start(cluster, "");
    sick.report(cluster, "DiskPressure", "True");
    let phase_of = |record: &Value| record["status"]["phase"].as_str().map(str::to_owned);
    controller.until(PATIENCE, "it is under remediation", || fence(cluster, "sick").as_ref().and_then(phase_of));
    let folder = tempfile::tempdir().unwrap();
    cluster.write_kubeconfig(&OPERATOR, folder.path());
    let outcome = controller.command_of(folder.path(), &["abort", "sick", "its disk is changed"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let why = "eva@operator: its disk is changed";
    let annotations = fence(cluster, "sick").unwrap()["metadata"]["annotations"].clone();
    assert_eq!(annotations["nodewell.dev/asked-by"], why, "{annotations}");
    controller.until(PATIENCE, "the log has who and why", || {
        let log = fence(cluster, "sick")?["status"]["log"].to_string();
        (log.contains("aborted") && log.contains(why)).then_some(())
    });
    let outcome = controller.command_of(folder.path(), &["retry", "sick"]);
    assert!(outcome.code != 0 && outcome.stderr.contains("nodewell:fencer"), "{outcome:?}");
}
