//! `metricsConfigs`: the figures that there are, and the names they are given.

use std::collections::HashMap;

use super::{
    super::json::{Object, Value},
    Sections,
};
use crate::{nearest::did_you_mean, report::Report};

/// Every figure of Node Problem Detector's, by the section it is in.
pub const METRICS: [(&str, &[&str]); 6] = [
    (
        "cpu",
        &[
            "cpu/runnable_task_count",
            "cpu/load_1m",
            "cpu/load_5m",
            "cpu/load_15m",
            "cpu/usage_time",
            "system/processes_total",
            "system/procs_running",
            "system/procs_blocked",
            "system/interrupts_total",
            "system/cpu_stat",
        ],
    ),
    (
        "disk",
        &[
            "disk/io_time",
            "disk/weighted_io",
            "disk/avg_queue_len",
            "disk/operation_count",
            "disk/merged_operation_count",
            "disk/operation_bytes_count",
            "disk/operation_time",
            "disk/bytes_used",
            "disk/percent_used",
        ],
    ),
    ("host", &["host/uptime"]),
    (
        "memory",
        &[
            "memory/bytes_used",
            "memory/percent_used",
            "memory/anonymous_used",
            "memory/page_cache_used",
            "memory/unevictable_used",
            "memory/dirty_used",
        ],
    ),
    ("osFeature", &["system/os_feature"]),
    (
        "net",
        &[
            "net/rx_bytes",
            "net/rx_packets",
            "net/rx_errors",
            "net/rx_dropped",
            "net/rx_fifo",
            "net/rx_frame",
            "net/rx_compressed",
            "net/rx_multicast",
            "net/tx_bytes",
            "net/tx_packets",
            "net/tx_errors",
            "net/tx_dropped",
            "net/tx_fifo",
            "net/tx_collisions",
            "net/tx_carrier",
            "net/tx_compressed",
        ],
    ),
];

/// What our other metrics are called, and those that every program has.
const TAKEN: [&str; 4] = ["nodewell_", "problem_counter", "problem_gauge", "process_"];
/// OpenCensus, which names Node Problem Detector's metrics, cuts there.
const NAME_LIMIT_BYTES: usize = 100;

/// One figure that a file asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsMetric {
    /// Such as `cpu/load_1m`.
    pub id: &'static str,
    /// What Prometheus sees.
    pub name: String,
    /// Its line in the file.
    pub line: usize,
}

/// A metric, and where its display name is in the file.
type Placed = (usize, StatsMetric);

/// What Prometheus gets for a display name: as OpenCensus has it, but for letters that Prometheus refuses.
#[must_use]
pub fn prometheus_name(display: &str) -> String {
    let plain: String = display.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = &plain[..plain.len().min(NAME_LIMIT_BYTES)];
    match plain.bytes().next() {
        Some(b'_') => format!("key{plain}"),
        Some(b'0'..=b'9') => format!("key_{plain}"),
        _ => plain.to_owned(),
    }
}

pub(super) fn read(sections: &Sections<'_>, report: &mut Report<'_>) -> Vec<StatsMetric> {
    let mut found = Vec::new();
    for ((name, section), (known, ids)) in
        sections.iter().flat_map(|section| METRICS.iter().map(move |ids| (section, ids)))
    {
        if name == known {
            let configs = section.value("metricsConfigs").and_then(|value| value.object("metricsConfigs", report));
            found.extend(configs.iter().flat_map(|configs| read_section(configs, ids, report)));
        }
    }
    one_name_each(&mut found, report);
    note_differences(&found, report);
    found.into_iter().map(|(_, metric)| metric).collect()
}

/// The names of figures are the keys of a map in Go: their case counts, and of two equal ones the last.
fn read_section(configs: &Object<'_>, ids: &[&'static str], report: &mut Report<'_>) -> Vec<Placed> {
    let mut values: HashMap<&str, Value<'_>> = HashMap::new();
    for (key, value) in configs.entries() {
        if !ids.contains(&key) {
            let hint = did_you_mean(key, ids.iter().copied());
            let shown: String = key.chars().take(64).collect();
            report.note(value.at(), format!("unknown metric {shown:?} is passed over{hint}"));
        }
        values.insert(key, value);
    }
    let known = ids.iter().filter_map(|id| Some((*id, *values.get(id)?)));
    let found: Vec<_> = known.filter_map(|(id, value)| metric(id, value, report)).collect();
    let missing = ids.iter().find(|id| id.starts_with("net/") && !values.contains_key(*id));
    if let (Some(missing), false) = (missing, values.is_empty()) {
        let message =
            format!("without {missing:?} Node Problem Detector would not start; here the others are exported");
        report.note(configs.at, message);
    }
    found
}

/// `None` if the figure is off: without a display name.
fn metric(id: &'static str, value: Value<'_>, report: &mut Report<'_>) -> Option<Placed> {
    if value.is_null() {
        return None;
    }
    let config = value.object(id, report)?;
    config.note_unknown(&["displayName"], report);
    let display = config.text("displayName", report);
    if display.text.is_empty() {
        return None;
    }
    let name = prometheus_name(&display.text);
    if TAKEN.iter().any(|taken| name.starts_with(taken)) {
        report.error(display.at, format!("the display name {:?} is that of a metric of nodewell's own", display.text));
        return None;
    }
    Some((display.at, StatsMetric { id, name, line: report.line(display.at) }))
}

fn one_name_each(found: &mut Vec<Placed>, report: &mut Report<'_>) {
    let mut names: HashMap<String, &'static str> = HashMap::new();
    found.retain(|(at, metric)| match names.get(&metric.name) {
        Some(first) => {
            report.error(*at, format!("{first} and {} would both be {} to Prometheus", metric.id, metric.name));
            false
        }
        None => names.insert(metric.name.clone(), metric.id).is_none(),
    });
}

const SUMS: &str = "is the kernel's count; Node Problem Detector adds the whole count again with every sample";
/// What a dashboard that was made for Node Problem Detector has to know.
const DIFFERENCES: [(&str, &str); 8] = [
    ("cpu/usage_time", "is in seconds, as documented; Node Problem Detector exports hundredths"),
    ("system/cpu_stat", SUMS),
    ("system/processes_total", SUMS),
    ("system/interrupts_total", SUMS),
    ("disk/bytes_used", "leaves network filesystems out; mount_option is what the filesystem itself does"),
    ("disk/percent_used", "leaves network filesystems out, and is exported without disk/bytes_used too"),
    ("system/os_feature", "asks which cgroup hierarchy is mounted; Node Problem Detector asks the command line"),
    // One for all of them: they are the same sixteen everywhere.
    ("net/rx_bytes", SUMS),
];

fn note_differences(found: &[Placed], report: &mut Report<'_>) {
    for (id, message) in DIFFERENCES {
        if let Some((at, _)) = found.iter().find(|(_, metric)| metric.id == id) {
            let who = if id == "net/rx_bytes" { "each of net/*" } else { id };
            report.note(*at, format!("{who} {message}"));
        }
    }
}
