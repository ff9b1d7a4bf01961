//! Reads `/sys/class/fc_host` (drivers/scsi/scsi_transport_fc.c), in a worker.

use std::path::{Path, PathBuf};

use glob::Pattern;
use nodewell_faults::pci;
use serde::{Deserialize, Serialize};

use super::FibreChannelSettings;
use crate::probe::{RawReading, ReadError, Reader, Roots, attribute};

/// All ports are one device: their drivers know what is read here, and ask no adapter for it.
pub(super) const ALL: &str = "fibre-channel";
/// A port that the driver made beside another one, for a guest: it goes down with that one.
const VIRTUAL: &str = "NPIV VPORT";
/// A driver that was not asked yet, or an adapter that answers nothing.
const UNKNOWN: &str = "Unknown";

/// What one look at the ports brings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct FibreChannelReading {
    pub ports: Vec<Port>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Port {
    /// The PCI address, as in the kernel log. The worldwide name where there is none, or another port has the same.
    pub subject: String,
    /// By which switches and storage know it: `0x10000090fa942bd1`.
    pub worldwide_name: String,
    /// `Online`, `Linkdown`, `Offline`; unset if it is not known.
    pub state: Option<String>,
    /// `16 Gbit`
    pub speed: Option<String>,
}

/// Reads; in a worker.
#[derive(Debug)]
pub struct FibreChannelReader {
    class: PathBuf,
    ignored: Vec<Pattern>,
}

impl FibreChannelReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &FibreChannelSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
        Self { class: roots.sys.join("class/fc_host"), ignored }
    }

    fn ports(&self) -> Result<Vec<Port>, ReadError> {
        let mut ports: Vec<Port> = Vec::new();
        for (_, folder) in attribute::numbered(&self.class, "host")? {
            let Some(mut port) = Port::at(&folder) else { continue };
            if ports.iter().any(|known| known.subject == port.subject) {
                port.subject.clone_from(&port.worldwide_name);
            }
            ports.push(port);
        }
        ports.retain(|port| !self.is_ignored(port));
        Ok(ports)
    }

    fn is_ignored(&self, port: &Port) -> bool {
        self.ignored.iter().any(|pattern| pattern.matches(&port.subject) || pattern.matches(&port.worldwide_name))
    }
}

impl Port {
    /// Nothing if it goes away meanwhile, or is no port of an adapter's own.
    fn at(folder: &Path) -> Option<Self> {
        let text = |name: &str| text(&folder.join(name));
        let worldwide_name = text("port_name")?;
        if text("port_type").is_some_and(|kind| kind == VIRTUAL) {
            return None;
        }
        let subject = adapter(folder).unwrap_or_else(|| worldwide_name.clone());
        let state = text("port_state").filter(|state| state != UNKNOWN);
        Some(Self { subject, worldwide_name, state, speed: text("speed") })
    }
}

/// The PCI address of the function that the port is on: `…/0000:82:00.0/host7/fc_host/host7`.
fn adapter(folder: &Path) -> Option<String> {
    let path = folder.canonicalize().ok()?;
    let mut names = path.iter().rev().filter_map(|name| name.to_str());
    names.find(|name| pci::address(name).as_deref() == Some(*name)).map(str::to_owned)
}

fn text(path: &Path) -> Option<String> {
    attribute::text(path).ok().flatten().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

impl Reader for FibreChannelReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        match self.ports()?.is_empty() {
            true => Err(ReadError::Gone { what: self.class.display().to_string() }),
            false => Ok(vec![ALL.to_owned()]),
        }
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        match device {
            ALL => RawReading::of(&FibreChannelReading { ports: self.ports()? }),
            _ => Err(ReadError::Gone { what: device.to_owned() }),
        }
    }
}
