//! Virtual machines for the tests: a Debian kernel under QEMU, our own programs in its first userland, faults by QMP.

#![allow(clippy::unwrap_used)]

mod agent;
mod archive;
pub mod disk;
pub mod guest;
mod initramfs;
mod kernel;
pub mod module;
pub mod modules;
pub mod packed;
mod plan;
mod qmp;
mod shell;
mod smart;
pub mod system;

use std::path::{Path, PathBuf};

use nodewell_tests::suite::Need;

/// A machine that can run guests.
pub const GUEST: Need = Need::Other(unmet);
/// A compiler and headers, for a kernel module of our own; asked after [`GUEST`].
pub const MODULE: Need = Need::Other(module::unmet);
/// What makes a port of a fabric out of any network card; asked after [`GUEST`].
pub const FABRIC: Need = Need::Other(fabric_unmet);
/// What starts a program with a unit's rights; asked after [`GUEST`].
pub const SETPRIV: Need = Need::Other(setpriv_unmet);
/// What writes into a BMC's event log; asked after [`GUEST`].
pub const IPMITOOL: Need = Need::Other(ipmitool_unmet);
/// What is a BMC for a guest; asked after [`GUEST`].
pub const BMC: Need = Need::Other(nodewell_bmc::missing_system_interface);
/// What makes maps of the device mapper; asked after [`GUEST`].
pub const DMSETUP: Need = Need::Other(dmsetup_unmet);
/// What makes software RAID arrays; asked after [`GUEST`].
pub const MDADM: Need = Need::Other(mdadm_unmet);

const PROGRAMS: [(&str, &str); 4] = [
    ("/usr/bin/qemu-system-x86_64", "qemu-system-x86"),
    ("/bin/busybox", "busybox-static"),
    ("/usr/bin/nbdkit", "nbdkit"),
    ("/usr/bin/strip", "binutils"),
];

/// What serves a whole system's port `shell`; it needs busybox.
#[must_use]
pub fn shell_script() -> &'static str {
    initramfs::SHELL
}

/// The modules of the guests' kernel, a folder that is called as its release is.
///
/// # Errors
/// A message, if the kernel cannot be had.
pub fn kernel_modules() -> Result<PathBuf, String> {
    kernel::Kernel::of_debian().map(|kernel| kernel.modules())
}

/// Why this machine cannot run a guest, if it cannot.
#[must_use]
pub fn unmet() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("needs x86-64: the guest runs our own programs".to_owned());
    }
    let missing = PROGRAMS.into_iter().find(|(path, _)| !Path::new(path).exists());
    if let Some((path, package)) = missing {
        return Some(format!("needs {path} (Debian's {package})"));
    }
    kernel::Kernel::of_debian().err()
}

fn setpriv_unmet() -> Option<String> {
    (!Path::new(initramfs::SETPRIV).exists()).then(|| format!("needs {} (Debian's util-linux)", initramfs::SETPRIV))
}

fn ipmitool_unmet() -> Option<String> {
    (!Path::new(initramfs::IPMITOOL).exists()).then(|| format!("needs {} (Debian's ipmitool)", initramfs::IPMITOOL))
}

fn dmsetup_unmet() -> Option<String> {
    (!Path::new(initramfs::DMSETUP).exists()).then(|| format!("needs {} (Debian's dmsetup)", initramfs::DMSETUP))
}

fn mdadm_unmet() -> Option<String> {
    (!Path::new(initramfs::MDADM).exists()).then(|| format!("needs {} (Debian's mdadm)", initramfs::MDADM))
}

fn fabric_unmet() -> Option<String> {
    (!Path::new(initramfs::RDMA).exists()).then(|| format!("needs {} (Debian's iproute2)", initramfs::RDMA))
}
