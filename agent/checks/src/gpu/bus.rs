//! What the PCI bus knows of GPUs without asking any driver (`Documentation/ABI/testing/sysfs-bus-pci`).

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::reading::Vendor;

/// `PCI_VENDOR_ID_NVIDIA`, `PCI_VENDOR_ID_ATI`
const NVIDIA: &str = "0x10de";
const AMD: &str = "0x1002";

/// VGA controllers, 3D controllers, other display controllers, processing accelerators (PCI Code and ID Assignment).
const CLASSES: [&str; 4] = ["0x0300", "0x0302", "0x0380", "0x1200"];

/// A GPU on the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BusGpu {
    /// `0000:05:00.0`
    pub(super) address: String,
    pub(super) vendor: Vendor,
    /// The driver it is bound to.
    pub(super) driver: Option<String>,
}

/// All NVIDIA and AMD GPUs, by address.
pub(super) fn gpus(sys: &Path) -> Vec<BusGpu> {
    let entries = fs::read_dir(devices(sys)).into_iter().flatten().flatten();
    let addresses = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut gpus: Vec<_> = addresses.filter_map(|address| gpu(sys, address)).collect();
    gpus.sort_by(|a, b| a.address.cmp(&b.address));
    gpus
}

/// One device, if it is a GPU. One that goes while it is looked at is none, nor is a slice of one that was made for a
/// virtual machine (SR-IOV): it comes and goes, and the driver of the host offers it to no program here.
fn gpu(sys: &Path, address: String) -> Option<BusGpu> {
    let device = device(sys, &address);
    if device.join("physfn").exists() {
        return None;
    }
    let vendor = match fs::read_to_string(device.join("vendor")).ok()?.trim() {
        NVIDIA => Vendor::Nvidia,
        AMD => Vendor::Amd,
        _ => return None,
    };
    let class = fs::read_to_string(device.join("class")).ok()?;
    let is_gpu = CLASSES.iter().any(|known| class.starts_with(known));
    let driver = fs::read_link(device.join("driver")).ok();
    let driver = driver.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    is_gpu.then_some(BusGpu { address, vendor, driver })
}

/// NVSwitches: NVIDIA's bridges of no other kind (PCI Code and ID Assignment).
pub(super) fn switches(sys: &Path) -> Vec<String> {
    let reads = |address: &str, file: &str, begin: &str| {
        fs::read_to_string(device(sys, address).join(file)).is_ok_and(|text| text.starts_with(begin))
    };
    let is_switch = |address: &String| reads(address, "vendor", NVIDIA) && reads(address, "class", "0x0680");
    let entries = fs::read_dir(devices(sys)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_switch).collect()
}

/// Whether the device's configuration space reads all ones, as it does when nothing answers on the bus.
pub(super) fn is_off_the_bus(sys: &Path, address: &str) -> bool {
    let mut head = [0; 4];
    let read = File::open(device(sys, address).join("config")).and_then(|mut file| file.read_exact(&mut head));
    // Vendor 0xffff is no vendor's (PCI Local Bus Specification, 6.1).
    read.is_ok() && head == [0xff; 4]
}

/// Whether the kernel has powered it down: reading even its configuration space would wake it.
pub(super) fn is_asleep(sys: &Path, address: &str) -> bool {
    let status = fs::read_to_string(device(sys, address).join("power/runtime_status"));
    status.is_ok_and(|status| status.trim() == "suspended")
}

pub(super) fn device(sys: &Path, address: &str) -> PathBuf {
    devices(sys).join(address)
}

/// A loaded module: its version, if it has one, and a number that no later loading gets (sysfs numbers its folders in
/// turn).
pub(super) fn module(sys: &Path, name: &str) -> Option<(Option<String>, u64)> {
    let module = sys.join("module").join(name);
    let number = fs::metadata(&module).ok()?.ino();
    let version = fs::read_to_string(module.join("version")).ok();
    Some((version.map(|version| version.trim().to_owned()), number))
}

fn devices(sys: &Path) -> PathBuf {
    sys.join("bus/pci/devices")
}
