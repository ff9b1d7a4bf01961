//! The key of a node's own identity, and the request to sign it. The key is made here and never leaves the node.

use std::time::Duration;

use k8s_openapi::ByteString;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, PublicKeyData,
};
use serde_json::{Value, json};

/// What a node's own identity is called: this and the Node's name.
pub const USER_PREFIX: &str = "nodewell:node:";
/// The group that roles are bound to.
pub const GROUP: &str = "nodewell:nodes";
/// Signs for clients of the API server, and never without approval.
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// The user name of Node `node`.
#[must_use]
pub fn user_name(node: &str) -> String {
    format!("{USER_PREFIX}{node}")
}

/// A key and what asks for its certificate.
#[derive(Debug)]
pub struct SigningRequest {
    key: KeyPair,
    pem: String,
    name: String,
}

impl SigningRequest {
    /// With a new key, for Node `node`.
    pub fn new(node: &str) -> Result<Self, rcgen::Error> {
        Self::of_key(KeyPair::generate()?, node)
    }

    /// The same again, with a key that was saved.
    pub fn again(key_pem: &str, node: &str) -> Result<Self, rcgen::Error> {
        Self::of_key(KeyPair::from_pem(key_pem)?, node)
    }

    fn of_key(key: KeyPair, node: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, GROUP);
        params.distinguished_name.push(DnType::CommonName, user_name(node));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let pem = params.serialize_request(&key)?.pem()?;
        // By the key: no other client can take the name before us, and asking twice is asking once.
        let hash = params.key_identifier(&key);
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { key, pem, name: format!("nodewell-{node}-{hash}") })
    }

    /// The name of the CertificateSigningRequest.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// As certificates have it.
    #[must_use]
    pub fn public_key(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    /// The object to create.
    #[must_use]
    pub fn object(&self, lifetime: Duration) -> Value {
        json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": self.name, "labels": {"app.kubernetes.io/name": "nodewell"}},
            "spec": {
                "request": ByteString(self.pem.clone().into_bytes()),
                "signerName": SIGNER,
                "usages": ["digital signature", "client auth"],
                "expirationSeconds": lifetime.as_secs().min(i32::MAX as u64),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use x509_parser::{certification_request::X509CertificationRequest, extensions::ParsedExtension, prelude::FromDer};

    use super::*;

    #[test]
    fn the_request_names_exactly_who_and_for_what() {
        let request = SigningRequest::new("worker-7").unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(request.pem.as_bytes()).unwrap();
        let (_, parsed) = X509CertificationRequest::from_der(&pem.contents).unwrap();
        assert_eq!(
            parsed.certification_request_info.subject.to_string(),
            "O=nodewell:nodes, CN=nodewell:node:worker-7"
        );
        assert_eq!(parsed.certification_request_info.subject_pki.raw, request.public_key());
        let extensions: Vec<&ParsedExtension<'_>> = parsed.requested_extensions().unwrap().collect();
        assert_eq!(extensions.len(), 2, "{extensions:?}");
        for extension in extensions {
            match extension {
                ParsedExtension::KeyUsage(usage) => assert_eq!(usage.flags, 1, "digital signature alone"),
                ParsedExtension::ExtendedKeyUsage(usage) => {
                    assert!(usage.client_auth && !usage.server_auth && !usage.any && usage.other.is_empty());
                }
                other => panic!("{other:?}"),
            }
        }
        let object = request.object(Duration::from_hours(24));
        assert_eq!(object["spec"]["usages"], json!(["digital signature", "client auth"]));
        assert_eq!(object["spec"]["expirationSeconds"], 86_400);
    }

    #[test]
    fn a_saved_key_asks_under_the_same_name_and_another_key_does_not() {
        let first = SigningRequest::new("n1").unwrap();
        let again = SigningRequest::again(&first.key_pem(), "n1").unwrap();
        assert_eq!((again.name(), again.public_key()), (first.name(), first.public_key()));
        assert_ne!(SigningRequest::new("n1").unwrap().name(), first.name());
        assert!(first.name().starts_with("nodewell-n1-"));
    }
}
