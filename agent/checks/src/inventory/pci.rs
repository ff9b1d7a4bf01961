//! Network cards and accelerators, as functions on the PCI bus: whether a driver is loaded, and what it calls its interface,
//! makes no difference (Documentation/ABI/testing/sysfs-bus-pci).

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use nodewell_model::inventory::{Component, ComponentClass};

use super::word;
use crate::probe::attribute;

/// Ethernet and InfiniBand (PCI Code and ID Assignment Specification, base class 02h). Radio is not among them.
const NETWORK: [u32; 2] = [0x0200, 0x0207];
/// Display controllers and processing accelerators (base classes 03h and 12h).
const ACCELERATORS: [u32; 2] = [0x03, 0x12];
/// The screens among them; those of boards' management controllers call themselves so, too.
const VGA: u32 = 0x0300;
const NVIDIA: &str = "10de";
const AMD: &str = "1002";
const INTEL: &str = "8086";
/// Clouds plug cards and volumes into their bare machines as into virtual ones: Amazon, Alibaba, Google; virtio.
const AT_WILL: [&str; 4] = ["1d0f", "1ded", "1ae0", "1af4"];

/// Gives the version of the firmware behind an interface, by its name.
pub(super) type FirmwareOf = fn(&str) -> Option<String>;

/// Both classes; nothing where the bus cannot be read as a whole.
pub(super) fn functions(sys: &Path, firmware_of: FirmwareOf) -> Option<[(ComponentClass, Vec<Component>); 2]> {
    let devices = sys.join("bus/pci/devices");
    let names = names(&devices)?;
    let interfaces = interfaces(sys);
    let (mut cards, mut accelerators) = (Vec::new(), Vec::new());
    for name in names {
        let home = fs::canonicalize(devices.join(&name)).ok()?;
        match class_of(&home)? {
            Some(ComponentClass::NetworkCard) => {
                let interface = interfaces.get(&name).cloned().unwrap_or_default();
                cards.push(card(function(sys, &home, &name), interface, firmware_of));
            }
            Some(_) => accelerators.push(function(sys, &home, &name)),
            None => {}
        }
    }
    Some([(ComponentClass::NetworkCard, cards), (ComponentClass::Accelerator, accelerators)])
}

/// What RDMA does not show its driver reports by an interface.
fn card(function: Component, interface: Interface, firmware_of: FirmwareOf) -> Component {
    let firmware = match function.firmware.is_empty() {
        true => firmware_of(&interface.name).map(|firmware| word::clean(&firmware)).unwrap_or_default(),
        false => function.firmware,
    };
    Component { serial: interface.address, firmware, ..function }
}

/// Whether what hangs on the function at `home` belongs to the machine: not plugged in from outside, by its owner or by a
/// cloud, and not made by a driver.
pub(super) fn is_of_machine(home: &Path) -> bool {
    let vendor = vendor(home);
    let is_made = attribute::is_there(&home.join("physfn")).unwrap_or_default();
    let is_removable = word::of_file(&home.join("removable")) == "removable";
    !is_made && !is_removable && !AT_WILL.contains(&vendor.as_str())
}

/// The function that `path` of sysfs lies below: the last address in it.
pub(super) fn function_above(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|at| at.file_name().and_then(|name| name.to_str()).is_some_and(is_address))
        .map(Path::to_owned)
}

/// `0000:3b:00.0`; domains that Intel's VMD makes have five digits.
pub(super) fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(&parts[..], [domain, bus, device, function]
        if (4..=8).contains(&domain.len()) && (bus.len(), device.len(), function.len()) == (2, 2, 1))
        && parts.iter().all(is_hex)
}

