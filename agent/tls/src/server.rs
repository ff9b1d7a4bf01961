//! How a TLS server is set up: which certificate it shows, and whose it asks its clients for.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        Error, ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, pem::PemObject},
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};

use crate::{Unusable, certificates, roots};

/// The files of a server, all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// With its chain.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Clients have to show a certificate that an authority in this file signed; nothing: any client is served.
    pub client_authority: Option<PathBuf>,
}

/// What a server cannot be set up with; the file comes first.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    #[error("{0}: the certificate cannot be used: {1}")]
    Certificate(PathBuf, #[source] Unusable),
    /// Why is not said: the reason may quote the key.
    #[error("{0}: it is no private key in PEM")]
    Key(PathBuf),
    #[error("{0}: the certificate and its key cannot be used together: {1}")]
    Pair(PathBuf, #[source] Error),
    #[error("{0}: the authority of clients cannot be used: {1}")]
    ClientAuthority(PathBuf, #[source] Unusable),
    #[error("{0}: the authority of clients cannot be used: {1}")]
    ClientVerifier(PathBuf, #[source] VerifierBuilderError),
    #[error(transparent)]
    Versions(Error),
}

impl ServerFiles {
    /// By what the files hold now, for another program may renew them: TLS 1.2 and 1.3, by ring.
    ///
    /// # Errors
    /// The file that cannot be used, and why.
    pub fn acceptor(&self) -> Result<TlsAcceptor, ServerError> {
        let chain = certificates(&read(&self.certificate)?)
            .map_err(|error| ServerError::Certificate(self.certificate.clone(), error))?;
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|_| ServerError::Key(self.key.clone()))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(ServerError::Versions)?;
        let builder = match &self.client_authority {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let authorities =
                    roots(&read(file)?).map_err(|error| ServerError::ClientAuthority(file.clone(), error))?;
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| ServerError::ClientVerifier(file.clone(), error))?,
                )
            }
        };
        let config = builder.with_single_cert(chain, key);
        let config = config.map_err(|error| ServerError::Pair(self.certificate.clone(), error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, ServerError> {
    fs::read(file).map_err(|error| ServerError::File(file.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    /// A certificate and its key in `folder`, as `NAME.crt` and `NAME.key`.
    fn pair(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["host".to_owned()]).unwrap().self_signed(&key).unwrap();
        let (cert_file, key_file) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        fs::write(&cert_file, certificate.pem()).unwrap();
        fs::write(&key_file, key.serialize_pem()).unwrap();
        (cert_file, key_file)
    }

    #[test]
    fn files_are_read_as_they_are_now() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair(folder.path(), "one");
        let files = ServerFiles { client_authority: Some(certificate.clone()), certificate, key };
        assert!(files.acceptor().is_ok());
        assert!(ServerFiles { client_authority: None, ..files.clone() }.acceptor().is_ok());
        fs::remove_file(&files.key).unwrap();
        assert!(files.acceptor().is_err());
        pair(folder.path(), "one");
        assert!(files.acceptor().is_ok());
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair(folder.path(), "one");
        let (_, other) = pair(folder.path(), "other");
        let empty = folder.path().join("empty.crt");
        fs::write(&empty, "").unwrap();
        let whole = ServerFiles { certificate: certificate.clone(), key, client_authority: None };
        let refusal = |files: ServerFiles| files.acceptor().err().unwrap().to_string();
        let cases = [
            (ServerFiles { certificate: "/nonexistent.crt".into(), ..whole.clone() }, "/nonexistent.crt: No such file"),
            (ServerFiles { certificate: empty.clone(), ..whole.clone() }, "empty.crt: the certificate cannot be used"),
            (ServerFiles { key: certificate, ..whole.clone() }, "one.crt: it is no private key in PEM"),
            (ServerFiles { key: other, ..whole.clone() }, "one.crt: the certificate and its key cannot be used"),
            (
                ServerFiles { client_authority: Some(empty), ..whole },
                "empty.crt: the authority of clients cannot be used",
            ),
        ];
        for (files, expected) in cases {
            let refused = refusal(files);
            assert!(refused.contains(expected), "{expected}: {refused}");
        }
    }
}
