//! Asks one SCSI or SAS disk: its sense data, the log pages that it lists, its grown defects.

pub mod log;
pub mod sense;

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
    path::Path,
};

use nodewell_sys::sg;
pub(super) use nodewell_sys::sg::Reply;

use super::{
    page::PageError,
    part::{Part, read_error},
    reading::{Health, ScsiReading},
};
use crate::probe::ReadError;
use log::{LogPage, Predicted};
use sense::Sense;

/// SPC-4 and SBC-4 operation codes.
const REQUEST_SENSE: u8 = 0x03;
const LOG_SENSE: u8 = 0x4d;
const READ_DEFECT_DATA_12: u8 = 0xb7;
/// Cumulative values, in the page control field of LOG SENSE.
const CUMULATIVE: u8 = 0x40;
/// The longest page here is that of twenty self-tests, 404 bytes.
const PAGE_BYTES: u16 = 512;

const SUPPORTED_PAGES: u8 = 0x00;
/// Errors of writing, reading, verifying.
const ERROR_PAGES: [u8; 3] = [0x02, 0x03, 0x05];
const TEMPERATURE: u8 = 0x0d;
const SELF_TESTS: u8 = 0x10;
const SOLID_STATE: u8 = 0x11;
const INFORMATIONAL_EXCEPTIONS: u8 = 0x2f;

/// The kernel lets through what only reads (drivers/scsi/scsi_ioctl.c scsi_cmd_allowed), and with this right the rest.
pub(super) const RIGHT: &str = "CAP_SYS_RAWIO and a readable /dev/sd*";

/// What takes SCSI commands.
pub(super) trait ScsiDevice {
    fn command(&mut self, command: &[u8], into: &mut [u8]) -> io::Result<Reply>;
}

impl ScsiDevice for File {
    fn command(&mut self, command: &[u8], into: &mut [u8]) -> io::Result<Reply> {
        sg::read(self.as_fd(), command, into)
    }
}

/// Opens without waiting for a medium, and without making udev look at the disk again.
pub(super) fn open(node: &Path, name: &str) -> Result<File, ReadError> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(node);
    opened.map_err(|error| read_error(name, RIGHT, &error))
}

/// What one command brought, or what the device answered instead.
pub(super) fn ask(
    device: &mut impl ScsiDevice,
    what: &str,
    command: &[u8],
    into: &mut [u8],
) -> Result<Reply, ReadError> {
    let reply = past_attentions(device, command, into).map_err(|error| read_error(what, RIGHT, &error))?;
    let failed = |why: String| Err(ReadError::Failed { message: format!("{what}: {why}") });
    // DRIVER_SENSE is no error; the others are, such as DRIVER_TIMEOUT (include/scsi/scsi.h before 5.14).
    const DRIVER_SENSE: u16 = 0x08;
    if reply.host_status != 0 || !matches!(reply.driver_status & 0x0f, 0 | DRIVER_SENSE) {
        return failed(format!("no answer (host {:#x}, driver {:#x})", reply.host_status, reply.driver_status));
    }
    match (reply.status, Sense::parse(&reply.sense)) {
        (0, _) => Ok(reply),
        (_, Some(sense)) if sense.is_unknown_command() => {
            Err(ReadError::Unsupported { message: format!("{what}: {sense}") })
        }
        // What the pass-through's "check condition" asked for is no error.
        (_, Some(sense)) if sense.is_no_error() => Ok(reply),
        (_, Some(sense)) => failed(sense.to_string()),
        (status, None) => failed(format!("status {status:#04x}")),
    }
}

/// The device reports each once, and there may be one for each thing that happened.
fn past_attentions(device: &mut impl ScsiDevice, command: &[u8], into: &mut [u8]) -> io::Result<Reply> {
    const MOST: usize = 4;
    for _ in 0..MOST {
        let reply = device.command(command, into)?;
        if !Sense::parse(&reply.sense).is_some_and(|sense| sense.is_attention()) {
            return Ok(reply);
        }
    }
    device.command(command, into)
}

