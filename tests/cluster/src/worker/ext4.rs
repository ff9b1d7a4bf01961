//! A disk of a worker's own that can be broken: an ext4 on a loop device.

use std::{fs::File, path::Path, process::Command};

use nodewell_tests::{disk::LoopDevice, machine::Inside};

/// Enough for ext4 with a journal.
const SIZE_BYTES: u64 = 16 * 1024 * 1024;
/// The kernel cuts it off at the first fault.
pub const OPTIONS: &str = "errors=remount-ro";

/// Gone once it is mounted nowhere and dropped.
#[derive(Debug)]
pub struct Ext4 {
    device: LoopDevice,
    inside: Inside,
}

impl Ext4 {
    /// A fresh one, whose image is in `folder`; the machine has its device node in `/dev`.
    pub(super) fn make(folder: &Path, inside: Inside) -> Self {
        let image = folder.join("ext4");
        File::create(&image).unwrap().set_len(SIZE_BYTES).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        assert!(made.unwrap().success(), "mkfs.ext4");
        let device = LoopDevice::of(&image);
        let (name, numbers) = (device.name(), device.numbers().replace(':', " "));
        // The machine has device nodes of its own, and no udev to make them.
        inside.sh(&format!("rm -f /dev/{name} && mknod /dev/{name} b {numbers}"));
        Self { device, inside }
    }

    /// Mounts it where the machine's own disks are.
    pub fn mount(&self, at: &str) {
        self.inside.sh(&format!("mkdir -p {at} && mount -o {OPTIONS} /dev/{} {at}", self.device()));
    }

    /// Unmounts it from there, as an administrator who takes the disk out.
    pub fn unmount(&self, at: &str) {
        self.inside.sh(&format!("umount {at}"));
    }

    /// The device as the kernel calls it, such as `loop0`.
    #[must_use]
    pub fn device(&self) -> &str {
        self.device.name()
    }

    /// The kernel finds a fault on it: it takes no more writes, and the kernel's log says so.
    pub fn fail(&self) {
        self.device.break_filesystem();
    }
}
