//! Whether monitors see what they watch, and what they lost. The label `monitor` is the name of a reporter (`name` in
//! `GET /v1/daemons`): a monitor of the agent, a check process or a part of one, or a foreign problem daemon.

use nodewell_model::view::DaemonState;

use super::exposition::{Exposition, MetricType, to_double};
use crate::shared_state::SharedState;

pub(super) fn write(exposition: &mut Exposition, shared_state: &SharedState) {
    let view = shared_state.view();
    exposition.metric("nodewell_monitor_up", MetricType::Gauge, "1 while the monitor sees what it watches.");
    for daemon in &view.daemons {
        let up = f64::from(u8::from(daemon.state == DaemonState::Running));
        exposition.sample("nodewell_monitor_up", &[("monitor", &daemon.name)], up);
    }
    exposition.metric("nodewell_records_total", MetricType::Counter, "Records read by each monitor's source.");
    for daemon in &view.daemons {
        exposition.sample("nodewell_records_total", &[("monitor", &daemon.name)], to_double(daemon.records));
    }
    exposition.metric("nodewell_records_lost_total", MetricType::Counter, "Records that a source knows it lost.");
    for daemon in &view.daemons {
        exposition.sample("nodewell_records_lost_total", &[("monitor", &daemon.name)], to_double(daemon.lost));
    }
}
