//! Certificate requests, each wrong in one thing.

use super::*;

/// What `nodewell enroll` sends.
fn good() -> Request {
    Request {
        name: "nodewell-worker-7-0011223344556677".into(),
        uid: "u".into(),
        resource_version: "1".into(),
        decided: false,
        signer: SIGNER.into(),
        username: "system:node:worker-7".into(),
        groups: vec!["system:nodes".into(), "system:authenticated".into()],
        usages: vec!["digital signature".into(), "client auth".into()],
        expiration_seconds: Some(90 * 86_400),
        size_bytes: 480,
        csr: Ok(Csr {
            common_names: vec!["nodewell:node:worker-7".into()],
            organizations: vec![GROUP.into()],
            extensions: vec![
                Extension::KeyUsage { digital_signature_only: true },
                Extension::ExtendedKeyUsage { client_auth_only: true },
            ],
            key: Key::Ec(256),
            self_signed: true,
            ..Csr::default()
        }),
    }
}

fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = good();
    change(&mut request);
    request
}

fn with_csr(change: impl FnOnce(&mut Csr)) -> Request {
    with(|request| change(request.csr.as_mut().unwrap()))
}

fn reason(request: &Request) -> String {
    match judge(request, &Rule::default()) {
        ApprovalDecision::Approve { node } => format!("approved {node}"),
        ApprovalDecision::Leave(rejection) => rejection.reason().to_owned(),
        ApprovalDecision::Deny(rejection) => format!("denied {rejection}"),
        ApprovalDecision::Ignore => "ignored".to_owned(),
    }
}

#[test]
fn what_enroll_sends_is_approved() {
    assert_eq!(reason(&good()), "approved worker-7");
    let agent = with(|request| {
        request.username = "nodewell:node:worker-7".into();
        request.groups = vec!["nodewell:nodes".into()];
    });
    assert_eq!(reason(&agent), "approved worker-7", "the agent renews");
    assert_eq!(reason(&with_csr(|csr| csr.extensions.clear())), "approved worker-7");
    for key in [Key::Ec(384), Key::Ed25519, Key::Rsa(2048)] {
        assert_eq!(reason(&with_csr(|csr| csr.key = key)), "approved worker-7");
    }
    assert_eq!(reason(&with(|request| request.expiration_seconds = Some(600))), "approved worker-7");
}

