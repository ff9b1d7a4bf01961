//! Single questions to an API server, for people and the root oneshot: each has its time limit, each error its message.

use std::{error::Error, time::Duration};

use hyper::{Request, http::request::Builder};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use tokio::time::timeout;

use super::credentials::Credentials;

/// For each request; it is meant for a server that fails.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

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

/// A client with these credentials.
pub struct Server(Client);

impl Server {
    /// Needs a tokio runtime; nothing is sent yet.
    pub async fn of(credentials: &Credentials) -> Result<Self, AskError> {
        let unusable = |error: &dyn Error| AskError::Unreachable(whole_story(error));
        let kubeconfig = Kubeconfig::from_yaml(&credentials.kubeconfig()).map_err(|error| unusable(&error))?;
        Ok(Self(client_of(kubeconfig).await?.0))
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Result<Value, AskError> {
        ask(&self.0, Request::get(path), Value::Null).await
    }

    /// `POST path`.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value, AskError> {
        ask(&self.0, Request::post(path).header("Content-Type", "application/json"), body).await
    }
}

/// A client by this kubeconfig, and the server it names.
pub async fn client_of(kubeconfig: Kubeconfig) -> Result<(Client, String), AskError> {
    let unusable = |error: &dyn Error| AskError::Unreachable(whole_story(error));
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| unusable(&error))?;
    // The person who asks here waits for the error, now.
    config.default_retry = false;
    let server = config.cluster_url.to_string();
    Ok((Client::try_from(config).map_err(|error| unusable(&error))?, server))
}

/// Sends one request; the answer is JSON.
pub async fn ask(client: &Client, request: Builder, body: Value) -> Result<Value, AskError> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = request.body(body).map_err(|error| AskError::Unreachable(error.to_string()))?;
    match timeout(REQUEST_TIMEOUT, client.request(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(AskError::Rejected { code: status.code, message: status.message.clone() })
        }
        Ok(Err(error)) => Err(unreachable(whole_story(&error))),
        Err(_) => Err(AskError::Timeout),
    }
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
