//! `/metrics` for Prometheus (text format 0.0.4), `/healthz` and `/readyz`.

mod agents;
mod done;
mod fence_requests;
mod fenceable;
mod logins;
mod page;
mod shown;
mod stranded;

use std::{convert::Infallible, net::SocketAddr, rc::Rc, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Bytes, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_tls::TlsGuard;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
    time::timeout,
};

use crate::{kube::Requests, tally::Tally};

/// A scraper or two, probes, and a person with curl.
const CONNECTION_LIMIT: usize = 8;
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection's whole life: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// What the pages are made from.
#[derive(Debug, Clone)]
pub struct Shown {
    pub cache: Cache,
    pub requests: Arc<Requests>,
    pub tally: Arc<Tally>,
    pub clock: Clock,
    pub dry_run: bool,
    /// node-reaper's four counters are shown under its names.
    pub node_reaper: bool,
    /// The cluster's name, a label of every sample.
    pub cluster: Option<String>,
}

/// Binds the address.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until dropped; with a guard over TLS alone, and to those that it lets in. Needs a `LocalSet`.
pub async fn serve(listener: TcpListener, guard: Option<TlsGuard>, shown: Shown) {
    let permits = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    let (guard, shown) = (guard.map(Rc::new), Rc::new(shown));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some come back when a connection ends.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (guard, shown) = (guard.clone(), Rc::clone(&shown));
        tokio::task::spawn_local(async move {
            // A scraper that hangs up or stalls is its own problem.
            let _ = timeout(CONNECTION_TIMEOUT, async {
                match guard {
                    None => converse(stream, &shown).await,
                    Some(guard) => {
                        if let Some(stream) = guard.let_in(stream).await {
                            converse(stream, &shown).await;
                        }
                    }
                }
            })
            .await;
            drop(permit);
        });
    }
}

async fn converse<S>(stream: S, shown: &Shown)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request| {
        let answer = answer(&request, shown);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

/// The page `/metrics`.
#[must_use]
pub fn text(shown: &Shown) -> String {
    shown::text(shown)
}

fn answer<B>(request: &Request<B>, shown: &Shown) -> Response<Full<Bytes>> {
    const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, METRICS, shown::text(shown)),
        (&Method::GET | &Method::HEAD, "/healthz") => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        (&Method::GET | &Method::HEAD, "/readyz") => readiness(shown),
        (_, "/metrics" | "/healthz" | "/readyz") => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned())
        }
        _ => (StatusCode::NOT_FOUND, "text/plain", "there are /metrics, /healthz and /readyz\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

/// Ready is who sees the whole cluster, leader or not.
fn readiness(shown: &Shown) -> (StatusCode, &'static str, String) {
    if shown.cache.with(|snapshot| snapshot.host.synced) {
        return (StatusCode::OK, "text/plain", "ok\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, "text/plain", "the watches are not complete\n".to_owned())
}
