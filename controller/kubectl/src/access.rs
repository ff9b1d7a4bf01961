//! The way to one API server, as the person whom the kubeconfig names: one read after the other.

mod kubeconfig;

use std::{error::Error, time::Duration};

use http_body_util::{BodyExt, Limited};
use hyper::{
    Request,
    header::{ACCEPT, USER_AGENT},
};
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::time::timeout;

pub(crate) use self::kubeconfig::{AccessError, Target};

/// A server that is far away answers a page within a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// A page of 500 Nodes, each with its managedFields, stays far below this.
const ANSWER_LIMIT_BYTES: usize = 64 << 20;
const PAGE: usize = 500;
/// A list that never ends is no answer.
const PAGES: usize = 200;
/// No answer of a proxy becomes a page on the terminal.
const MESSAGE_CHARS: usize = 512;

/// An API server that is asked.
pub(crate) struct Api {
    client: Client,
    /// `https://10.0.0.1:6443`: which one did not answer is half of the message.
    server: String,
}

/// Why a question brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("it is not there")]
    NotFound,
    /// 403, with the API server's own message.
    #[error("{0}")]
    Forbidden(String),
    /// 401.
    #[error("{0}")]
    Unauthorized(String),
    #[error("{message} (HTTP {code})")]
    Refused { code: u16, message: String },
    #[error("{0}")]
    NoAnswer(String),
}

impl Api {
    /// Reads the kubeconfig, and runs the plug-in for credentials if it names one; sends nothing.
    pub(crate) async fn connect(target: &Target) -> Result<Self, AccessError> {
        let mut config = target.config().await?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        Ok(Self { client: Client::try_from(config).map_err(AccessError::Credentials)?, server })
    }

    /// One object.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, ApiError> {
        let late = || ApiError::NoAnswer(format!("{}: no answer within {} s", self.server, ANSWER_TIMEOUT.as_secs()));
        timeout(ANSWER_TIMEOUT, self.exchange(path)).await.unwrap_or_else(|_| Err(late()))
    }

    /// All pages of a list, of which only one is held at a time.
    pub(crate) async fn list(&self, path: &str, query: &str, mut each: impl FnMut(Value)) -> Result<(), ApiError> {
        let mut next = String::new();
        for _ in 0..PAGES {
            let mut page = self.get(&format!("{path}?limit={PAGE}{query}{next}")).await?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                items.into_iter().for_each(&mut each);
            }
            match page["metadata"]["continue"].as_str() {
                Some(more) if !more.is_empty() => next = format!("&continue={}", escaped(more)),
                Some(_) | None => return Ok(()),
            }
        }
        Err(ApiError::NoAnswer(format!("{}: the list {path} has no end after {PAGES} pages", self.server)))
    }

    async fn exchange(&self, path: &str) -> Result<Value, ApiError> {
        let request = Request::get(path)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("kubectl-nodewell/", env!("CARGO_PKG_VERSION")))
            .body(Body::empty());
        let request = request
            .map_err(|error| ApiError::Refused { code: 0, message: format!("the request cannot be made: {error}") })?;
        let response = self.client.send(request).await.map_err(|error| self.unanswered(&error))?;
        let code = response.status().as_u16();
        let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES).collect().await;
        let broken = |error: &dyn std::fmt::Display| {
            ApiError::NoAnswer(format!("{}: the answer to {path} broke off: {error}", self.server))
        };
        let body = body.map_err(|error| broken(&error))?.to_bytes();
        if code == 200 {
            serde_json::from_slice(&body).map_err(|error| broken(&error))
        } else {
            Err(judge(code, &body))
        }
    }

    fn unanswered(&self, error: &kube::Error) -> ApiError {
        match error {
            kube::Error::Auth(_) => ApiError::Unauthorized(with_sources(error)),
            // Its own name means nothing to a reader.
            kube::Error::Service(error) => {
                ApiError::NoAnswer(format!("{} does not answer: {}", self.server, with_sources(&**error)))
            }
            error => ApiError::NoAnswer(format!("{} does not answer: {}", self.server, with_sources(error))),
        }
    }
}

/// The error and what is under it: `client error (Connect)` alone explains nothing.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut under = error.source();
    while let Some(source) = under {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        under = source.source();
    }
    text
}

fn judge(code: u16, body: &[u8]) -> ApiError {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = status["message"].as_str().map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    let message: String = text.trim().chars().take(MESSAGE_CHARS).collect();
    match code {
        401 => ApiError::Unauthorized(message),
        403 => ApiError::Forbidden(message),
        404 => ApiError::NotFound,
        code => ApiError::Refused { code, message },
    }
}

/// Percent-encodes what stands in a path or a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_sorted_by_its_code_and_read_to_its_message() {
        let status = |message: &str| json!({ "kind": "Status", "message": message }).to_string();
        let forbidden = r#"nodes is forbidden: User "eva" cannot list resource "nodes" in API group """#;
        assert_eq!(judge(403, status(forbidden).as_bytes()), ApiError::Forbidden(forbidden.to_owned()));
        assert_eq!(judge(404, b"404 page not found\n"), ApiError::NotFound);
        assert_eq!(judge(401, status("Unauthorized").as_bytes()), ApiError::Unauthorized("Unauthorized".to_owned()));
        let proxy = judge(502, b"<html>Bad Gateway</html>\n").to_string();
        assert_eq!(proxy, "<html>Bad Gateway</html> (HTTP 502)");
    }

    #[test]
    fn what_stands_in_a_query_is_escaped() {
        assert_eq!(escaped("zone in (a, b)"), "zone%20in%20%28a%2C%20b%29");
    }
}
