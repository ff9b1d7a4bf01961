//! NVML in the worker: opened when it is needed, reopened when it does not know a GPU that the bus has.

use std::{
    ffi::OsStr,
    path::PathBuf,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use nodewell_sys::nvml::Events;
use nvml_wrapper::{Nvml, error::NvmlError};

use super::reading::XidEvent;
use crate::probe::ReadError;

/// NVML takes its list of GPUs when it starts; without persistence mode a start takes seconds, so it is rare.
const REOPEN_EVERY: Duration = Duration::from_secs(600);

/// A storm is taken in pieces, so that the check process receives it.
const MOST_AT_ONCE: u64 = 5000;

/// The library.
#[derive(Debug)]
pub(super) struct Library {
    path: Option<PathBuf>,
    // Before `nvml`: it is freed first.
    events: Option<Events>,
    nvml: Option<Rc<Nvml>>,
    /// Why it could not be opened in this round.
    open_error: Option<OpenError>,
    reopened: Option<Instant>,
    /// No GPU reports Xids, or waiting for them failed, in this round.
    event_set_failed: bool,
}

/// Why there is no NVML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpenError {
    /// The driver refuses the library.
    Mismatch,
    Other(ReadError),
}

impl Library {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, events: None, nvml: None, open_error: None, reopened: None, event_set_failed: false }
    }

    /// A new round: what failed is tried again.
    pub(super) fn begin_round(&mut self) {
        self.open_error = None;
        self.event_set_failed = self.nvml.is_some() && self.events.is_none();
    }

    /// The library, opened if need be; once in a round.
    pub(super) fn nvml(&mut self) -> Result<Rc<Nvml>, OpenError> {
        if let Some(nvml) = &self.nvml {
            return Ok(Rc::clone(nvml));
        }
        if let Some(open_error) = &self.open_error {
            return Err(open_error.clone());
        }
        match self.open() {
            Ok(nvml) => Ok(Rc::clone(self.nvml.insert(Rc::new(nvml)))),
            Err(error) => Err(self.open_error.insert(OpenError::of(&error)).clone()),
        }
    }

    fn open(&self) -> Result<Nvml, NvmlError> {
        let mut builder = Nvml::builder();
        if let Some(path) = &self.path {
            builder.lib_path(OsStr::new(path));
        }
        builder.init()
    }

    /// Closes it, so that the next question opens it with a new list of GPUs. Returns whether it did.
    pub(super) fn reopen(&mut self) -> bool {
        if self.reopened.is_some_and(|last| last.elapsed() < REOPEN_EVERY) {
            return false;
        }
        self.reopened = Some(Instant::now());
        self.close();
        true
    }

    /// Lets go of every handle.
    pub(super) fn close(&mut self) {
        self.events = None;
        self.nvml = None;
    }

    /// Watches those of `devices` that can report Xids, unless some are watched already.
    pub(super) fn watch(&mut self, devices: &[String]) {
        let (None, Some(nvml)) = (&self.events, &self.nvml) else { return };
        self.event_set_failed = true;
        let Ok(mut events) = Events::open(nvml) else { return };
        for name in devices {
            // One that is lost or does not support it leaves the others watched.
            if let Ok(device) = nvml.device_by_pci_bus_id(name.as_str()) {
                let _ = events.watch(&device, name);
            }
        }
        self.event_set_failed = events.is_idle();
        self.events = (!events.is_idle()).then_some(events);
    }

    pub(super) fn event_set_failed(&self) -> bool {
        self.event_set_failed
    }

    /// Waits for the first Xid and takes what else is there.
    pub(super) fn xid_events(&mut self, within: Duration) -> Result<Vec<XidEvent>, ReadError> {
        let Some(events) = &self.events else {
            // The caller has to wait here: it would ask again at once.
            thread::sleep(within);
            return Ok(Vec::new());
        };
        let taken = take(events, within);
        if taken.is_err() {
            // A set that fails once fails at once and always, as after the loss of a GPU: the next round makes another.
            (self.events, self.event_set_failed) = (None, true);
        }
        taken.map_err(|error| ReadError::Failed { message: format!("nvmlEventSetWait: {error}") })
    }
}

fn take(events: &Events, within: Duration) -> Result<Vec<XidEvent>, NvmlError> {
    let mut xids: Vec<XidEvent> = Vec::new();
    let mut next = events.wait(within)?;
    for _ in 0..MOST_AT_ONCE {
        let Some(event) = next else { break };
        match xids.iter_mut().find(|known| known.device == event.device && known.xid == event.xid) {
            Some(known) => known.times += 1,
            None => xids.push(XidEvent { device: event.device, xid: event.xid, times: 1 }),
        }
        // What is taken is returned; a set that fails does so again at the next wait.
        next = events.wait(Duration::ZERO).unwrap_or(None);
    }
    Ok(xids)
}

impl OpenError {
    fn of(error: &NvmlError) -> Self {
        let gone = |what: &str| Self::Other(ReadError::Gone { what: what.to_owned() });
        match error {
            NvmlError::LibRmVersionMismatch => Self::Mismatch,
            NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => gone("libnvidia-ml.so.1"),
            NvmlError::DriverNotLoaded => gone("NVIDIA's driver"),
            NvmlError::NoPermission => {
                Self::Other(ReadError::Denied { message: "NVIDIA's device files cannot be opened".to_owned() })
            }
            other => Self::Other(ReadError::Failed { message: format!("nvmlInit: {other}") }),
        }
    }

    /// As the answer for a GPU.
    pub(super) fn into_error(self) -> ReadError {
        match self {
            Self::Mismatch => {
                ReadError::Failed { message: "NVIDIA's driver and its library are of different versions".to_owned() }
            }
            Self::Other(error) => error,
        }
    }
}
