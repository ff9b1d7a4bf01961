//! The agent has no setting for where its credentials are: it takes what the root oneshot leaves for it, whenever that
//! comes, and follows when it changes.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use nodewell_kit::write_program;
use nodewell_tests::{
    agent::{Agent, Plan},
    cli::{Outcome, nodewell},
    cluster::{Cluster, Identity},
    suite::Suite,
    wait::until,
};

use crate::{
    api_conditions::wait_published,
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("identity_published")
        .api("credentials_that_come_later_are_taken", credentials_that_come_later_are_taken)
        .api("credentials_that_rotate_are_followed", credentials_that_rotate_are_followed)
        .api("what_a_person_writes_is_yaml", what_a_person_writes_is_yaml)
        .on_double("a_plug_in_is_roots_to_run", a_plug_in_is_roots_to_run)
        .case("what_cannot_be_used_is_one_line", what_cannot_be_used_is_one_line);
}

/// The agent has it read by `nodewell`.
fn what_a_person_writes_is_yaml(cluster: &Cluster) {
    let node = "yaml";
    cluster.create_node(node);
    let plan = Plan::new(node);
    let json = cluster.write_kubeconfig(&Identity::Node(node.to_owned()), plan.folder());
    let text = format!("# as kubeadm writes it\n---\n{}", fs::read_to_string(json).unwrap());
    let yaml = plan.file("kubelet.conf", &text);
    let agent = plan.kubeconfig(yaml.clone()).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    fs::write(&yaml, "users: [").unwrap();
    until("it says that the new one cannot be used", || agent.log().contains("cannot be used yet").then_some(()));
    agent.kmsg().write(OOPS);
    wait_published(cluster, node, "KernelUnhealthy", "True");
}

fn plan(cluster: &Cluster, node: &str) -> Plan {
    cluster.create_node(node);
    let plan = Plan::new(node).with_identity();
    let folder = plan.folder().to_owned();
    let state = folder.join("state");
    fs::create_dir(&state).unwrap();
    plan.config(&format!(
        "state-dir = {state:?}\n[identity]\nkubelet-kubeconfig = {:?}\nfolder = {:?}\n",
        // The agent's user could not read it; here the agent is root, so it must not find it.
        folder.join("kubelets/kubelet.conf"),
        folder.join("identity"),
    ))
}

fn oneshot(plan: &Plan, root: &str) -> Outcome {
    let config = plan.folder().join("nodewell.toml");
    nodewell(["identity".as_ref(), "--config".as_ref(), config.as_os_str(), "--root".as_ref(), root.as_ref()])
}

/// The kubelet gets these credentials; the root oneshot sees it, and the agent only ever the copy.
fn kubelet_has(cluster: &Cluster, plan: &Plan, identity: &Identity) -> Outcome {
    let kubelets = plan.folder().join("kubelets");
    fs::create_dir_all(&kubelets).unwrap();
    let path = cluster.write_kubeconfig(identity, &kubelets);
    let named = kubelets.join("kubelet.conf");
    fs::rename(path, &named).unwrap();
    let outcome = oneshot(plan, "/");
    fs::remove_file(named).unwrap();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome
}

fn published(agent: &Agent) -> PathBuf {
    agent.plan().folder().join("identity/kubeconfig")
}

fn state(agent: &Agent) -> String {
    serde_json::to_value(agent.view().apiserver.state).unwrap().as_str().unwrap().to_owned()
}

fn credentials_that_come_later_are_taken(cluster: &Cluster) {
    let node = "published-later";
    let agent = plan(cluster, node).start();
    assert_eq!(state(&agent), "disabled");
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let outcome = kubelet_has(cluster, agent.plan(), &Identity::Node(node.to_owned()));
    assert!(outcome.stderr.contains("the agent has the kubelet's credentials"), "{outcome:?}");
    // What was found before there was an API server to report to is reported.
    wait_published(cluster, node, "KernelUnhealthy", "True");
    until("its Event is reported", || (!cluster.events(node, "KernelOops").is_empty()).then_some(()));
    let mode = fs::metadata(published(&agent)).unwrap().permissions().mode() & 0o777;
    assert!([0o600, 0o640].contains(&mode), "{mode:o}");
}

fn credentials_that_rotate_are_followed(cluster: &Cluster) {
    let node = "published-again";
    let plan = plan(cluster, node);
    kubelet_has(cluster, &plan, &Identity::Unknown);
    let agent = plan.start();
    until("the server refuses it", || agent.view().apiserver.message.contains("401").then_some(()));
    kubelet_has(cluster, agent.plan(), &Identity::Node(node.to_owned()));
    wait_published(cluster, node, "KernelUnhealthy", "False");
    agent.kmsg().write(STALL);
    until("its Event is reported", || (!cluster.events(node, "RCUStall").is_empty()).then_some(()));
}

const PLUGIN: &str = r#"#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "node:published-plugin"}}'
"#;

fn a_plug_in_is_roots_to_run(cluster: &Cluster) {
    let node = "published-plugin";
    let plan = plan(cluster, node);
    let plugin = plan.folder().join("plugin");
    write_program(&plugin, 0o700, PLUGIN);
    let mut kubeconfig = cluster.kubeconfig(&Identity::Unknown);
    kubeconfig["users"][0]["user"] = serde_json::json!({ "exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "interactiveMode": "Never",
    } });
    let kubelets = plan.file("kubelets/kubelet.conf", &kubeconfig.to_string());
    assert_eq!(oneshot(&plan, "/").code, 0);
    fs::remove_file(kubelets).unwrap();
    fs::remove_file(plugin).unwrap();
    let published = fs::read_to_string(plan.folder().join("identity/kubeconfig")).unwrap();
    assert!(published.contains("node:published-plugin") && !published.contains("exec"), "{published}");
    let _agent = plan.start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
}

fn what_cannot_be_used_is_one_line() {
    let cluster = Cluster::double();
    let plan = plan(&cluster, "published-broken");
    let broken =
        [("not: [yaml", "kubelet.conf"), (r#"{"kind": "Config", "apiVersion": "v1"}"#, "names no current context")];
    for (content, words) in broken {
        plan.file("kubelets/kubelet.conf", content);
        let outcome = oneshot(&plan, "/");
        let warnings: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains("WARN")).collect();
        assert!(outcome.code == 0 && warnings.len() == 1 && warnings[0].contains(words), "{outcome:?}");
        let again = oneshot(&plan, "/");
        assert!(!again.stderr.contains("WARN"), "logged once: {again:?}");
    }
    // Without the folder that it lies in, the oneshot can copy nothing: that is worth an exit code.
    let lost = plan.folder().join("nodewell.toml");
    let text = fs::read_to_string(&lost).unwrap().replace("/state\"", "/nowhere/state\"");
    fs::write(&lost, text).unwrap();
    let outcome = nodewell(["identity".as_ref(), "--config".as_ref(), lost.as_os_str()]);
    assert!(outcome.code == 70 && outcome.stderr.lines().count() == 1, "{outcome:?}");
}
