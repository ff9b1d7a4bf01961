//! Prometheus: `problem_counter` and `problem_gauge` as Node Problem Detector names them, `nodewell_*` for our own.
//!
//! Text format 0.0.4, written here: the OpenMetrics libraries rename a counter to `…_total`, and dashboards made for
//! NPD would show nothing.

mod apiserver;
mod configuration;
mod exposition;
mod inventory;
mod monitors;
mod problems;
mod process;
mod socket;
mod statistics;
mod store;

use std::{convert::Infallible, net::SocketAddr, rc::Rc, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Bytes, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use nodewell_rules::RuleSet;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
};

pub use exposition::{Exposition, MetricType};
pub use statistics::Statistics;

use crate::{
    exporters::apiserver::ApiStats, inventory::InventoryFiles, shared_state::SharedState, socket::Counters,
    store::Store,
};

/// A scraper or two, and a person with curl.
const CONNECTION_LIMIT: usize = 8;
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection's whole life: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// What the exposition is made from.
#[derive(Debug, Clone)]
pub struct MetricSources {
    pub shared_state: SharedState,
    pub rules: watch::Receiver<Arc<RuleSet>>,
    pub api: Arc<ApiStats>,
    pub socket: Arc<Counters>,
    pub store: Store,
    pub statistics: Rc<Statistics>,
    pub inventory: InventoryFiles,
}

/// Binds the address; a taken port is reported, and is not fatal to the agent.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves `GET /metrics` until the task is dropped.
pub async fn serve(listener: TcpListener, sources: MetricSources) {
    let permits = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some come back when a connection ends.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let sources = sources.clone();
        tokio::task::spawn_local(async move {
            let service = service_fn(|request| {
                let sources = &sources;
                async move { Ok::<_, Infallible>(answer(&request, sources).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            // A scraper that hangs up or stalls is its own problem.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
}

async fn answer<B>(request: &Request<B>, sources: &MetricSources) -> Response<Full<Bytes>> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => {
            (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text(sources).await)
        }
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "metrics are at /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

async fn text(sources: &MetricSources) -> String {
    let rules = Arc::clone(&sources.rules.borrow());
    let statistics = sources.statistics.text(&rules.statistics).await;
    let mut exposition = Exposition::default();
    problems::write(&mut exposition, sources);
    inventory::write(&mut exposition, sources);
    monitors::write(&mut exposition, &sources.shared_state);
    apiserver::write(&mut exposition, sources);
    socket::write(&mut exposition, &sources.socket);
    if sources.store.is_enabled() {
        store::write(&mut exposition, &sources.store);
    }
    process::write(&mut exposition);
    configuration::write(&mut exposition, sources.shared_state.view().configuration.as_deref());
    exposition.append(&statistics);
    exposition.into_text()
}
