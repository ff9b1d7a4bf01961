//! Requests that `nodewell enroll` makes, and what becomes of every changed one.

use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SanType,
};

use super::*;
use crate::rule::{ApprovalDecision, GROUP, Rejection, Rule, SIGNER, judge};

/// As `nodewell enroll` makes it.
fn ours() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, GROUP);
    params.distinguished_name.push(DnType::CommonName, "nodewell:node:n1");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn pem(params: &CertificateParams) -> String {
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

fn with(change: impl FnOnce(&mut CertificateParams)) -> Csr {
    let mut params = ours();
    change(&mut params);
    parse(pem(&params).as_bytes()).unwrap()
}

fn verdict(csr: Csr) -> ApprovalDecision {
    let request = Request {
        name: "nodewell-n1-0".into(),
        uid: String::new(),
        resource_version: String::new(),
        decided: false,
        signer: SIGNER.into(),
        username: "system:node:n1".into(),
        groups: vec!["system:nodes".into()],
        usages: vec!["client auth".into(), "digital signature".into()],
        expiration_seconds: Some(86_400),
        size_bytes: 500,
        csr: Ok(csr),
    };
    judge(&request, &Rule::default())
}

#[test]
fn what_enroll_makes_is_read_and_approved() {
    let csr = with(|_| {});
    assert_eq!(csr.common_names, ["nodewell:node:n1"]);
    assert_eq!(csr.organizations, [GROUP]);
    assert_eq!((&csr.key, csr.self_signed), (&Key::Ec(256), true));
    assert!(csr.other_subject.is_empty() && csr.other_attributes.is_empty());
    assert_eq!(verdict(csr), ApprovalDecision::Approve { node: "n1".into() });
}

#[test]
fn other_keys_are_known_by_their_curve() {
    for (algorithm, expected) in [(&PKCS_ECDSA_P384_SHA384, Key::Ec(384)), (&PKCS_ED25519, Key::Ed25519)] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let csr = parse(ours().serialize_request(&key).unwrap().pem().unwrap().as_bytes()).unwrap();
        assert_eq!((csr.key, csr.self_signed), (expected, true));
    }
}

#[test]
fn everything_that_is_asked_for_is_seen() {
    type Change = fn(&mut CertificateParams);
    let changes: [(Change, &str); 9] = [
        (|p| p.subject_alt_names.push(SanType::DnsName("n1".try_into().unwrap())), "AlternativeNames"),
        (|p| p.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into())), "AlternativeNames"),
        (|p| p.subject_alt_names.push(SanType::URI("spiffe://x".try_into().unwrap())), "AlternativeNames"),
        (|p| p.distinguished_name.push(DnType::OrganizationName, "system:masters"), "Organization"),
        (|p| p.distinguished_name.push(DnType::OrganizationalUnitName, "x"), "Subject"),
        (|p| p.distinguished_name.push(DnType::CommonName, "nodewell:node:n2"), "AnotherNode"),
        (|p| p.key_usages.push(KeyUsagePurpose::KeyCertSign), "Usages"),
        (|p| p.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth), "Usages"),
        (|p| p.custom_extensions.push(CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0])), "Extension"),
    ];
    for (change, expected) in changes {
        let ApprovalDecision::Leave(rejection) = verdict(with(change)) else { panic!("{expected}") };
        assert_eq!(rejection.reason(), expected, "{rejection}");
    }
}

/// Made by hand, because rcgen stores one part of each kind.
#[test]
fn two_common_names_are_two() {
    let one = ours().serialize_request(&KeyPair::generate().unwrap()).unwrap();
    let der = one.der().to_vec();
    let name = b"\x31\x19\x30\x17\x06\x03\x55\x04\x03\x0c\x10nodewell:node:n1";
    let at = der.windows(name.len()).position(|window| window == name).unwrap();
    let mut double = der.clone();
    double.splice(at..at, name.iter().copied());
    // The two sequences around it and the subject's own grow by as much. The outer one's length has two bytes.
    let grown = u8::try_from(name.len()).unwrap();
    let subject = der[..at].windows(2).rposition(|pair| pair[0] == 0x30 && usize::from(pair[1]) > name.len()).unwrap();
    double[subject + 1] += grown;
    for header in [3, 6] {
        lengthen(&mut double, header, grown);
    }
    let Ok((_, parsed)) = X509CertificationRequest::from_der(&double) else { panic!("{double:02x?}") };
    let csr = facts(&parsed).unwrap();
    assert_eq!(csr.common_names.len(), 2);
    assert!(!csr.self_signed, "and its signature is broken by it");
    assert_eq!(verdict(csr), ApprovalDecision::Leave(Rejection::CommonNames(2)));
}

/// Adds to the low byte of a length, with its carry.
fn lengthen(der: &mut [u8], low: usize, by: u8) {
    let (sum, carried) = der[low].overflowing_add(by);
    der[low] = sum;
    if carried {
        der[low - 1] += 1;
    }
}

