//! Reads PCI Express devices in sysfs (Documentation/ABI: sysfs-bus-pci, sysfs-bus-pci-devices-aer).

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use nodewell_model::text::cut;

use super::reading::{Aer, Errors, Lanes, Link, PcieReading, Slot, parse_errors, parse_speed, parse_width};
use crate::{
    pcie::PcieSettings,
    probe::{RawReading, ReadError, Reader, Roots},
};

/// A model's name has 40 bytes, a serial number 20 (NVM Express Base Specification, Identify Controller).
const MODEL_BYTES: usize = 40;

/// Reads in a worker.
#[derive(Debug)]
pub struct PcieReader {
    devices: PathBuf,
    slots: PathBuf,
    listed: BTreeSet<String>,
    /// Looking at an empty slot wakes its port, so that the reader does not look while nothing has vanished.
    has_lost: bool,
    found: Vec<Slot>,
}

impl PcieReader {
    #[must_use]
    pub fn new(roots: Roots, _settings: &PcieSettings) -> Self {
        let bus = roots.sys.join("bus/pci");
        let (devices, slots) = (bus.join("devices"), bus.join("slots"));
        Self { devices, slots, listed: BTreeSet::new(), has_lost: false, found: Vec::new() }
    }

    fn look_at_slots(&mut self, listed: &BTreeSet<String>) {
        self.has_lost |= self.listed.difference(listed).next().is_some();
        self.found = if self.has_lost { slots(&self.slots) } else { Vec::new() };
    }
}

impl Reader for PcieReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        let entries = fs::read_dir(&self.devices).map_err(|error| ReadError::of_file(&self.devices, &error))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let listed: BTreeSet<_> = names.filter(|name| is_judged(&self.devices.join(name))).collect();
        self.look_at_slots(&listed);
        self.listed = listed;
        Ok(self.listed.iter().cloned().collect())
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        let path = self.devices.join(device);
        let mut reading = read(&path)?;
        reading.slots = slots_below(&path, &self.found);
        RawReading::of(&reading)
    }
}

/// Devices with error counters or a link: parts of the chipset, which have neither, are many. A virtual function comes and
/// goes with its physical one, shares its link, and answers no question for its vendor.
fn is_judged(path: &Path) -> bool {
    let has = |name: &str| path.join(name).exists();
    let is_linked = || has("current_link_width") && (is_bridge(class(path)) || is_below_port(path));
    (has("aer_dev_fatal") || is_linked()) && !has("physfn")
}

fn is_below_port(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|home| !ports_above(&home).is_empty())
}

fn class(home: &Path) -> u32 {
    u32::from_str_radix(digits(&text(home, "class")), 16).unwrap_or(0)
}

/// PCI Code and ID Assignment Specification: base class 06h, subclass 04h.
fn is_bridge(class: u32) -> bool {
    class >> 8 == 0x0604
}

fn read(path: &Path) -> Result<PcieReading, ReadError> {
    let home = fs::canonicalize(path).map_err(|error| ReadError::of_file(path, &error))?;
    let required =
        |name: &str| fs::read_to_string(home.join(name)).map_err(|error| ReadError::of_file(&home.join(name), &error));
    let mut reading = PcieReading {
        id: format!("{}:{}", digits(&required("vendor")?), digits(&required("device")?)),
        class: class(&home),
        driver: fs::read_link(home.join("driver")).ok().and_then(|link| last_name(&link)),
        model: model(&home),
        above: ports_above(&home),
        asleep: is_asleep(&home),
        removable: text(&home, "removable").trim() == "removable",
        aer: aer(&home),
        root_fatal: text(&home, "aer_rootport_total_err_fatal").trim().parse().ok(),
        ..PcieReading::default()
    };
    if !reading.asleep {
        reading.mute = is_mute(&home);
        reading.link = link(&home, &reading);
    }
    Ok(reading)
}

/// What cannot be read as text counts as empty: files come with kernel versions and kinds of devices.
fn text(home: &Path, name: &str) -> String {
    fs::read_to_string(home.join(name)).unwrap_or_default()
}

