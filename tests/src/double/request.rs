//! One request as the double's routes see it: which user asks for what.

use std::collections::BTreeMap;

use hyper::{HeaderMap, Method, body::Bytes, header, http::request::Parts};
use serde_json::Value;

/// The user that asks, by bearer token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum User {
    Admin,
    /// `system:node:NAME`.
    Node(String),
    /// Known, and may do nothing.
    Stranger,
}

impl User {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let token = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        match token {
            "admin" => Some(Self::Admin),
            "stranger" => Some(Self::Stranger),
            other => other.strip_prefix("node:").map(|name| Self::Node(name.to_owned())),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Admin => "admin".to_owned(),
            Self::Node(name) => format!("system:node:{name}"),
            Self::Stranger => "stranger".to_owned(),
        }
    }
}

/// One request, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) user: User,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) content_type: String,
    /// The client takes metadata only.
    pub(crate) metadata_only: bool,
    pub(crate) body: Bytes,
    /// The default field manager: the User-Agent up to its first slash.
    agent: String,
}

impl Asked {
    pub(crate) fn new(user: User, head: &Parts, body: Bytes) -> Self {
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), value.replace("%3D", "=").replace("%2C", ","))
        };
        let agent = text(header::USER_AGENT);
        Self {
            user,
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().into_iter().flat_map(|query| query.split('&')).map(pair).collect(),
            content_type: text(header::CONTENT_TYPE),
            metadata_only: text(header::ACCEPT).starts_with("application/json;as=PartialObjectMetadata;"),
            body,
            agent: agent.split('/').next().unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The name of the writer, where apply does not ask for one.
    pub(crate) fn manager(&self) -> &str {
        self.query.get("fieldManager").unwrap_or(&self.agent)
    }
}
