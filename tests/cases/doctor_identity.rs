//! `nodewell doctor` on the real server: it proves that another Node is out of reach, and names credentials that are no
//! good and other writers of the agent's conditions, each in one line with what to do.

use std::path::{Path, PathBuf};

use nodewell_tests::{
    cli::{Outcome, nodewell},
    cluster::{Call, Cluster, Identity},
    real::RealServer,
    suite::Suite,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api_conditions::{plan_on, wait_published},
    identity_rights::node_with_agent,
    node_bound::token,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("doctor_identity")
        .real("another_node_is_proven_out_of_reach", another_node_is_proven_out_of_reach)
        .real("a_kubelets_identity_is_all_right", a_kubelets_identity_is_all_right)
        .real("a_mighty_identity_is_warned_of", a_mighty_identity_is_warned_of)
        .real("a_bound_token_is_named_with_its_node", a_bound_token_is_named_with_its_node)
        .real("an_expired_certificate_is_named", an_expired_certificate_is_named)
        .real("anothers_certificate_is_named", anothers_certificate_is_named)
        .real("a_second_writer_is_named_with_what_it_writes", a_second_writer_is_named_with_what_it_writes)
        .real_alone("another_clusters_credentials_are_named", another_clusters_credentials_are_named)
        .real_alone("missing_policies_are_named", missing_policies_are_named);
}

struct Doctor {
    folder: TempDir,
}

impl Doctor {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn kubeconfig(&self, kubeconfig: &Value) -> PathBuf {
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// All that it prints, of which the agent's absence is no part.
    fn checks(&self, node: &str, kubeconfig: &Value, more: &[&str]) -> Vec<Value> {
        let path = self.kubeconfig(kubeconfig);
        let outcome = self.run(node, &path, more);
        outcome.json().as_array().unwrap().clone()
    }

    fn run(&self, node: &str, kubeconfig: &Path, more: &[&str]) -> Outcome {
        // What /etc has on this machine must not matter.
        let config = self.folder.path().join("nodewell.toml");
        std::fs::write(&config, format!("[identity]\nfolder = {:?}\n", self.folder.path())).unwrap();
        let paths = [&config, kubeconfig].map(|path| path.to_string_lossy().into_owned());
        let mut args = vec!["doctor", "--json", "--socket", "/nonexistent/s", "--node-name", node];
        args.extend(["--config", &paths[0], "--kubeconfig", &paths[1]]);
        args.extend(more);
        nodewell(args)
    }
}

/// Verdict, detail and advice of a check.
fn check<'a>(checks: &'a [Value], name: &str) -> (&'a str, &'a str, &'a str) {
    let check = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {checks:?}"));
    let word = |key: &str| check[key].as_str().unwrap();
    (word("verdict"), word("detail"), word("advice"))
}

/// The check has this verdict, and these words in its detail or advice.
#[track_caller]
fn expect_check(checks: &[Value], name: &str, verdict: &str, words: &str) {
    let (reported, detail, advice) = check(checks, name);
    assert!(
        reported == verdict && (detail.contains(words) || advice.contains(words)),
        "{name}: {reported}, {detail} → {advice}"
    );
}

fn with_user(cluster: &Cluster, user: Value) -> Value {
    let mut kubeconfig = cluster.kubeconfig(&Identity::Admin);
    kubeconfig["users"][0]["user"] = user;
    kubeconfig
}

