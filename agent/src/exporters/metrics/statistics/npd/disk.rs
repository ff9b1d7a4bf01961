//! `disk` of the file: what block devices did, and how full filesystems are. Times are in milliseconds, as documented
//! there.

use nodewell_checks::statistics::disk::{Disk, IoCounts};
use nodewell_rules::npd::stats::DiskChoice;

use super::{super::super::to_double, MetricDefinition, MetricInputs, MetricType, Samples};

pub(super) const DEFINITIONS: &[MetricDefinition] = &[
    MetricDefinition {
        id: "disk/io_time",
        kind: MetricType::Counter,
        labels: &["device_name"],
        help: "Time in which the device had something to do, in ms.",
        write: |samples, inputs| one_each(samples, inputs, |disk| disk.busy_ms),
    },
    MetricDefinition {
        id: "disk/weighted_io",
        kind: MetricType::Counter,
        labels: &["device_name"],
        help: "Time that all requests together took, in ms.",
        write: |samples, inputs| one_each(samples, inputs, |disk| disk.weighted_ms),
    },
    MetricDefinition {
        id: "disk/avg_queue_len",
        kind: MetricType::Gauge,
        labels: &["device_name"],
        help: "Requests under way, on average.",
        write: |samples, inputs| {
            for (device, length) in &inputs.queues {
                if chosen(inputs).any(|disk| disk.name == *device) {
                    samples.add(&[("device_name", device)], *length);
                }
            }
        },
    },
    MetricDefinition {
        id: "disk/operation_count",
        kind: MetricType::Counter,
        labels: &["device_name", "direction"],
        help: "Requests done.",
        write: |samples, inputs| both_ways(samples, inputs, |way| way.operations),
    },
    MetricDefinition {
        id: "disk/merged_operation_count",
        kind: MetricType::Counter,
        labels: &["device_name", "direction"],
        help: "Requests that were joined to others.",
        write: |samples, inputs| both_ways(samples, inputs, |way| way.merged),
    },
    MetricDefinition {
        id: "disk/operation_bytes_count",
        kind: MetricType::Counter,
        labels: &["device_name", "direction"],
        help: "Bytes read and written.",
        write: |samples, inputs| both_ways(samples, inputs, |way| way.bytes),
    },
    MetricDefinition {
        id: "disk/operation_time",
        kind: MetricType::Counter,
        labels: &["device_name", "direction"],
        help: "Time that requests took, added up, in ms.",
        write: |samples, inputs| both_ways(samples, inputs, |way| way.time_ms),
    },
    MetricDefinition {
        id: "disk/bytes_used",
        kind: MetricType::Gauge,
        labels: &["device_name", "fs_type", "mount_option", "state"],
        help: "Bytes of each filesystem.",
        write: bytes_used,
    },
    MetricDefinition {
        id: "disk/percent_used",
        kind: MetricType::Gauge,
        labels: &["device_name"],
        help: "How full each filesystem is, in percent of what all users can use.",
        write: |samples, inputs| {
            for mounted in inputs.sample.mounts.mounted.iter() {
                let percent = mounted.space(inputs.spaces).and_then(|space| space.used_percent());
                let device = mounted.device(inputs.sample.reading.disks());
                percent.into_iter().for_each(|percent| samples.add(&[("device_name", device)], percent));
            }
        },
    },
];

fn bytes_used(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>) {
    for (mounted, space) in
        inputs.sample.mounts.mounted.iter().filter_map(|mounted| Some((mounted, mounted.space(inputs.spaces)?)))
    {
        let device = mounted.device(inputs.sample.reading.disks());
        for (state, bytes) in [("free", space.available_bytes), ("used", space.used_bytes())] {
            let labels = [
                ("device_name", device),
                ("fs_type", &mounted.kind),
                ("mount_option", &mounted.options),
                ("state", state),
            ];
            samples.add(&labels, to_double(bytes));
        }
    }
}

/// Those that the file asks for; all, if it asks for none in particular.
fn chosen<'a>(inputs: &'a MetricInputs<'_>) -> impl Iterator<Item = &'a Disk> {
    inputs.sample.reading.disks().iter().filter(|disk| is_chosen(disk, inputs))
}

fn is_chosen(disk: &Disk, inputs: &MetricInputs<'_>) -> bool {
    let choice = inputs.monitor.disks;
    let is_mounted = || inputs.sample.mounts.mounted.iter().any(|mounted| mounted.is_on(disk));
    choice == DiskChoice::default() || choice.whole && disk.is_whole || choice.mounted && is_mounted()
}

fn one_each(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>, value: fn(&Disk) -> u64) {
    chosen(inputs).for_each(|disk| samples.add(&[("device_name", &disk.name)], to_double(value(disk))));
}

fn both_ways(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>, value: fn(&IoCounts) -> u64) {
    for disk in chosen(inputs) {
        for (direction, way) in [("read", &disk.read), ("write", &disk.written)] {
            samples.add(&[("device_name", &disk.name), ("direction", direction)], to_double(value(way)));
        }
    }
}
