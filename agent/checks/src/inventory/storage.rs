//! Disks that hang on the machine's own PCI bus: by NVMe's controllers and by SCSI's disks, SATA's among them. What comes over
//! a network, by USB, or from a driver is another's.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use nodewell_model::inventory::Component;

use super::{
    pci::{class, function_above, is_of_machine, names},
    word,
};
use crate::probe::attribute;

/// NVMe's controllers, and all that have disks (PCI Code and ID Assignment Specification, base class 01h).
const NVME: u32 = 0x010802;
const STORAGE: u32 = 0x01;
/// Drivers that lend a function to a virtual machine, or to a program that drives it by itself.
const LENDERS: [&str; 5] = ["vfio-pci", "pci-stub", "pciback", "uio_pci_generic", "igb_uio"];

/// What is there of disks.
pub(super) struct Storage {
    pub(super) disks: Vec<Component>,
    /// Addresses of controllers that no driver of the kernel's has: it shows none of their disks.
    pub(super) hidden: Vec<String>,
}

/// Nothing where a list cannot be read as a whole. A disk with two ways to it is one disk.
pub(super) fn read(sys: &Path) -> Option<Storage> {
    let functions = homes(&sys.join("bus/pci/devices"))?;
    let blocks = homes(&sys.join("block"))?;
    let mut storage = Storage { disks: Vec::new(), hidden: Vec::new() };
    for function in functions.iter().filter(|function| is_of_machine(function)) {
        match class(function)? {
            NVME => storage.disks.push(controller(function)),
            class if class >> 16 == STORAGE && !is_driven(function) => storage.hidden.push(last(function)),
            _ => {}
        }
    }
    for home in blocks.iter().filter(|home| last(home).starts_with("sd")) {
        storage.disks.extend(scsi_disk(home)?);
    }
    let mut seen = BTreeSet::new();
    storage.disks.retain(|disk| disk.serial.is_empty() || seen.insert(disk.serial.clone()));
    Some(storage)
}

/// Where the entries of a class or bus lead; nothing where one of them leads nowhere, because it goes at this moment.
fn homes(class: &Path) -> Option<Vec<PathBuf>> {
    names(class)?.into_iter().map(|name| fs::canonicalize(class.join(name)).ok()).collect()
}

fn is_driven(function: &Path) -> bool {
    let driver = fs::read_link(function.join("driver")).ok();
    driver.as_deref().is_some_and(|driver| !LENDERS.contains(&last(driver).as_str()))
}

/// A controller is what a disk is; its namespaces are parts of it. One whose driver is not loaded is there all the same.
fn controller(function: &Path) -> Component {
    let name = names(&function.join("nvme")).and_then(|names| names.into_iter().next()).unwrap_or_default();
    let home = function.join("nvme").join(name);
    let word = |name: &str| word::of_file(&home.join(name));
    Component {
        serial: word::identity(&word("serial")),
        slot: last(function),
        model: word("model"),
        firmware: word("firmware_rev"),
        ..Component::default()
    }
}

/// A disk (type 0) or a zoned one (20, include/scsi/scsi_proto.h), that is no medium in a drive. `None`: it goes at this
/// moment.
fn scsi_disk(home: &Path) -> Option<Option<Component>> {
    let Some(function) = function_above(home).filter(|function| is_of_machine(function)) else { return Some(None) };
    let device = fs::canonicalize(home.join("device")).ok()?;
    let word = |name: &str| word::of_file(&device.join(name));
    let is_disk = matches!(word("type").as_str(), "" | "0" | "20") && word::of_file(&home.join("removable")) != "1";
    let disk = || Component {
        serial: serial(&device),
        slot: slot(&function, &device),
        model: word::clean(format!("{} {}", word("vendor"), word("model")).trim()),
        firmware: word("rev"),
        ..Component::default()
    };
    Some((is_disk && !is_remote(home)).then(disk))
}

/// What USB, iSCSI (scsi_transport_iscsi.c) and Fibre Channel (scsi_transport_fc.c) call the way to it.
fn is_remote(home: &Path) -> bool {
    let remote = ["usb", "session", "rport-"];
    home.components().any(|part| remote.iter().any(|word| part.as_os_str().to_string_lossy().starts_with(word)))
}

/// The serial number in VPD page 80h behind its four bytes of head, else the name that the kernel made of page 83h.
fn serial(device: &Path) -> String {
    let page = attribute::shown(&device.join("vpd_pg80")).ok().flatten().unwrap_or_default();
    let number = page.char_indices().nth(4).and_then(|(at, _)| page.get(at..)).unwrap_or_default();
    let number = word::identity(number);
    if number.is_empty() { word::identity(&word::of_file(&device.join("wwid"))) } else { number }
}

/// The controller, and the disk's address behind it without the host's number, which changes between boots. Each port of
/// SATA is a host of its own: libata's number of the port is taken instead (Documentation/ABI/testing/sysfs-ata).
fn slot(function: &Path, device: &Path) -> String {
    let controller = last(function);
    let port = device.ancestors().find_map(|at| {
        let name = last(at);
        let number = name.strip_prefix("ata").filter(|rest| rest.parse::<u32>().is_ok())?;
        Some(word::of_file(&at.join(format!("ata_port/ata{number}/port_no"))))
    });
    match port.filter(|port| !port.is_empty()) {
        Some(port) => format!("{controller} port {port}"),
        None => {
            let name = last(device);
            let behind = name.split_once(':').map_or("", |(_, behind)| behind);
            format!("{controller} {behind}").trim_end().to_owned()
        }
    }
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
