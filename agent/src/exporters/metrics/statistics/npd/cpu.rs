//! `cpu` of the file: the load, the scheduler's counts, where CPUs spend their time.

use super::{super::super::to_double, MetricDefinition, MetricType};

pub(super) const DEFINITIONS: &[MetricDefinition] = &[
    MetricDefinition {
        id: "cpu/runnable_task_count",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Tasks that run or wait for a disk, averaged over the last minute.",
        write: |samples, inputs| samples.only(inputs.sample.reading.load().map(|load| load.one)),
    },
    MetricDefinition {
        id: "cpu/load_1m",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Load average of 1 minute.",
        write: |samples, inputs| samples.only(inputs.sample.reading.load().map(|load| load.one)),
    },
    MetricDefinition {
        id: "cpu/load_5m",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Load average of 5 minutes.",
        write: |samples, inputs| samples.only(inputs.sample.reading.load().map(|load| load.five)),
    },
    MetricDefinition {
        id: "cpu/load_15m",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Load average of 15 minutes.",
        write: |samples, inputs| samples.only(inputs.sample.reading.load().map(|load| load.fifteen)),
    },
    MetricDefinition {
        id: "cpu/usage_time",
        kind: MetricType::Counter,
        labels: &["state"],
        help: "Time of all CPUs, in seconds; guest is part of user as well.",
        write: |samples, inputs| {
            let total = inputs.sample.reading.stat().total.iter();
            for (state, seconds) in total.flat_map(|total| total.seconds(inputs.ticks_per_second)) {
                samples.add(&[("state", state)], seconds);
            }
        },
    },
    MetricDefinition {
        id: "system/processes_total",
        kind: MetricType::Counter,
        labels: &[],
        help: "Processes and threads made since boot.",
        write: |samples, inputs| samples.only(inputs.sample.reading.stat().forks.map(to_double)),
    },
    MetricDefinition {
        id: "system/procs_running",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Threads that run or could.",
        write: |samples, inputs| samples.only(inputs.sample.reading.stat().running.map(to_double)),
    },
    MetricDefinition {
        id: "system/procs_blocked",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Threads that wait for a disk.",
        write: |samples, inputs| samples.only(inputs.sample.reading.stat().blocked.map(to_double)),
    },
    MetricDefinition {
        id: "system/interrupts_total",
        kind: MetricType::Counter,
        labels: &[],
        help: "Interrupts since boot.",
        write: |samples, inputs| samples.only(inputs.sample.reading.stat().interrupts.map(to_double)),
    },
    MetricDefinition {
        id: "system/cpu_stat",
        kind: MetricType::Counter,
        labels: &["cpu", "stage"],
        help: "Time of each CPU, in seconds; guest is part of user as well.",
        write: |samples, inputs| {
            for (number, times) in inputs.sample.reading.stat().cpus.iter() {
                let cpu = format!("cpu{number}");
                for (mode, seconds) in times.seconds(inputs.ticks_per_second) {
                    samples.add(&[("cpu", &cpu), ("stage", stage(mode))], seconds);
                }
            }
        },
    },
];

/// The same modes have other names here.
fn stage(mode: &'static str) -> &'static str {
    match mode {
        "irq" => "iRQ",
        "softirq" => "softIRQ",
        "guest_nice" => "guestNice",
        same => same,
    }
}
