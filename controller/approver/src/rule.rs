//! Which signing requests of `nodewell enroll` are approved: a rule over the request, nothing else.
//!
//! Any client that may create a request can ask for any name, so everything is held against one template: the client is
//! that node's kubelet or agent (the API server records the client; it cannot be forged), and the request names that
//! node, that group and those usages, and nothing more. What does not fit stays pending for a person, with its own
//! message.

mod rejection;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use self::rejection::Rejection;

/// Signs for clients of the API server, and never without approval (Kubernetes documentation, "Kubernetes signers").
pub(crate) const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// What an agent's own identity is called: this and the Node's name.
pub(crate) const USER_PREFIX: &str = "nodewell:node:";
/// The one group of agents.
pub(crate) const GROUP: &str = "nodewell:nodes";
const KUBELET_PREFIX: &str = "system:node:";
const KUBELET_GROUP: &str = "system:nodes";
/// In any order.
const USAGES: [&str; 2] = ["client auth", "digital signature"];
/// The shortest that the API takes (`expirationSeconds`, certificates.k8s.io/v1).
const SHORTEST: Duration = Duration::from_mins(10);

/// What an operator may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The longest life that is approved; the agents ask for 90 days.
    pub longest: Duration,
    /// `spec.request` may have so many bytes. A request of an agent has some 500, one with an RSA key of 4096 bits 1,700.
    pub size_limit_bytes: usize,
    /// Whether what is clearly forged is denied; else it too stays pending.
    pub deny_forged: bool,
}

impl Default for Rule {
    fn default() -> Self {
        Self { longest: Duration::from_hours(90 * 24), size_limit_bytes: 4096, deny_forged: false }
    }
}

/// A CertificateSigningRequest, as far as the rule looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    /// It has one of the conditions Approved, Denied and Failed, or a certificate.
    pub decided: bool,
    pub signer: String,
    /// The client that asked, as the API server recorded it.
    pub username: String,
    pub groups: Vec<String>,
    pub usages: Vec<String>,
    pub expiration_seconds: Option<i64>,
    /// Of `spec.request`, decoded from base64.
    pub size_bytes: usize,
    /// What it contains, or why that cannot be read.
    pub csr: Result<Csr, String>,
}

/// A PKCS#10 request (RFC 2986), parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Csr {
    pub common_names: Vec<String>,
    pub organizations: Vec<String>,
    /// Object identifiers of all other parts of the subject.
    pub other_subject: Vec<String>,
    pub extensions: Vec<Extension>,
    /// Object identifiers of attributes that are not the one for extensions (a challenge password, say), or that it has
    /// more than once.
    pub other_attributes: Vec<String>,
    pub key: Key,
    /// It was signed by the key that it names: the client has that key.
    pub self_signed: bool,
}

/// An extension that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extension {
    /// Of any kind: DNS, IP, e-mail, URI.
    AlternativeNames,
    KeyUsage {
        digital_signature_only: bool,
    },
    ExtendedKeyUsage {
        client_auth_only: bool,
    },
    /// By its object identifier.
    Other(String),
}

/// The key that is to be certified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Key {
    /// A curve of NIST, by its size in bits; nothing here can verify a signature on that of 521.
    Ec(u32),
    Ed25519,
    /// By its size in bits.
    Rsa(u32),
    /// What it claimed to be.
    Unknown(String),
    #[default]
    None,
}

impl Key {
    fn is_acceptable(&self) -> bool {
        match self {
            Self::Ec(bits) => matches!(bits, 256 | 384),
            Self::Ed25519 => true,
            Self::Rsa(bits) => (2048..=8192).contains(bits),
            Self::Unknown(_) | Self::None => false,
        }
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// It is that node's, and all is as it should be.
    Approve { node: String },
    /// Stays pending; a person may approve it.
    Leave(Rejection),
    /// Only what is clearly forged, and only if the rule says so.
    Deny(Rejection),
    /// It has nothing to do with agents, or was decided.
    Ignore,
}

/// What is written on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approved,
    Denied,
}

/// The condition's reason on what is decided here.
const REASON: &str = "NodewellEnrolment";

