//! Why a request is not approved: each with a message that names what does not fit.

use std::{fmt, time::Duration};

use super::{GROUP, Key, SIGNER, USER_PREFIX};

/// What does not fit the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("the request has {bytes} bytes and may have {limit}")]
    Size { bytes: usize, limit: usize },
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    #[error("its subject has {0} common names and must have one")]
    CommonNames(usize),
    #[error("its common name is {0:?} and must be {USER_PREFIX}NAME, with the name of a Node")]
    CommonName(String),
    #[error("its organizations are {0:?} and must be {GROUP:?} alone")]
    Organizations(Vec<String>),
    #[error("its subject has a part {0} beside common name and organization")]
    Subject(String),
    #[error("{asker}'s identity asks for the identity of node {node:?}: find out who did that")]
    AnotherNode { asker: String, node: String },
    #[error("{0:?} asked, who is neither that node's kubelet nor its agent; approve by hand if it was you")]
    Requester(String),
    #[error("it is for signer {0:?} and must be for {SIGNER:?}")]
    Signer(String),
    #[error("its usages are {0:?} and must be client auth and digital signature")]
    Usages(Vec<String>),
    #[error("it does not say how long the certificate is to last (expirationSeconds)")]
    Endless,
    #[error("it asks for {seconds} s; 600 s to {} s are approved", longest.as_secs())]
    Lifetime { seconds: i64, longest: Duration },
    #[error("it asks for alternative names, for which a client has no use")]
    AlternativeNames,
    #[error("it asks for more key usages than digital signature")]
    KeyUsage,
    #[error("it asks for more extended key usages than client auth")]
    ExtendedKeyUsage,
    #[error("it asks for the extension {0}")]
    Extension(String),
    #[error("it carries the attribute {0}")]
    Attribute(String),
    #[error("its key is {0}; P-256, P-384, Ed25519 and RSA of 2048 to 8192 bits are accepted")]
    Key(Key),
    #[error("it is not signed by the key that it names")]
    Unsigned,
}

impl Rejection {
    /// No mistake makes such a request: a node that asks for another's name, or for another group beside ours.
    #[must_use]
    pub fn is_forgery(&self) -> bool {
        match self {
            Self::AnotherNode { .. } => true,
            Self::Organizations(names) => names.len() > 1,
            _ => false,
        }
    }

    /// One CamelCase word, for metrics and conditions.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Size { .. } => "TooLarge",
            Self::Unreadable(_) => "Unreadable",
            Self::CommonNames(_) | Self::CommonName(_) => "CommonName",
            Self::Organizations(_) => "Organization",
            Self::Subject(_) => "Subject",
            Self::AnotherNode { .. } => "AnotherNode",
            Self::Requester(_) => "Requester",
            Self::Signer(_) => "Signer",
            Self::Usages(_) | Self::KeyUsage | Self::ExtendedKeyUsage => "Usages",
            Self::Endless | Self::Lifetime { .. } => "Lifetime",
            Self::AlternativeNames => "AlternativeNames",
            Self::Extension(_) | Self::Attribute(_) => "Extension",
            Self::Key(_) => "Key",
            Self::Unsigned => "Unsigned",
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ec(bits) => write!(f, "on a curve of {bits} bits"),
            Self::Ed25519 => f.write_str("Ed25519"),
            Self::Rsa(bits) => write!(f, "RSA of {bits} bits"),
            Self::Unknown(what) => write!(f, "of a kind that is not known ({what})"),
            Self::None => f.write_str("missing"),
        }
    }
}
