//! One question to one endpoint: a new connection each time, with one deadline for all of it, and an answer that is
//! read only as far as it may be useful.

mod cri;
mod http;
mod stream;

use std::{path::Path, time::Duration};

use hyper::StatusCode;
use tokio::time::{Instant, timeout};

pub use cri::Runtime;

use super::target::{At, HttpTarget, Target};
use http::HttpResponse;

/// How an endpoint answered, and after what time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub latency: Duration,
    pub result: Result<Up, Down>,
}

/// It answers as it should.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Up {
    /// Of a container runtime: what it reports of itself.
    pub runtime: Option<Runtime>,
}

/// It does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Down {
    pub kind: DownKind,
    /// For people: `http://127.0.0.1:10248/healthz: connection refused`.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownKind {
    /// No process listens: no socket, connection refused.
    Gone,
    /// Nothing came within the deadline.
    NoAnswer,
    /// Something came, and not what should: an error status, another protocol, an end in the middle.
    Wrong,
}

impl Answer {
    /// Of what was known not to run.
    pub(super) fn not_asked() -> Self {
        let down = Down { kind: DownKind::Gone, message: "not running, so no connection was tried".to_owned() };
        Self { latency: Duration::ZERO, result: Err(down) }
    }
}

impl Down {
    fn wrong(message: impl Into<String>) -> Self {
        Self { kind: DownKind::Wrong, message: message.into() }
    }
}

/// Asks `target` once. A unit has no endpoint: asked by [`crate::systemd`].
pub async fn probe(target: &Target, deadline: Duration) -> Answer {
    let began = Instant::now();
    let result = timeout(deadline, ask(target)).await.unwrap_or_else(|_| {
        let message = format!("no answer within {}", seconds(deadline));
        Err(Down { kind: DownKind::NoAnswer, message })
    });
    let named = result.map_err(|down| Down { message: format!("{target}: {}", down.message), ..down });
    Answer { latency: began.elapsed(), result: named }
}

async fn ask(target: &Target) -> Result<Up, Down> {
    match target {
        Target::Http(target) => get(target).await,
        Target::Tcp(address) => stream::connect(&At::Tcp(*address)).await.map(|_| Up::default()),
        Target::Unix(path) => stream::connect(&At::Unix(path.clone())).await.map(|_| Up::default()),
        Target::Cri(path) => cri::ask(path).await,
        Target::Docker(path) => ping(path).await,
        Target::Unit(name) => Err(Down::wrong(format!("{name} is a unit"))),
    }
}

async fn get(target: &HttpTarget) -> Result<Up, Down> {
    let mut response = http::get(&target.at, &target.path).await?;
    if let Some(fallback) = target.fallback.as_ref().filter(|_| response.status == StatusCode::NOT_FOUND) {
        response = http::get(&target.at, fallback).await?;
    }
    judged(&response)
}

/// `GET /_ping` (Docker Engine API): 200 and `OK`.
async fn ping(socket: &Path) -> Result<Up, Down> {
    judged(&http::get(&At::Unix(socket.to_owned()), "/_ping").await?)
}

fn judged(response: &HttpResponse) -> Result<Up, Down> {
    if response.status.is_success() || response.status.is_redirection() {
        return Ok(Up::default());
    }
    let words = if response.first_line.is_empty() { String::new() } else { format!(": {}", response.first_line) };
    Err(Down::wrong(format!("answers {}{words}", response.status)))
}

/// `5 s`, `1.5 s`.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests;
