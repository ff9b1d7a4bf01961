//! Reads what a signing request contains, for the rule. Any client may have written it: nothing is believed, nothing is
//! skipped, and what is not understood is an error.

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use x509_parser::{
    certification_request::X509CertificationRequest,
    cri_attributes::ParsedCriAttribute,
    der_parser::oid,
    extensions::{ExtendedKeyUsage, ParsedExtension, X509Extension},
    oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME, Oid},
    pem::Pem,
    prelude::FromDer,
    public_key::PublicKey,
    x509::{SubjectPublicKeyInfo, X509Name},
};

use crate::rule::{Csr, Extension, Key, Request};

/// Nothing larger is parsed at all; the rule's own limit is lower.
pub(crate) const SIZE_LIMIT_BYTES: usize = 64 << 10;

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const END: &str = "-----END CERTIFICATE REQUEST-----";

/// Why a request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SigningError {
    #[error("it has {0} bytes, and more than {SIZE_LIMIT_BYTES} are not read")]
    Size(usize),
    #[error("it is not one PEM block of a certificate request and nothing else")]
    Pem,
    #[error("it is no certificate request: {0}")]
    Der(String),
    #[error("{0} bytes follow the request")]
    Trailing(usize),
}

/// The object as the rule looks at it. What is missing is empty, and fits nothing.
#[must_use]
pub fn request(object: &CertificateSigningRequest) -> Request {
    let (meta, spec) = (&object.metadata, &object.spec);
    Request {
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
        decided: is_decided(object),
        signer: spec.signer_name.clone(),
        username: spec.username.clone().unwrap_or_default(),
        groups: spec.groups.clone().unwrap_or_default(),
        usages: spec.usages.clone().unwrap_or_default(),
        expiration_seconds: spec.expiration_seconds.map(i64::from),
        size_bytes: spec.request.0.len(),
        csr: parse(&spec.request.0).map_err(|error| error.to_string()),
    }
}

/// It has a condition, or a certificate.
#[must_use]
pub fn is_decided(object: &CertificateSigningRequest) -> bool {
    let Some(status) = &object.status else { return false };
    status.certificate.is_some() || status.conditions.as_ref().is_some_and(|all| !all.is_empty())
}

/// Parses `spec.request` (PEM).
///
/// # Errors
/// If it is too large, is not exactly one request, or has a part that is not understood.
pub(crate) fn parse(request: &[u8]) -> Result<Csr, SigningError> {
    if request.len() > SIZE_LIMIT_BYTES {
        return Err(SigningError::Size(request.len()));
    }
    let der = only_block(request)?;
    let (rest, parsed) = X509CertificationRequest::from_der(&der).map_err(|error| of_der(&error))?;
    if !rest.is_empty() {
        return Err(SigningError::Trailing(rest.len()));
    }
    facts(&parsed)
}

fn of_der(error: &dyn std::fmt::Display) -> SigningError {
    // The parser's message may contain the input.
    let message: String = error.to_string().chars().filter(|c| !nodewell_printable::is_hidden(*c)).take(120).collect();
    SigningError::Der(message)
}

/// The API server and the signer take the first block that they find. With one block, and nothing around it, there is no
/// question which one that is.
fn only_block(request: &[u8]) -> Result<Vec<u8>, SigningError> {
    let text = std::str::from_utf8(request).map_err(|_| SigningError::Pem)?.trim_ascii();
    let body = text.strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END)).ok_or(SigningError::Pem)?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte);
    if !body.starts_with(['\n', '\r']) || !body.ends_with('\n') || !body.bytes().all(is_base64) {
        return Err(SigningError::Pem);
    }
    let mut blocks = Pem::iter_from_buffer(text.as_bytes());
    match (blocks.next(), blocks.next()) {
        (Some(Ok(block)), None) => Ok(block.contents),
        _ => Err(SigningError::Pem),
    }
}

fn facts(parsed: &X509CertificationRequest<'_>) -> Result<Csr, SigningError> {
    let info = &parsed.certification_request_info;
    let mut csr = Csr {
        common_names: texts(&info.subject, &OID_X509_COMMON_NAME),
        organizations: texts(&info.subject, &OID_X509_ORGANIZATION_NAME),
        other_subject: other_parts(&info.subject),
        key: key(&info.subject_pki),
        self_signed: parsed.verify_signature().is_ok(),
        ..Csr::default()
    };
    let mut asked_before = false;
    for attribute in info.iter_attributes() {
        match attribute.parsed_attribute() {
            ParsedCriAttribute::ExtensionRequest(asked) if !asked_before => {
                asked_before = true;
                csr.extensions.extend(asked.extensions.iter().map(extension));
            }
            _ => csr.other_attributes.push(attribute.oid.to_id_string()),
        }
    }
    Ok(csr)
}

/// A name that is not text (such as BMPString) is an empty one, which fits nothing.
fn texts(subject: &X509Name<'_>, kind: &Oid<'_>) -> Vec<String> {
    let parts = subject.iter_attributes().filter(|part| part.attr_type() == kind);
    parts.map(|part| part.as_str().unwrap_or_default().to_owned()).collect()
}

fn other_parts(subject: &X509Name<'_>) -> Vec<String> {
    let kinds = subject.iter_attributes().map(|part| part.attr_type());
    let others = kinds.filter(|kind| **kind != OID_X509_COMMON_NAME && **kind != OID_X509_ORGANIZATION_NAME);
    others.map(Oid::to_id_string).collect()
}

fn extension(extension: &X509Extension<'_>) -> Extension {
    match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(_) => Extension::AlternativeNames,
        // Bit 0 is digitalSignature (RFC 5280, 4.2.1.3).
        ParsedExtension::KeyUsage(usage) => Extension::KeyUsage { digital_signature_only: usage.flags == 1 },
        ParsedExtension::ExtendedKeyUsage(usage) => {
            Extension::ExtendedKeyUsage { client_auth_only: is_client_auth_only(usage) }
        }
        _ => Extension::Other(extension.oid.to_id_string()),
    }
}

fn is_client_auth_only(usage: &ExtendedKeyUsage<'_>) -> bool {
    let others = usage.any
        || usage.server_auth
        || usage.code_signing
        || usage.email_protection
        || usage.time_stamping
        || usage.ocsp_signing
        || !usage.other.is_empty();
    usage.client_auth && !others
}

fn key(info: &SubjectPublicKeyInfo<'_>) -> Key {
    // RFC 8410.
    let ed25519 = oid!(1.3.101.112);
    match info.parsed() {
        _ if info.algorithm.algorithm == ed25519 => Key::Ed25519,
        Ok(PublicKey::EC(_)) => curve(info),
        Ok(PublicKey::RSA(key)) => Key::Rsa(u32::try_from(key.key_size()).unwrap_or(u32::MAX)),
        _ => Key::Unknown(info.algorithm.algorithm.to_id_string()),
    }
}

/// The curve by its name (RFC 5480, 2.1.1.1), not by how long the point is: others are as long.
fn curve(info: &SubjectPublicKeyInfo<'_>) -> Key {
    let named = info.algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
    match named {
        Some(curve) if curve == oid!(1.2.840.10045.3.1.7) => Key::Ec(256),
        Some(curve) if curve == oid!(1.3.132.0.34) => Key::Ec(384),
        Some(curve) if curve == oid!(1.3.132.0.35) => Key::Ec(521),
        Some(other) => Key::Unknown(other.to_id_string()),
        None => Key::Unknown("a curve without a name".to_owned()),
    }
}

#[cfg(test)]
mod tests;
