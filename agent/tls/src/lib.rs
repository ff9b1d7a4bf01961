//! How a TLS client is set up: whose certificates it takes from a server, and which it shows of its own; and
//! the servers of metrics, which ask the same of their clients.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod metrics;
mod server;
mod unverified;

use std::sync::Arc;

use tokio_rustls::rustls::{
    ClientConfig, Error, RootCertStore,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};

pub use metrics::{MetricsTls, TlsGuard};
pub use server::{ServerError, ServerFiles};
pub use unverified::Unverified;

/// Whose certificates are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Those that one of the host's authorities signed.
    HostAuthorities,
    /// Those that an authority in this PEM signed, and no other's.
    Authorities(&'a [u8]),
    /// Any server's: an impostor is not noticed.
    Unverified,
}

/// What a client shows of itself; both PEM.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// With its chain.
    pub certificate: &'a [u8],
    pub key: &'a [u8],
}

/// What TLS cannot be set up with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate authority cannot be used: {0}")]
    Authority(Unusable),
    #[error("the host has no certificate authorities that can be read")]
    Host,
    #[error("the client certificate cannot be used: {0}")]
    Certificate(Unusable),
    /// Why is not said: the reason may quote the key.
    #[error("the client key cannot be used: it is no private key in PEM")]
    Key,
    #[error("the client certificate and its key do not fit together")]
    Mismatch,
    #[error("the client certificate and its key cannot be used: {0}")]
    Pair(Error),
    #[error(transparent)]
    Versions(Error),
}

/// What is wrong with a PEM.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("it is no PEM: {0}")]
    Pem(pem::Error),
    #[error("it is empty")]
    Empty,
    #[error(transparent)]
    Content(Error),
}

/// TLS 1.2 and 1.3, by ring.
pub fn client_config(trust: Trust<'_>, shown: Option<Shown<'_>>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Versions)?;
    let builder = match trust {
        Trust::HostAuthorities => builder.with_root_certificates(host_roots()?),
        Trust::Authorities(pem) => builder.with_root_certificates(roots(pem).map_err(TlsError::Authority)?),
        Trust::Unverified => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider))),
    };
    let Some(Shown { certificate, key }) = shown else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(certificate).map_err(TlsError::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Key)?;
    builder.with_client_auth_cert(chain, key).map_err(|error| match error {
        Error::InconsistentKeys(_) => TlsError::Mismatch,
        other => TlsError::Pair(other),
    })
}

fn roots(pem: &[u8]) -> Result<RootCertStore, Unusable> {
    let mut roots = RootCertStore::empty();
    certificates(pem)?.into_iter().try_for_each(|certificate| roots.add(certificate)).map_err(Unusable::Content)?;
    Ok(roots)
}

/// Some of a host's may be too old to be read; the others count.
fn host_roots() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::Host) } else { Ok(roots) }
}

/// One at least. Keys and comments between them are passed over.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Unusable> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(Unusable::Pem)?;
    if all.is_empty() { Err(Unusable::Empty) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    /// A certificate and its key.
    fn pair() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["host".to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn refusal(trust: Trust<'_>, shown: Option<(&str, &str)>) -> String {
        let shown = shown.map(|(certificate, key)| Shown { certificate: certificate.as_bytes(), key: key.as_bytes() });
        client_config(trust, shown).unwrap_err().to_string()
    }

    #[test]
    fn an_authority_and_a_pair_in_one_file_are_taken() {
        let (certificate, key) = pair();
        let both = format!("# kubelet\n{certificate}{key}");
        let shown = Shown { certificate: both.as_bytes(), key: both.as_bytes() };
        let config = client_config(Trust::Authorities(certificate.as_bytes()), Some(shown)).unwrap();
        assert!(config.client_auth_cert_resolver.has_certs());
        assert!(!client_config(Trust::Unverified, None).unwrap().client_auth_cert_resolver.has_certs());
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let (certificate, key) = pair();
        let (_, other) = pair();
        assert!(refusal(Trust::Authorities(b""), None).contains("authority cannot be used: it is empty"));
        let half = &certificate[..certificate.len() / 2];
        assert!(refusal(Trust::Authorities(half.as_bytes()), None).contains("authority cannot be used"));
        let nothing = certificate.replace(|sign: char| sign.is_ascii_lowercase(), "");
        assert!(refusal(Trust::Authorities(nothing.as_bytes()), None).contains("authority cannot be used"));
        assert!(
            refusal(Trust::Unverified, Some(("", &key))).contains("client certificate cannot be used: it is empty")
        );
        assert!(refusal(Trust::Unverified, Some((&certificate, "key"))).contains("client key cannot be used"));
        assert!(refusal(Trust::Unverified, Some((&certificate, &other))).contains("do not fit together"));
    }
}
