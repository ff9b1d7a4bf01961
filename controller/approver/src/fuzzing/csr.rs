//! Certificate signing requests: any client that may create one writes what it likes into it.

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    rule::{ApprovalDecision, Csr, GROUP, Key, Request, Rule, SIGNER, USER_PREFIX, judge},
    signing::{self, SIZE_LIMIT_BYTES},
};

const NODE: &str = "n1";

/// The first byte chooses: the object as the API server has it, the text of `spec.request`, or the DER in it. What is
/// approved is one request, of this node, for nothing more than an agent needs; two are never one.
pub fn csr(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    match choice % 3 {
        0 => object(rest),
        1 => text(rest),
        _ => text(pem(rest).as_bytes()),
    }
}

fn object(json: &[u8]) {
    let Ok(object) = serde_json::from_slice(json) else { return };
    let request = signing::request(&object);
    if let ApprovalDecision::Approve { node } = judge(&request, &Rule::default()) {
        assert!(!signing::is_decided(&object) && request.signer == SIGNER, "{request:?}");
        let asker = request.username.strip_prefix("system:node:").or(request.username.strip_prefix(USER_PREFIX));
        assert_eq!(asker, Some(node.as_str()));
    }
}

fn text(text: &[u8]) {
    let parsed = signing::parse(text);
    assert!(parsed.is_err() || text.len() <= SIZE_LIMIT_BYTES, "{} bytes", text.len());
    let twice = [text, b"\n", text].concat();
    assert!(signing::parse(&twice).is_err(), "two requests are none");
    let decision = judge(&asked_by_kubelet(text.len(), parsed.clone()), &Rule::default());
    match (decision, parsed) {
        (ApprovalDecision::Approve { node }, Ok(csr)) => is_harmless(&node, &csr),
        (ApprovalDecision::Approve { node }, Err(error)) => panic!("{node} is approved, and {error}"),
        (ApprovalDecision::Leave(why) | ApprovalDecision::Deny(why), _) => {
            assert!(!why.reason().is_empty() && !why.to_string().is_empty());
        }
        (ApprovalDecision::Ignore, parsed) => {
            assert!(parsed.is_ok_and(|csr| !csr.organizations.iter().any(|name| name == GROUP)));
        }
    }
}

fn is_harmless(node: &str, csr: &Csr) {
    assert_eq!((node, csr.common_names.as_slice()), (NODE, &[format!("{USER_PREFIX}{NODE}")][..]));
    assert_eq!(csr.organizations, [GROUP]);
    assert!(csr.self_signed && csr.other_subject.is_empty() && csr.other_attributes.is_empty(), "{csr:?}");
    assert!(!matches!(csr.key, Key::None | Key::Unknown(_)), "{csr:?}");
}

/// As the agent of [`NODE`] asks for it, but for what is in it.
fn asked_by_kubelet(size_bytes: usize, csr: Result<Csr, signing::SigningError>) -> Request {
    Request {
        name: format!("nodewell-{NODE}-0"),
        uid: "u".into(),
        resource_version: "1".into(),
        decided: false,
        signer: SIGNER.into(),
        username: format!("system:node:{NODE}"),
        groups: vec!["system:nodes".into()],
        usages: vec!["client auth".into(), "digital signature".into()],
        expiration_seconds: Some(86_400),
        size_bytes,
        csr: csr.map_err(|error| error.to_string()),
    }
}

fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", lines.join("\n"))
}
