//! What a client certificate states: whose it is, for which key, and from when to when.

use jiff::Timestamp;
use x509_parser::{pem::Pem, prelude::X509Certificate};

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    #[error("there is no certificate in it")]
    Missing,
    #[error("it is no certificate: {0}")]
    Unreadable(String),
}

/// The first certificate of a PEM file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pub common_name: String,
    pub organizations: Vec<String>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// As it stands in it (`SubjectPublicKeyInfo`, DER).
    pub public_key: Vec<u8>,
    /// It names hosts or addresses, which a client has no use for.
    pub has_alternative_names: bool,
    /// It may be shown to a server (`extendedKeyUsage: clientAuth`).
    pub is_for_clients: bool,
}

impl Certificate {
    /// Reads the first certificate in `pem`; keys beside it are passed over.
    pub fn read(pem: &[u8]) -> Result<Self, CertificateError> {
        let blocks = Pem::iter_from_buffer(pem).filter_map(Result::ok);
        let block = blocks.into_iter().find(|block| block.label == "CERTIFICATE").ok_or(CertificateError::Missing)?;
        let parsed = block.parse_x509().map_err(|error| CertificateError::Unreadable(error.to_string()))?;
        Self::of(&parsed)
    }

    fn of(parsed: &X509Certificate<'_>) -> Result<Self, CertificateError> {
        let subject = parsed.subject();
        let time =
            |seconds| Timestamp::from_second(seconds).map_err(|error| CertificateError::Unreadable(error.to_string()));
        let usage = parsed.extended_key_usage().ok().flatten();
        Ok(Self {
            // Of several the server would choose one: a subject with several names is not one of ours.
            common_name: match subject.iter_common_name().collect::<Vec<_>>()[..] {
                [one] => one.as_str().unwrap_or_default().to_owned(),
                _ => String::new(),
            },
            organizations: subject
                .iter_organization()
                .map(|name| name.as_str().unwrap_or_default().to_owned())
                .collect(),
            not_before: time(parsed.validity().not_before.timestamp())?,
            not_after: time(parsed.validity().not_after.timestamp())?,
            public_key: parsed.public_key().raw.to_vec(),
            has_alternative_names: parsed.subject_alternative_name().ok().flatten().is_some(),
            is_for_clients: usage.is_none_or(|usage| usage.value.client_auth || usage.value.any),
        })
    }

    #[must_use]
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }

    /// When this much of its life is over.
    #[must_use]
    pub fn at_share(&self, share: f64) -> Timestamp {
        let life = self.not_after.duration_since(self.not_before);
        self.not_before.checked_add(life.mul_f64(share)).unwrap_or(self.not_after)
    }

    /// The Node whose kubelet has it.
    #[must_use]
    pub fn kubelet_of(&self) -> Option<&str> {
        self.common_name.strip_prefix("system:node:")
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, PublicKeyData, date_time_ymd};

    use super::*;

    fn issued(names: &[&str]) -> (KeyPair, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        params.distinguished_name.push(DnType::CommonName, "system:node:n1");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2026, 4, 11));
        let pem = params.self_signed(&key).unwrap().pem();
        (key, pem)
    }

    #[test]
    fn whose_it_is_and_for_how_long() {
        let (key, pem) = issued(&[]);
        let both = key.serialize_pem() + &pem;
        let read = Certificate::read(both.as_bytes()).unwrap();
        assert_eq!(read.kubelet_of(), Some("n1"));
        assert_eq!(read.organizations, ["system:nodes"]);
        assert_eq!(read.public_key, key.subject_public_key_info());
        assert!(read.is_for_clients && !read.has_alternative_names);
        let day = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!((read.not_before, read.not_after), (day("2026-01-01T00:00:00Z"), day("2026-04-11T00:00:00Z")));
        // A hundred days.
        assert_eq!(read.at_share(0.7), day("2026-03-12T00:00:00Z"));
        assert!(read.is_valid_at(day("2026-04-10T23:59:59Z")) && !read.is_valid_at(day("2026-04-11T00:00:00Z")));
        assert!(!read.is_valid_at(day("2025-12-31T23:59:59Z")));
    }

    #[test]
    fn alternative_names_are_seen() {
        assert!(Certificate::read(issued(&["n1.example.com"]).1.as_bytes()).unwrap().has_alternative_names);
    }

    #[test]
    fn what_is_none_is_reported_as_such() {
        assert_eq!(Certificate::read(b""), Err(CertificateError::Missing));
        let key = KeyPair::generate().unwrap().serialize_pem();
        assert_eq!(Certificate::read(key.as_bytes()), Err(CertificateError::Missing));
        let (_, pem) = issued(&[]);
        assert_eq!(Certificate::read(&pem.as_bytes()[..200]), Err(CertificateError::Missing));
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(Certificate::read(junk.as_bytes()), Err(CertificateError::Unreadable(_))));
    }
}
