//! The agent itself.

use super::exposition::{Exposition, MetricType, count, to_double};
use crate::runtime::clock;

pub(super) fn write(exposition: &mut Exposition) {
    exposition.metric("nodewell_build_info", MetricType::Gauge, "1, with the version of the agent.");
    exposition.sample("nodewell_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    write_process(exposition);
}

/// The process's own figures, under the names every Prometheus client library uses.
fn write_process(exposition: &mut Exposition) {
    let Ok(me) = procfs::process::Process::myself() else { return };
    let Ok(stat) = me.stat() else { return };
    let ticks = procfs::ticks_per_second();
    exposition.metric("process_cpu_seconds_total", MetricType::Counter, "User and system CPU time spent.");
    exposition.sample("process_cpu_seconds_total", &[], to_double(stat.utime + stat.stime) / to_double(ticks));
    if let Ok(boot) = procfs::boot_time_secs() {
        let started = to_double(boot) + to_double(stat.starttime) / to_double(ticks);
        exposition.metric("process_start_time_seconds", MetricType::Gauge, "When the agent was started, since 1970.");
        exposition.sample("process_start_time_seconds", &[], started);
    }
    // The kernel stamps a process's start by the same clock.
    let observed = clock::boottime().as_secs_f64() - to_double(stat.starttime) / to_double(ticks);
    let help = "For how long this run of the agent has watched the node.";
    exposition.metric("nodewell_observed_seconds_total", MetricType::Counter, help);
    exposition.sample("nodewell_observed_seconds_total", &[], observed.max(0.0));
    exposition.metric("process_resident_memory_bytes", MetricType::Gauge, "Resident memory size.");
    exposition.sample("process_resident_memory_bytes", &[], to_double(stat.rss * procfs::page_size()));
    exposition.metric("process_threads", MetricType::Gauge, "Number of threads.");
    exposition.sample("process_threads", &[], to_double(stat.num_threads.unsigned_abs()));
    if let Ok(open) = me.fd_count() {
        exposition.metric("process_open_fds", MetricType::Gauge, "Number of open file descriptors.");
        exposition.sample("process_open_fds", &[], count(open));
    }
}
