//! Prometheus: `problem_counter` and `problem_gauge` as Node Problem Detector names them, `nodewell_*` for our own.
//!
//! Text format 0.0.4, written here: the OpenMetrics libraries rename a counter to `…_total`, and dashboards made for
//! NPD would show nothing.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt::Write as _,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Bytes, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use nodewell_model::{
    Name,
    view::{ApiserverState, ConditionView, DaemonState, HardwareView},
};
use nodewell_rules::RuleSet;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
};

use crate::{board::Board, exporters::apiserver::ApiStats, socket::Counters, store::Store};

/// A scraper or two, and a person with curl.
const CONNECTION_LIMIT: usize = 8;
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection's whole life: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// What the page is made from.
#[derive(Debug, Clone)]
pub struct Shown {
    pub board: Board,
    pub rules: watch::Receiver<Arc<RuleSet>>,
    pub api: Arc<ApiStats>,
    pub socket: Arc<Counters>,
    pub store: Store,
}

/// Binds the address; a taken port is told, and is not fatal to the agent.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves `GET /metrics` until the task is dropped.
pub async fn serve(listener: TcpListener, shown: Shown) {
    let permits = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some come back when a connection ends.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let shown = shown.clone();
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let answer = answer(&request, &shown);
                async move { Ok::<_, Infallible>(answer) }
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

fn answer<B>(request: &Request<B>, shown: &Shown) -> Response<Full<Bytes>> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => {
            let mut page = Page::default();
            write_problems(&mut page, shown);
            write_page(&mut page, &shown.board);
            write_apiserver(&mut page, shown);
            write_socket(&mut page, &shown.socket);
            if shown.store.is_somewhere() {
                write_store(&mut page, &shown.store);
            }
            (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", page.text)
        }
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "metrics are at /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

/// A page in the making.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

/// What a metric is, in Prometheus' words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
}

impl Page {
    /// Begins a metric; its samples follow.
    pub fn metric(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a String cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// One sample.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        for (position, (label, value)) in labels.iter().enumerate() {
            self.text.push(if position == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{label}=\"{}\"", escaped(value));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn write_page(page: &mut Page, board: &Board) {
    let view = board.view();
    page.metric("nodewell_condition", Kind::Gauge, "1 for the state that each condition is in.");
    for condition in &view.conditions {
        let labels = [("type", condition.condition.as_str()), ("status", condition.status.as_str())];
        page.sample("nodewell_condition", &labels, 1.0);
    }
    page.metric("nodewell_active_problems", Kind::Gauge, "Active problems of each condition.");
    for ConditionView { condition, problems, .. } in view.conditions.iter().map(AsRef::as_ref) {
        page.sample("nodewell_active_problems", &[("type", condition.as_str())], count(problems.len()));
    }
    write_devices(page, &view.hardware);
    write_monitors(page, board);
    write_process(page);
}

/// A state that no device of a class is in any more is not there: `ok` always is.
fn write_devices(page: &mut Page, hardware: &[HardwareView]) {
    page.metric("nodewell_devices", Kind::Gauge, "Devices of each class by state; `ok` as far as is known.");
    for HardwareView { class, well, states, .. } in hardware {
        let states = states.iter().map(|(state, count)| (state.as_str(), *count));
        for (state, count) in [("ok", *well)].into_iter().chain(states) {
            page.sample("nodewell_devices", &[("class", class), ("state", state)], count.into());
        }
    }
}

fn write_apiserver(page: &mut Page, shown: &Shown) {
    let view = shown.board.view();
    page.metric("nodewell_apiserver_connected", Kind::Gauge, "1 while the API server takes what we send.");
    let connected = view.apiserver.state == ApiserverState::Connected;
    page.sample("nodewell_apiserver_connected", &[], f64::from(u8::from(connected)));
    page.metric("nodewell_apiserver_undelivered_events", Kind::Gauge, "Events that wait for delivery.");
    page.sample("nodewell_apiserver_undelivered_events", &[], precise(view.apiserver.undelivered));
    page.metric("nodewell_apiserver_requests_total", Kind::Counter, "Requests by what they wanted and their code.");
    for (verb, code, total) in shown.api.requests() {
        let labels = [("verb", verb.as_str()), ("code", &code.to_string())];
        page.sample("nodewell_apiserver_requests_total", &labels, precise(total));
    }
    page.metric("nodewell_events_dropped_total", Kind::Counter, "Events that the API server will never count.");
    page.sample("nodewell_events_dropped_total", &[], precise(shown.api.dropped_events()));
}

/// Like Node Problem Detector, every reason that a rule could find is there from the start, with 0. Not those that a
/// table decides, hundreds of them, nor gauges of hardware that the node may not have.
fn write_problems(page: &mut Page, shown: &Shown) {
    let mut tallies = shown.board.tallies();
    let rules = shown.rules.borrow();
    let plain = || rules.rules.iter().filter(|rule| rule.decoder.is_none());
    for rule in plain() {
        tallies.raised.entry(rule.reason.clone()).or_default();
    }
    let mut gauges: BTreeMap<(Name, Name), bool> = BTreeMap::new();
    for rule in plain().filter(|rule| rule.watches) {
        gauges.extend(rule.condition.clone().map(|condition| ((condition, rule.reason.clone()), false)));
    }
    gauges.extend(tallies.gauges.into_iter().map(|gauge| ((gauge.condition, gauge.reason), gauge.active)));
    page.metric("problem_counter", Kind::Counter, "How often each reason was seen.");
    for (reason, total) in &tallies.raised {
        page.sample("problem_counter", &[("reason", reason.as_str())], precise(*total));
    }
    page.metric("problem_gauge", Kind::Gauge, "1 while the problem is there, 0 once it has ended.");
    for ((condition, reason), active) in &gauges {
        let labels = [("reason", reason.as_str()), ("type", condition.as_str())];
        page.sample("problem_gauge", &labels, f64::from(u8::from(*active)));
    }
}

fn write_monitors(page: &mut Page, board: &Board) {
    let view = board.view();
    page.metric("nodewell_monitor_up", Kind::Gauge, "1 while the monitor sees what it watches.");
    for daemon in &view.daemons {
        let up = f64::from(u8::from(daemon.state == DaemonState::Running));
        page.sample("nodewell_monitor_up", &[("monitor", &daemon.name)], up);
    }
    page.metric("nodewell_records_total", Kind::Counter, "Records read by each monitor's source.");
    for daemon in &view.daemons {
        page.sample("nodewell_records_total", &[("monitor", &daemon.name)], precise(daemon.records));
    }
    page.metric("nodewell_records_lost_total", Kind::Counter, "Records that a source knows it lost.");
    for daemon in &view.daemons {
        page.sample("nodewell_records_lost_total", &[("monitor", &daemon.name)], precise(daemon.lost));
    }
}

fn write_socket(page: &mut Page, counters: &Counters) {
    page.metric("nodewell_socket_requests_total", Kind::Counter, "Requests answered on the local socket.");
    page.sample("nodewell_socket_requests_total", &[], precise(counters.requests.load(Relaxed)));
    page.metric("nodewell_socket_refused_total", Kind::Counter, "Connections turned away, by the bound they hit.");
    for (bound, refused) in [("all", &counters.refused.all), ("peer", &counters.refused.peer)] {
        page.sample("nodewell_socket_refused_total", &[("bound", bound)], precise(refused.load(Relaxed)));
    }
    page.metric("nodewell_reports_total", Kind::Counter, "Reports on the local socket, by what became of them.");
    for (result, total) in counters.reports.by_result() {
        page.sample("nodewell_reports_total", &[("result", result)], precise(total));
    }
    page.metric("nodewell_socket_broken_total", Kind::Counter, "Connections that stalled or were not HTTP.");
    page.sample("nodewell_socket_broken_total", &[], precise(counters.broken.load(Relaxed)));
}

fn write_store(page: &mut Page, store: &Store) {
    let stats = store.stats();
    page.metric("nodewell_store_up", Kind::Gauge, "1 while what the agent knows is kept on the disk.");
    let up = store.watch().borrow().trouble.is_none();
    page.sample("nodewell_store_up", &[], f64::from(u8::from(up)));
    let counters = [
        ("nodewell_store_transactions_total", "Transactions that the disk has taken.", stats.transactions),
        ("nodewell_store_rows_total", "Rows written in them.", stats.rows),
        ("nodewell_store_bytes_total", "What these rows were in memory, in bytes.", stats.bytes),
        ("nodewell_store_failures_total", "Attempts that the disk did not take, hangs included.", stats.failures),
        ("nodewell_store_corruptions_total", "Damaged files that were moved aside.", stats.corruptions),
    ];
    for (name, help, total) in counters {
        page.metric(name, Kind::Counter, help);
        page.sample(name, &[], precise(total));
    }
    page.metric("nodewell_store_waiting_rows", Kind::Gauge, "Rows that wait to be written.");
    page.sample("nodewell_store_waiting_rows", &[], precise(stats.waiting_rows));
    page.metric("nodewell_store_waiting_bytes", Kind::Gauge, "Memory that they take.");
    page.sample("nodewell_store_waiting_bytes", &[], precise(stats.waiting_bytes));
    page.metric("nodewell_store_oldest_waiting_seconds", Kind::Gauge, "Since when the oldest of them waits.");
    page.sample("nodewell_store_oldest_waiting_seconds", &[], stats.oldest_waiting.as_secs_f64());
}

/// The process's own figures, under the names every Prometheus client library uses.
fn write_process(page: &mut Page) {
    let Ok(me) = procfs::process::Process::myself() else { return };
    let Ok(stat) = me.stat() else { return };
    let ticks = procfs::ticks_per_second();
    page.metric("process_cpu_seconds_total", Kind::Counter, "User and system CPU time spent.");
    page.sample("process_cpu_seconds_total", &[], precise(stat.utime + stat.stime) / precise(ticks));
    page.metric("process_resident_memory_bytes", Kind::Gauge, "Resident memory size.");
    page.sample("process_resident_memory_bytes", &[], precise(stat.rss * procfs::page_size()));
    page.metric("process_threads", Kind::Gauge, "Number of threads.");
    page.sample("process_threads", &[], precise(stat.num_threads.unsigned_abs()));
    if let Ok(open) = me.fd_count() {
        page.metric("process_open_fds", Kind::Gauge, "Number of open file descriptors.");
        page.sample("process_open_fds", &[], count(open));
    }
}

fn count(value: usize) -> f64 {
    precise(value as u64)
}

/// Prometheus has only doubles; past 2^53 a counter's last digits are gone, which no rate notices.
#[expect(clippy::cast_precision_loss, reason = "see above")]
fn precise(value: u64) -> f64 {
    value as f64
}
