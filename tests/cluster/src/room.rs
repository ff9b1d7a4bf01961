//! The room that a cluster needs on this machine: what kubelets would report as pressure, and cases as waiting in vain.

use std::{env, fs};

use nix::sys::statvfs::statvfs;

/// The kubelets' limit is 2 % (`files/kubelet.yaml`), and machines, images and logs are written meanwhile.
const DISK_PERCENT: u64 = 4;
/// What a control plane and three workers take, and the kubelets' limit of 100 MiB.
const MEMORY_KIB: u64 = 2 * 1024 * 1024;

/// Why there is not enough, if there is not.
pub(crate) fn unmet() -> Option<String> {
    disk().or_else(memory)
}

fn disk() -> Option<String> {
    let folder = env::temp_dir();
    let filesystem = statvfs(&folder).ok()?;
    let (free, all) = (filesystem.blocks_available(), filesystem.blocks());
    (free * 100 < all * DISK_PERCENT).then(|| {
        let folder = folder.display();
        format!("needs {DISK_PERCENT} % of the disk of {folder} free, or its kubelets report DiskPressure; see `df {folder}`")
    })
}

fn memory() -> Option<String> {
    let known = fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = line.split_whitespace().next()?.parse().ok()?;
    (available < MEMORY_KIB).then(|| {
        format!("needs {} MiB of memory, and {} MiB are available; see `free -m`", MEMORY_KIB / 1024, available / 1024)
    })
}