/// The whole disk.
pub(super) fn read(device: &mut impl ScsiDevice) -> Result<Health, ReadError> {
    let sense = request_sense(device)?;
    if sense.as_ref().is_some_and(Sense::is_asleep) {
        return Ok(Health::Asleep);
    }
    let pages = Part::of(page(device, SUPPORTED_PAGES).map(|page| page.supported().to_vec()))?;
    let mut logs = Logs { device, supported: pages.read().cloned().unwrap_or_default() };
    Ok(Health::Scsi(ScsiReading {
        sense: sense.map(|sense| Predicted { code: sense.code, qualifier: sense.qualifier }),
        predicted: logs.parsed(INFORMATIONAL_EXCEPTIONS, LogPage::predicted)?,
        temperature: logs.parsed(TEMPERATURE, LogPage::temperature)?,
        uncorrected_errors: logs.uncorrected_errors()?,
        used_percent: logs.parsed(SOLID_STATE, LogPage::used_percent)?,
        self_test: logs.parsed(SELF_TESTS, |page| Some(page.self_test()))?,
        grown_defects: Part::of(grown_defects(logs.device))?,
        pages: pages.map(|pages| pages.len()),
    }))
}

fn request_sense(device: &mut impl ScsiDevice) -> Result<Option<Sense>, ReadError> {
    const BYTES: u8 = 252;
    let mut into = [0; BYTES as usize];
    let reply = ask(device, "REQUEST SENSE", &[REQUEST_SENSE, 0, 0, 0, BYTES, 0], &mut into);
    match reply {
        Ok(reply) => Ok(into.get(..reply.length).and_then(Sense::parse)),
        Err(ReadError::Unsupported { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Only pages that the disk lists are asked for.
struct Logs<'a, D> {
    device: &'a mut D,
    supported: Vec<u8>,
}

impl<D: ScsiDevice> Logs<'_, D> {
    fn page(&mut self, code: u8) -> Result<Option<LogPage>, ReadError> {
        if self.supported.contains(&code) { page(self.device, code).map(Some) } else { Ok(None) }
    }

    fn parsed<T>(&mut self, code: u8, parse: impl Fn(&LogPage) -> Option<T>) -> Result<Part<T>, ReadError> {
        let found = self.page(code).and_then(|page| page.as_ref().and_then(&parse).ok_or_else(absent));
        Part::of(found)
    }

    /// Of all pages together; `None` of them is none at all.
    fn uncorrected_errors(&mut self) -> Result<Part<u64>, ReadError> {
        let mut sum = Part::Absent;
        for code in ERROR_PAGES {
            match (self.parsed(code, LogPage::uncorrected_errors)?, &sum) {
                (Part::Read(more), Part::Read(so_far)) => sum = Part::Read(more.saturating_add(*so_far)),
                (Part::Read(first), _) => sum = Part::Read(first),
                (Part::Absent, _) => {}
                // A sum without one of its parts would look like a counter that went back.
                (unreadable, _) => return Ok(unreadable),
            }
        }
        Ok(sum)
    }
}

fn page(device: &mut impl ScsiDevice, code: u8) -> Result<LogPage, ReadError> {
    let mut into = [0; PAGE_BYTES as usize];
    let [high, low] = PAGE_BYTES.to_be_bytes();
    let command = [LOG_SENSE, 0, CUMULATIVE | code, 0, 0, 0, 0, high, low, 0];
    let reply = ask(device, &format!("log page {code:02x}h"), &command, &mut into)?;
    LogPage::parse(code, into.get(..reply.length).unwrap_or_default()).map_err(unbelievable)
}

/// How many sectors the disk has replaced since it left the factory: only the length of the list is read.
fn grown_defects(device: &mut impl ScsiDevice) -> Result<u64, ReadError> {
    const GROWN_LIST: u8 = 1 << 3;
    /// Sectors by cylinder, head and number: what disks that have no other know.
    const PHYSICAL_SECTOR: u8 = 5;
    const HEADER: u8 = 8;
    let mut into = [0; HEADER as usize];
    let command = [READ_DEFECT_DATA_12, GROWN_LIST | PHYSICAL_SECTOR, 0, 0, 0, 0, 0, 0, 0, HEADER, 0, 0];
    let reply = ask(device, "grown defects", &command, &mut into)?;
    let header = into.get(..reply.length).unwrap_or_default();
    log::grown_defects(header).map_err(unbelievable)
}

fn absent() -> ReadError {
    ReadError::Unsupported { message: "the page does not have it".to_owned() }
}

pub(super) fn unbelievable(error: PageError) -> ReadError {
    ReadError::Failed { message: error.to_string() }
}

#[cfg(test)]
mod tests;
