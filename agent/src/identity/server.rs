//! Single questions to an API server, for people and the root oneshot: each has its time limit, each error its message.

use std::{error::Error, time::Duration};

use http_body_util::{BodyExt, Limited};
use hyper::{Request, StatusCode, header::USER_AGENT, http::request::Builder};
use nodewell_model::text;
use serde_json::Value;
use tokio::time::timeout;

use super::credentials::Credentials;
use crate::exporters::apiserver::{ApiClient, RequestBody, client_of};

/// For each request; it is meant for a server that fails.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Two Nodes are the most that is asked for, and each stays far below this.
const ANSWER_LIMIT_BYTES: usize = 16 << 20;
/// Of an answer that is no `Status`.
const SHOWN_BYTES: usize = 200;

/// Why there is no answer, or a rejection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("{message} (HTTP {code})")]
    Rejected { code: u16, message: String },
    #[error("the server's certificate is not signed by the authority that the kubeconfig names: {0}")]
    ForeignAuthority(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
}

impl AskError {
    /// What the server answered, if it rejected the request.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        if let Self::Rejected { code, .. } = self { Some(*code) } else { None }
    }
}

/// A server that is asked with these credentials, as the agent asks it.
pub struct Server(ApiClient);

impl Server {
    /// Its requests need a tokio runtime; nothing is sent yet.
    pub fn of(credentials: &Credentials) -> Result<Self, AskError> {
        client_of(credentials).map(Self).map_err(AskError::Unreachable)
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Result<Value, AskError> {
        self.ask(Request::get(path), Value::Null).await
    }

    /// `POST path`.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value, AskError> {
        self.ask(Request::post(path).header("Content-Type", "application/json"), body).await
    }

    /// Sends one request; the answer is JSON.
    pub async fn ask(&self, request: Builder, body: Value) -> Result<Value, AskError> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = request.header(USER_AGENT, concat!("nodewell/", env!("CARGO_PKG_VERSION")));
        let request =
            request.body(RequestBody::from(body)).map_err(|error| AskError::Unreachable(error.to_string()))?;
        timeout(REQUEST_TIMEOUT, self.exchange(request)).await.unwrap_or(Err(AskError::Timeout))
    }

    async fn exchange(&self, request: Request<RequestBody>) -> Result<Value, AskError> {
        let failed = |error: Box<dyn Error + Send + Sync>| unreachable(whole_story(&*error));
        let response = self.0.send(request).await.map_err(failed)?;
        let code = response.status();
        let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES).collect().await.map_err(failed)?;
        outcome(code, &body.to_bytes())
    }
}

/// What stands before a server may answer with text of its own.
fn outcome(code: StatusCode, body: &[u8]) -> Result<Value, AskError> {
    let answer = serde_json::from_slice::<Value>(body);
    if !code.is_client_error() && !code.is_server_error() {
        return answer.map_err(|error| AskError::Unreachable(format!("its answer is no JSON: {error}")));
    }
    let written = answer.ok().and_then(|status| Some(text::message(status["message"].as_str()?.as_bytes())));
    let message = written.unwrap_or_else(|| text::message(&body[..body.len().min(SHOWN_BYTES)]));
    Err(AskError::Rejected { code: code.as_u16(), message })
}

fn unreachable(story: String) -> AskError {
    // As rustls calls a chain that ends nowhere, or at an authority of the same name with another key.
    let foreign = ["UnknownIssuer", "BadSignature", "unknown issuer", "bad signature"];
    if foreign.iter().any(|words| story.contains(words)) {
        return AskError::ForeignAuthority(story);
    }
    AskError::Unreachable(story)
}

/// `client error` alone is of no help: a person needs the causes.
fn whole_story(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_has_the_servers_message_or_what_stands_in_its_place() {
        let rejected = |code: u16, body: &str| outcome(StatusCode::from_u16(code).unwrap(), body.as_bytes());
        let of = |code, message: &str| -> Result<Value, AskError> {
            Err(AskError::Rejected { code, message: message.to_owned() })
        };
        assert_eq!(rejected(403, r#"{"kind":"Status","message":"no"}"#), of(403, "no"));
        assert_eq!(rejected(502, "<html>gone</html>"), of(502, "<html>gone</html>"));
        assert_eq!(rejected(503, r#"{"message":7}"#), of(503, r#"{"message":7}"#));
        let Err(AskError::Rejected { message, .. }) = rejected(500, &"x".repeat(9000)) else { panic!() };
        assert_eq!(message.len(), SHOWN_BYTES);
        let Err(AskError::Rejected { message, .. }) = rejected(403, r#"{"message":"\u001b[31mred"}"#) else { panic!() };
        assert!(!message.contains('\u{1b}'), "{message:?}");
    }

    #[test]
    fn what_is_no_json_is_no_answer() {
        assert_eq!(outcome(StatusCode::CREATED, b"{}"), Ok(Value::Object(serde_json::Map::new())));
        for code in [StatusCode::OK, StatusCode::FOUND] {
            assert!(matches!(outcome(code, b"<html>"), Err(AskError::Unreachable(_))), "{code}");
        }
    }
}