fn another_node_is_proven_out_of_reach(cluster: &Cluster) {
    let (node, other) = ("doctor-own", "doctor-other");
    node_with_agent(cluster, node);
    node_with_agent(cluster, other);
    let doctor = Doctor::new();
    let kubeconfig = cluster.kubeconfig(&Identity::Agent(node.to_owned()));
    let checks = doctor.checks(node, &kubeconfig, &["--other-node", other]);
    expect_check(&checks, "identity", "ok", "nodewell:node:doctor-own");
    expect_check(&checks, "other Nodes", "ok", "this identity is Node doctor-own only, not doctor-other");
    expect_check(&checks, "other Nodes' Events", "ok", "this identity reports on Node doctor-own only");
    expect_check(&checks, "other Nodes' Leases", "ok", "the Lease doctor-own in namespace nodewell only");
    expect_check(&checks, "the controller's Leases", "ok", "cannot create");
    for right in ["patch nodes/status", "create events", "patch events", "own Lease"] {
        expect_check(&checks, right, "ok", "allowed");
    }
    // Without another's name the policy is tried on the own Node. Nothing of it is stored.
    let checks = doctor.checks(node, &kubeconfig, &[]);
    expect_check(&checks, "other Nodes", "ok", "the policy that keeps to doctor-own is in force");
    let (_, stored) = cluster.admin(&Call::get(&format!("/api/v1/nodes/{node}")));
    assert_eq!(stored["metadata"]["annotations"]["nodewell.dev/doctor"], Value::Null);
}

fn a_kubelets_identity_is_all_right(cluster: &Cluster) {
    let (node, other) = ("doctor-kubelet", "doctor-kubelets-other");
    node_with_agent(cluster, node);
    node_with_agent(cluster, other);
    let kubeconfig = cluster.kubeconfig(&Identity::Node(node.to_owned()));
    let checks = Doctor::new().checks(node, &kubeconfig, &["--other-node", other]);
    expect_check(&checks, "own Node", "ok", node);
    expect_check(&checks, "other Nodes", "ok", "is not allowed to modify node");
    expect_check(&checks, "own Lease", "ok", "an identity of its own may have one");
}

fn a_mighty_identity_is_warned_of(cluster: &Cluster) {
    let node = "doctor-mighty";
    node_with_agent(cluster, node);
    node_with_agent(cluster, "doctor-mightys-other");
    let checks = Doctor::new().checks(node, &cluster.kubeconfig(&Identity::Admin), &[]);
    expect_check(&checks, "other Nodes", "warn", "mightier than the agent needs");
    expect_check(&checks, "other Nodes' Events", "warn", "nodewell-admission.yaml");
    expect_check(&checks, "other Nodes' Leases", "warn", "may write them");
}

fn a_bound_token_is_named_with_its_node(cluster: &Cluster) {
    let (node, other) = ("doctor-token", "doctor-tokens-other");
    node_with_agent(cluster, node);
    node_with_agent(cluster, other);
    let doctor = Doctor::new();
    let bound = with_user(cluster, json!({ "token": token(cluster, Some(node)) }));
    let checks = doctor.checks(node, &bound, &["--other-node", other]);
    expect_check(&checks, "credentials", "ok", "bound to Node doctor-token, until");
    expect_check(
        &checks,
        "identity",
        "ok",
        "system:serviceaccount:nodewell:nodewell-agent, bound to Node doctor-token",
    );
    expect_check(&checks, "other Nodes", "ok", "this identity is Node doctor-token only");
    let elsewhere = doctor.checks(other, &bound, &[]);
    expect_check(&elsewhere, "credentials", "fail", "bound to Node doctor-token, and this is doctor-tokens-other");
}

fn an_expired_certificate_is_named(cluster: &Cluster) {
    let node = "doctor-expired";
    node_with_agent(cluster, node);
    let doctor = Doctor::new();
    let of = |name: &str, days| with_user(cluster, cluster.as_real().certificate(name, "nodewell:nodes", days));
    let checks = doctor.checks(node, &of("nodewell:node:doctor-expired", -30..-1), &[]);
    expect_check(&checks, "credentials", "fail", "over since");
    expect_check(&checks, "credentials", "fail", "nodewell enroll --renew");
    expect_check(&checks, "API server", "fail", "has expired, or is another cluster's");
    let checks = doctor.checks(node, &of("nodewell:node:doctor-expired", 1..30), &[]);
    expect_check(&checks, "credentials", "fail", "is this machine's clock right?");
}

