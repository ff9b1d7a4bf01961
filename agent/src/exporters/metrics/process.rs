//! The agent itself.

use nodewell_metrics::Exposition;

use super::{table::agent, to_double};
use crate::runtime::clock;

pub(super) fn write(exposition: &mut Exposition) {
    exposition.metric(&agent::BUILD_INFO).sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    write_process(exposition);
}

/// The process's own figures, under the names every Prometheus client library uses.
fn write_process(exposition: &mut Exposition) {
    let Ok(me) = procfs::process::Process::myself() else { return };
    let Ok(stat) = me.stat() else { return };
    let ticks = procfs::ticks_per_second();
    exposition.metric(&agent::PROCESS_CPU).sample(&[], to_double(stat.utime + stat.stime) / to_double(ticks));
    if let Ok(boot) = procfs::boot_time_secs() {
        let started = to_double(boot) + to_double(stat.starttime) / to_double(ticks);
        exposition.metric(&agent::PROCESS_START).sample(&[], started);
    }
    // The kernel stamps a process's start by the same clock.
    let observed = clock::boottime().as_secs_f64() - to_double(stat.starttime) / to_double(ticks);
    exposition.metric(&agent::OBSERVED).sample(&[], observed.max(0.0));
    exposition.metric(&agent::PROCESS_MEMORY).sample(&[], stat.rss * procfs::page_size());
    exposition.metric(&agent::PROCESS_THREADS).sample(&[], stat.num_threads.unsigned_abs());
    if let Ok(open) = me.fd_count() {
        exposition.metric(&agent::PROCESS_FDS).sample(&[], open);
    }
}
