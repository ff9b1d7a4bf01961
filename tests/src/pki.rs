//! The certificates of a test cluster: an authority, the server, service accounts, and clients as they are asked for.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use k8s_openapi::ByteString;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use serde_json::{Value, json};

/// All files lie in one folder, which belongs to the server.
#[derive(Debug)]
pub struct Pki {
    folder: PathBuf,
    authority: Authority,
}

struct Authority(Issuer<'static, KeyPair>);

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Pki {
    /// A new one in `dir`, whose server also has these addresses.
    ///
    /// # Panics
    /// If its files cannot be written.
    #[must_use]
    pub fn new(dir: &Path, addresses: &[&str]) -> Self {
        let folder = dir.join("pki");
        fs::create_dir(&folder).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = authority_params();
        fs::write(folder.join("ca.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
        // What signs requests for certificates has it as a file.
        fs::write(folder.join("ca.key"), key.serialize_pem()).unwrap();
        let pki = Self { folder, authority: Authority(Issuer::new(params, key)) };
        pki.issue("server", server_params(addresses));
        let accounts = KeyPair::generate().unwrap();
        fs::write(pki.path("sa.key"), accounts.serialize_pem()).unwrap();
        fs::write(pki.path("sa.pub"), accounts.public_key_pem()).unwrap();
        pki
    }

    /// One of its files.
    #[must_use]
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// A client certificate, as a kubeconfig's user has it.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn client(&self, name: &str, group: &str) -> Value {
        let file = name.replace(':', "-");
        if !self.path(&format!("{file}.crt")).exists() {
            self.issue(&file, client_params(name, group));
        }
        let (certificate, key) = (self.path(&format!("{file}.crt")), self.path(&format!("{file}.key")));
        json!({ "client-certificate": certificate, "client-key": key })
    }

    /// Into another folder, for a life that begins a minute ago.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write_client(&self, name: &str, group: &str, folder: &Path, life: Duration) {
        let mut params = client_params(name, group);
        let now = rcgen::date_time_ymd(1970, 1, 1) + SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        (params.not_before, params.not_after) = (now - Duration::from_secs(60), now + life);
        self.issue_to(folder, "client", params);
    }

    /// Of an etcd member: its gateway asks the member itself with it.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write_etcd(&self, folder: &Path) {
        let mut params = server_params(&[]);
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        self.issue_to(folder, "etcd", params);
    }

    /// A client certificate that is good on these days from now, all in the kubeconfig itself.
    ///
    /// # Panics
    /// If it cannot be signed.
    #[must_use]
    pub fn dated(&self, name: &str, group: &str, days: Range<i64>) -> Value {
        let key = KeyPair::generate().unwrap();
        let mut params = client_params(name, group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let day = |from_now: i64| {
            let time = Timestamp::now() + SignedDuration::from_hours(24 * from_now);
            let date = time.to_zoned(TimeZone::UTC).date();
            date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
        };
        (params.not_before, params.not_after) = (day(days.start), day(days.end));
        let certificate = params.signed_by(&key, &self.authority.0).unwrap();
        json!({ "client-certificate-data": data(certificate.pem().into_bytes()), "client-key-data": data(key.serialize_pem().into_bytes()) })
    }

    /// The key first: a certificate that is there has its key.
    fn issue(&self, file: &str, params: CertificateParams) {
        self.issue_to(&self.folder, file, params);
    }

    fn issue_to(&self, folder: &Path, file: &str, mut params: CertificateParams) {
        let key = KeyPair::generate().unwrap();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let certificate = params.signed_by(&key, &self.authority.0).unwrap();
        fs::write(folder.join(format!("{file}.key")), key.serialize_pem()).unwrap();
        fs::write(folder.join(format!("{file}.crt")), certificate.pem()).unwrap();
    }
}

/// As a kubeconfig has what is in it and not in a file.
#[must_use]
pub fn data(content: Vec<u8>) -> Value {
    json!(ByteString(content))
}

fn client_params(name: &str, group: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.distinguished_name.push(DnType::OrganizationName, group);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "nodewell tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn server_params(addresses: &[&str]) -> CertificateParams {
    let names = ["localhost", "127.0.0.1", "10.96.0.1"].into_iter().chain(addresses.iter().copied());
    let mut params = CertificateParams::new(names.map(str::to_owned).collect::<Vec<_>>()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}
