//! What is sent to the API server, and what waits.

use nodewell_metrics::Exposition;
use nodewell_model::view::ApiserverState;

use super::{MetricSources, table::agent};

pub(super) fn write(exposition: &mut Exposition, sources: &MetricSources) {
    let view = sources.shared_state.view();
    let connected = view.apiserver.state == ApiserverState::Connected;
    exposition.metric(&agent::APISERVER_CONNECTED).sample(&[], u8::from(connected));
    exposition.metric(&agent::UNDELIVERED_EVENTS).sample(&[], view.apiserver.undelivered);
    exposition.metric(&agent::APISERVER_REQUESTS);
    for (kind, code, total) in sources.api.requests() {
        let labels = [("request", kind.as_str()), ("code", &code.to_string())];
        exposition.sample(&labels, total);
    }
    exposition.metric(&agent::EVENTS_DROPPED).sample(&[], sources.api.dropped_events());
}
