//! `/metrics` for Prometheus (text format 0.0.4), `/healthz` and `/readyz`.

mod agents;
mod done;
mod fence_requests;
mod fenceable;
mod logins;
mod shown;
mod stranded;
pub mod table;

use std::{future::ready, sync::Arc};

use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Bytes};
pub use nodewell_metrics::{bind, bind_later};
use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_tls::TlsGuard;
use tokio::net::TcpListener;

use crate::{kube::Requests, tally::Tally};

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

/// Serves until dropped; with a guard over TLS alone, and to those that it lets in. Needs a `LocalSet`.
pub async fn serve(listener: TcpListener, guard: Option<TlsGuard>, shown: Shown) {
    nodewell_metrics::serve(listener, guard, move |request| ready(answer(&request, &shown))).await;
}

/// The page `/metrics`.
#[must_use]
pub fn text(shown: &Shown) -> String {
    shown::text(shown)
}

fn answer<B>(request: &Request<B>, shown: &Shown) -> Response<Full<Bytes>> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, nodewell_metrics::TEXT, shown::text(shown)),
        (&Method::GET | &Method::HEAD, "/healthz") => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        (&Method::GET | &Method::HEAD, "/readyz") => readiness(shown),
        (_, "/metrics" | "/healthz" | "/readyz") => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned())
        }
        _ => (StatusCode::NOT_FOUND, "text/plain", "there are /metrics, /healthz and /readyz\n".to_owned()),
    };
    nodewell_metrics::answer(status, kind, body)
}

/// Ready is who sees the whole cluster, leader or not.
fn readiness(shown: &Shown) -> (StatusCode, &'static str, String) {
    if shown.cache.with(|snapshot| snapshot.host.synced) {
        return (StatusCode::OK, "text/plain", "ok\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, "text/plain", "the watches are not complete\n".to_owned())
}
