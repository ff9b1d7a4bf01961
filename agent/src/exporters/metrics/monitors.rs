//! Whether monitors see what they watch, and what they lost. The label `monitor` is the name of a reporter (`name` in
//! `GET /v1/daemons`): a monitor of the agent, a check process or a part of one, or a foreign problem daemon.

use nodewell_metrics::{
    Exposition,
    MetricType::{Counter, Gauge},
};
use nodewell_model::view::DaemonState;

use crate::shared_state::SharedState;

pub(super) fn write(exposition: &mut Exposition, shared_state: &SharedState) {
    let view = shared_state.view();
    exposition.metric("nodewell_monitor_up", Gauge, "1 while the monitor sees what it watches.");
    for daemon in &view.daemons {
        exposition.sample(&[("monitor", &daemon.name)], u8::from(daemon.state == DaemonState::Running));
    }
    exposition.metric("nodewell_records_total", Counter, "Records read by each monitor's source.");
    for daemon in &view.daemons {
        exposition.sample(&[("monitor", &daemon.name)], daemon.records);
    }
    exposition.metric("nodewell_records_lost_total", Counter, "Records that a source knows it lost.");
    for daemon in &view.daemons {
        exposition.sample(&[("monitor", &daemon.name)], daemon.lost);
    }
}
