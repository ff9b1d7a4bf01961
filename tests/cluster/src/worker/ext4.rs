//! A filesystem of a worker's own that can be broken: an ext4 on a loop device, mounted where the worker's own disks
//! are.

use std::{fs::File, path::Path, process::Command};

use nodewell_tests::{disk::LoopDevice, machine::Inside};

/// Enough for ext4 with a journal.
const SIZE_BYTES: u64 = 16 * 1024 * 1024;

/// Gone when the machine is, or when it is unmounted and dropped.
#[derive(Debug)]
pub struct Ext4 {
    device: LoopDevice,
    inside: Inside,
    at: String,
}

impl Ext4 {
    /// A fresh one, whose image is in `folder`.
    pub(super) fn mount(folder: &Path, inside: Inside, at: &str) -> Self {
        let image = folder.join("ext4");
        File::create(&image).unwrap().set_len(SIZE_BYTES).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        assert!(made.unwrap().success(), "mkfs.ext4");
        let device = LoopDevice::of(&image);
        let (name, numbers) = (device.name(), device.numbers().replace(':', " "));
        // The machine has device nodes of its own, and no udev to make them.
        inside.sh(&format!("rm -f /dev/{name} && mknod /dev/{name} b {numbers} && mkdir -p {at}"));
        inside.sh(&format!("mount -o errors=remount-ro /dev/{name} {at}"));
        Self { device, inside, at: at.to_owned() }
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

    /// Unmounts it, as an administrator who takes the disk out.
    pub fn unmount(&self) {
        self.inside.sh(&format!("umount {}", self.at));
    }
}
