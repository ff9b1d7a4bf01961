//! The agent itself.

use super::page::{Kind, Page, count, precise};

pub(super) fn write(page: &mut Page) {
    page.metric("nodewell_build_info", Kind::Gauge, "1, with the version of the agent.");
    page.sample("nodewell_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    write_process(page);
}

/// The process's own figures, under the names every Prometheus client library uses.
fn write_process(page: &mut Page) {
    let Ok(me) = procfs::process::Process::myself() else { return };
    let Ok(stat) = me.stat() else { return };
    let ticks = procfs::ticks_per_second();
    page.metric("process_cpu_seconds_total", Kind::Counter, "User and system CPU time spent.");
    page.sample("process_cpu_seconds_total", &[], precise(stat.utime + stat.stime) / precise(ticks));
    if let Ok(boot) = procfs::boot_time_secs() {
        let started = precise(boot) + precise(stat.starttime) / precise(ticks);
        page.metric("process_start_time_seconds", Kind::Gauge, "When the agent was started, since 1970.");
        page.sample("process_start_time_seconds", &[], started);
    }
    page.metric("process_resident_memory_bytes", Kind::Gauge, "Resident memory size.");
    page.sample("process_resident_memory_bytes", &[], precise(stat.rss * procfs::page_size()));
    page.metric("process_threads", Kind::Gauge, "Number of threads.");
    page.sample("process_threads", &[], precise(stat.num_threads.unsigned_abs()));
    if let Ok(open) = me.fd_count() {
        page.metric("process_open_fds", Kind::Gauge, "Number of open file descriptors.");
        page.sample("process_open_fds", &[], count(open));
    }
}
