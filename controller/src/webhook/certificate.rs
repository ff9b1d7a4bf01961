//! The serving certificate: files that are named, or a pair that this replica makes itself. Its own key never leaves its
//! host; the certificate is all that the API server has to know, and is no secret.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    },
};

const CERT: &str = "webhook.crt";
const KEY: &str = "webhook.key";
/// It is known by itself and not by its age: a person who wants another one deletes the files.
const YEARS: i32 = 20;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("there is no folder for its key (STATE_DIRECTORY is not set); name files by [webhook] cert and key")]
    NoFolder,
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    #[error("{0}: is no certificate or key: {1}")]
    Pem(PathBuf, #[source] pem::Error),
    #[error("no certificate can be made: {0}")]
    Make(#[from] rcgen::Error),
    #[error("{0} and its key do not fit: {1}")]
    Unfit(PathBuf, #[source] rustls::Error),
}

/// What is served with.
#[derive(Debug, Clone)]
pub struct Certificate {
    cert: PathBuf,
    key: PathBuf,
    is_own: bool,
}

impl Certificate {
    /// Files that another program renews: they are read for each connection.
    ///
    /// # Errors
    /// What is wrong with them now.
    pub fn of_files(cert: PathBuf, key: PathBuf) -> Result<Self, CertificateError> {
        let certificate = Self { cert, key, is_own: false };
        certificate.acceptor().map(|_| certificate)
    }

    /// The pair in `folder`, made if it is not there or cannot be read.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn own(folder: &Path) -> Result<Self, CertificateError> {
        let certificate = Self { cert: folder.join(CERT), key: folder.join(KEY), is_own: true };
        if certificate.acceptor().is_err() {
            make(&certificate)?;
        }
        certificate.acceptor().map(|_| certificate)
    }

    /// Its own certificate, as the API server has to know it. Of named files a person knows the authority.
    #[must_use]
    pub fn to_publish(&self) -> Option<String> {
        fs::read_to_string(&self.cert).ok().filter(|_| self.is_own)
    }

    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, CertificateError> {
        let read = |path: &Path| fs::read(path).map_err(|error| CertificateError::File(path.to_owned(), error));
        let certs: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(&self.cert)?)
            .collect::<Result<_, _>>()
            .map_err(|error| CertificateError::Pem(self.cert.clone(), error))?;
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?);
        let key = key.map_err(|error| CertificateError::Pem(self.key.clone(), error))?;
        let unfit = |error| CertificateError::Unfit(self.cert.clone(), error);
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(unfit)?.with_no_client_auth();
        Ok(TlsAcceptor::from(Arc::new(builder.with_single_cert(certs, key).map_err(unfit)?)))
    }
}

/// For loopback alone: the API server of this host asks.
fn make(certificate: &Certificate) -> Result<(), CertificateError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    params.subject_alt_names.extend(loopback.map(SanType::IpAddress));
    params.distinguished_name.push(DnType::CommonName, "nodewell-controller");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // Clocks of hosts differ; a certificate of tomorrow would be refused today.
    let year = i32::from(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).year());
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + YEARS, 1, 1);
    let cert = params.self_signed(&key)?;
    store(&certificate.key, &key.serialize_pem(), 0o600)?;
    store(&certificate.cert, &cert.pem(), 0o644)
}

/// Whole or not at all: half a key would be one that fits nothing.
fn store(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    let failed = |error| CertificateError::File(path.to_owned(), error);
    let new = path.with_extension("new");
    drop(fs::remove_file(&new));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_pair_is_made_once_and_its_key_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = Certificate::own(folder.path()).unwrap().to_publish().unwrap();
        assert_eq!(Certificate::own(folder.path()).unwrap().to_publish().unwrap(), first, "a restart keeps it");
        let mode = fs::metadata(folder.path().join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(folder.path().join(KEY), "cut off").unwrap();
        assert_ne!(Certificate::own(folder.path()).unwrap().to_publish().unwrap(), first, "half a pair is none");
    }

    #[test]
    fn named_files_that_do_not_fit_are_an_error_that_names_them() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, other) = (one.path(), other.path());
        Certificate::own(one).unwrap();
        Certificate::own(other).unwrap();
        let error = Certificate::of_files(one.join(CERT), other.join(KEY)).unwrap_err().to_string();
        assert!(error.contains("webhook.crt and its key do not fit"), "{error}");
        let error = Certificate::of_files(one.join("absent"), one.join(KEY)).unwrap_err().to_string();
        assert!(error.contains("absent: No such file"), "{error}");
        let named = Certificate::of_files(one.join(CERT), one.join(KEY)).unwrap();
        assert_eq!(named.to_publish(), None, "its authority is a person's to name");
    }
}
