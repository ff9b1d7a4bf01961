//! Whether monitors see what they watch, and what they lost. The label `monitor` is the name of a reporter (`name` in
//! `GET /v1/daemons`): a monitor of the agent, a check process or a part of one, or a foreign problem daemon.

use nodewell_metrics::Exposition;
use nodewell_model::view::DaemonState;

use super::table::problems;
use crate::shared_state::SharedState;

pub(super) fn write(exposition: &mut Exposition, shared_state: &SharedState) {
    let view = shared_state.view();
    exposition.metric(&problems::MONITOR_UP);
    for daemon in &view.daemons {
        exposition.sample(&[("monitor", &daemon.name)], u8::from(daemon.state == DaemonState::Running));
    }
    exposition.metric(&problems::RECORDS);
    for daemon in &view.daemons {
        exposition.sample(&[("monitor", &daemon.name)], daemon.records);
    }
    exposition.metric(&problems::RECORDS_LOST);
    for daemon in &view.daemons {
        exposition.sample(&[("monitor", &daemon.name)], daemon.lost);
    }
}
