//! Requests and reports on the local socket.

use std::sync::atomic::Ordering::Relaxed;

use nodewell_metrics::{Exposition, MetricType::Counter};

use crate::socket::Counters;

pub(super) fn write(exposition: &mut Exposition, counters: &Counters) {
    exposition.metric("nodewell_socket_requests_total", Counter, "Requests answered on the local socket.");
    exposition.sample(&[], counters.requests.load(Relaxed));
    exposition.metric("nodewell_socket_refused_total", Counter, "Connections turned away, by the bound they hit.");
    for (bound, refused) in [("all", &counters.refused.all), ("peer", &counters.refused.peer)] {
        exposition.sample(&[("bound", bound)], refused.load(Relaxed));
    }
    exposition.metric("nodewell_reports_total", Counter, "Reports on the local socket, by what became of them.");
    for (result, total) in counters.reports.by_result() {
        exposition.sample(&[("result", result)], total);
    }
    exposition.metric("nodewell_socket_broken_total", Counter, "Connections that stalled or were not HTTP.");
    exposition.sample(&[], counters.broken.load(Relaxed));
}
