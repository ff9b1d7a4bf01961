//! `memory` of the file, in bytes.

use super::{super::super::exposition::precise, Figure, MetricType, Samples, Seen};

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "memory/bytes_used",
        kind: MetricType::Gauge,
        help: "Memory by what it is used for, in bytes; all of it together.",
        write: |samples, seen| {
            let words = [("free", "MemFree"), ("buffered", "Buffers"), ("cached", "Cached"), ("slab", "Slab")];
            by_state(samples, seen, &words);
            let used = seen.look.reading.memory().used();
            used.into_iter().for_each(|used| samples.add(&[("state", "used")], precise(used)));
        },
    },
    Figure {
        id: "memory/percent_used",
        kind: MetricType::Gauge,
        help: "Memory that is neither free nor buffers, cache or slab, in percent of all.",
        write: |samples, seen| {
            let memory = seen.look.reading.memory();
            let total = memory.bytes("MemTotal").filter(|total| *total > 0);
            if let (Some(used), Some(total)) = (memory.used(), total) {
                samples.add(&[("state", "used")], precise(used) / precise(total) * 100.0);
            }
        },
    },
    Figure {
        id: "memory/anonymous_used",
        kind: MetricType::Gauge,
        help: "Anonymous memory, in bytes.",
        write: |samples, seen| by_state(samples, seen, &[("active", "Active(anon)"), ("inactive", "Inactive(anon)")]),
    },
    Figure {
        id: "memory/page_cache_used",
        kind: MetricType::Gauge,
        help: "Page cache, in bytes.",
        write: |samples, seen| by_state(samples, seen, &[("active", "Active(file)"), ("inactive", "Inactive(file)")]),
    },
    Figure {
        id: "memory/unevictable_used",
        kind: MetricType::Gauge,
        help: "Memory that cannot be taken back, in bytes.",
        write: |samples, seen| samples.only(seen.look.reading.memory().bytes("Unevictable").map(precise)),
    },
    Figure {
        id: "memory/dirty_used",
        kind: MetricType::Gauge,
        help: "Memory that waits to be written to disks, or is on its way, in bytes.",
        write: |samples, seen| by_state(samples, seen, &[("dirty", "Dirty"), ("writeback", "Writeback")]),
    },
];

fn by_state(samples: &mut Samples<'_>, seen: &Seen<'_>, words: &[(&str, &str)]) {
    for (state, key) in words {
        let bytes = seen.look.reading.memory().bytes(key);
        bytes.into_iter().for_each(|bytes| samples.add(&[("state", state)], precise(bytes)));
    }
}
