//! `disk` of the file: what block devices did, and how full filesystems are. Times are in milliseconds, as documented there.

use nodewell_checks::statistics::disk::{Disk, IoCounts};
use nodewell_rules::npd::stats::DiskChoice;

use super::{super::super::exposition::precise, Figure, MetricType, Samples, Seen};

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "disk/io_time",
        kind: MetricType::Counter,
        help: "Time in which the device had something to do, in ms.",
        write: |samples, seen| one_each(samples, seen, |disk| disk.busy_ms),
    },
    Figure {
        id: "disk/weighted_io",
        kind: MetricType::Counter,
        help: "Time that all requests together took, in ms.",
        write: |samples, seen| one_each(samples, seen, |disk| disk.weighted_ms),
    },
    Figure {
        id: "disk/avg_queue_len",
        kind: MetricType::Gauge,
        help: "Requests under way, on average.",
        write: |samples, seen| {
            for (device, length) in &seen.queues {
                if chosen(seen).any(|disk| disk.name == *device) {
                    samples.add(&[("device_name", device)], *length);
                }
            }
        },
    },
    Figure {
        id: "disk/operation_count",
        kind: MetricType::Counter,
        help: "Requests done.",
        write: |samples, seen| both_ways(samples, seen, |way| way.operations),
    },
    Figure {
        id: "disk/merged_operation_count",
        kind: MetricType::Counter,
        help: "Requests that were joined to others.",
        write: |samples, seen| both_ways(samples, seen, |way| way.merged),
    },
    Figure {
        id: "disk/operation_bytes_count",
        kind: MetricType::Counter,
        help: "Bytes read and written.",
        write: |samples, seen| both_ways(samples, seen, |way| way.bytes),
    },
    Figure {
        id: "disk/operation_time",
        kind: MetricType::Counter,
        help: "Time that requests took, added up, in ms.",
        write: |samples, seen| both_ways(samples, seen, |way| way.time_ms),
    },
    Figure { id: "disk/bytes_used", kind: MetricType::Gauge, help: "Bytes of each filesystem.", write: bytes_used },
    Figure {
        id: "disk/percent_used",
        kind: MetricType::Gauge,
        help: "How full each filesystem is, in percent of what all users can use.",
        write: |samples, seen| {
            for mounted in seen.look.mounts.mounted.iter() {
                let percent = mounted.space(seen.spaces).and_then(|space| space.used_percent());
                let device = mounted.device(seen.look.reading.disks());
                percent.into_iter().for_each(|percent| samples.add(&[("device_name", device)], percent));
            }
        },
    },
];

fn bytes_used(samples: &mut Samples<'_>, seen: &Seen<'_>) {
    for (mounted, space) in
        seen.look.mounts.mounted.iter().filter_map(|mounted| Some((mounted, mounted.space(seen.spaces)?)))
    {
        let device = mounted.device(seen.look.reading.disks());
        for (state, bytes) in [("free", space.available_bytes), ("used", space.used_bytes())] {
            let labels = [
                ("device_name", device),
                ("fs_type", &mounted.kind),
                ("mount_option", &mounted.options),
                ("state", state),
            ];
            samples.add(&labels, precise(bytes));
        }
    }
}

/// Those that the file asks for; all, if it asks for none in particular.
fn chosen<'a>(seen: &'a Seen<'_>) -> impl Iterator<Item = &'a Disk> {
    seen.look.reading.disks().iter().filter(|disk| is_chosen(disk, seen))
}

fn is_chosen(disk: &Disk, seen: &Seen<'_>) -> bool {
    let choice = seen.monitor.disks;
    let is_mounted = || seen.look.mounts.mounted.iter().any(|mounted| mounted.is_on(disk));
    choice == DiskChoice::default() || choice.whole && disk.is_whole || choice.mounted && is_mounted()
}

fn one_each(samples: &mut Samples<'_>, seen: &Seen<'_>, value: fn(&Disk) -> u64) {
    chosen(seen).for_each(|disk| samples.add(&[("device_name", &disk.name)], precise(value(disk))));
}

fn both_ways(samples: &mut Samples<'_>, seen: &Seen<'_>, value: fn(&IoCounts) -> u64) {
    for disk in chosen(seen) {
        for (direction, way) in [("read", &disk.read), ("write", &disk.written)] {
            samples.add(&[("device_name", &disk.name), ("direction", direction)], precise(value(way)));
        }
    }
}
