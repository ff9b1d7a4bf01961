//! Requests and reports on the local socket.

use std::sync::atomic::Ordering::Relaxed;

use super::exposition::{Exposition, MetricType, to_double};
use crate::socket::Counters;

pub(super) fn write(exposition: &mut Exposition, counters: &Counters) {
    exposition.metric("nodewell_socket_requests_total", MetricType::Counter, "Requests answered on the local socket.");
    exposition.sample("nodewell_socket_requests_total", &[], to_double(counters.requests.load(Relaxed)));
    exposition.metric(
        "nodewell_socket_refused_total",
        MetricType::Counter,
        "Connections turned away, by the bound they hit.",
    );
    for (bound, refused) in [("all", &counters.refused.all), ("peer", &counters.refused.peer)] {
        exposition.sample("nodewell_socket_refused_total", &[("bound", bound)], to_double(refused.load(Relaxed)));
    }
    exposition.metric(
        "nodewell_reports_total",
        MetricType::Counter,
        "Reports on the local socket, by what became of them.",
    );
    for (result, total) in counters.reports.by_result() {
        exposition.sample("nodewell_reports_total", &[("result", result)], to_double(total));
    }
    exposition.metric(
        "nodewell_socket_broken_total",
        MetricType::Counter,
        "Connections that stalled or were not HTTP.",
    );
    exposition.sample("nodewell_socket_broken_total", &[], to_double(counters.broken.load(Relaxed)));
}