#[test]
fn a_changed_request_is_not_signed_by_its_key() {
    let one = ours().serialize_request(&KeyPair::generate().unwrap()).unwrap();
    let mut der = one.der().to_vec();
    let at = der.windows(8).position(|window| window == b"node:n1\xa0" || &window[..7] == b"node:n1").unwrap();
    der[at + 6] = b'2';
    let (_, parsed) = X509CertificationRequest::from_der(&der).unwrap();
    let csr = facts(&parsed).unwrap();
    assert_eq!(csr.common_names, ["nodewell:node:n2"]);
    assert!(!csr.self_signed);
}

#[test]
fn a_truncated_request_is_an_error_at_every_byte() {
    let der = ours().serialize_request(&KeyPair::generate().unwrap()).unwrap().der().to_vec();
    for length in 0..der.len() {
        assert!(X509CertificationRequest::from_der(&der[..length]).is_err(), "{length}");
    }
    let whole = pem(&ours());
    for length in 0..whole.trim_end().len() {
        assert!(parse(&whole.as_bytes()[..length]).is_err(), "{length}");
    }
}

#[test]
fn flipped_bytes_never_panic_and_nothing_else_than_was_signed_is_approved() {
    let der = ours().serialize_request(&KeyPair::generate().unwrap()).unwrap().der().to_vec();
    let signed =
        |der: &[u8]| X509CertificationRequest::from_der(der).unwrap().1.certification_request_info.raw.to_vec();
    for at in 0..der.len() {
        for bits in [0x01, 0x80, 0xff] {
            let mut odd = der.clone();
            odd[at] ^= bits;
            let Ok((_, parsed)) = X509CertificationRequest::from_der(&odd) else { continue };
            if matches!(verdict(facts(&parsed).unwrap()), ApprovalDecision::Approve { .. }) {
                assert_eq!(parsed.certification_request_info.raw, signed(&der), "byte {at} ^ {bits:#x}");
            }
        }
    }
}

#[test]
fn only_one_block_and_nothing_around_it() {
    let one = pem(&ours());
    let two = pem(&with_name("nodewell:node:n2"));
    assert!(parse(one.as_bytes()).is_ok());
    assert!(parse(one.replace('\n', "\r\n").as_bytes()).is_ok());
    let odd = [
        format!("{one}{two}"),
        format!("junk\n{one}"),
        format!("{one}junk"),
        one.replacen("REQUEST-----\n", "REQUEST-----\nProc-Type: 4,ENCRYPTED\n\n", 1),
        one.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"),
        one.replace("CERTIFICATE REQUEST", "CERTIFICATE"),
        one.replacen("M", "-", 1),
        String::new(),
    ];
    for text in odd {
        assert_eq!(parse(text.as_bytes()).err(), Some(SigningError::Pem), "{text}");
    }
    assert_eq!(parse(&[0xff; 9]).err(), Some(SigningError::Pem));
}

fn with_name(name: &str) -> CertificateParams {
    let mut params = ours();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

#[test]
fn a_megabyte_is_not_parsed() {
    let text = format!("{BEGIN}\n{}\n{END}\n", "A".repeat(1 << 20));
    assert_eq!(parse(text.as_bytes()), Err(SigningError::Size(text.len())));
    let within = format!("{BEGIN}\n{}\n{END}\n", "MIAw".repeat(15_000));
    assert!(matches!(parse(within.as_bytes()), Err(SigningError::Der(_) | SigningError::Pem)));
}

#[test]
fn an_object_of_the_api_is_judged_as_a_whole() {
    let request_of = |status: serde_json::Value| {
        let pem = k8s_openapi::ByteString(pem(&ours()).into_bytes());
        let object = serde_json::json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": { "name": "nodewell-n1-0", "uid": "u", "resourceVersion": "3" },
            "spec": { "request": pem, "signerName": SIGNER, "usages": ["digital signature", "client auth"],
                "expirationSeconds": 7_776_000, "username": "system:node:n1", "groups": ["system:nodes"] },
            "status": status,
        });
        request(&serde_json::from_value(object).unwrap())
    };
    let rule = Rule::default();
    assert_eq!(judge(&request_of(serde_json::json!({})), &rule), ApprovalDecision::Approve { node: "n1".into() });
    let denied = serde_json::json!({ "conditions": [{ "type": "Denied", "status": "True" }] });
    assert_eq!(judge(&request_of(denied), &rule), ApprovalDecision::Ignore);
    let issued = serde_json::json!({ "certificate": "QQ==" });
    assert_eq!(judge(&request_of(issued), &rule), ApprovalDecision::Ignore);
    assert_eq!(judge(&request(&CertificateSigningRequest::default()), &rule), ApprovalDecision::Ignore, "empty");
}
