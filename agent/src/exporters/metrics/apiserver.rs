//! What is sent to the API server, and what waits.

use nodewell_metrics::{
    Exposition,
    MetricType::{Counter, Gauge},
};
use nodewell_model::view::ApiserverState;

use super::MetricSources;

pub(super) fn write(exposition: &mut Exposition, sources: &MetricSources) {
    let view = sources.shared_state.view();
    exposition.metric("nodewell_apiserver_connected", Gauge, "1 while the API server takes what we send.");
    let connected = view.apiserver.state == ApiserverState::Connected;
    exposition.sample(&[], u8::from(connected));
    exposition.metric("nodewell_apiserver_undelivered_events", Gauge, "Events that wait for delivery.");
    exposition.sample(&[], view.apiserver.undelivered);
    exposition.metric(
        "nodewell_apiserver_requests_total",
        Counter,
        "Requests by what they are for, and the answer's code.",
    );
    for (kind, code, total) in sources.api.requests() {
        let labels = [("request", kind.as_str()), ("code", &code.to_string())];
        exposition.sample(&labels, total);
    }
    exposition.metric("nodewell_events_dropped_total", Counter, "Events that the API server will never count.");
    exposition.sample(&[], sources.api.dropped_events());
}
