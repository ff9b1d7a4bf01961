//! The cluster's checks against a scripted server on loopback.

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{reach::OTHER_NODE, *};
use crate::cli::doctor::check::CheckVerdict;

/// How the scripted identity, Node n1's, stands.
#[derive(Clone, Copy, PartialEq)]
enum Identity {
    /// May patch its own Node, by name.
    Narrow,
    /// The roles allow every Node; admission refuses the others.
    Restricted,
    Mighty,
    Powerless,
    /// Its own, on a cluster that has no admission policies.
    OwnOnOld,
}

fn answer(identity: Identity, method: &str, path: &str, body: &str) -> (u16, Value) {
    match (method, path) {
        ("GET", "/version") if identity == Identity::OwnOnOld => {
            (200, json!({"gitVersion": "v1.29.4", "major": "1", "minor": "29+"}))
        }
        ("GET", "/version") => (200, json!({"gitVersion": "v1.33.1", "major": "1", "minor": "33"})),
        ("GET", "/api/v1/nodes/n1") => (200, json!({"metadata": {"name": "n1"}})),
        ("GET", "/api/v1/nodes") => {
            (200, json!({"items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]}))
        }
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews") if identity == Identity::OwnOnOld => {
            (201, json!({"status": {"userInfo": {"username": "nodewell:node:n1"}}}))
        }
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews") => {
            (201, json!({"status": {"userInfo": {"username": "system:node:n1"}}}))
        }
        ("POST", _) => {
            let other = body.contains(OTHER_NODE);
            let allowed = match identity {
                Identity::Narrow => !other,
                Identity::Powerless => false,
                Identity::Restricted | Identity::Mighty | Identity::OwnOnOld => true,
            };
            (201, json!({"status": {"allowed": allowed}}))
        }
        ("PATCH", "/api/v1/nodes/n2/status") if [Identity::Mighty, Identity::OwnOnOld].contains(&identity) => {
            (200, json!({}))
        }
        ("PATCH", "/api/v1/nodes/n2/status") => {
            (403, rejection(403, "node \"n1\" is not allowed to modify node \"n2\""))
        }
        _ => (404, rejection(404, "not found")),
    }
}

fn rejection(code: u16, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message, "reason": "x"})
}

/// A server, and the kubeconfig that leads to it.
async fn cluster(identity: Identity, node: &str) -> (TempDir, Cluster) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(http1::Builder::new().serve_connection(
                TokioIo::new(stream),
                service_fn(move |request: Request<hyper::body::Incoming>| async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await?.to_bytes();
                    let body = String::from_utf8_lossy(&body);
                    let (code, value) = answer(identity, head.method.as_str(), head.uri.path(), &body);
                    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
                    *response.status_mut() = code.try_into().unwrap();
                    Ok::<_, hyper::Error>(response)
                }),
            ));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, kubeconfig_for(&format!("http://{address}"))).unwrap();
    (folder, Cluster { kubeconfig, node: node.to_owned(), other_node: None, conditions: BTreeSet::new() })
}

fn kubeconfig_for(server: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    })
    .to_string()
}

fn verdict(checks: &[Check], name: &str) -> (CheckVerdict, String) {
    let check = checks.iter().find(|check| check.name == name).unwrap();
    (check.verdict, check.detail.clone())
}

#[tokio::test]
async fn an_identity_of_this_node_only_is_all_right() {
    for identity in [Identity::Narrow, Identity::Restricted] {
        let (_folder, cluster) = cluster(identity, "n1").await;
        let checks = cluster.examine().await;
        assert!(checks.iter().all(|check| check.verdict == CheckVerdict::Ok), "{checks:?}");
    }
}

#[tokio::test]
async fn a_mighty_identity_is_warned_of() {
    let (_folder, cluster) = cluster(Identity::Mighty, "n1").await;
    let (verdict, detail) = verdict(&cluster.examine().await, "other Nodes");
    assert_eq!(verdict, CheckVerdict::Warn);
    assert!(detail.contains("status of n2"), "{detail}");
}

#[tokio::test]
async fn missing_rights_fail_by_name() {
    let (_folder, cluster) = cluster(Identity::Powerless, "n1").await;
    let checks = cluster.examine().await;
    for name in ["patch nodes/status", "create events", "patch events"] {
        assert_eq!(verdict(&checks, name).0, CheckVerdict::Fail);
    }
}

#[tokio::test]
async fn a_node_that_is_not_registered_is_named() {
    let (_folder, cluster) = cluster(Identity::Narrow, "n9").await;
    let checks = cluster.examine().await;
    assert_eq!(verdict(&checks, "own Node"), (CheckVerdict::Fail, "there is no Node n9".to_owned()));
    assert_eq!(verdict(&checks, "identity").0, CheckVerdict::Fail);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_one_failure() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, kubeconfig_for("http://127.0.0.1:1")).unwrap();
    let checks =
        Cluster { kubeconfig, node: "n1".to_owned(), other_node: None, conditions: BTreeSet::new() }.examine().await;
    assert_eq!(verdict(&checks, "API server").0, CheckVerdict::Fail);
    assert_eq!(checks.len(), 2);
}

#[tokio::test]
async fn an_unreadable_kubeconfig_is_reported_with_what_to_do() {
    let checks = Cluster {
        kubeconfig: "/nowhere/kubeconfig".into(),
        node: "n1".to_owned(),
        other_node: None,
        conditions: BTreeSet::new(),
    }
    .examine()
    .await;
    assert_eq!(checks.len(), 1);
    assert!(checks[0].verdict == CheckVerdict::Fail && !checks[0].advice.is_empty());
}

#[tokio::test]
async fn what_an_old_cluster_cannot_enforce_is_reported() {
    let (_folder, cluster) = cluster(Identity::OwnOnOld, "n1").await;
    let checks = cluster.examine().await;
    let (reported, detail) = verdict(&checks, "admission policies");
    assert_eq!(reported, CheckVerdict::Warn);
    assert!(detail.starts_with("Kubernetes 1.29 cannot keep"), "{detail}");
    assert_eq!(verdict(&checks, "other Nodes").0, CheckVerdict::Warn);
    assert_eq!(verdict(&checks, "other Nodes' Events").0, CheckVerdict::Warn);
}

#[test]
fn versions_are_compared_as_numbers() {
    let version = |minor: &str| Version::of(&json!({"major": "1", "minor": minor}));
    assert!(!version("9").has(1, 30) && !version("29+").has(1, 30));
    assert!(version("30").has(1, 30) && version("36").has(1, 30));
    assert!(Version::of(&json!({"major": "2", "minor": "0"})).has(1, 30));
    assert!(Version::of(&Value::Null).has(1, 30), "one that hides its version is believed to be new");
}
