//! Which mounted filesystems are worth a figure: those on a device of the node, each once.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nodewell_checks::statistics::{
    Truncated,
    disk::Disk,
    space::{FilesystemMount, Space, Spaces},
};
use tokio::sync::oneshot;

use crate::detectors::mounts::{self, Mount};

/// Each pod's volume may be one.
const MOST: usize = 256;
/// They have no device of the node's, or one that several nodes write to: what they report depends on a network.
const REMOTE: [&str; 13] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "afs", "glusterfs", "lustre", "gfs2", "ocfs2", "virtiofs"];
/// Read-only images: always full.
const IMAGES: [&str; 4] = ["squashfs", "iso9660", "erofs", "udf"];

/// The usual mount point of cgroups, version 2.
const CGROUPS: &str = "/sys/fs/cgroup";

/// What is known of mounts and how full they are. The list is read by the thread that asks, too: the kernel waits for
/// its own locks, and for filesystems that are asked for their options.
#[derive(Debug, Default)]
pub(super) struct Filesystems {
    spaces: Spaces,
    /// By the procfs that they were read from.
    lists: Arc<Mutex<BTreeMap<PathBuf, Arc<Mounts>>>>,
}

/// What one procfs shows of mounts.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    pub(super) mounted: Truncated<Mounted>,
    pub(super) has_unified_cgroups: bool,
}

impl Mounts {
    fn read(root: &Path) -> Self {
        let mounts = mounts::read(root).unwrap_or_default();
        let unified = |mount: &Mount| mount.mount_point == CGROUPS && mount.filesystem == "cgroup2";
        Self { has_unified_cgroups: mounts.iter().any(unified), mounted: mounted(mounts) }
    }
}

impl Filesystems {
    /// Has the filesystems that the `roots` show asked, and waits no longer than `timeout` for it.
    pub(super) async fn refresh(&self, roots: Vec<PathBuf>, timeout: Duration) {
        if roots.is_empty() {
            return;
        }
        let lists = Arc::clone(&self.lists);
        let list = move || {
            let read: BTreeMap<PathBuf, Arc<Mounts>> =
                roots.into_iter().map(|root| (root.clone(), Arc::new(Mounts::read(&root)))).collect();
            let mounted = read.values().flat_map(|mounts| mounts.mounted.iter());
            let mounts = mounted.map(|mounted| mounted.mount.clone()).collect();
            *lists.lock().unwrap_or_else(PoisonError::into_inner) = read;
            mounts
        };
        let (answered, done) = oneshot::channel();
        self.spaces.refresh(list, move || {
            // A caller that gave up waiting gets no answer.
            let _ = answered.send(());
        });
        let _ = tokio::time::timeout(timeout, done).await;
    }

    /// None before the first list is there.
    pub(super) fn mounts(&self, root: &Path) -> Arc<Mounts> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned().unwrap_or_default()
    }

    pub(super) fn spaces(&self) -> BTreeMap<String, Space> {
        self.spaces.known()
    }

    pub(super) fn hanging(&self) -> usize {
        self.spaces.hanging().len()
    }
}

/// A filesystem and where it is mounted.
#[derive(Debug, Clone)]
pub(super) struct Mounted {
    pub(super) mount: FilesystemMount,
    pub(super) mount_point: String,
    pub(super) kind: String,
    source: String,
    /// The filesystem's own options. The mount's are those of the agent's sandbox, in which everything is read-only.
    pub(super) options: String,
}

impl Mounted {
    fn new(mount: Mount) -> Self {
        Self {
            mount: FilesystemMount {
                number: mount.device_number,
                mount: mount.id,
                mount_point: mount.mount_point.clone().into(),
            },
            mount_point: mount.mount_point,
            kind: mount.filesystem,
            source: mount.source,
            options: mount.super_options.join(","),
        }
    }

    /// `sda1`, `dm-3`; the source as mounted where the filesystem has no device number of its own (btrfs).
    pub(super) fn device<'a>(&'a self, disks: &'a [Disk]) -> &'a str {
        let disk = disks.iter().find(|disk| disk.number == self.mount.number).map(|disk| disk.name.as_str());
        disk.unwrap_or_else(|| self.source_name())
    }

    pub(super) fn is_on(&self, disk: &Disk) -> bool {
        self.mount.number == disk.number || self.source_name() == disk.name
    }

    pub(super) fn is_image(&self) -> bool {
        IMAGES.contains(&self.kind.as_str())
    }

    pub(super) fn space<'a>(&self, spaces: &'a BTreeMap<String, Space>) -> Option<&'a Space> {
        spaces.get(&self.mount.number)
    }

    fn source_name(&self) -> &str {
        self.source.strip_prefix("/dev/").unwrap_or(&self.source)
    }
}

/// The filesystems of the node's own devices, in the order of their mount points; of one that is mounted in several
/// places the shortest, which is no bind mount as a rule. Of more than 256 those with the shortest ways to them.
fn mounted(mounts: Vec<Mount>) -> Truncated<Mounted> {
    let mut found: BTreeMap<String, Mounted> = BTreeMap::new();
    for mount in mounts.into_iter().filter(is_local) {
        let known = found.get(&mount.device_number);
        if known.is_none_or(|known| mount.mount_point.len() <= known.mount_point.len()) {
            found.insert(mount.device_number.clone(), Mounted::new(mount));
        }
    }
    let mut found: Vec<Mounted> = found.into_values().collect();
    found.sort_by_key(|mounted| mounted.mount_point.len());
    let mut few = Truncated::new(found, MOST);
    few.sort_by(|a, b| a.mount_point.cmp(&b.mount_point));
    few
}

fn is_local(mount: &Mount) -> bool {
    let on_device = mount.source.starts_with("/dev/") || ["zfs", "bcachefs"].contains(&mount.filesystem.as_str());
    on_device && !mount.filesystem.starts_with("fuse") && !REMOTE.contains(&mount.filesystem.as_str())
}
