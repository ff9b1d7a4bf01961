//! A Redfish BMC over TLS, as far as its identity is asked.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, sync::Arc};

use nodewell_power::{
    agent::Options,
    identity::{IdentityError, Login, Unanswered, Whose, prove},
};
use nodewell_remediation::{
    method::{IdentityMethod, Pins, ValidatedMethod},
    snapshot::PowerState,
};
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
async fn bmc(answer: impl Into<String>) -> (u16, tokio::task::JoinHandle<String>) {
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
    let answer = answer.into();
    let serve = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return String::new() };
        let mut buffer = vec![0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        // One that is asked too much of leaves before the end.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
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
    answer: impl Into<String>,
    insecure: &str,
    identity_method: IdentityMethod,
) -> (Result<PowerState, IdentityError>, String) {
    let (port, serve) = bmc(answer).await;
    let call = ValidatedMethod { agent: "fence_redfish".into(), identity_method, ..call(5) };
    let proven = prove(
        &call,
        Login { options: &options(port, insecure), unanswered: &Unanswered::default() },
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
    assert_eq!(proven, Ok(PowerState::Unknown));
    assert!(request.starts_with("GET /redfish/v1/Systems/1 HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("authorization: basic zmvuy2u6d29yzc0xmjm0"), "{request}");
    let (proven, _) = asked(GOOD, "1", IdentityMethod::Pinned(UUID.into())).await;
    assert_eq!(proven, Ok(PowerState::Unknown));
}

/// A system with many disks and cards is described at length; what never ends is no answer.
#[tokio::test]
async fn a_long_answer_is_read_and_an_endless_one_is_not() {
    let long = |bytes: usize| {
        let filler = "x".repeat(bytes);
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{{\"UUID\": \"{UUID}\", \"Oem\": \"{filler}\"}}")
    };
    assert_eq!(asked(long(500 << 10), "1", IdentityMethod::Asked).await.0, Ok(PowerState::Unknown));
    let refused = asked(long(1 << 20), "1", IdentityMethod::Asked).await.0.unwrap_err();
    assert!(refused.to_string().contains("length limit exceeded"), "{refused}");
}

#[tokio::test]
async fn the_power_comes_with_the_uuid() {
    for (answer, power) in [
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-AABBCCDDEEFF\", \"PowerState\": \"On\"}",
            PowerState::On,
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-AABBCCDDEEFF\", \"PowerState\": \"Off\"}",
            PowerState::Off,
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-AABBCCDDEEFF\", \"PowerState\": \"PoweringOff\"}",
            PowerState::Unknown,
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"UUID\": \"00112233-4455-6677-8899-AABBCCDDEEFF\", \"PowerState\": null}",
            PowerState::Unknown,
        ),
    ] {
        assert_eq!(asked(answer, "1", IdentityMethod::Asked).await.0, Ok(power), "{answer}");
    }
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

/// Nor is a file of authorities that another user could have changed.
#[tokio::test]
async fn a_file_of_authorities_that_others_may_write_is_not_used() {
    let bench = Bench::new();
    let file = bench.path().join("ca.pem");
    for (text, mode, why) in [
        ("", 0o644, "has no certificate (PEM)"),
        ("", 0o666, "can be written by others (mode 0666)"),
        ("", 0o000, "is not a file"),
    ] {
        let file = if mode == 0 { bench.path().to_owned() } else { file.clone() };
        if mode != 0 {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        }
        let (port, serve) = bmc(GOOD).await;
        let runner = bench.runner().trusting(Some(file));
        let call = ValidatedMethod { agent: "fence_redfish".into(), identity_method: IdentityMethod::Asked, ..call(5) };
        let (node, pins) = (node("n1", UUID), pins());
        let refusal = prove(
            &call,
            Login { options: &options(port, "0"), unanswered: &Unanswered::default() },
            Whose { node: &node, pins: &pins },
            &runner,
        )
        .await
        .unwrap_err();
        assert!(refusal.to_string().contains(why), "{refusal}");
        serve.abort();
    }
}

/// A kubelet reports any systemUUID that it likes, and a Node its label and its addresses.
#[tokio::test]
async fn what_the_kubelet_reports_proves_nothing() {
    let (port, serve) = bmc(GOOD).await;
    let call = ValidatedMethod { agent: "fence_redfish".into(), identity_method: IdentityMethod::Asked, ..call(5) };
    let none = Pins { map: "fence-config-n1".into(), ..Pins::default() };
    let of_node = node("n1", UUID);
    let whose = Whose { node: &of_node, pins: &none };
    let refusal = prove(
        &call,
        Login { options: &options(port, "1"), unanswered: &Unanswered::default() },
        whose,
        &Bench::new().runner(),
    )
    .await
    .unwrap_err()
    .to_string();
    serve.await.unwrap();
    assert!(
        refusal.contains(&format!("write system_uuid={UUID} into config.properties of the ConfigMap fence-config-n1")),
        "{refusal}"
    );

    let pins = pins();
    let of_node = node("n1", OTHER);
    let whose = Whose { node: &of_node, pins: &pins };
    let unused = options(nodewell_kit::free_port(), "1");
    let refusal =
        prove(&call, Login { options: &unused, unanswered: &Unanswered::default() }, whose, &Bench::new().runner())
            .await
            .unwrap_err()
            .to_string();
    assert!(
        refusal.contains(OTHER) && refusal.contains(UUID) && !refusal.contains("refused"),
        "no BMC is asked: {refusal}"
    );
}
