//! Disks that hang on the machine's own PCI bus: by NVMe's controllers and by SCSI's disks, SATA's among them. What comes over
//! a network, by USB, or from a driver is another's.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use nodewell_model::hardware::Component;

use super::{
    pci::{function_above, is_of_machine, names},
    word,
};
use crate::probe::attribute;

/// NVMe's controllers (PCI Code and ID Assignment Specification, base class 01h).
const NVME: &str = "0x010802";

/// Nothing where a list cannot be read as a whole. A disk with two ways to it is one disk.
pub(super) fn disks(sys: &Path) -> Option<Vec<Component>> {
    let functions = homes(&sys.join("bus/pci/devices"))?;
    let blocks = homes(&sys.join("block"))?;
    let nvme = functions.iter().filter_map(|home| controller(home));
    let scsi = blocks.iter().filter(|home| last(home).starts_with("sd")).filter_map(|home| scsi_disk(home));
    let mut seen = BTreeSet::new();
    let found = nvme.chain(scsi).filter(|disk| disk.serial.is_empty() || seen.insert(disk.serial.clone()));
    Some(found.collect())
}

/// Where the entries of a class or bus lead; nothing where one of them leads nowhere, because it goes at this moment.
fn homes(class: &Path) -> Option<Vec<PathBuf>> {
    names(class)?.into_iter().map(|name| fs::canonicalize(class.join(name)).ok()).collect()
}

/// A controller is what a disk is; its namespaces are parts of it. One whose driver is not loaded is there all the same.
fn controller(function: &Path) -> Option<Component> {
    if word::of_file(&function.join("class")) != NVME || !is_of_machine(function) {
        return None;
    }
    let name = names(&function.join("nvme")).and_then(|names| names.into_iter().next()).unwrap_or_default();
    let home = function.join("nvme").join(name);
    let word = |name: &str| word::of_file(&home.join(name));
    Some(Component {
        serial: word::identity(&word("serial")),
        slot: last(function),
        model: word("model"),
        firmware: word("firmware_rev"),
        amount: 0,
    })
}

/// A disk (type 0) or a zoned one (20, include/scsi/scsi_proto.h), that is no medium in a drive.
fn scsi_disk(home: &Path) -> Option<Component> {
    let function = function_above(home).filter(|function| is_of_machine(function))?;
    let device = fs::canonicalize(home.join("device")).ok()?;
    let word = |name: &str| word::of_file(&device.join(name));
    let is_disk = matches!(word("type").as_str(), "" | "0" | "20") && word::of_file(&home.join("removable")) != "1";
    if !is_disk || is_remote(home) {
        return None;
    }
    Some(Component {
        serial: serial(&device),
        slot: slot(&function, &device),
        model: word::clean(format!("{} {}", word("vendor"), word("model")).trim()),
        firmware: word("rev"),
        amount: 0,
    })
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
