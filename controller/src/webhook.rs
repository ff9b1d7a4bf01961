//! The admission webhook for policies: every replica answers the API server of its own host, over TLS, whether a
//! `RemediationPolicy` can be read. It decides on nothing else, and where it does not answer a policy is stored unasked
//! and judged by its status.

mod certificate;
mod registered;
mod review;

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, rc::Rc, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use nodewell_reconcile::{cache::Cache, clock::Clock};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

pub use self::{
    certificate::{Certificate, CertificateError},
    registered::{NAME, look_after, manifest, published},
    review::answer,
};
use crate::config::Webhook;

/// The path of the URL.
pub const PATH: &str = "/policies";
/// The API server keeps a connection or two.
const CONNECTION_LIMIT: usize = 16;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The API server opens another when it needs one.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(600);
/// Two copies of a policy, which etcd limits to 1.5 MiB each.
const REVIEW_LIMIT_BYTES: usize = 4 << 20;

/// What answers are made from.
#[derive(Debug, Clone)]
pub struct Reviewer {
    pub cache: Cache,
    pub clock: Clock,
}

/// Its certificate, by the configuration: named files, or a pair of its own in `state`.
///
/// # Errors
/// Why there is none.
pub fn certificate(config: &Webhook, state: Option<PathBuf>) -> Result<Certificate, CertificateError> {
    match &config.files {
        Some(files) => Certificate::of_files(files.cert.clone(), files.key.clone()),
        None => Certificate::own(&state.ok_or(CertificateError::NoFolder)?),
    }
}

/// Serves until dropped; needs a `LocalSet`. A taken port is logged, and stops nothing else.
pub async fn serve(address: SocketAddr, certificate: &Certificate, reviewer: Reviewer) {
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            let what = "policies are not checked as they are written: the address cannot be had";
            tracing::error!(%address, %error, "{what}; name another by [webhook] listen");
            return std::future::pending().await;
        }
    };
    let (permits, reviewer) = (Arc::new(Semaphore::new(CONNECTION_LIMIT)), Rc::new(reviewer));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some come back when a connection ends.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let acceptor = match certificate.acceptor() {
            Ok(acceptor) => acceptor,
            Err(error) => {
                tracing::error!(%error, "a policy was not checked as it was written");
                continue;
            }
        };
        let reviewer = Rc::clone(&reviewer);
        tokio::task::spawn_local(async move {
            connection(acceptor, stream, &reviewer).await;
            drop(permit);
        });
    }
}

/// A client that hangs up, stalls or is no client of TLS is its own problem.
async fn connection(acceptor: TlsAcceptor, stream: TcpStream, reviewer: &Rc<Reviewer>) {
    let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await else { return };
    let service = service_fn(|request| {
        let reviewer = Rc::clone(reviewer);
        async move { Ok::<_, Infallible>(respond(request, &reviewer).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(CONNECTION_TIMEOUT, served).await;
}

async fn respond(request: Request<Incoming>, reviewer: &Reviewer) -> Response<Full<Bytes>> {
    if request.uri().path() != PATH {
        return text(StatusCode::NOT_FOUND, &format!("there is {PATH}\n"));
    }
    if request.method() != Method::POST {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only POST\n");
    }
    let Ok(body) = Limited::new(request.into_body(), REVIEW_LIMIT_BYTES).collect().await else {
        return text(StatusCode::PAYLOAD_TOO_LARGE, "more than a policy can be\n");
    };
    let Ok(review) = serde_json::from_slice(&body.to_bytes()) else {
        return text(StatusCode::BAD_REQUEST, "no AdmissionReview\n");
    };
    let now = reviewer.clock.now();
    let answer = reviewer.cache.with(|snapshot| answer(&review, snapshot.host.synced.then_some(&*snapshot), now));
    match answer {
        Some(answer) => {
            let mut response = text(StatusCode::OK, &answer.to_string());
            response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
            response
        }
        None => text(StatusCode::BAD_REQUEST, "no AdmissionReview of a RemediationPolicy\n"),
    }
}

fn text(status: StatusCode, body: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_owned())));
    *response.status_mut() = status;
    response
}
