//! Reads ports of fabrics in sysfs (Documentation/ABI: sysfs-class-infiniband, sysfs-class-net).

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{
    counters::COUNTERS,
    hw_counters,
    reading::{Interface, PortReading, parse_number, parse_rate},
};
use crate::{
    fabric::FabricSettings,
    probe::{RawReading, ReadError, Reader, Roots, device_file},
};

/// Reads in a worker.
#[derive(Debug)]
pub struct FabricReader {
    roots: Roots,
    cards: PathBuf,
    interfaces: PathBuf,
}

impl FabricReader {
    #[must_use]
    pub fn new(roots: Roots, _settings: &FabricSettings) -> Self {
        let class = roots.sys.join("class");
        Self { roots, cards: class.join("infiniband"), interfaces: class.join("net") }
    }

    fn interface(&self, port: &Path) -> Option<Interface> {
        // The interface of the port's first address; the file cannot be read while there is none.
        const IFF_UP: u32 = 1;
        let name = fs::read_to_string(port.join("gid_attrs/ndevs/0")).ok()?.trim().to_owned();
        let home = self.interfaces.join(&name);
        let flags = fs::read_to_string(home.join("flags")).ok()?;
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).ok()?;
        let carrier_downs = number(&home.join("carrier_down_count"));
        (!name.is_empty()).then_some(Interface { name, is_wanted: flags & IFF_UP != 0, carrier_downs })
    }
}

impl Reader for FabricReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        let cards = names(&self.cards).map_err(|error| ReadError::of_file(&self.cards, &error))?;
        let cards = cards.into_iter().filter(|card| is_judged(&self.cards.join(card)));
        let mut ports: Vec<String> = cards.flat_map(|card| self.ports(&card)).collect();
        ports.sort();
        Ok(ports)
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        let (card, port) = device.split_once('/').ok_or_else(|| ReadError::Gone { what: device.to_owned() })?;
        let missing_file = self.missing_file(card);
        let card = self.cards.join(card);
        let port = card.join("ports").join(port);
        let state = port.join("state");
        let state = fs::read_to_string(&state).map_err(|error| ReadError::of_file(&state, &error))?;
        let reading = PortReading {
            state: parse_number(&state),
            physical: parse_number(&text(&port.join("phys_state"))),
            rate: parse_rate(&text(&port.join("rate"))),
            guid: text(&card.join("node_guid")),
            link_layer: text(&port.join("link_layer")),
            counters: counters(&port.join("counters")),
            hw_counters: hw_counters::read(&port.join("hw_counters")),
            card_hw_counters: hw_counters::read(&card.join("hw_counters")),
            address: address(&card),
            missing_file,
            interface: self.interface(&port),
        };
        RawReading::of(&reading)
    }
}

impl FabricReader {
    /// By the file of its verbs, where the module for programs (ib_uverbs) is loaded.
    fn missing_file(&self, card: &str) -> Option<String> {
        let verbs = self.roots.sys.join("class/infiniband_verbs");
        let mut entries = names(&verbs).unwrap_or_default().into_iter().map(|name| verbs.join(name));
        let entry = entries.find(|entry| text(&entry.join("ibdev")) == card)?;
        device_file::missing(&self.roots, &entry)
    }

    fn ports(&self, card: &str) -> Vec<String> {
        let ports = names(&self.cards.join(card).join("ports")).unwrap_or_default();
        ports.into_iter().map(|port| format!("{card}/{port}")).collect()
    }
}

/// Cards of hardware. A virtual function has the link of its physical one, and comes and goes with it; software (rxe, siw)
/// has no device.
fn is_judged(card: &Path) -> bool {
    card.join("device").exists() && !card.join("device/physfn").exists()
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    Ok(fs::read_dir(folder)?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// What cannot be read counts as empty.
fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Older kernels write `N/A (no PMA)` where a card has no such counter.
fn number(path: &Path) -> Option<u64> {
    text(path).parse().ok()
}

fn counters(folder: &Path) -> BTreeMap<String, u64> {
    let names = COUNTERS.iter().map(|counter| counter.name);
    names.filter_map(|name| Some((name.to_owned(), number(&folder.join(name))?))).collect()
}

fn address(card: &Path) -> Option<String> {
    let device = fs::canonicalize(card.join("device")).ok()?;
    Some(device.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
pub(crate) mod tests;
