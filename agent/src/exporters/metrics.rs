//! Prometheus: `problem_counter` and `problem_gauge` as Node Problem Detector names them, `nodewell_*` for our own.

mod apiserver;
mod configuration;
mod hw_counters;
mod inventory;
mod monitors;
mod problems;
mod process;
mod socket;
mod statistics;
mod store;
pub mod table;

use std::{path::Path, rc::Rc, sync::Arc};

use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Bytes};
use nodewell_metrics::{Exposition, TEXT, bind, bind_later};
use nodewell_rules::RuleSet;
use nodewell_tls::TlsGuard;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

pub use statistics::{Statistics, figures_of_npd};

use crate::{
    config::Config, exporters::apiserver::ApiStats, hw_counters::HwCountersFile, inventory::InventoryFiles,
    runtime::boxed, shared_state::SharedState, socket::Counters, store::Store,
};

/// What the exposition is made from.
#[derive(Debug, Clone)]
pub struct MetricSources {
    pub shared_state: SharedState,
    pub rules: watch::Receiver<Arc<RuleSet>>,
    pub api: Arc<ApiStats>,
    pub socket: Arc<Counters>,
    pub store: Store,
    pub statistics: Rc<Statistics>,
    /// The cluster's name, a label of every sample.
    pub cluster: Option<Rc<str>>,
    pub check_files: CheckFiles,
}

/// What check processes show, in files beside the agent's socket.
#[derive(Debug, Clone)]
pub struct CheckFiles {
    inventory: InventoryFiles,
    hw_counters: HwCountersFile,
}

impl CheckFiles {
    /// Of the agent that listens on `socket`.
    #[must_use]
    pub fn of(socket: &Path) -> Self {
        Self { inventory: InventoryFiles::of(socket), hw_counters: HwCountersFile::of(socket) }
    }
}

/// Starts it where `metrics-address` has one.
pub(super) async fn start(vital: &mut JoinSet<()>, config: &Config, sources: MetricSources) {
    let Some(address) = config.metrics_address.0 else { return };
    let guard = config.exporters.metrics_tls.guard();
    match bind(address).await {
        Ok(listener) => drop(vital.spawn_local(boxed(serve(listener, guard, sources)))),
        // Node Problem Detector may still hold the port, until it is removed; everything else works.
        Err(error) => {
            tracing::error!(%address, %error, "no metrics: the address cannot be bound, will retry");
            vital.spawn_local(boxed(async move {
                let listener = bind_later(address).await;
                tracing::info!(%address, "metrics: the address is bound now");
                serve(listener, guard, sources).await;
            }));
        }
    }
}

/// Serves `GET /metrics` until the task is dropped; with a guard over TLS alone, and to those that it lets in.
async fn serve(listener: TcpListener, guard: Option<TlsGuard>, sources: MetricSources) {
    nodewell_metrics::serve(listener, guard, move |request| {
        let sources = sources.clone();
        async move { answer(&request, &sources).await }
    })
    .await;
}

async fn answer<B>(request: &Request<B>, sources: &MetricSources) -> Response<Full<Bytes>> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, TEXT, text(sources).await),
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "metrics are at /metrics\n".to_owned()),
    };
    nodewell_metrics::answer(status, kind, body)
}

/// The page.
pub(super) async fn text(sources: &MetricSources) -> String {
    let rules = Arc::clone(&sources.rules.borrow());
    let statistics = sources.statistics.text(&rules.statistics).await;
    let mut exposition = Exposition::of(sources.cluster.as_deref());
    problems::write(&mut exposition, sources);
    inventory::write(&mut exposition, sources);
    hw_counters::write(&mut exposition, &sources.check_files.hw_counters);
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

/// `value` for arithmetic, inexactly above 2^53.
#[expect(clippy::cast_precision_loss, reason = "see above")]
fn to_double(value: u64) -> f64 {
    value as f64
}
