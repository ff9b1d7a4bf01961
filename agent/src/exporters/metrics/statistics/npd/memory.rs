//! `memory` of the file, in bytes.

use super::{super::super::to_double, MetricDefinition, MetricInputs, MetricType, Samples};

pub(super) const DEFINITIONS: &[MetricDefinition] = &[
    MetricDefinition {
        id: "memory/bytes_used",
        kind: MetricType::Gauge,
        labels: &["state"],
        help: "Memory by what it is used for, in bytes; all of it together.",
        write: |samples, inputs| {
            let words = [("free", "MemFree"), ("buffered", "Buffers"), ("cached", "Cached"), ("slab", "Slab")];
            by_state(samples, inputs, &words);
            let used = inputs.sample.reading.memory().used();
            used.into_iter().for_each(|used| samples.add(&[("state", "used")], to_double(used)));
        },
    },
    MetricDefinition {
        id: "memory/percent_used",
        kind: MetricType::Gauge,
        labels: &["state"],
        help: "Memory that is neither free nor buffers, cache or slab, in percent of all.",
        write: |samples, inputs| {
            let memory = inputs.sample.reading.memory();
            let total = memory.bytes("MemTotal").filter(|total| *total > 0);
            if let (Some(used), Some(total)) = (memory.used(), total) {
                samples.add(&[("state", "used")], to_double(used) / to_double(total) * 100.0);
            }
        },
    },
    MetricDefinition {
        id: "memory/anonymous_used",
        kind: MetricType::Gauge,
        labels: &["state"],
        help: "Anonymous memory, in bytes.",
        write: |samples, inputs| {
            by_state(samples, inputs, &[("active", "Active(anon)"), ("inactive", "Inactive(anon)")])
        },
    },
    MetricDefinition {
        id: "memory/page_cache_used",
        kind: MetricType::Gauge,
        labels: &["state"],
        help: "Page cache, in bytes.",
        write: |samples, inputs| {
            by_state(samples, inputs, &[("active", "Active(file)"), ("inactive", "Inactive(file)")])
        },
    },
    MetricDefinition {
        id: "memory/unevictable_used",
        kind: MetricType::Gauge,
        labels: &[],
        help: "Memory that cannot be taken back, in bytes.",
        write: |samples, inputs| samples.only(inputs.sample.reading.memory().bytes("Unevictable").map(to_double)),
    },
    MetricDefinition {
        id: "memory/dirty_used",
        kind: MetricType::Gauge,
        labels: &["state"],
        help: "Memory that waits to be written to disks, or is on its way, in bytes.",
        write: |samples, inputs| by_state(samples, inputs, &[("dirty", "Dirty"), ("writeback", "Writeback")]),
    },
];

fn by_state(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>, words: &[(&str, &str)]) {
    for (state, key) in words {
        let bytes = inputs.sample.reading.memory().bytes(key);
        bytes.into_iter().for_each(|bytes| samples.add(&[("state", state)], to_double(bytes)));
    }
}
