//! Volumes that every worker reaches: folders of this machine, on a filesystem of their own as a kubelet expects it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// Where they are in a worker.
pub(crate) const INSIDE: &str = "/var/lib/volumes";

/// Unmounted when dropped, and all that is in them is gone.
#[derive(Debug)]
pub(crate) struct Volumes {
    folder: PathBuf,
}

impl Volumes {
    /// None yet, in a folder that is made in `parent`.
    pub(crate) fn make(parent: &Path) -> Self {
        let folder = parent.join("volumes");
        fs::create_dir(&folder).unwrap();
        // A kubelet takes a folder for mounted by its device.
        mount(Some("tmpfs"), &folder, Some("tmpfs"), MsFlags::empty(), Some("size=64m,mode=755")).unwrap();
        Self { folder }
    }

    /// Each is a folder here.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Volumes {
    fn drop(&mut self) {
        // A machine that has just been killed may have it still.
        let _ = umount2(&self.folder, MntFlags::MNT_DETACH);
    }
}
