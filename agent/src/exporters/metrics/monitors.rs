//! Whether monitors see what they watch, and what they lost.

use nodewell_model::view::DaemonState;

use super::page::{Kind, Page, precise};
use crate::board::Board;

pub(super) fn write(page: &mut Page, board: &Board) {
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
