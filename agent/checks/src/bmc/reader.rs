//! Reads the BMC by `/dev/ipmi0`, in a worker.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nodewell_sys::ipmi::Device;

use super::{
    commands::{CommandError, code, sensor_states},
    names,
    reading::{BMC, BmcReading, Question, SensorReading},
    repository::read_names,
    transport::Transport,
    walk::{Limits, LogReading, read_log},
};
use crate::probe::{RawReading, ReadError, Reader, Roots, attribute};

/// The names that udev's rules of different ages give it.
const NAMES: [&str; 3] = ["ipmi0", "ipmi/0", "ipmidev/0"];
/// An entry takes some 10 ms through a slow interface: a look takes a few seconds where much is new.
const ENTRIES: usize = 256;
/// Three or four commands for each: the names of a large server come in some six looks.
const SENSOR_RECORDS: usize = 64;
/// A command that began before this may take its own deadline more.
const TIME: Duration = Duration::from_secs(10);

/// Reads; in a worker.
#[derive(Debug)]
pub struct BmcReader {
    dev: PathBuf,
    sys: PathBuf,
}

impl BmcReader {
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { dev: roots.dev, sys: roots.sys }
    }

    fn device(&self) -> Result<PathBuf, ReadError> {
        for name in NAMES {
            let path = self.dev.join(name);
            if attribute::is_there(&path)? {
                return Ok(path);
            }
        }
        Err(ReadError::Gone { what: self.dev.join(NAMES[0]).display().to_string() })
    }
}

impl Reader for BmcReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        self.device().map(|_| vec![BMC.to_owned()])
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        self.read_from(device, None)
    }

    fn read_from(&mut self, device: &str, cursor: Option<&RawReading>) -> Result<RawReading, ReadError> {
        if device != BMC {
            return Err(ReadError::Gone { what: device.to_owned() });
        }
        let question = match cursor.map(RawReading::parse::<Question>).transpose() {
            Ok(question) => question.unwrap_or_default(),
            Err(_) => return Err(ReadError::Failed { message: "its cursor cannot be read".to_owned() }),
        };
        let path = self.device()?;
        let mut bmc = Device::open(&path).map_err(|error| cannot_open(&path, &error))?;
        let began = Instant::now();
        let limits = Limits { entries: ENTRIES, is_over: &|| began.elapsed() >= TIME };
        let mut reading = ask(&mut bmc, question, &limits)?;
        reading.modules = names::modules(&self.sys, &reading.records);
        RawReading::of(&reading)
    }
}

/// Asks for the log and then for the sensors, so that what these show is the newer; names have the time that is left.
pub(super) fn ask(bmc: &mut dyn Transport, question: Question, limits: &Limits<'_>) -> Result<BmcReading, ReadError> {
    let log = read_log(bmc, question.log, limits).map_err(read_error)?;
    let LogReading { info, is_cleared, is_whole, records, cursor } = log;
    let mut sensors = Vec::new();
    for address in question.sensors {
        if (limits.is_over)() {
            break;
        }
        // The log is read, and shall be judged, whatever one sensor does to the BMC.
        let Ok(states) = sensor_states(bmc, address.lun, address.number) else { break };
        sensors.push(SensorReading { address, states });
    }
    let names = question.names.filter(|_| !(limits.is_over)()).map(|cursor| {
        let limits = Limits { entries: SENSOR_RECORDS, is_over: limits.is_over };
        read_names(bmc, cursor, &limits).map_err(|error| error.to_string())
    });
    Ok(BmcReading {
        entries: info.entries,
        free_bytes: info.free_bytes,
        is_overflow: info.is_overflow,
        is_cleared,
        is_whole,
        records,
        log: cursor,
        sensors,
        names,
        modules: Vec::new(),
    })
}

/// A BMC without a log has nothing to judge; all else is unknown.
fn read_error(error: CommandError) -> ReadError {
    match error {
        CommandError::Refused { code: code::INVALID_COMMAND, .. } => {
            ReadError::Gone { what: "the BMC's event log".to_owned() }
        }
        error => ReadError::Failed { message: error.to_string() },
    }
}

const LATE: &str = " (where the driver was loaded after nodewell-check.service started, restart that)";

fn cannot_open(path: &Path, error: &io::Error) -> ReadError {
    match attribute::forgive_absence::<()>(path, error) {
        Ok(_) => ReadError::Gone { what: path.display().to_string() },
        // systemd looks up which devices a unit may open only at its start.
        Err(ReadError::Denied { message }) => ReadError::Denied { message: format!("{message}{LATE}") },
        Err(error) => error,
    }
}
