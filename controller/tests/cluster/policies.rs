//! Policies with mistakes: refused by the API server where the webhook is registered, and shown in their status where it is
//! not, in a dry run too.

use std::{fs, process::Command, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cases::{admin, cases},
    program::{Service, program, until},
    server::Server,
};

const POLICIES: &str = "/apis/nodewell.dev/v1alpha1/remediationpolicies";

cases![
    a_policy_with_a_mistake_is_refused_when_it_is_written,
    without_the_webhook_a_mistake_is_in_the_policys_status_in_a_dry_run_too,
];

/// The program in a dry run, with the rights of its roles alone.
struct DryRun {
    _service: Service,
    folder: TempDir,
    webhook: u16,
}

fn start(server: &Server) -> DryRun {
    let (folder, webhook) = (tempfile::tempdir().unwrap(), nodewell_kit::free_port());
    let config = folder.path().join("controller.toml");
    let text = format!("metrics-listen = \"off\"\n[webhook]\nlisten = \"127.0.0.1:{webhook}\"\n");
    fs::write(&config, text).unwrap();
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("controller")).arg("--config").arg(config).arg("run");
    command.env("STATE_DIRECTORY", folder.path()).stdout(log.try_clone().unwrap()).stderr(log);
    DryRun { _service: Service(command.spawn().unwrap()), folder, webhook }
}

impl DryRun {
    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

fn policy(name: &str, when: &str) -> String {
    let spec = json!({ "when": when, "steps": [{ "cordon": {} }] });
    json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy", "metadata": { "name": name }, "spec": spec })
        .to_string()
}

async fn ready(server: &Server, name: &str) -> Value {
    let wire = server.cluster("admin").await.wire().clone();
    let policy: Option<Value> = wire.get(&format!("{POLICIES}/{name}")).await.unwrap();
    policy.unwrap_or_default()["status"]["conditions"][0].clone()
}

async fn a_policy_with_a_mistake_is_refused_when_it_is_written(server: Arc<Server>) {
    let dry_run = start(&server);
    let url = format!("https://127.0.0.1:{}", dry_run.webhook);
    let manifest = || program(&server, &["webhook", "--url", &url]);
    until("published", async || manifest().0 == Some(0)).await;
    server.apply(&manifest().1).unwrap();
    // The API server follows its own configurations a moment later.
    until("asked", async || server.apply(&policy("mistaken", "2 + 2")).is_err()).await;
    for (when, expected) in [
        ("conditions.Redy.status == 'True'", "is `Ready` meant?"),
        ("node.age > '5m'", "write duration('5m')"),
        ("2 + 2", "not true or false"),
    ] {
        let error = server.apply(&policy("mistaken-too", when)).unwrap_err();
        assert!(error.contains("spec.when: ") && error.contains(expected), "{when}: {error}\n{}", dry_run.log());
    }
    server.apply(&policy("right", "!node.ready")).unwrap();
    // A policy that was broken before the webhook came can be labelled and deleted.
    assert!(server.kubectl(&["delete", "validatingwebhookconfiguration", "nodewell-policies"]));
    until("no more asked", async || server.apply(&policy("old", "2 + 2")).is_ok()).await;
    server.apply(&manifest().1).unwrap();
    until("asked again", async || server.apply(&policy("mistaken-too", "2 + 2")).is_err()).await;
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    admin(&server, "merge", &format!("{POLICIES}/old"), label).await;
    // Where no controller answers a policy is stored.
    drop(dry_run);
    server.apply(&policy("mistaken-too", "2 + 2")).unwrap();
    for name in ["mistaken", "mistaken-too", "right", "old"] {
        let _ = server.kubectl(&["delete", "--ignore-not-found", "remediationpolicy", name]);
    }
    assert!(server.kubectl(&["delete", "validatingwebhookconfiguration", "nodewell-policies"]));
}

async fn without_the_webhook_a_mistake_is_in_the_policys_status_in_a_dry_run_too(server: Arc<Server>) {
    let dry_run = start(&server);
    server.apply(&policy("first", "!node.ready")).unwrap();
    until("watched", async || ready(&server, "first").await["status"] == "True").await;
    let written = std::time::Instant::now();
    server.apply(&policy("mistaken", "conditions.Redy.status == 'True'")).unwrap();
    until("shown", async || ready(&server, "mistaken").await["status"] == "False").await;
    eprintln!("a mistake was in the status after {:?}", written.elapsed());
    let message = ready(&server, "mistaken").await["message"].to_string();
    assert!(message.contains("spec.when: ") && message.contains("is `Ready` meant?"), "{message}");
    let table = server.kubectl_output(&["get", "remediationpolicies"]).unwrap();
    assert!(table.lines().any(|line| line.starts_with("mistaken") && line.contains("False")), "{table}");
    server.apply(&policy("mistaken", "!node.ready")).unwrap();
    until("mended", async || ready(&server, "mistaken").await["status"] == "True").await;
    let refused = dry_run.log().lines().any(|line| line.contains("forbidden"));
    assert!(!refused, "{}", dry_run.log());
    for name in ["first", "mistaken"] {
        assert!(server.kubectl(&["delete", "remediationpolicy", name]));
    }
}
