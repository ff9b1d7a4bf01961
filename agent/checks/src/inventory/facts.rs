//! Facts of the node for comparing it with others, and whether it is a virtual machine or a container.

use std::{fs::File, io::Read, path::Path};

use nodewell_model::hardware::NodeFacts;

use super::word;
use crate::probe::{Roots, attribute};

/// Flags of the first CPU: the whole file has those of every CPU.
const FIRST_CPU_BYTES: u64 = 8192;

/// What hypervisors call their machines; Amazon's call themselves the same on bare metal, and have CPUs that show which.
const VIRTUAL_PRODUCTS: [&str; 6] = ["qemu", "kvm", "vmware", "virtual", "google compute engine", "bhyve"];

pub(super) fn read(roots: &Roots) -> NodeFacts {
    let dmi = |name: &str| word::of_file(&roots.sys.join("class/dmi/id").join(name));
    let product = format!("{} {}", dmi("sys_vendor"), dmi("product_name"));
    NodeFacts {
        bios_date: dmi("bios_date"),
        bios_vendor: dmi("bios_vendor"),
        bios_version: dmi("bios_version"),
        kernel: word::of_file(&roots.proc.join("sys/kernel/osrelease")),
        microcode: word::of_file(&roots.sys.join("devices/system/cpu/cpu0/microcode/version")),
        nvidia_driver: word::of_file(&roots.sys.join("module/nvidia/version")),
        product: word::clean(&product),
    }
}

/// A hypervisor says so to its guests: in the CPU's flags (CPUID 1, ECX bit 31), as Xen, or in the device tree; on ARM servers
/// the product's name is what is left.
pub(super) fn is_virtual(roots: &Roots, facts: &NodeFacts) -> bool {
    let product = facts.product.to_lowercase();
    let is_there = |path: &Path| attribute::is_there(path).unwrap_or_default();
    first_cpu(&roots.proc).split_ascii_whitespace().any(|flag| flag == "hypervisor")
        || is_there(&roots.sys.join("hypervisor/type"))
        || is_there(&roots.proc.join("device-tree/hypervisor"))
        || VIRTUAL_PRODUCTS.iter().any(|name| product.contains(name))
}

/// Whose hardware is another's (systemd's container interface, Podman), or a kernel that only saves a crash's memory
/// (Documentation/admin-guide/kdump/kdump.rst): it was started with a part of the machine.
pub(super) fn is_elsewhere(roots: &Roots) -> bool {
    let marks = [roots.run.join("systemd/container"), roots.run.join(".containerenv"), roots.proc.join("vmcore")];
    marks.iter().any(|mark| attribute::is_there(mark).unwrap_or_default())
}

fn first_cpu(proc: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(proc.join("cpuinfo")).and_then(|file| file.take(FIRST_CPU_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
