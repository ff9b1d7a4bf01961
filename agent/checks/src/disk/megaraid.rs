//! RAID cards of Broadcom (LSI, Dell PERC, Lenovo, Supermicro) under the driver megaraid_sas: their physical and virtual
//! disks and the battery of their cache, as the firmware reports them.

mod ask;
pub(crate) mod fuzzing;
pub mod layout;
pub(super) mod memory;
pub mod node;
pub mod reading;

use std::{
    ffi::OsStr,
    fs,
    os::fd::AsFd,
    path::{Component, Path},
    time::{Duration, Instant},
};

use nodewell_sys::megaraid::{Question, ask as ask_firmware};

use super::{part::read_error, reading::Identity, sysfs};
use crate::probe::{ReadError, Roots};
use ask::{Firmware, card};
use reading::CardReading;

/// What the driver calls itself in `proc_name` of its hosts.
const DRIVER: &str = "megaraid_sas";
/// The driver looks after more; no machine that one agent looks after has them.
const CARDS: usize = 32;
/// A card has a hundred answers to give, of milliseconds each. A question that began before takes what it takes: the worker
/// has a deadline.
const TIME: Duration = Duration::from_secs(8);

/// The addresses on the PCI bus of the cards that the driver has, as the kernel's log names them.
pub(super) fn cards(sys: &Path) -> Vec<String> {
    let hosts = sysfs::names(&sys.join("class/scsi_host"));
    let mut cards: Vec<_> = hosts.iter().filter_map(|host| address(sys, host)).collect();
    cards.sort();
    cards.dedup();
    cards.truncate(CARDS);
    cards
}

/// The number of the SCSI host that the card at `address` is.
pub(super) fn host(sys: &Path, address_of: &str) -> Option<u16> {
    let hosts = sysfs::names(&sys.join("class/scsi_host"));
    let host = hosts.into_iter().find(|host| address(sys, host).as_deref() == Some(address_of))?;
    host.strip_prefix("host")?.parse().ok()
}

/// Below which PCI function a host of the driver is; `None` of another driver's.
fn address(sys: &Path, host: &str) -> Option<String> {
    let folder = sys.join("class/scsi_host").join(host);
    if sysfs::word(&folder, "proc_name")? != DRIVER {
        return None;
    }
    let path = fs::canonicalize(folder).ok()?;
    let parts: Vec<&OsStr> = path.components().filter_map(named).collect();
    let at = parts.iter().position(|part| *part == host)?;
    let function = parts.get(at.checked_sub(1)?)?.to_str()?;
    is_pci_address(function).then(|| function.to_owned())
}

fn named(component: Component<'_>) -> Option<&OsStr> {
    match component {
        Component::Normal(name) => Some(name),
        _ => None,
    }
}

/// `0000:03:00.0`.
fn is_pci_address(name: &str) -> bool {
    name.matches(':').count() == 2
        && name.contains('.')
        && name.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte))
}

/// The card at `address`.
pub(super) fn read(roots: &Roots, address: &str) -> Result<(Identity, CardReading), ReadError> {
    let gone = || ReadError::Gone { what: address.to_owned() };
    let host = host(&roots.sys, address).ok_or_else(gone)?;
    let node = node::open(roots)?;
    let began = Instant::now();
    let mut firmware = Driver { node: &node, host };
    let (identity, reading) = card(&mut firmware, &|| began.elapsed() >= TIME)?;
    Ok((identity, CardReading { kernel_volumes: kernel_volumes(&roots.sys, host), ..reading }))
}

/// The driver shows volumes on its third and fourth channel, 128 on each (megaraid_sas.h `MEGASAS_MAX_PD_CHANNELS`,
/// `MEGASAS_MAX_DEV_PER_CHANNEL`), and takes them away when the firmware reports that they are gone.
fn kernel_volumes(sys: &Path, host: u16) -> Vec<u8> {
    let target = |name: String| {
        let rest = name.strip_prefix(&format!("{host}:"))?;
        let mut numbers = rest.split(':').map(|number| number.parse::<u8>().ok());
        match (numbers.next()??, numbers.next()??) {
            (2, id @ ..128) => Some(id),
            (3, id @ ..128) => Some(128 + id),
            _ => None,
        }
    };
    sysfs::names(&sys.join("bus/scsi/devices")).into_iter().filter_map(target).collect()
}

/// The real one.
struct Driver<'a> {
    node: &'a fs::File,
    host: u16,
}

impl Firmware for Driver<'_> {
    /// Whatever the driver refuses with (`ENODEV` of a card that failed, `EBUSY` of a command that was lost in a reset): the
    /// card is on the bus, and its state is unknown.
    fn ask(&mut self, question: Question, into: &mut [u8]) -> Result<u8, ReadError> {
        let asked = ask_firmware(self.node.as_fd(), self.host, question, into);
        asked.map_err(|error| match read_error("the card", node::RIGHT, &error) {
            denied @ ReadError::Denied { .. } => denied,
            _ => ReadError::Failed { message: format!("the card does not answer: {error}") },
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
