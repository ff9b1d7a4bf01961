//! A small HTTP client for the agent's Unix socket and its metrics port.

use std::path::Path;

use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, StatusCode,
    body::Bytes,
    client::conn::http1,
    header::{CONTENT_TYPE, HOST, RETRY_AFTER},
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::{runtime::block_on, wait::PATIENCE};

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    /// Seconds after which to ask again, if the answer has them.
    pub retry_after: Option<String>,
    pub body: String,
}

impl Answer {
    /// The status; 202 is 200: whether a report is on the disk within the second that its answer waits is the disk's
    /// matter.
    #[must_use]
    pub fn code(&self) -> u16 {
        if self.status == StatusCode::ACCEPTED { 200 } else { self.status.as_u16() }
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }
}

/// One request over the Unix socket at `path`; `None` if nothing answers.
#[must_use]
pub fn over_socket(path: &Path, method: Method, target: &str, body: &str) -> Option<Answer> {
    block_on(async {
        let stream = UnixStream::connect(path).await.ok()?;
        ask(stream, method, target, body).await
    })
}

/// One GET over TCP; `None` if nothing answers.
#[must_use]
pub fn over_tcp(address: &str, target: &str) -> Option<Answer> {
    block_on(async {
        let stream = TcpStream::connect(address).await.ok()?;
        ask(stream, Method::GET, target, "").await
    })
}

async fn ask<S>(stream: S, method: Method, target: &str, body: &str) -> Option<Answer>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let request = Request::builder()
        .method(method)
        .uri(target)
        .header(HOST, "localhost")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap();
    timeout(PATIENCE, async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        let driver = tokio::spawn(connection);
        let answer = sender.send_request(request).await.ok()?;
        let status = answer.status();
        let retry_after = answer.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned());
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        driver.abort();
        Some(Answer { status, retry_after, body: String::from_utf8_lossy(&body).into_owned() })
    })
    .await
    .ok()?
}
