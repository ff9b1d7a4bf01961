//! A Redfish BMC over TLS, as far as its identity is asked.

use std::{collections::BTreeMap, sync::Arc};

use nodewell_power::{
    agent::Options,
    identity::{IdentityError, Whose, prove},
};
use nodewell_remediation::method::{IdentityMethod, Pins, ValidatedMethod};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use super::{
    bench::{Bench, call},
    fake::node,
};

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
const OTHER: &str = "00112233-4455-6677-8899-aabbccddeef0";

/// A BMC that answers one request with this, and returns what it was asked.
async fn bmc(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return String::new() };
        let mut buffer = vec![0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    });
    (port, serve)
}

fn options(port: u16, insecure: &str) -> Options {
    let values = [
        ("ip", "127.0.0.1"),
        ("ipport", &port.to_string()),
        ("systems_uri", "/redfish/v1/Systems/1"),
        ("ssl_insecure", insecure),
        ("username", "fence"),
        ("password", "word-1234"),
    ];
    let values: BTreeMap<String, String> = values.map(|(name, value)| (name.into(), value.into())).into();
    Options { values, secrets: vec!["word-1234".to_owned()] }
}

fn pins() -> Pins {
    Pins { map: "fence-config-n1".into(), system_uuid: Some(UUID.into()), outlets: None }
}

async fn asked(
    answer: &'static str,
    insecure: &str,
    identity_method: IdentityMethod,
) -> (Result<(), IdentityError>, String) {
    let (port, serve) = bmc(answer).await;
    let call = ValidatedMethod { agent: "fence_redfish".into(), identity_method, ..call(5) };
    let proven = prove(
        &call,
        &options(port, insecure),
        Whose { node: &node("n1", UUID), pins: &pins() },
        &Bench::new().runner(),
    )
    .await;
    (proven, serve.await.unwrap())
}

const GOOD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-AABBCCDDEEFF\"}";

#[tokio::test]
async fn the_systems_uuid_proves_it() {
    let (proven, request) = asked(GOOD, "1", IdentityMethod::Asked).await;
    assert_eq!(proven, Ok(()));
    assert!(request.starts_with("GET /redfish/v1/Systems/1 HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("authorization: basic zmvuy2u6d29yzc0xmjm0"), "{request}");
    let (proven, _) = asked(GOOD, "1", IdentityMethod::Pinned(UUID.into())).await;
    assert_eq!(proven, Ok(()));
}

#[tokio::test]
async fn anything_else_proves_nothing() {
    let (proven, _) = asked(GOOD, "1", IdentityMethod::Pinned(OTHER.into())).await;
    assert!(matches!(proven, Err(IdentityError::Unproven { .. })), "{proven:?}");
    for answer in [
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-aabbccddeef0\"}",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nno json",
        "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-AABBCCDDEEFF\"}",
        "nonsense",
        "",
    ] {
        let (proven, _) = asked(answer, "1", IdentityMethod::Asked).await;
        let error = proven.unwrap_err();
        let is_refused = answer.contains("401");
        assert_eq!(matches!(error, IdentityError::LoginRefused { .. }), is_refused, "{answer}: {error:?}");
        assert_eq!(matches!(error, IdentityError::Unproven { .. }), !is_refused, "{answer}: {error:?}");
        assert!(!error.to_string().contains("word-1234"), "{answer}: {error}");
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_not_given_the_password() {
    let (proven, request) = asked(GOOD, "0", IdentityMethod::Asked).await;
    assert!(proven.unwrap_err().to_string().contains("TLS"));
    assert_eq!(request, "");
}

/// A kubelet reports any systemUUID that it likes, and a Node its label and its addresses.
#[tokio::test]
async fn what_the_kubelet_reports_proves_nothing() {
    let (port, serve) = bmc(GOOD).await;
    let call = ValidatedMethod { agent: "fence_redfish".into(), identity_method: IdentityMethod::Asked, ..call(5) };
    let none = Pins { map: "fence-config-n1".into(), ..Pins::default() };
    let of_node = node("n1", UUID);
    let whose = Whose { node: &of_node, pins: &none };
    let refusal = prove(&call, &options(port, "1"), whose, &Bench::new().runner()).await.unwrap_err().to_string();
    serve.await.unwrap();
    assert!(
        refusal.contains(&format!("write system_uuid={UUID} into config.properties of the ConfigMap fence-config-n1")),
        "{refusal}"
    );

    let pins = pins();
    let of_node = node("n1", OTHER);
    let whose = Whose { node: &of_node, pins: &pins };
    let unused = options(nodewell_kit::free_port(), "1");
    let refusal = prove(&call, &unused, whose, &Bench::new().runner()).await.unwrap_err().to_string();
    assert!(
        refusal.contains(OTHER) && refusal.contains(UUID) && !refusal.contains("refused"),
        "no BMC is asked: {refusal}"
    );
}
