//! The API server of virtual time: the double's answers behind a model of what a real one can do at once.
//!
//! The model is that of API Priority and Fairness: so many seats for requests of our priority level, each taken for as
//! long as a write takes. A request that finds none waits in a bounded queue. It is turned away with `429` and
//! `Retry-After: 1` if that is full or the wait too long.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes, header::RETRY_AFTER, http::request::Parts};
use nodewell_agent::exporters::apiserver::RequestBody;
use nodewell_tests::double::{Answer, InProcess};
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::{Instant, sleep, timeout},
};
use tower::{BoxError, Service};

use crate::{
    meter::{Meter, TURNED_AWAY, Traffic, UNANSWERED},
    truth::Truth,
};

/// What the server gives to our priority level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Requests at work at the same time.
    pub seats: usize,
    /// Requests that may wait.
    pub queue: usize,
    /// How long a request is at work.
    pub work: Duration,
}

/// A quarter of the server's `--request-timeout`, as API Priority and Fairness has it.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// The server, shared by all clients.
#[derive(Debug)]
pub struct Server {
    pub double: InProcess,
    pub meter: Arc<Meter>,
    pub truth: Arc<Truth>,
    limits: Limits,
    seats: Semaphore,
    waiting: AtomicUsize,
    open: watch::Receiver<bool>,
    start: Instant,
}

impl Server {
    /// A server with these Nodes, there as long as `open` is true.
    #[must_use]
    pub fn new(names: &[String], limits: Limits, open: watch::Receiver<bool>) -> Self {
        let double = InProcess::default();
        double.create_namespace("nodewell");
        names.iter().for_each(|name| double.create_node(name));
        Self {
            double,
            meter: Arc::default(),
            truth: Arc::new(Truth::new(names)),
            limits,
            seats: Semaphore::new(limits.seats),
            waiting: AtomicUsize::new(0),
            open,
            start: Instant::now(),
        }
    }

    async fn serve(&self, node: &str, request: Request<RequestBody>) -> Result<Response<Full<Bytes>>, BoxError> {
        let arrived = self.start.elapsed();
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let bytes_up = (head_bytes(&parts) + body.len()) as u64;
        let outcome = self.outcome(node, &parts, body).await;
        let (verb, bytes_down) = match &outcome {
            Outcome::Away => (UNANSWERED, 0),
            Outcome::TurnedAway => (TURNED_AWAY, 0),
            Outcome::Answered(answer) => (verb(&parts), answer.body.len() as u64),
        };
        self.meter.count(arrived, verb, Traffic { requests: 1, bytes_up, bytes_down });
        outcome.response()
    }

    async fn outcome(&self, node: &str, parts: &Parts, body: Bytes) -> Outcome {
        if !*self.open.borrow() {
            return Outcome::Away;
        }
        let Some(_seat) = self.seat().await else { return Outcome::TurnedAway };
        sleep(self.limits.work).await;
        let answer = self.double.answer(node, parts, body);
        if answer.code == 200 && is_status(parts) {
            self.truth.shown(node, &self.double.conditions(node), self.start.elapsed());
        }
        Outcome::Answered(answer)
    }

    async fn seat(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(seat) = self.seats.try_acquire() {
            return Some(seat);
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.limits.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let seat = timeout(LONGEST_WAIT, self.seats.acquire()).await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        seat.ok()?.ok()
    }
}

/// What becomes of a request.
enum Outcome {
    Away,
    TurnedAway,
    Answered(Answer),
}

impl Outcome {
    fn response(self) -> Result<Response<Full<Bytes>>, BoxError> {
        let (response, body) = match self {
            Self::Away => return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
            Self::TurnedAway => (Response::builder().status(429).header(RETRY_AFTER, 1), Vec::new()),
            Self::Answered(answer) => (Response::builder().status(answer.code), answer.body),
        };
        Ok(response.body(Full::from(body))?)
    }
}

/// One agent's connection to the server: its identity is its name.
#[derive(Debug, Clone)]
pub struct Door {
    server: Arc<Server>,
    node: Arc<str>,
}

impl Door {
    #[must_use]
    pub fn new(server: Arc<Server>, node: &str) -> Self {
        Self { server, node: node.into() }
    }
}

impl Service<Request<RequestBody>> for Door {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let door = self.clone();
        // A client that gives up waiting does not end the server's work.
        let work = tokio::spawn(async move { door.server.serve(&door.node, request).await });
        Box::pin(async move { work.await? })
    }
}

fn is_status(parts: &Parts) -> bool {
    parts.method == "PATCH" && parts.uri.path().starts_with("/api/v1/nodes/")
}

/// As the agent's own metrics name it.
fn verb(parts: &Parts) -> &'static str {
    let path = parts.uri.path();
    match parts.method.as_str() {
        "GET" => "read",
        "POST" if path.contains("/leases") => "create-lease",
        _ if path.contains("/leases") => "renew-lease",
        // An apply states whether it forces; a patch that changes nothing does not.
        _ if is_status(parts) && !parts.uri.query().is_some_and(|query| query.contains("force=")) => "look-at-node",
        _ if is_status(parts) => "patch-node-status",
        "POST" if path.ends_with("/events") => "create-event",
        "PATCH" if path.contains("/events/") => "patch-event",
        _ => "other",
    }
}

/// The request line and the headers, as HTTP/1.1 writes them, with a `host` and a `content-length`.
fn head_bytes(parts: &Parts) -> usize {
    const LINE: usize = "  HTTP/1.1\r\n\r\n".len();
    const HOST_AND_LENGTH: usize = "host: kubernetes.default.svc:6443\r\ncontent-length: 4096\r\n".len();
    let path = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    parts.method.as_str().len() + path + headers + LINE + HOST_AND_LENGTH
}
