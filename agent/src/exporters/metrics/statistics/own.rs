//! `nodewell_node_*`: what alerts and the dashboard need, in seconds and bytes. No second node_exporter.

use std::collections::BTreeMap;

use nodewell_checks::statistics::{cpu::Stat, disk::Disk, host::Host, network::Count, space::Space};
use nodewell_metrics::{
    Exposition,
    MetricType::{self, Counter, Gauge},
    Number,
};

use super::{super::to_double, ProcSample, filesystems::Mounted};

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
    exposition.metric("nodewell_node_filesystems_hanging", Gauge, "Filesystems that do not say how full they are.");
    exposition.sample(&[], hanging);
    write_left_out(exposition, inputs);
}

/// A metric with one sample, or none.
fn single(exposition: &mut Exposition, name: &str, kind: MetricType, help: &str, value: Option<impl Number>) {
    if let Some(value) = value {
        exposition.metric(name, kind, help).sample(&[], value);
    }
}

fn write_host(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let Host { kernel_version, os_version, architecture, bios, microcode } = inputs.host;
    exposition.metric("nodewell_node_info", Gauge, "1, with what the node runs.");
    let labels = [
        ("architecture", &**architecture),
        ("bios", &**bios),
        ("kernel_version", &**kernel_version),
        ("microcode", &**microcode),
        ("os_version", &**os_version),
    ];
    exposition.sample(&labels, 1);
    let reading = &inputs.sample.reading;
    let boot = reading.stat().boot_time_secs;
    single(exposition, "nodewell_node_boot_time_seconds", Gauge, "When the node was started, since 1970.", boot);
    let loads = [
        (
            "nodewell_node_load1",
            "Tasks that run or wait for a disk, over 1 minute.",
            reading.load().map(|load| load.one),
        ),
        ("nodewell_node_load5", "The same over 5 minutes.", reading.load().map(|load| load.five)),
        ("nodewell_node_load15", "The same over 15 minutes.", reading.load().map(|load| load.fifteen)),
    ];
    loads.into_iter().for_each(|(name, help, load)| single(exposition, name, Gauge, help, load));
}

fn write_cpu(exposition: &mut Exposition, stat: &Stat, ticks_per_second: u64) {
    single(exposition, "nodewell_node_cpus", Gauge, "CPUs online.", Some(stat.cpus.len()).filter(|cpus| *cpus > 0));
    exposition.metric("nodewell_node_cpu_seconds_total", Counter, "Time of all CPUs; guest is part of user as well.");
    for (mode, seconds) in stat.total.iter().flat_map(|total| total.seconds(ticks_per_second)) {
        exposition.sample(&[("mode", mode)], seconds);
    }
    single(exposition, "nodewell_node_processes_running", Gauge, "Threads that run or could.", stat.running);
    single(exposition, "nodewell_node_processes_blocked", Gauge, "Threads that wait for a disk.", stat.blocked);
    single(exposition, "nodewell_node_forks_total", Counter, "Processes and threads made.", stat.forks);
}

fn write_memory(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let memory = inputs.sample.reading.memory();
    for (name, help, key) in [
        ("nodewell_node_memory_total_bytes", "Memory that the kernel manages.", "MemTotal"),
        ("nodewell_node_memory_available_bytes", "What programs could get without swapping.", "MemAvailable"),
        ("nodewell_node_swap_total_bytes", "Swap space.", "SwapTotal"),
        ("nodewell_node_swap_free_bytes", "Swap space that is free.", "SwapFree"),
    ] {
        single(exposition, name, Gauge, help, memory.bytes(key));
    }
    let events = inputs.sample.reading.vm_events();
    for (name, help, total) in [
        ("nodewell_node_oom_kills_total", "Processes killed for memory, by the node or a cgroup.", events.oom_kills),
        ("nodewell_node_major_page_faults_total", "Page faults that had to wait for a disk.", events.major_faults),
        ("nodewell_node_swapped_in_pages_total", "Pages read from swap.", events.pages_swapped_in),
        ("nodewell_node_swapped_out_pages_total", "Pages written to swap.", events.pages_swapped_out),
    ] {
        single(exposition, name, Counter, help, total);
    }
}

fn write_pressure(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    let name = "nodewell_node_pressure_seconds_total";
    exposition.metric(name, Counter, "Time in which some, or all, tasks waited for a resource.");
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
    exposition.metric("nodewell_node_disk_busy_seconds_total", Counter, "Time in which the disk had something to do.");
    for disk in whole() {
        exposition.sample(&[("device", &disk.name)], seconds(disk.busy_ms));
    }
    type Column = fn(&nodewell_checks::statistics::disk::IoCounts) -> f64;
    let columns: [(&str, &str, Column); 3] = [
        ("nodewell_node_disk_bytes_total", "Bytes read and written.", |way| to_double(way.bytes)),
        ("nodewell_node_disk_operations_total", "Requests done.", |way| to_double(way.operations)),
        ("nodewell_node_disk_operation_seconds_total", "Time that requests took, added up.", |way| {
            seconds(way.time_ms)
        }),
    ];
    for (name, help, column) in columns {
        exposition.metric(name, Counter, help);
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
    for (name, help, received, sent) in [
        ("nodewell_node_network_bytes_total", "Bytes through each interface.", Count::RxBytes, Count::TxBytes),
        ("nodewell_node_network_packets_total", "Packets through each interface.", Count::RxPackets, Count::TxPackets),
        ("nodewell_node_network_errors_total", "Packets that were damaged.", Count::RxErrors, Count::TxErrors),
        ("nodewell_node_network_drops_total", "Packets that found no room.", Count::RxDropped, Count::TxDropped),
    ] {
        exposition.metric(name, Counter, help);
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
    let columns: [(&str, &str, Column); 4] = [
        ("nodewell_node_filesystem_size_bytes", "Size of each filesystem.", |space| space.size_bytes),
        ("nodewell_node_filesystem_available_bytes", "Room for users other than root.", |space| space.available_bytes),
        ("nodewell_node_filesystem_inodes", "Inodes; none where their number is not fixed.", |space| space.inodes),
        ("nodewell_node_filesystem_free_inodes", "Inodes that are free.", |space| space.free_inodes),
    ];
    for (name, help, column) in columns {
        exposition.metric(name, Gauge, help);
        let about_inodes = name.ends_with("inodes");
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
    exposition.metric(
        "nodewell_statistics_left_out",
        Gauge,
        "What has no series of its own, because there are too many.",
    );
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
