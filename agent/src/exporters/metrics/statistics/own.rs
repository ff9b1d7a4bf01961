//! `nodewell_node_*`: what alerts and the dashboard need, in seconds and bytes. No second node_exporter.

use std::collections::BTreeMap;

use nodewell_checks::statistics::{cpu::Stat, disk::Disk, host::Host, network::Count, space::Space};
use nodewell_metrics::{Exposition, Metric, Number};

use super::{
    super::{table::node, to_double},
    ProcSample,
    filesystems::Mounted,
};

/// What our own metrics are made from.
pub(super) struct MetricInputs<'a> {
    pub(super) sample: &'a ProcSample,
    pub(super) host: &'a Host,
    pub(super) spaces: &'a BTreeMap<String, Space>,
    pub(super) ticks_per_second: u64,
}

pub(super) fn write(exposition: &mut Exposition, inputs: &MetricInputs<'_>, hanging: usize) {
    write_host(exposition, inputs);
    write_cpu(exposition, inputs.sample.reading.stat(), inputs.ticks_per_second);
    write_memory(exposition, inputs);
    write_pressure(exposition, inputs);
    write_disks(exposition, inputs.sample.reading.disks());
    write_network(exposition, inputs);
    write_filesystems(exposition, inputs);
    exposition.metric(&node::FILESYSTEMS_HANGING).sample(&[], hanging);
    write_left_out(exposition, inputs);
}

/// A metric with one sample, or none.
fn single(exposition: &mut Exposition, metric: &Metric, value: Option<impl Number>) {
    if let Some(value) = value {
        exposition.metric(metric).sample(&[], value);
    }
}

fn write_host(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let Host { kernel_version, os_version, architecture, bios, microcode } = inputs.host;
    let labels = [
        ("architecture", &**architecture),
        ("bios", &**bios),
        ("kernel_version", &**kernel_version),
        ("microcode", &**microcode),
        ("os_version", &**os_version),
    ];
    exposition.metric(&node::INFO).sample(&labels, 1);
    let reading = &inputs.sample.reading;
    single(exposition, &node::BOOT_TIME, reading.stat().boot_time_secs);
    single(exposition, &node::LOAD_1, reading.load().map(|load| load.one));
    single(exposition, &node::LOAD_5, reading.load().map(|load| load.five));
    single(exposition, &node::LOAD_15, reading.load().map(|load| load.fifteen));
}

fn write_cpu(exposition: &mut Exposition, stat: &Stat, ticks_per_second: u64) {
    single(exposition, &node::CPUS, Some(stat.cpus.len()).filter(|cpus| *cpus > 0));
    exposition.metric(&node::CPU_SECONDS);
    for (mode, seconds) in stat.total.iter().flat_map(|total| total.seconds(ticks_per_second)) {
        exposition.sample(&[("mode", mode)], seconds);
    }
    single(exposition, &node::PROCESSES_RUNNING, stat.running);
    single(exposition, &node::PROCESSES_BLOCKED, stat.blocked);
    single(exposition, &node::FORKS, stat.forks);
}

fn write_memory(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let memory = inputs.sample.reading.memory();
    single(exposition, &node::MEMORY_TOTAL, memory.bytes("MemTotal"));
    single(exposition, &node::MEMORY_AVAILABLE, memory.bytes("MemAvailable"));
    single(exposition, &node::SWAP_TOTAL, memory.bytes("SwapTotal"));
    single(exposition, &node::SWAP_FREE, memory.bytes("SwapFree"));
    let events = inputs.sample.reading.vm_events();
    single(exposition, &node::OOM_KILLS, events.oom_kills);
    single(exposition, &node::MAJOR_PAGE_FAULTS, events.major_faults);
    single(exposition, &node::SWAPPED_IN, events.pages_swapped_in);
    single(exposition, &node::SWAPPED_OUT, events.pages_swapped_out);
}

fn write_pressure(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    exposition.metric(&node::PRESSURE);
    for stall in inputs.sample.reading.stalls() {
        let labels = [("resource", stall.resource), ("share", stall.share.as_str())];
        exposition.sample(&labels, stall.total.as_secs_f64());
    }
}

