//! Requests and reports on the local socket.

use std::sync::atomic::Ordering::Relaxed;

use nodewell_metrics::Exposition;

use super::table::agent;
use crate::socket::Counters;

pub(super) fn write(exposition: &mut Exposition, counters: &Counters) {
    exposition.metric(&agent::SOCKET_REQUESTS).sample(&[], counters.requests.load(Relaxed));
    exposition.metric(&agent::SOCKET_REFUSED);
    for (bound, refused) in [("all", &counters.refused.all), ("peer", &counters.refused.peer)] {
        exposition.sample(&[("bound", bound)], refused.load(Relaxed));
    }
    exposition.metric(&agent::REPORTS);
    for (result, total) in counters.reports.by_result() {
        exposition.sample(&[("result", result)], total);
    }
    exposition.metric(&agent::SOCKET_BROKEN).sample(&[], counters.broken.load(Relaxed));
}
