//! A filesystem on a loop device, with a folder of its own. All of it is gone when it is dropped.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use nix::unistd::geteuid;
use tempfile::TempDir;

/// Enough for ext4 with a journal.
const SIZE_BYTES: u64 = 16 * 1024 * 1024;

/// A mounted ext4.
#[derive(Debug)]
pub struct Disk {
    folder: TempDir,
    device: String,
}

impl Disk {
    /// Makes and mounts it.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn mounted() -> Self {
        let folder = TempDir::with_prefix("nodewell-disk-").unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(SIZE_BYTES).unwrap();
        fs::create_dir(folder.path().join("mnt")).unwrap();
        said("mkfs.ext4", &["-q", "-F"], &image);
        let device = said("losetup", &["--find", "--show"], &image);
        let disk = Self { folder, device };
        disk.mount("rw");
        disk
    }

    /// The device as the kernel calls it, such as `loop0`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    /// Mounts it anew with `options`.
    ///
    /// # Panics
    /// If it cannot.
    pub fn mount(&self, options: &str) {
        said("mount", &["-o", options, &self.device], &self.mount_point());
    }

    /// Unmounts it.
    ///
    /// # Panics
    /// If it cannot.
    pub fn unmount(&self) {
        said("umount", &[], &self.mount_point());
    }

    fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A case may have unmounted it; what cannot be undone here is the folder's name in the machine's mounts.
        let _ = Command::new("umount").arg("--quiet").arg(self.mount_point()).status();
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

/// What the program printed on stdout.
fn said(program: &str, args: &[&str], path: &Path) -> String {
    let output = Command::new(program).args(args).arg(path).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Why there can be no loop device here.
pub(crate) fn unmet() -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root, for a loop device".to_owned());
    }
    let missing = ["mkfs.ext4", "losetup", "mount"].into_iter().find(|program| {
        let folders = std::env::var("PATH").unwrap_or_default();
        !std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
    });
    missing.map(|program| format!("needs {program}")).or_else(|| {
        let control = File::open("/dev/loop-control");
        control.err().map(|error| format!("needs loop devices: /dev/loop-control: {error}"))
    })
}
