//! The room that a cluster needs on this machine: what kubelets would report as pressure, and cases as waiting in vain.

use std::{env, fs, num::NonZero, process::Command, thread};

use nix::sys::{
    inotify::{InitFlags, Inotify},
    statvfs::statvfs,
};
use nodewell_tests::leftovers;

/// The kubelets' limit is 2 % (`files/kubelet.yaml`), and machines, images and logs are written meanwhile.
const DISK_PERCENT: u64 = 4;
/// What a control plane and three workers take, and the kubelets' limit of 100 MiB.
const MEMORY_KIB: u64 = 2 * 1024 * 1024;

/// Two workers and two controllers have 72 (systemd ten in each machine, a kubelet seven), a third worker 23 more, and the
/// kernel's default for root is 128. Not all are asked for: machines of other tests come and go.
const INOTIFY: usize = 64;
const LAYERS: &str = "mkdir lower upper work root
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root
cp /bin/true root/program
root/program
mknod null c 1 3
: >null";

/// What a cluster of the usual size has of them.
const INOTIFY_OF_ONE: usize = 95;
/// Most of a case is waiting; what is not, a boot or a package's scripts, takes a core.
const CLUSTERS_OF_TWO_CORES: usize = 3;

/// How many clusters this machine has room for.
pub(crate) fn at_once() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let by_cores = cores * CLUSTERS_OF_TWO_CORES / 2;
    let by_memory = available_kib().map_or(1, |kib| kib / MEMORY_KIB / 2);
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").ok();
    let by_inotify =
        limit.and_then(|limit| limit.trim().parse::<usize>().ok()).map_or(1, |limit| limit / INOTIFY_OF_ONE);
    by_cores.min(usize::try_from(by_memory).unwrap_or(1)).min(by_inotify).max(1)
}

/// Why there is not enough, if there is not.
pub(crate) fn unmet() -> Option<String> {
    disk().or_else(memory).or_else(inotify).or_else(layers)
}

/// Machines have no limit of their own: all of root's are counted as one user's.
fn inotify() -> Option<String> {
    let all: Result<Vec<_>, _> = (0..INOTIFY).map(|_| Inotify::init(InitFlags::IN_CLOEXEC)).collect();
    let limit = "`sysctl fs.inotify.max_user_instances=512`";
    all.err().map(|error| format!("needs {INOTIFY} more instances of inotify ({error}): {limit}"))
}

/// Machines have layers, programs and device nodes where temporary files are.
fn layers() -> Option<String> {
    let folder = leftovers::folder("layers");
    let tried = Command::new("unshare").args(["--mount", "sh", "-ec", LAYERS]).current_dir(folder.path()).output();
    let why = match tried {
        Ok(tried) if tried.status.success() => return None,
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let at = env::temp_dir();
    Some(format!("needs layers, programs and devices in {}; try another disk: `TMPDIR=/var/tmp`: {why}", at.display()))
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
    let available = available_kib()?;
    (available < MEMORY_KIB).then(|| {
        format!("needs {} MiB of memory, and {} MiB are available; see `free -m`", MEMORY_KIB / 1024, available / 1024)
    })
}

fn available_kib() -> Option<u64> {
    let known = fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}