#[test]
fn everything_else_stays_pending_with_its_own_words() {
    let cases: Vec<(Request, &str)> = vec![
        (with(|r| r.size_bytes = 4097), "TooLarge"),
        (with(|r| r.csr = Err("truncated".into())), "Unreadable"),
        (with_csr(|csr| csr.common_names.push("admin".into())), "CommonName"),
        (with_csr(|csr| csr.common_names.clear()), "CommonName"),
        (with_csr(|csr| csr.common_names = vec!["system:node:worker-7".into()]), "CommonName"),
        (with_csr(|csr| csr.common_names = vec!["nodewell:node:".into()]), "CommonName"),
        (with_csr(|csr| csr.common_names = vec!["nodewell:node:Worker-7".into()]), "CommonName"),
        (with_csr(|csr| csr.common_names = vec!["nodewell:node:worker-7\0".into()]), "CommonName"),
        (with_csr(|csr| csr.common_names = vec!["nodewell:node:a..b".into()]), "CommonName"),
        (with_csr(|csr| csr.common_names = vec![format!("nodewell:node:{}", "a".repeat(254))]), "CommonName"),
        (with_csr(|csr| csr.organizations = vec!["system:masters".into()]), "Organization"),
        (with_csr(|csr| csr.organizations.push("system:masters".into())), "Organization"),
        (with_csr(|csr| csr.organizations.push(GROUP.into())), "Organization"),
        (with_csr(|csr| csr.organizations.clear()), "Organization"),
        (with_csr(|csr| csr.other_subject = vec!["2.5.4.11".into()]), "Subject"),
        (with(|r| r.username = "system:node:worker-8".into()), "AnotherNode"),
        (with(|r| r.username = "system:node:worker-7.evil".into()), "AnotherNode"),
        (with(|r| r.username = "kubernetes-admin".into()), "Requester"),
        (with(|r| r.username = "system:bootstrap:abcdef".into()), "Requester"),
        (with(|r| r.groups = vec!["system:authenticated".into()]), "Requester"),
        (with(|r| r.groups = vec!["nodewell:nodes".into()]), "Requester"),
        (with(|r| r.signer = "kubernetes.io/kubelet-serving".into()), "Signer"),
        (with(|r| r.usages.push("server auth".into())), "Usages"),
        (with(|r| drop(r.usages.pop())), "Usages"),
        (with(|r| r.usages = vec!["any".into()]), "Usages"),
        (with(|r| r.expiration_seconds = None), "Lifetime"),
        (with(|r| r.expiration_seconds = Some(-1)), "Lifetime"),
        (with(|r| r.expiration_seconds = Some(599)), "Lifetime"),
        (with(|r| r.expiration_seconds = Some(90 * 86_400 + 1)), "Lifetime"),
        (with_csr(|csr| csr.extensions.push(Extension::AlternativeNames)), "AlternativeNames"),
        (with_csr(|csr| csr.extensions.push(Extension::Other("2.5.29.19".into()))), "Extension"),
        (with_csr(|csr| csr.extensions[0] = Extension::KeyUsage { digital_signature_only: false }), "Usages"),
        (with_csr(|csr| csr.extensions[1] = Extension::ExtendedKeyUsage { client_auth_only: false }), "Usages"),
        (with_csr(|csr| csr.other_attributes = vec!["1.2.840.113549.1.9.7".into()]), "Extension"),
        (with_csr(|csr| csr.key = Key::Rsa(1024)), "Key"),
        (with_csr(|csr| csr.key = Key::Rsa(65_536)), "Key"),
        (with_csr(|csr| csr.key = Key::Ec(224)), "Key"),
        (with_csr(|csr| csr.key = Key::Ec(521)), "Key"),
        (with_csr(|csr| csr.key = Key::None), "Key"),
        (with_csr(|csr| csr.self_signed = false), "Unsigned"),
    ];
    for (request, expected) in cases {
        assert_eq!(reason(&request), expected, "{request:?}");
    }
}

#[test]
fn what_is_another_clients_is_not_looked_at() {
    assert_eq!(reason(&with(|request| request.decided = true)), "ignored");
    let kubelets = with_csr(|csr| {
        csr.common_names = vec!["system:node:worker-7".into()];
        csr.organizations = vec!["system:nodes".into()];
    });
    assert_eq!(reason(&kubelets), "ignored");
    let garbage = with(|request| (request.name, request.csr) = ("csr-abc".into(), Err("no PEM".into())));
    assert_eq!(reason(&garbage), "ignored");
}

#[test]
fn only_the_forged_is_denied_and_only_when_asked_for() {
    let strict = Rule { deny_forged: true, ..Rule::default() };
    let verdict = |request: Request| judge(&request, &strict);
    let theft = with(|request| request.username = "system:node:worker-8".into());
    assert!(matches!(verdict(theft), ApprovalDecision::Deny(Rejection::AnotherNode { .. })));
    let masters = with_csr(|csr| csr.organizations.push("system:masters".into()));
    assert!(matches!(verdict(masters), ApprovalDecision::Deny(Rejection::Organizations(_))));
    let clumsy = with(|request| request.expiration_seconds = None);
    assert_eq!(verdict(clumsy), ApprovalDecision::Leave(Rejection::Endless));
    assert!(matches!(verdict(good()), ApprovalDecision::Approve { .. }));
}

#[test]
fn a_decision_names_the_request_that_was_read() {
    let now = "2026-01-01T00:00:00.5Z".parse().unwrap();
    let body = approval_body(&good(), Decision::Approved, "fits", now);
    assert_eq!(body["metadata"], json!({ "uid": "u", "resourceVersion": "1" }));
    let condition = json!({ "type": "Approved", "status": "True", "reason": "NodewellEnrolment", "message": "fits",
        "lastUpdateTime": "2026-01-01T00:00:00Z" });
    assert_eq!(body["status"]["conditions"], json!([condition]));
}