/// Base class, subclass and interface; nothing where it cannot be read.
pub(super) fn class(home: &Path) -> Option<u32> {
    let text = word::of_file(&home.join("class"));
    u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// `None`: its class cannot be read, and so the list is not whole. `Some(None)`: it is neither.
fn class_of(home: &Path) -> Option<Option<ComponentClass>> {
    let class = class(home)?;
    let is_network = NETWORK.contains(&(class >> 8));
    let is_accelerator = ACCELERATORS.contains(&(class >> 16)) && !is_console(home, class >> 8 == VGA);
    let kind = match (is_network, is_accelerator) {
        (true, _) => ComponentClass::NetworkCard,
        (_, true) => ComponentClass::Accelerator,
        _ => return Some(None),
    };
    Some(is_of_machine(home).then_some(kind))
}

/// A board's own screen, or graphics of the processor: firmware switches those off when a card is plugged in. They are on no
/// port; AMD's are behind one, as its cards are not, which begin with a switch of their own.
fn is_console(home: &Path, is_vga: bool) -> bool {
    let is_port =
        |at: Option<&Path>| at.and_then(Path::file_name).and_then(|name| name.to_str()).is_some_and(is_address);
    let vendor = vendor(home);
    let is_card = match vendor.as_str() {
        NVIDIA | INTEL => true,
        AMD => !is_vga || is_port(home.ancestors().nth(2)),
        _ => !is_vga,
    };
    !is_card || !is_port(home.parent())
}

fn vendor(home: &Path) -> String {
    hex(home, "vendor")
}

fn hex(home: &Path, name: &str) -> String {
    word::of_file(&home.join(name)).trim_start_matches("0x").to_owned()
}

/// Its model is as `lspci -n` shows it. mlx5 and others leave their firmware's version with the RDMA device, amdgpu that of
/// the VBIOS, which it read at its start (amdgpu_atombios.c).
fn function(sys: &Path, home: &Path, address: &str) -> Component {
    let rdma = names(&home.join("infiniband")).unwrap_or_default();
    let firmware = rdma.first().map(|name| word::of_file(&home.join("infiniband").join(name).join("fw_ver")));
    Component {
        slot: address.to_owned(),
        model: format!("{}:{}", vendor(home), hex(home, "device")),
        firmware: firmware.unwrap_or_else(|| word::of_file(&home.join("vbios_version"))),
        driver: driver(sys, home),
        ..Component::default()
    }
}

/// The kernel's own drivers have no version but the kernel's.
fn driver(sys: &Path, home: &Path) -> String {
    let link = fs::read_link(home.join("driver")).ok();
    let Some(name) = link.as_deref().and_then(Path::file_name).and_then(|name| name.to_str()) else {
        return String::new();
    };
    let version = word::of_file(&sys.join("module").join(name).join("version"));
    word::clean(format!("{name} {version}").trim_end())
}

/// What is known of a function by its interfaces.
#[derive(Debug, Clone, Default)]
struct Interface {
    /// Of one of them.
    name: String,
    /// The lowest permanent address.
    address: String,
}

/// Of each function that has one.
fn interfaces(sys: &Path) -> BTreeMap<String, Interface> {
    let class = sys.join("class/net");
    let mut interfaces: BTreeMap<String, Interface> = BTreeMap::new();
    for name in names(&class).unwrap_or_default() {
        let home = class.join(&name);
        let device = fs::canonicalize(home.join("device")).ok();
        let Some(function) = device.as_deref().and_then(Path::file_name).and_then(|name| name.to_str()) else {
            continue;
        };
        let known = interfaces.entry(function.to_owned()).or_default();
        known.name = name;
        let address = permanent(&home).unwrap_or_default();
        if known.address.is_empty() || (!address.is_empty() && address < known.address) {
            known.address = address;
        }
    }
    interfaces
}

/// A bond gives its interfaces one address and shows what they had (drivers/net/bonding/bond_sysfs_slave.c); 0 is an address
/// that came with the card (NET_ADDR_PERM, include/uapi/linux/netdevice.h). The first bytes of InfiniBand's are a queue's
/// number, its port has the last eight.
fn permanent(home: &Path) -> Option<String> {
    let bonded = word::of_file(&home.join("bonding_slave/perm_hwaddr"));
    let address = match bonded.is_empty() {
        false => bonded,
        true if word::of_file(&home.join("addr_assign_type")) == "0" => word::of_file(&home.join("address")),
        true => return None,
    };
    let address = match address.len() {
        59 => address.get(36..).unwrap_or_default(),
        _ => address.as_str(),
    };
    Some(word::identity(address)).filter(|address| !address.is_empty())
}

/// The names in a folder, sorted; nothing where it cannot be read as a whole.
pub(super) fn names(folder: &Path) -> Option<Vec<String>> {
    let entries: Vec<fs::DirEntry> = folder.read_dir().ok()?.collect::<Result<_, _>>().ok()?;
    let mut names: Vec<String> = entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Some(names)
}
