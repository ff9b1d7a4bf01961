//! Facts of the node for comparing it with others, and whether it is a virtual machine or a container.

use std::{fs::File, io::Read, path::Path};

use nodewell_model::inventory::NodeFacts;

use super::{dmi, word};
use crate::probe::{Roots, attribute};

/// Flags of the first CPU: the whole file has those of every CPU.
const FIRST_CPU_BYTES: u64 = 8192;

/// What hypervisors call their machines. A bare machine that calls itself so has fewer things compared, and no false loss.
const VIRTUAL_PRODUCTS: [&str; 8] =
    ["qemu", "kvm", "vmware", "virtual", "google compute engine", "bhyve", "openstack", "alibaba cloud"];

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

/// Which machine this is, by its firmware: what was saved on another is of no use here. Empty where it shows nothing.
pub(super) fn uuid(roots: &Roots) -> String {
    let paths = [roots.sys.join("class/dmi/id/product_uuid"), roots.proc.join("device-tree/serial-number")];
    let mut names = paths.iter().map(|path| word::identity(&word::of_file(path)));
    names.find(|name| !name.is_empty()).unwrap_or_default()
}

/// A hypervisor says so to its guests: in the CPU's flags (CPUID 1, ECX bit 31), as Xen, in the device tree, in the firmware's
/// tables; else the product's name is what is left. A partition of IBM's is resized like a guest: on POWER it has a name
/// (arch/powerpc/platforms/pseries/lparcfg.c), on s390 there is nothing else (arch/s390/kernel/sysinfo.c).
pub(super) fn is_virtual(roots: &Roots, facts: &NodeFacts, tables: Option<&[u8]>) -> bool {
    let marks = [
        roots.sys.join("hypervisor/type"),
        roots.proc.join("device-tree/hypervisor"),
        roots.proc.join("device-tree/ibm,partition-name"),
        roots.proc.join("sysinfo"),
    ];
    first_cpu(&roots.proc).split_ascii_whitespace().any(|flag| flag == "hypervisor")
        || marks.iter().any(|mark| attribute::is_there(mark).unwrap_or_default())
        || tables.is_some_and(dmi::is_virtual)
        || is_virtual_product(&facts.product.to_lowercase())
}

/// Amazon calls its machines by their size: `Amazon EC2 m6g.large`, and `m6g.metal` where there is no hypervisor.
fn is_virtual_product(product: &str) -> bool {
    let is_amazons = product.starts_with("amazon ec2") && !product.contains("metal");
    is_amazons || VIRTUAL_PRODUCTS.iter().any(|name| product.contains(name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hypervisors_product_is_known_by_its_name() {
        for (product, expected) in [
            ("amazon ec2 m6g.large", true),
            ("amazon ec2 m6g.metal", false),
            ("amazon ec2 c7i.metal-24xl", false),
            ("qemu standard pc (q35 + ich9, 2009)", true),
            ("dell inc. poweredge r760", false),
            ("", false),
        ] {
            assert_eq!(is_virtual_product(product), expected, "{product}");
        }
    }
}