fn anothers_certificate_is_named(cluster: &Cluster) {
    let node = "doctor-swapped";
    node_with_agent(cluster, node);
    let kubeconfig = cluster.kubeconfig(&Identity::Agent("doctor-another".to_owned()));
    let checks = Doctor::new().checks(node, &kubeconfig, &[]);
    expect_check(&checks, "identity", "fail", "that is Node doctor-another's, and this is doctor-swapped");
    let kubelets = cluster.kubeconfig(&Identity::Node("doctor-another".to_owned()));
    let checks = Doctor::new().checks(node, &kubelets, &[]);
    expect_check(&checks, "credentials", "fail", "that is Node doctor-another's");
}

/// By what the server has noted of who wrote what: the agent, the kubelet, and Node Problem Detector beside them.
fn a_second_writer_is_named_with_what_it_writes(cluster: &Cluster) {
    let node = "doctor-writers";
    let _agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelDeadlock", "False");
    cluster.write_as_peer(node, "kubelet", &json!([{ "type": "Ready", "status": "True" }]));
    let (doctor, kubeconfig) = (Doctor::new(), cluster.kubeconfig(&Identity::Node(node.to_owned())));
    let checks = doctor.checks(node, &kubeconfig, &[]);
    expect_check(&checks, "writers", "ok", "no other client writes conditions of nodewell's types");
    // One type of ours, and one that only it has.
    let written = |name: &str| json!({ "type": name, "status": "True", "reason": "DockerHung", "message": "theirs" });
    let theirs = json!([written("KernelDeadlock"), written("OnlyTheirs")]);
    cluster.write_as_peer(node, "node-problem-detector", &theirs);
    let checks = doctor.checks(node, &kubeconfig, &[]);
    let (verdict, detail, advice) = check(&checks, "writers");
    assert_eq!((verdict, detail), ("warn", "\"node-problem-detector\" writes KernelDeadlock"));
    assert!(advice.contains("stop the other one") && advice.contains("`take-over` in [apiserver]"), "{advice}");
}

/// The second cluster is the one that all cases share.
fn another_clusters_credentials_are_named(cluster: &Cluster) {
    let node = "doctor-foreign";
    let shared = RealServer::shared();
    let identity = Identity::Agent(node.to_owned());
    let doctor = Doctor::new();
    // Their authority, our address.
    let mut wrong_authority = cluster.kubeconfig(&identity);
    wrong_authority["clusters"][0]["cluster"]["certificate-authority"] = json!(shared.authority());
    let checks = doctor.checks(node, &wrong_authority, &[]);
    expect_check(&checks, "API server", "fail", "not signed by the authority that the kubeconfig names");
    expect_check(&checks, "API server", "fail", "take this cluster's");
    // Their certificate, our address and authority.
    let mut wrong_certificate = cluster.kubeconfig(&identity);
    wrong_certificate["users"] = shared.kubeconfig(&identity)["users"].clone();
    let checks = doctor.checks(node, &wrong_certificate, &[]);
    expect_check(&checks, "credentials", "ok", "nodewell:node:doctor-foreign");
    expect_check(&checks, "API server", "fail", "another cluster's");
}

fn missing_policies_are_named(cluster: &Cluster) {
    let node = "doctor-unguarded";
    let server = cluster.as_real();
    cluster.create_node(node);
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac/agent/nodewell-agent.yaml");
    let outcome = server.kubectl(&["apply", "--filename", &roles.to_string_lossy()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let kubeconfig = cluster.kubeconfig(&Identity::Agent(node.to_owned()));
    let doctor = Doctor::new();
    let checks = nodewell_tests::wait::until("the roles are in force", || {
        let checks = doctor.checks(node, &kubeconfig, &[]);
        (check(&checks, "patch nodes/status").0 == "ok" && check(&checks, "own Lease").1 == "allowed").then_some(checks)
    });
    expect_check(&checks, "other Nodes", "warn", "no policy keeps this identity to its Node");
    expect_check(&checks, "other Nodes' Events", "warn", "nodewell-admission.yaml");
    expect_check(&checks, "other Nodes' Leases", "warn", "may write them");
    expect_check(&checks, "the controller's Leases", "ok", "cannot create");
}
