//! The admission webhook as the API server calls it: over TLS, by the certificate that was published.

use std::{path::Path, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use nodewell_controller::{
    clock,
    config::Webhook,
    webhook::{self, Certificate, PATH, Reviewer},
};
use nodewell_kit::free_port;
use nodewell_reconcile::{
    cache::{Cache, Limits},
    clock::Clock,
};
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::LocalSet};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

const PATIENCE: Duration = Duration::from_secs(30);

/// A webhook on a port of its own, and the certificate that it published.
struct Served {
    port: u16,
    certificate: Certificate,
}

fn start(folder: &Path) -> Served {
    let port = free_port();
    let config = Webhook { listen: ([127, 0, 0, 1], port).into(), files: None };
    let certificate = webhook::certificate(&config, Some(folder.to_owned())).unwrap();
    let clock = Clock::system(clock::slept);
    let reviewer = Reviewer { cache: Cache::new(clock, Limits::default()), clock };
    let own = certificate.clone();
    tokio::task::spawn_local(async move { webhook::serve(config.listen, &own, reviewer).await });
    Served { port, certificate }
}

impl Served {
    /// As an API server whose configuration has these authorities, and nothing else to trust.
    async fn connect(&self, bundle: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let connector = TlsConnector::from(Arc::new(config.with_no_client_auth()));
        let stream = loop {
            // It binds its port a moment after its task was made.
            match TcpStream::connect(("127.0.0.1", self.port)).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        connector.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
    }

    async fn post(&self, path: &str, body: Vec<u8>) -> (StatusCode, Value) {
        let exchange = async {
            let stream = self.connect(&self.certificate.to_publish().unwrap()).await.unwrap();
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
            tokio::task::spawn_local(connection);
            let request = Request::post(path).header("host", "127.0.0.1").body(Full::new(Bytes::from(body))).unwrap();
            let answer = sender.send_request(request).await.unwrap();
            let (status, body) = (answer.status(), answer.into_body().collect().await.unwrap().to_bytes());
            (status, serde_json::from_slice(&body).unwrap_or_default())
        };
        tokio::time::timeout(PATIENCE, exchange).await.expect("it answers")
    }

    async fn review(&self, spec: &Value) -> Value {
        let review = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u-1", "operation": "CREATE", "kind": { "group": "nodewell.dev", "kind": "RemediationPolicy" },
            "object": { "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
                "metadata": { "name": "p" }, "spec": spec } } });
        let (status, answer) = self.post(PATH, review.to_string().into_bytes()).await;
        assert_eq!((status, &answer["kind"]), (StatusCode::OK, &json!("AdmissionReview")), "{answer}");
        assert_eq!(answer["response"]["uid"], "u-1");
        answer["response"].clone()
    }
}

fn with(when: &str) -> Value {
    json!({ "when": when, "steps": [{ "cordon": {} }] })
}

#[tokio::test]
async fn a_policy_with_a_mistake_is_refused_and_one_without_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    LocalSet::new()
        .run_until(async {
            let served = start(folder.path());
            for (when, expected) in [
                ("conditions.Redy.status == 'True'", "is `Ready` meant?"),
                ("node.age > '5m'", "write duration('5m')"),
                ("2 + 2", "not true or false"),
            ] {
                let response = served.review(&with(when)).await;
                let message = response["status"]["message"].as_str().unwrap_or_default();
                assert!(response["allowed"] == false && message.contains(expected), "{when}: {response}");
            }
            let response =
                served.review(&json!({ "when": "node.ready", "steps": [], "budget": { "maxUnavailable": "x" } })).await;
            let message = response["status"]["message"].as_str().unwrap();
            assert!(message.contains("spec.steps: ") && message.contains("spec.budget.maxUnavailable: "), "{message}");
            assert_eq!(served.review(&with("!node.ready")).await["allowed"], true);
        })
        .await;
}

#[tokio::test]
async fn an_api_server_that_does_not_know_the_certificate_does_not_ask() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    LocalSet::new()
        .run_until(async {
            let served = start(folder.path());
            let stranger = Certificate::own(other.path()).unwrap().to_publish().unwrap();
            assert!(served.connect(&stranger).await.is_err(), "another host's certificate is not this one's");
            let both = stranger + &served.certificate.to_publish().unwrap();
            assert!(served.connect(&both).await.is_ok(), "a bundle has one of each host");
        })
        .await;
}

#[tokio::test]
async fn what_is_no_review_of_a_policy_gets_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    LocalSet::new()
        .run_until(async {
            let served = start(folder.path());
            assert_eq!(served.post(PATH, b"{".to_vec()).await.0, StatusCode::BAD_REQUEST);
            assert_eq!(served.post(PATH, b"{}".to_vec()).await.0, StatusCode::BAD_REQUEST);
            assert_eq!(served.post("/", b"{}".to_vec()).await.0, StatusCode::NOT_FOUND);
            assert_eq!(served.post(PATH, vec![b' '; 5 << 20]).await.0, StatusCode::PAYLOAD_TOO_LARGE);
        })
        .await;
}
