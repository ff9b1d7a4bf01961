//! The node's own figures, `nodewell_node_*`.

nodewell_metrics::metrics! {
    pub const ALL;
    INFO: Gauge "nodewell_node_info" ["architecture", "bios", "kernel_version", "microcode", "os_version"]
        "1, with what the node runs, as of the agent's start.";
    BOOT_TIME: Gauge "nodewell_node_boot_time_seconds" []
        "When the node was started, since 1970.";
    LOAD_1: Gauge "nodewell_node_load1" []
        "Tasks that run or wait for a disk, over 1 minute.";
    LOAD_5: Gauge "nodewell_node_load5" []
        "The same over 5 minutes.";
    LOAD_15: Gauge "nodewell_node_load15" []
        "The same over 15 minutes.";
    CPUS: Gauge "nodewell_node_cpus" []
        "CPUs online.";
    CPU_SECONDS: Counter "nodewell_node_cpu_seconds_total" ["mode"]
        "Time of all CPUs; `guest` is part of `user` as well, `guest_nice` of `nice`.";
    PROCESSES_RUNNING: Gauge "nodewell_node_processes_running" []
        "Threads that run or could.";
    PROCESSES_BLOCKED: Gauge "nodewell_node_processes_blocked" []
        "Threads that wait for a disk.";
    FORKS: Counter "nodewell_node_forks_total" []
        "Processes and threads made since boot.";
    MEMORY_TOTAL: Gauge "nodewell_node_memory_total_bytes" []
        "Memory that the kernel manages.";
    MEMORY_AVAILABLE: Gauge "nodewell_node_memory_available_bytes" []
        "What programs could get without swapping.";
    SWAP_TOTAL: Gauge "nodewell_node_swap_total_bytes" []
        "Swap space.";
    SWAP_FREE: Gauge "nodewell_node_swap_free_bytes" []
        "Swap space that is free.";
    OOM_KILLS: Counter "nodewell_node_oom_kills_total" []
        "Processes killed for memory, by the node or a cgroup.";
    MAJOR_PAGE_FAULTS: Counter "nodewell_node_major_page_faults_total" []
        "Page faults that waited for a disk.";
    SWAPPED_IN: Counter "nodewell_node_swapped_in_pages_total" []
        "Pages read from swap.";
    SWAPPED_OUT: Counter "nodewell_node_swapped_out_pages_total" []
        "Pages written to swap.";
    PRESSURE: Counter "nodewell_node_pressure_seconds_total" ["resource", "share"]
        "Time in which `some` or all (`full`) tasks waited for `cpu`, `memory` or `io`.";
    DISK_BUSY: Counter "nodewell_node_disk_busy_seconds_total" ["device"]
        "Time in which a whole disk had something to do.";
    DISK_BYTES: Counter "nodewell_node_disk_bytes_total" ["device", "direction"]
        "Bytes read and written.";
    DISK_OPERATIONS: Counter "nodewell_node_disk_operations_total" ["device", "direction"]
        "Requests done.";
    DISK_OPERATION_SECONDS: Counter "nodewell_node_disk_operation_seconds_total" ["device", "direction"]
        "Time that requests took, added up.";
    NETWORK_BYTES: Counter "nodewell_node_network_bytes_total" ["interface", "direction"]
        "Bytes through each interface, `receive` and `transmit`.";
    NETWORK_PACKETS: Counter "nodewell_node_network_packets_total" ["interface", "direction"]
        "Packets through each interface.";
    NETWORK_ERRORS: Counter "nodewell_node_network_errors_total" ["interface", "direction"]
        "Packets that were damaged.";
    NETWORK_DROPS: Counter "nodewell_node_network_drops_total" ["interface", "direction"]
        "Packets that found no room.";
    FILESYSTEM_SIZE: Gauge "nodewell_node_filesystem_size_bytes" ["device", "fstype", "mountpoint"]
        "Size of each filesystem; images such as squashfs are left out.";
    FILESYSTEM_AVAILABLE: Gauge "nodewell_node_filesystem_available_bytes" ["device", "fstype", "mountpoint"]
        "Room for users other than root.";
    FILESYSTEM_INODES: Gauge "nodewell_node_filesystem_inodes" ["device", "fstype", "mountpoint"]
        "Inodes; none where their number is not fixed.";
    FILESYSTEM_FREE_INODES: Gauge "nodewell_node_filesystem_free_inodes" ["device", "fstype", "mountpoint"]
        "Inodes that are free.";
    FILESYSTEMS_HANGING: Gauge "nodewell_node_filesystems_hanging" []
        "Filesystems that do not report how full they are.";
    LEFT_OUT: Gauge "nodewell_statistics_left_out" ["kind"]
        "`cpus`, `disks`, `filesystems` and `interfaces` without a series of their own, because there are too many.";
}
