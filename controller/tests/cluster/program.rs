//! The program itself: as a person runs its commands, and as a service.

use std::{sync::Arc, time::Duration};

use nodewell_reconcile::cluster::{Election, Marks, Nodes, Records};
use serde_json::{Value, json};

use crate::{
    cases::{admin, cases, fence, make_node},
    server::Server,
};

cases![people_see_the_plan_pause_and_abort, the_program_leads_cordons_and_stops_on_sigterm,];

/// The program itself, as an administrator; what it prints, with its exit code.
pub(crate) fn program(server: &Server, args: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("admin")).args(args);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

async fn people_see_the_plan_pause_and_abort(server: Arc<Server>) {
    make_node(&server, "planned").await;
    let (code, plan) = program(&server, &["plan"]);
    assert_eq!(code, Some(0), "{plan}");
    assert!(plan.contains("dry run") && !plan.contains('\u{1b}'), "{plan}");
    let (code, one) = program(&server, &["plan", "--node", "planned"]);
    assert!(code == Some(0) && one.contains("If planned failed now"), "{one}");
    assert_eq!(program(&server, &["plan", "--node", "absent"]).0, Some(70));
    let (_, json) = program(&server, &["plan", "--json"]);
    assert!(serde_json::from_str::<Value>(&json).unwrap()["nodes"].is_array(), "{json}");
    assert_eq!(program(&server, &["pause", "rack 4"]).0, Some(0));
    let plan = program(&server, &["plan"]).1;
    assert!(plan.starts_with("stopped: ConfigMap nodewell/nodewell-pause: admin: rack 4\n"), "{plan}");
    assert_eq!(program(&server, &["pause", "rack 5"]).0, Some(0));
    assert_eq!(program(&server, &["resume"]).0, Some(0));
    assert_eq!(program(&server, &["abort", "planned"]).0, Some(70));
    let cluster = server.cluster("controller").await;
    cluster.open(&fence("planned")).await.unwrap();
    assert_eq!(program(&server, &["abort", "planned"]).0, Some(0));
    assert!(cluster.fence("planned").await.unwrap().unwrap().spec.abort);
}

/// The program as a service, ended with the case.
pub(crate) struct Service(pub(crate) std::process::Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let come = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(120), come).await.is_ok(), "not {what}");
}

async fn page(port: u16, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else { return String::new() };
    let ask = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut text = String::new();
    if stream.write_all(ask.as_bytes()).await.is_ok() {
        let _ = stream.read_to_string(&mut text).await;
    }
    text
}

async fn the_program_leads_cordons_and_stops_on_sigterm(server: Arc<Server>) {
    let uid = make_node(&server, "faulty").await;
    let condition = json!({ "status": { "conditions": [{ "type": "GpuUnhealthy", "status": "True", "reason": "Lost" },
        { "type": "Ready", "status": "True", "reason": "KubeletReady" }] } });
    admin(&server, "merge", "/api/v1/nodes/faulty/status", condition).await;
    let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
        "metadata": { "name": "gpu" },
        "spec": { "mode": "Enforce", "nodeStartupGracePeriod": "0s", "for": "0s", "steps": [{ "cordon": {} }],
            "when": "has(conditions.GpuUnhealthy) && conditions.GpuUnhealthy.status == 'True'",
            "cordonBudget": { "maxUnavailable": "100%", "maxUnavailablePerZone": "100%" },
            "storm": { "unhealthy": "100%", "rate": { "count": 1000, "window": "1m" }, "reachable": "0%" } } });
    server.apply(&policy.to_string()).unwrap();
    let port = nodewell_kit::free_port();
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("controller")).args(["run", "--no-dry-run", "--metrics-listen"]);
    let child = command.arg(format!("127.0.0.1:{port}")).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let mut service = Service(child);
    until("ready", async || page(port, "/readyz").await.starts_with("HTTP/1.1 200")).await;
    until("leading", async || page(port, "/metrics").await.contains("nodewell_controller_leader 1\n")).await;
    let cluster = server.cluster("controller").await;
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
    let is_cordoned = async || cluster.node("faulty").await.unwrap().is_some_and(|node| node.unschedulable);
    // For 90 s after its start one without a Lease, and whose Ready is Unknown, may only be late.
    for _ in 0..1500 {
        if is_cordoned().await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(is_cordoned().await, "{}{}", program(&server, &["plan", "--node", "faulty"]).1, log());
    assert_eq!(cluster.uncordon("faulty", &uid, "another-policy").await, Ok(false));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(service.0.id().cast_signed()), nix::sys::signal::SIGTERM)
        .unwrap();
    until("ended", async || service.0.try_wait().unwrap().is_some()).await;
    assert_eq!(service.0.wait().unwrap().code(), Some(0), "{}", log());
    assert_eq!(cluster.leadership().await.unwrap().unwrap().holder, "", "the Lease was not released");
    assert!(server.kubectl(&["delete", "remediationpolicy", "gpu"]));
}