/// The merge patch for `certificatesigningrequests/NAME/approval`. The server refuses it if the request is another one, or
/// was written since it was read.
#[must_use]
pub fn approval_body(request: &Request, decision: Decision, message: &str, now: Timestamp) -> Value {
    let kind = match decision {
        Decision::Approved => "Approved",
        Decision::Denied => "Denied",
    };
    json!({
        "metadata": { "uid": request.uid, "resourceVersion": request.resource_version },
        "status": { "conditions": [{
            "type": kind, "status": "True", "reason": REASON, "message": message,
            "lastUpdateTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }] },
    })
}

/// Holds one request against the rule.
#[must_use]
pub fn judge(request: &Request, rule: &Rule) -> ApprovalDecision {
    if request.decided || !is_about_agents(request) {
        return ApprovalDecision::Ignore;
    }
    match check(request, rule) {
        Ok(node) => ApprovalDecision::Approve { node },
        Err(rejection) if rule.deny_forged && rejection.is_forgery() => ApprovalDecision::Deny(rejection),
        Err(rejection) => ApprovalDecision::Leave(rejection),
    }
}

/// It asks for an agent's name or group, or for a name that is so odd that no other approver would look.
fn is_about_agents(request: &Request) -> bool {
    let Ok(csr) = &request.csr else { return request.name.starts_with("nodewell-") };
    csr.common_names.iter().any(|name| name.starts_with(USER_PREFIX)) || csr.organizations.iter().any(|o| o == GROUP)
}

fn check(request: &Request, rule: &Rule) -> Result<String, Rejection> {
    if request.size_bytes > rule.size_limit_bytes {
        return Err(Rejection::Size { bytes: request.size_bytes, limit: rule.size_limit_bytes });
    }
    let csr = request.csr.as_ref().map_err(|why| Rejection::Unreadable(why.clone()))?;
    let node = named(csr)?;
    asked_by(request, &node)?;
    if request.signer != SIGNER {
        return Err(Rejection::Signer(request.signer.clone()));
    }
    usages(request)?;
    lifetime(request, rule)?;
    extensions(csr)?;
    key(csr)?;
    Ok(node)
}

/// The node that the subject names, if it is exactly ours.
fn named(csr: &Csr) -> Result<String, Rejection> {
    let [name] = csr.common_names.as_slice() else { return Err(Rejection::CommonNames(csr.common_names.len())) };
    if csr.organizations != [GROUP] {
        return Err(Rejection::Organizations(csr.organizations.clone()));
    }
    if let Some(other) = csr.other_subject.first() {
        return Err(Rejection::Subject(other.clone()));
    }
    let node = name.strip_prefix(USER_PREFIX).filter(|node| is_node_name(node));
    node.map(str::to_owned).ok_or_else(|| Rejection::CommonName(name.clone()))
}

/// A DNS subdomain (RFC 1123), which is what Nodes are named by.
fn is_node_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.iter().all(|byte| is_inner(*byte) || *byte == b'-')
            && bytes.first().is_some_and(|byte| is_inner(*byte))
            && bytes.last().is_some_and(|byte| is_inner(*byte))
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// The node's own kubelet, or the agent that renews.
fn asked_by(request: &Request, node: &str) -> Result<(), Rejection> {
    let in_group = |group: &str| request.groups.iter().any(|name| name == group);
    let by = |prefix: &str, group: &str| request.username.strip_prefix(prefix).filter(|_| in_group(group));
    let asker = by(KUBELET_PREFIX, KUBELET_GROUP).or_else(|| by(USER_PREFIX, GROUP));
    match asker {
        Some(asker) if asker == node => Ok(()),
        Some(asker) => Err(Rejection::AnotherNode { asker: asker.to_owned(), node: node.to_owned() }),
        None => Err(Rejection::Requester(request.username.clone())),
    }
}

fn usages(request: &Request) -> Result<(), Rejection> {
    let mut asked: Vec<&str> = request.usages.iter().map(String::as_str).collect();
    asked.sort_unstable();
    asked.dedup();
    if asked == USAGES { Ok(()) } else { Err(Rejection::Usages(request.usages.clone())) }
}

fn lifetime(request: &Request, rule: &Rule) -> Result<(), Rejection> {
    let seconds = request.expiration_seconds.ok_or(Rejection::Endless)?;
    let asked = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let fits = (SHORTEST..=rule.longest).contains(&asked);
    if fits { Ok(()) } else { Err(Rejection::Lifetime { seconds, longest: rule.longest }) }
}

fn extensions(csr: &Csr) -> Result<(), Rejection> {
    for extension in &csr.extensions {
        match extension {
            Extension::KeyUsage { digital_signature_only: true }
            | Extension::ExtendedKeyUsage { client_auth_only: true } => {}
            Extension::KeyUsage { .. } => return Err(Rejection::KeyUsage),
            Extension::ExtendedKeyUsage { .. } => return Err(Rejection::ExtendedKeyUsage),
            Extension::AlternativeNames => return Err(Rejection::AlternativeNames),
            Extension::Other(id) => return Err(Rejection::Extension(id.clone())),
        }
    }
    let other = csr.other_attributes.first();
    other.map_or(Ok(()), |id| Err(Rejection::Attribute(id.clone())))
}

fn key(csr: &Csr) -> Result<(), Rejection> {
    if !csr.key.is_acceptable() {
        return Err(Rejection::Key(csr.key.clone()));
    }
    if csr.self_signed { Ok(()) } else { Err(Rejection::Unsigned) }
}

#[cfg(test)]
mod tests;
