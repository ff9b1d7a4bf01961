//! Asks one NVMe controller: the driver's state, then its health, error and self-test logs.

pub mod log;

use std::{
    fs::{File, OpenOptions},
    os::fd::AsFd,
};

use nodewell_sys::nvme::{AdminError, identify_controller, log_page};

use super::{
    list::{self, DiskKind, Listed},
    page::PageError,
    part::{Part, read_error},
    reading::{Identity, NvmeReading, SelfTest},
};
use crate::{
    disk::sysfs,
    probe::{ReadError, Roots},
};
use log::{ErrorEntry, HealthLog, IdentifyController};

/// Log identifiers of the NVMe base specification.
const ERROR_LOG: u8 = 0x01;
const HEALTH_LOG: u8 = 0x02;
const SELF_TEST_LOG: u8 = 0x06;
/// How many of the newest errors are looked at: more than come between two rounds of a disk that is fit for use.
const ERRORS_READ: usize = 16;
/// The kernel's check for the command (drivers/nvme/host/ioctl.c nvme_cmd_allowed).
const RIGHT: &str = "CAP_SYS_ADMIN and a readable /dev/nvme*";

/// Network volumes that clouds show as NVMe disks: their health log is blank because there is nothing to report.
const VOLUMES: [&str; 3] = ["Amazon Elastic Block Store", "nvme_card-pd", "MSFT NVMe Accelerator"];

/// What can be asked of a controller.
pub(super) trait Controller {
    fn log(&mut self, page: u8, into: &mut [u8]) -> Result<(), AdminError>;
    fn identify(&mut self, into: &mut [u8; 4096]) -> Result<(), AdminError>;
}

impl Controller for File {
    fn log(&mut self, page: u8, into: &mut [u8]) -> Result<(), AdminError> {
        log_page(self.as_fd(), page, into)
    }

    fn identify(&mut self, into: &mut [u8; 4096]) -> Result<(), AdminError> {
        identify_controller(self.as_fd(), into)
    }
}

/// The controller `name`, such as `nvme0`.
pub(super) fn read(roots: &Roots, name: &str) -> Result<(Identity, NvmeReading), ReadError> {
    let identity = list::identity(roots, &Listed { name: name.to_owned(), kind: DiskKind::Nvme });
    let folder = roots.sys.join("class/nvme").join(name);
    // Where the kernel does not report the state (before 4.8), the driver counts as at work.
    let state = sysfs::word(&folder, "state").unwrap_or_else(|| "live".to_owned());
    // What is not live is not asked: the question would wait for the reset, or for ever.
    if state != "live" {
        return Ok((identity, NvmeReading { state, ..NvmeReading::default() }));
    }
    let reading = match OpenOptions::new().read(true).open(roots.dev.join(name)) {
        Ok(mut device) => ask(&mut device, &identity.model)?,
        Err(error) => NvmeReading { health: Part::of(Err(read_error(name, RIGHT, &error)))?, ..NvmeReading::default() },
    };
    Ok((identity, NvmeReading { state, ..reading }))
}

fn ask(device: &mut impl Controller, model: &str) -> Result<NvmeReading, ReadError> {
    let identify = Part::of(identify(device))?;
    let health = Part::of(health(device, model))?;
    Ok(NvmeReading {
        state: String::new(),
        errors: Part::of(errors(device, &identify, health.read()))?,
        self_test: asked(&identify, |identify| self_test(device, identify))?,
        limits: identify.map(|identify| identify.limits),
        health,
    })
}

/// By what the controller reports of itself; what cannot be asked because that cannot be read is unreadable, too.
fn asked<T>(
    identify: &Part<IdentifyController>,
    ask: impl FnOnce(&IdentifyController) -> Result<T, ReadError>,
) -> Result<Part<T>, ReadError> {
    match identify {
        Part::Read(identify) => Part::of(ask(identify)),
        Part::Unreadable(why) => Ok(Part::Unreadable(why.clone())),
        Part::Denied(why) => Ok(Part::Denied(why.clone())),
        Part::Absent => Ok(Part::Absent),
    }
}

fn identify(device: &mut impl Controller) -> Result<IdentifyController, ReadError> {
    let mut page = [0; 4096];
    device.identify(&mut page).map_err(|error| failed("Identify", error))?;
    IdentifyController::parse(&page).map_err(unbelievable)
}

fn health(device: &mut impl Controller, model: &str) -> Result<HealthLog, ReadError> {
    let mut page = [0; log::HEALTH_BYTES];
    device.log(HEALTH_LOG, &mut page).map_err(|error| failed("health log", error))?;
    HealthLog::parse(&page).map_err(|error| match error {
        PageError::Blank { byte: 0, .. } if VOLUMES.iter().any(|volume| model.starts_with(volume)) => {
            ReadError::Unsupported { message: "a network volume keeps no health log".to_owned() }
        }
        error => unbelievable(error),
    })
}

/// Only if there are any: the log of a controller that never had an error is not asked for.
fn errors(
    device: &mut impl Controller,
    identify: &Part<IdentifyController>,
    health: Option<&HealthLog>,
) -> Result<Vec<ErrorEntry>, ReadError> {
    let Some(health) = health else {
        return Err(ReadError::Unsupported { message: "how many errors there are is not known".to_owned() });
    };
    if health.error_entries == 0 {
        return Ok(Vec::new());
    }
    // A controller that does not report how many it stores has the one that it counted.
    let entries = identify.read().map_or(1, |identify| identify.error_log_entries.clamp(1, ERRORS_READ));
    let mut page = vec![0; entries * log::ERROR_BYTES];
    device.log(ERROR_LOG, &mut page).map_err(|error| failed("error log", error))?;
    Ok(log::errors(&page))
}

/// Asked only of controllers that know self-tests: a refused question would itself be a new entry of the error log.
fn self_test(device: &mut impl Controller, identify: &IdentifyController) -> Result<Option<SelfTest>, ReadError> {
    if !identify.has_self_test {
        return Err(ReadError::Unsupported { message: "the controller has no self-test".to_owned() });
    }
    let mut page = [0; log::SELF_TEST_BYTES];
    device.log(SELF_TEST_LOG, &mut page).map_err(|error| failed("self-test log", error))?;
    log::latest_self_test(&page).map_err(unbelievable)
}

fn failed(what: &str, error: AdminError) -> ReadError {
    // Status code type in bits 10:8, status code below, "do not retry" and "more" above.
    const WITHOUT_FLAGS: u16 = 0x7ff;
    // Generic: invalid opcode, invalid field; command specific: invalid log page.
    const UNKNOWN_COMMAND: [u16; 3] = [0x001, 0x002, 0x109];
    match error {
        AdminError::Io(error) => read_error(what, RIGHT, &error),
        AdminError::Status(status) if UNKNOWN_COMMAND.contains(&(status & WITHOUT_FLAGS)) => {
            ReadError::Unsupported { message: format!("{what}: {error}") }
        }
        AdminError::Status(_) => ReadError::Failed { message: format!("{what}: {error}") },
    }
}

fn unbelievable(error: PageError) -> ReadError {
    ReadError::Failed { message: error.to_string() }
}

#[cfg(test)]
mod tests;