/// What is a file or memory in truth, and its work another disk's or none's.
const NO_DISKS: [&str; 2] = ["loop", "zram"];

/// Whole disks: what their parts did is in their counts.
fn write_disks(exposition: &mut Exposition, disks: &[Disk]) {
    let is_disk = |disk: &&Disk| disk.is_whole && !NO_DISKS.iter().any(|prefix| disk.name.starts_with(prefix));
    let whole = || disks.iter().filter(is_disk);
    exposition.metric(&node::DISK_BUSY);
    for disk in whole() {
        exposition.sample(&[("device", &disk.name)], seconds(disk.busy_ms));
    }
    type Column = fn(&nodewell_checks::statistics::disk::IoCounts) -> f64;
    let columns: [(Metric, Column); 3] = [
        (node::DISK_BYTES, |way| to_double(way.bytes)),
        (node::DISK_OPERATIONS, |way| to_double(way.operations)),
        (node::DISK_OPERATION_SECONDS, |way| seconds(way.time_ms)),
    ];
    for (metric, column) in columns {
        exposition.metric(&metric);
        for disk in whole() {
            exposition.sample(&[("device", &disk.name), ("direction", "read")], column(&disk.read));
            exposition.sample(&[("device", &disk.name), ("direction", "write")], column(&disk.written));
        }
    }
}

fn seconds(milliseconds: u64) -> f64 {
    to_double(milliseconds) / 1000.0
}

/// The node's own interfaces: pods' come and go by the hundred, and the kubelet knows them better.
fn write_network(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    for (metric, received, sent) in [
        (node::NETWORK_BYTES, Count::RxBytes, Count::TxBytes),
        (node::NETWORK_PACKETS, Count::RxPackets, Count::TxPackets),
        (node::NETWORK_ERRORS, Count::RxErrors, Count::TxErrors),
        (node::NETWORK_DROPS, Count::RxDropped, Count::TxDropped),
    ] {
        exposition.metric(&metric);
        for interface in inputs.sample.reading.interfaces().iter().filter(|interface| !interface.is_pod_side()) {
            for (direction, column) in [("receive", received), ("transmit", sent)] {
                let labels = [("direction", direction), ("interface", &*interface.name)];
                exposition.sample(&labels, interface.count(column));
            }
        }
    }
}

fn write_filesystems(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let known = |mounted: &Mounted| mounted.space(inputs.spaces).copied().filter(|_| !mounted.is_image());
    type Column = fn(Space) -> u64;
    let columns: [(Metric, Column); 4] = [
        (node::FILESYSTEM_SIZE, |space| space.size_bytes),
        (node::FILESYSTEM_AVAILABLE, |space| space.available_bytes),
        (node::FILESYSTEM_INODES, |space| space.inodes),
        (node::FILESYSTEM_FREE_INODES, |space| space.free_inodes),
    ];
    for (metric, column) in columns {
        exposition.metric(&metric);
        let about_inodes = metric.name.ends_with("inodes");
        for (mounted, space) in
            inputs.sample.mounts.mounted.iter().filter_map(|mounted| Some((mounted, known(mounted)?)))
        {
            let device = mounted.device(inputs.sample.reading.disks());
            let labels = [("device", device), ("fstype", &mounted.kind), ("mountpoint", &mounted.mount_point)];
            if !about_inodes || space.inodes > 0 {
                exposition.sample(&labels, column(space));
            }
        }
    }
}

fn write_left_out(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let ProcSample { reading, mounts } = inputs.sample;
    exposition.metric(&node::LEFT_OUT);
    let left_out = [
        ("cpus", reading.stat().cpus.left_out()),
        ("disks", reading.disks().left_out()),
        ("filesystems", mounts.mounted.left_out()),
        ("interfaces", reading.interfaces().left_out()),
    ];
    for (kind, left_out) in left_out {
        exposition.sample(&[("kind", kind)], left_out);
    }
}
