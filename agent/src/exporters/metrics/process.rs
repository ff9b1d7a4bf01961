//! The agent itself.

use nodewell_metrics::{
    Exposition,
    MetricType::{Counter, Gauge},
};

use super::to_double;
use crate::runtime::clock;

pub(super) fn write(exposition: &mut Exposition) {
    exposition.metric("nodewell_build_info", Gauge, "1, with the version of the agent.");
    exposition.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    write_process(exposition);
}

/// The process's own figures, under the names every Prometheus client library uses.
fn write_process(exposition: &mut Exposition) {
    let Ok(me) = procfs::process::Process::myself() else { return };
    let Ok(stat) = me.stat() else { return };
    let ticks = procfs::ticks_per_second();
    exposition.metric("process_cpu_seconds_total", Counter, "User and system CPU time spent.");
    exposition.sample(&[], to_double(stat.utime + stat.stime) / to_double(ticks));
    if let Ok(boot) = procfs::boot_time_secs() {
        let started = to_double(boot) + to_double(stat.starttime) / to_double(ticks);
        exposition.metric("process_start_time_seconds", Gauge, "When the agent was started, since 1970.");
        exposition.sample(&[], started);
    }
    // The kernel stamps a process's start by the same clock.
    let observed = clock::boottime().as_secs_f64() - to_double(stat.starttime) / to_double(ticks);
    let help = "For how long this run of the agent has watched the node.";
    exposition.metric("nodewell_observed_seconds_total", Counter, help);
    exposition.sample(&[], observed.max(0.0));
    exposition.metric("process_resident_memory_bytes", Gauge, "Resident memory size.");
    exposition.sample(&[], stat.rss * procfs::page_size());
    exposition.metric("process_threads", Gauge, "Number of threads.");
    exposition.sample(&[], stat.num_threads.unsigned_abs());
    if let Ok(open) = me.fd_count() {
        exposition.metric("process_open_fds", Gauge, "Number of open file descriptors.");
        exposition.sample(&[], open);
    }
}
