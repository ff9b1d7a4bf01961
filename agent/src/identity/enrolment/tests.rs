//! Enrolment against a scripted signer: whatever happens between two steps, one key gets one certificate.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{Response, body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::*;
use crate::identity::{
    credentials::{Cluster, Credentials},
    folder::Access,
};

/// What the signer knows, and does next.
#[derive(Default)]
struct Script {
    requests: Vec<Value>,
    posts: usize,
    lose_next_answer: bool,
}

type Shared = Arc<Mutex<Script>>;

fn answer(script: &Shared, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
    let mut script = script.lock().unwrap();
    let named = |script: &Script, name: &str| {
        script.requests.iter().find(|request| request["metadata"]["name"] == name).cloned()
    };
    match (method, path.rsplit('/').next().unwrap_or_default()) {
        ("POST", _) => {
            script.posts += 1;
            let request: Value = serde_json::from_slice(body).unwrap();
            if named(&script, request["metadata"]["name"].as_str().unwrap()).is_some() {
                return (409, json!({"kind": "Status", "status": "Failure", "code": 409, "message": "already exists", "reason": "AlreadyExists"}));
            }
            script.requests.push(request.clone());
            if std::mem::take(&mut script.lose_next_answer) {
                return (500, json!({"kind": "Status", "status": "Failure", "code": 500, "message": "lost", "reason": "x"}));
            }
            (201, request)
        }
        (_, name) => named(&script, name).map_or_else(
            || (404, json!({"kind": "Status", "status": "Failure", "code": 404, "message": "not found", "reason": "NotFound"})),
            |request| (200, request),
        ),
    }
}

struct Bench {
    script: Shared,
    server: Server,
    folder: Folder,
    root: TempDir,
}

async fn bench() -> Bench {
    let script = Shared::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = Arc::clone(&script);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let script = Arc::clone(&served);
            let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let script = Arc::clone(&script);
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let (code, value) = answer(&script, head.method.as_str(), head.uri.path(), &body);
                    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
                    *response.status_mut() = code.try_into().unwrap();
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    let (authority, tls_server_name, insecure_skip_tls_verify, proxy_url) = (None, None, None, None);
    let cluster = Cluster {
        server: format!("http://{address}"),
        authority,
        tls_server_name,
        insecure_skip_tls_verify,
        proxy_url,
    };
    let server = Server::of(&Credentials { cluster, secret: Secret::default() }).unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::open(&root.path().join("pki"), Access::Private).unwrap();
    Bench { script, server, folder, root }
}

impl Bench {
    fn enrolment(&self) -> Enrolment<'_> {
        Enrolment { folder: &self.folder, node: "n1", lifetime: Duration::from_hours(24) }
    }

    async fn step(&self) -> Result<Progress, EnrolError> {
        self.enrolment().step(&self.server, now()).await
    }

    /// The newest request gets this status.
    fn set_status(&self, status: Value) {
        self.script.lock().unwrap().requests.last_mut().unwrap()["status"] = status;
    }

    fn issue(&self, pem: String) {
        self.set_status(json!({"certificate": ByteString(pem.into_bytes())}));
    }

    fn pending_key(&self) -> KeyPair {
        KeyPair::from_pem(&self.enrolment().pending().unwrap().unwrap().key).unwrap()
    }
}

fn now() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

fn params(node: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, GROUP);
    params.distinguished_name.push(DnType::CommonName, user_name(node));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

#[tokio::test]
async fn a_key_is_saved_before_the_request_and_requested_once() {
    let bench = bench().await;
    let first = bench.step().await.unwrap();
    assert!(matches!(first, Progress::Waiting { .. }), "{first:?}");
    assert_eq!(bench.step().await.unwrap(), first);
    assert_eq!(bench.script.lock().unwrap().posts, 1);
    let certificate = params("n1").self_signed(&bench.pending_key()).unwrap().pem();
    bench.issue(certificate.clone());
    let Progress::Issued { secret, .. } = bench.step().await.unwrap() else { panic!("not issued") };
    let keyed = secret.certificate.unwrap();
    assert_eq!(keyed.certificate, certificate.into_bytes());
    assert_eq!(keyed.key, bench.pending_key().serialize_pem().into_bytes());
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_request() {
    let bench = bench().await;
    bench.script.lock().unwrap().lose_next_answer = true;
    assert!(bench.step().await.is_err());
    assert!(matches!(bench.step().await.unwrap(), Progress::Waiting { .. }));
    assert_eq!(bench.script.lock().unwrap().requests.len(), 1);
}

#[tokio::test]
async fn what_the_server_collected_is_asked_for_with_another_key() {
    let bench = bench().await;
    bench.step().await.unwrap();
    let first = bench.pending_key().serialize_pem();
    bench.script.lock().unwrap().requests.clear();
    assert!(matches!(bench.step().await.unwrap(), Progress::Waiting { .. }));
    assert!(matches!(bench.step().await.unwrap(), Progress::Waiting { .. }));
    assert_ne!(bench.pending_key().serialize_pem(), first);
    assert_eq!(bench.script.lock().unwrap().requests.len(), 1);
}

#[tokio::test]
async fn a_denial_holds_for_a_day() {
    let bench = bench().await;
    bench.step().await.unwrap();
    bench.set_status(json!({"conditions": [{"type": "Denied", "reason": "NotHere", "message": "unknown machine"}]}));
    let denied = bench.step().await.unwrap();
    assert!(matches!(&denied, Progress::Denied { why, .. } if why == "Denied: NotHere: unknown machine"), "{denied:?}");
    let later = |hours| now().checked_add(SignedDuration::from_hours(hours)).unwrap();
    assert_eq!(bench.enrolment().step(&bench.server, later(23)).await.unwrap(), denied);
    assert_eq!(bench.script.lock().unwrap().posts, 1);
    let again = bench.enrolment().step(&bench.server, later(24)).await.unwrap();
    assert!(matches!(again, Progress::Waiting { .. }), "{again:?}");
    assert_eq!(bench.script.lock().unwrap().posts, 2);
}

#[tokio::test]
async fn only_what_fits_the_key_and_the_name_is_taken() {
    type Alter = fn(&mut CertificateParams);
    let alterations: [(&str, Alter); 5] = [
        ("has another name", |params| params.distinguished_name = super::tests::params("n2").distinguished_name),
        ("has other groups", |params| params.distinguished_name.push(DnType::OrganizationName, "system:masters")),
        ("names hosts", |params| {
            params.subject_alt_names = CertificateParams::new(["h".to_owned()]).unwrap().subject_alt_names
        }),
        ("is not for clients", |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]),
        ("is over already", |params| params.not_after = rcgen::date_time_ymd(2026, 11, 21)),
    ];
    for (why, alter) in alterations {
        let bench = bench().await;
        bench.step().await.unwrap();
        let mut params = params("n1");
        alter(&mut params);
        bench.issue(params.self_signed(&bench.pending_key()).unwrap().pem());
        let error = bench.step().await.unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
        assert!(!bench.root.path().join("pki/pending.json").exists(), "the key is not used again");
    }
    let bench = bench().await;
    bench.step().await.unwrap();
    bench.issue(params("n1").self_signed(&KeyPair::generate().unwrap()).unwrap().pem());
    assert!(bench.step().await.unwrap_err().to_string().contains("is for another key"));
}

#[tokio::test]
async fn a_request_of_another_name_is_not_this_nodes() {
    let bench = bench().await;
    bench.step().await.unwrap();
    let other = Enrolment { node: "n2", ..bench.enrolment() };
    assert!(!other.is_under_way().unwrap() && bench.enrolment().is_under_way().unwrap());
}
