//! A client of the nodewell socket: the command line, our own check processes, any other Rust daemon.
//!
//! [`Client`] uses one connection for each request: the socket is local, and an agent that restarts in between is not
//! noticed. [`Reporter`]s have a [`Line`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod connection;
mod error;
mod lines;
mod random;
mod reporter;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER},
};
use nodewell_model::api::ErrorView;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::timeout;

pub use error::ClientError;
pub use lines::Lines;
pub use random::random;
pub use reporter::{Discarded, Line, Reporter, ReporterSettings};

use connection::Connection;

/// Where the agent listens unless configured otherwise.
pub const DEFAULT_SOCKET: &str = "/run/nodewell/nodewell.sock";
/// The agent answers in milliseconds; one that takes longer than this hangs.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer that is taken: an account with tens of thousands of problems.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Asks the agent at one socket. Cheap to clone; holds no connection.
#[derive(Debug, Clone)]
pub struct Client {
    path: PathBuf,
    timeout: Duration,
}

impl Client {
    /// A client of the agent that listens on `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), timeout: DEFAULT_TIMEOUT }
    }

    /// The same with another limit for a whole request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The socket's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `GET target`, with the answer read as a `T`. An answer that is no success is [`ClientError::Status`].
    pub async fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, ClientError> {
        self.within(self.request(Method::GET, target, Bytes::new())).await
    }

    /// `POST target` with `body` as JSON.
    pub async fn post<B: Serialize, T: DeserializeOwned>(&self, target: &str, body: &B) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::Request)?;
        self.within(self.request(Method::POST, target, Bytes::from(body))).await
    }

    /// `GET target` as lines without an end, such as `/v1/events?follow=true`. The timeout holds until the first
    /// answer; after that lines come when they come.
    pub async fn follow(&self, target: &str) -> Result<Lines, ClientError> {
        self.within(async {
            let (connection, response) = self.send(Method::GET, target, Bytes::new()).await?;
            if response.status().is_success() {
                return Ok(Lines::new(connection, response.into_body()));
            }
            Err(refused(response).await?)
        })
        .await
    }

    async fn request<T: DeserializeOwned>(&self, method: Method, target: &str, body: Bytes) -> Result<T, ClientError> {
        let (_connection, response) = self.send(method, target, body).await?;
        read(target, response).await
    }

    /// `POST target` on a connection that is there; if it `is_last`, the agent ends the connection with its answer.
    async fn post_on<T: DeserializeOwned>(
        &self,
        connection: &mut Connection,
        target: &str,
        body: Vec<u8>,
        is_last: bool,
    ) -> Result<T, ClientError> {
        let mut request = request(Method::POST, target, Bytes::from(body))?;
        if is_last {
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        read(target, connection.send(request).await?).await
    }

    async fn send(
        &self,
        method: Method,
        target: &str,
        body: Bytes,
    ) -> Result<(Connection, Response<Incoming>), ClientError> {
        let request = request(method, target, body)?;
        let mut connection = Connection::open(&self.path).await?;
        let response = connection.send(request).await?;
        Ok((connection, response))
    }

    async fn within<T>(&self, asked: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
        match timeout(self.timeout, asked).await {
            Ok(answered) => answered,
            Err(_) => Err(ClientError::Timeout { path: self.path.clone(), after: self.timeout }),
        }
    }
}

async fn whole(response: Response<Incoming>) -> Result<Bytes, ClientError> {
    match Limited::new(response.into_body(), ANSWER_LIMIT_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(ClientError::Broken { message: error.to_string() }),
    }
}

fn request(method: Method, target: &str, body: Bytes) -> Result<Request<Full<Bytes>>, ClientError> {
    let mut request = Request::builder().method(method).uri(target).header(HOST, "nodewell");
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    request.body(Full::new(body)).map_err(|_| ClientError::Target { target: target.to_owned() })
}

async fn read<T: DeserializeOwned>(target: &str, response: Response<Incoming>) -> Result<T, ClientError> {
    if !response.status().is_success() {
        return Err(refused(response).await?);
    }
    let answer = whole(response).await?;
    serde_json::from_slice(&answer).map_err(|source| ClientError::BadAnswer { target: target.to_owned(), source })
}

/// The error in an answer that is no success.
async fn refused(response: Response<Incoming>) -> Result<ClientError, ClientError> {
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let (code, retry_after) = (response.status().as_u16(), seconds.map(Duration::from_secs));
    let answer = whole(response).await?;
    let error = serde_json::from_slice::<ErrorView>(&answer)
        .map_or_else(|_| String::from_utf8_lossy(&answer).trim().to_owned(), |view| view.error);
    Ok(ClientError::Status { code, error, retry_after })
}