/// Model and serial number of an NVMe controller (Documentation/ABI: sysfs-class-nvme), the board of an InfiniBand or
/// RoCE card (sysfs-class-infiniband, board_id). Of other devices the vendor's and the device's number has to do.
fn model(home: &Path) -> Option<String> {
    let first = |class: &str| fs::read_dir(home.join(class)).ok()?.flatten().map(|entry| entry.path()).min();
    let word = |device: &Path, name: &str| cut(text(device, name).trim(), MODEL_BYTES).to_owned();
    let model = match (first("nvme"), first("infiniband")) {
        (Some(disk), _) => match (word(&disk, "model"), word(&disk, "serial")) {
            (model, serial) if serial.is_empty() => model,
            (model, serial) => format!("{model}, serial number {serial}"),
        },
        (None, Some(card)) => word(&card, "board_id"),
        (None, None) => return None,
    };
    Some(model).filter(|model| !model.is_empty())
}

fn digits(text: &str) -> &str {
    text.trim().trim_start_matches("0x")
}

fn last_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// The addresses on the way up to the host bridge, which sysfs names `pci0000:00`.
fn ports_above(home: &Path) -> Vec<String> {
    home.ancestors().skip(1).filter_map(last_name).take_while(|name| is_address(name)).collect()
}

fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hex = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.len() == 4 && parts.iter().all(hex)
}

/// Since 6.18 reading the link's registers wakes a device first; before, it reads garbage from one that sleeps deep.
fn is_asleep(home: &Path) -> bool {
    let sleeping = ["suspended", "suspending", "resuming"].contains(&text(home, "power/runtime_status").trim());
    sleeping || text(home, "power_state").trim() == "D3cold"
}

/// PCI Local Bus Specification 6.2.1: no vendor has the number FFFFh, which is what a host bridge makes of no answer.
fn is_mute(home: &Path) -> bool {
    let mut head = [0; 4];
    let answer = File::open(home.join("config")).and_then(|mut file| file.read_exact(&mut head));
    answer.is_ok() && head == [0xff; 4]
}

/// The link between a device and the port above it: reported once, by the device's first function. A port that points
/// down reports the link below it, which its device reports, too.
fn link(home: &Path, reading: &PcieReading) -> Option<Link> {
    let port = home.parent().filter(|_| !reading.above.is_empty() && !points_down(reading))?;
    if !home.to_str()?.ends_with(".0") || reading.mute {
        return None;
    }
    let most = |at: &Path| lanes(at, "max");
    Some(Link { now: lanes(home, "current"), device: most(home), port: most(port) })
}

fn lanes(home: &Path, which: &str) -> Lanes {
    let of = |what: &str| text(home, &format!("{which}_link_{what}"));
    Lanes { width: parse_width(&of("width")), speed: parse_speed(&of("speed")) }
}

/// Ports alternate on the way down: a root port, then a switch's port upwards and one of its ports downwards.
fn points_down(reading: &PcieReading) -> bool {
    is_bridge(reading.class) && reading.above.len().is_multiple_of(2)
}

fn aer(home: &Path) -> Option<Aer> {
    let errors = |name: &str| parse_errors(&text(home, name));
    let (correctable, nonfatal, fatal) =
        (errors("aer_dev_correctable"), errors("aer_dev_nonfatal"), errors("aer_dev_fatal"));
    let none = Errors::default;
    fatal.as_ref().or(nonfatal.as_ref()).or(correctable.as_ref())?;
    Some(Aer {
        correctable: correctable.unwrap_or_else(none),
        nonfatal: nonfatal.unwrap_or_else(none),
        fatal: fatal.unwrap_or_else(none),
    })
}

/// All slots that report whether there is something in them; hot-plug drivers do.
fn slots(folder: &Path) -> Vec<Slot> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| slot(&entry.path())).collect()
}

fn slot(path: &Path) -> Option<Slot> {
    let is_on = |name: &str| fs::read_to_string(path.join(name)).ok().map(|text| text.trim() != "0");
    let address = text(path, "address").trim().to_owned();
    // Power fails, and the card is in its slot all the same: power counts only where no attribute shows whether there
    // is a card.
    let occupied = is_on("adapter").or_else(|| is_on("power"))?;
    Some(Slot { address, occupied })
}

/// Those on the bus below a port.
fn slots_below(path: &Path, found: &[Slot]) -> Vec<Slot> {
    if found.is_empty() {
        return Vec::new();
    }
    let Ok(bus) = text(path, "secondary_bus_number").trim().parse::<u8>() else { return Vec::new() };
    let domain = last_name(path).and_then(|name| Some(name.split_once(':')?.0.to_owned())).unwrap_or_default();
    let prefix = format!("{domain}:{bus:02x}:");
    found.iter().filter(|slot| slot.address.starts_with(&prefix)).cloned().collect()
}

#[cfg(test)]
pub(crate) mod tests;
