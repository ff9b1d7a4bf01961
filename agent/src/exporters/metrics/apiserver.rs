//! What is sent to the API server, and what waits.

use nodewell_model::view::ApiserverState;

use super::{
    MetricSources,
    exposition::{Exposition, MetricType, to_double},
};

pub(super) fn write(exposition: &mut Exposition, sources: &MetricSources) {
    let view = sources.shared_state.view();
    exposition.metric("nodewell_apiserver_connected", MetricType::Gauge, "1 while the API server takes what we send.");
    let connected = view.apiserver.state == ApiserverState::Connected;
    exposition.sample("nodewell_apiserver_connected", &[], f64::from(u8::from(connected)));
    exposition.metric("nodewell_apiserver_undelivered_events", MetricType::Gauge, "Events that wait for delivery.");
    exposition.sample("nodewell_apiserver_undelivered_events", &[], to_double(view.apiserver.undelivered));
    exposition.metric(
        "nodewell_apiserver_requests_total",
        MetricType::Counter,
        "Requests by what they are for, and the answer's code.",
    );
    for (kind, code, total) in sources.api.requests() {
        let labels = [("request", kind.as_str()), ("code", &code.to_string())];
        exposition.sample("nodewell_apiserver_requests_total", &labels, to_double(total));
    }
    exposition.metric(
        "nodewell_events_dropped_total",
        MetricType::Counter,
        "Events that the API server will never count.",
    );
    exposition.sample("nodewell_events_dropped_total", &[], to_double(sources.api.dropped_events()));
}
