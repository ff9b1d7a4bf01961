//! The kernel log, read from `/dev/kmsg`: every record is seen or counted as lost, and only the kernel is heard.

mod device;
mod expect;
pub(crate) mod intake;
mod parse;
pub(crate) mod stamp;

use std::{
    fmt::Display,
    io::{self, ErrorKind, SeekFrom},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use nodewell_model::BootId;
use nodewell_time::Backoff;

use self::{
    device::{Device, Look},
    intake::Intake,
    stamp::{Arrival, ReadTime, Stamper},
};
pub use self::{
    expect::{Expectations, INJECTION_MARK},
    parse::{KmsgFields, KmsgRecord, parse},
};
use super::{
    Sink, Source, SourceState,
    wait::{LONGEST_PAUSE_SECS, PAUSES, SIGN_OF_LIFE, StateReporter, Woken, wait},
};
use crate::runtime::{Stop, clock, notify};

const KERNEL_LOG: &str = "/dev/kmsg";

/// Where the kernel log is.
#[derive(Debug)]
pub enum KmsgInput {
    Path(PathBuf),
    /// Opened by a process that may (systemd, `ListenSpecial=/dev/kmsg`), and shared with it: where it stands is
    /// whatever its last reader left. Once it fails, `otherwise` is tried in turn with it.
    Open {
        descriptor: Arc<OwnedFd>,
        otherwise: PathBuf,
    },
}

/// Which record is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KmsgStart {
    /// The oldest that the ring still has.
    #[default]
    Oldest,
    /// The first new one.
    End,
    /// The one after this; [`KmsgStart::Oldest`] if the machine has booted since.
    After { boot_id: BootId, sequence: u64 },
}

/// What to read and whom to believe.
#[derive(Debug)]
pub struct KmsgOptions {
    pub input: KmsgInput,
    /// Facilities that are listened to. The kernel's own is 0, and user space cannot write under it.
    pub facilities: Vec<u32>,
    pub start: KmsgStart,
    pub expectations: Expectations,
}

impl Default for KmsgOptions {
    fn default() -> Self {
        Self {
            input: KmsgInput::Path(KERNEL_LOG.into()),
            facilities: vec![0],
            start: KmsgStart::default(),
            expectations: Expectations::default(),
        }
    }
}

/// The source.
pub struct Kmsg {
    input: KmsgInput,
    start: KmsgStart,
    intake: Intake,
    state: StateReporter,
    backoff: Backoff,
    /// The descriptor that we were given has failed: it is the path's turn.
    passes_over_descriptor: bool,
}

impl Kmsg {
    #[must_use]
    pub fn new(options: KmsgOptions) -> Self {
        let intake = Intake {
            facilities: options.facilities,
            expectations: options.expectations,
            boot_id: clock::boot_id().unwrap_or_default(),
            newest: None,
            known_through: None,
            shows_known: true,
            met_known: false,
            stamper: Stamper::default(),
        };
        let (state, backoff) = (StateReporter::default(), PAUSES);
        Self { input: options.input, start: options.start, intake, state, backoff, passes_over_descriptor: false }
    }

    /// Opens the log and reads it until `stop` or an error.
    fn follow(&mut self, sink: &mut dyn Sink, stop: &Stop) -> io::Result<()> {
        let mut device = self.open()?;
        self.go_to_start(&mut device)?;
        self.state.report(SourceState::Running, sink);
        let mut arrival = if device.is_ring() { Arrival::Backlog } else { Arrival::Woke };
        while !stop.is_set() {
            match device.look()? {
                Look::Record(raw) => {
                    self.take(raw, arrival, sink);
                    arrival = after(arrival, &device);
                    continue;
                }
                Look::Overrun => continue,
                Look::Nothing => {}
            }
            if self.is_another_log(&device) {
                self.intake.forget_known();
                device.seek(SeekFrom::Start(0))?;
                continue;
            }
            sink.idle();
            arrival = Arrival::Woke;
            if wait(stop, &[device.fd()], Some(SIGN_OF_LIFE)) == Woken::Stopped {
                break;
            }
        }
        Ok(())
    }

    fn open(&self) -> io::Result<Device> {
        let path = match &self.input {
            KmsgInput::Path(path) => path,
            KmsgInput::Open { otherwise, .. } if self.passes_over_descriptor => otherwise,
            KmsgInput::Open { descriptor, .. } => return Device::adopt(descriptor),
        };
        open_log(path, Path::new(KERNEL_LOG))
    }

    fn take(&mut self, raw: &[u8], arrival: Arrival, sink: &mut dyn Sink) {
        let read_at = ReadTime { wall: Timestamp::now(), monotonic: clock::monotonic(), arrival };
        if self.intake.take(raw, read_at, sink) {
            self.backoff.reset();
        }
    }

    /// The first time as the options set it; after an error behind the newest record that is known.
    fn go_to_start(&mut self, device: &mut Device) -> io::Result<()> {
        if !device.is_lasting() {
            // What a FIFO had is gone, and its numbers may begin again.
            let to = if self.start == KmsgStart::End { SeekFrom::End(0) } else { SeekFrom::Start(0) };
            return device.seek(to);
        }
        // Opened again after an error, we go on behind what we have.
        if let Some(sequence) = self.intake.newest {
            self.intake.shows_known = false;
            self.start = KmsgStart::After { boot_id: self.intake.boot_id, sequence };
        }
        if let KmsgStart::After { boot_id, sequence } = self.start {
            self.intake.resume_after(boot_id, sequence);
        }
        device.seek(if self.start == KmsgStart::End { SeekFrom::End(0) } else { SeekFrom::Start(0) })
    }

    /// A file's numbers are not this machine's: without the record that was read last it is not the file of then.
    fn is_another_log(&self, device: &Device) -> bool {
        !device.is_ring() && self.intake.known_through.is_some() && !self.intake.met_known
    }

    fn blind(&self, error: &io::Error) -> SourceState {
        let input = match &self.input {
            KmsgInput::Path(path) => path.display().to_string(),
            KmsgInput::Open { otherwise, .. } if self.passes_over_descriptor => otherwise.display().to_string(),
            KmsgInput::Open { .. } => "the kernel log as systemd opened it".to_owned(),
        };
        let (log, retry) = (("log", &input as &dyn Display), ("retry", &LONGEST_PAUSE_SECS as &dyn Display));
        match error.kind() {
            ErrorKind::NotFound => SourceState::blind(missing(&input, notify::is_service()), &[log, ("error", error)]),
            ErrorKind::PermissionDenied => SourceState::blind("PermissionDenied/kernel-log", &[log, ("error", error)]),
            _ if error.get_ref().is_some_and(|inner| inner.is::<StandIn>()) => {
                SourceState::blind("KmsgMissing/stand-in", &[log])
            }
            _ => SourceState::blind("KmsgUnreadable", &[log, ("error", error), retry]),
        }
    }
}

/// What is in the place of the kernel log is something else.
#[derive(Debug, thiserror::Error)]
#[error("it is not the kernel's device")]
struct StandIn;

/// A path of the administrator's choice may have any form of log. In the place of the kernel's only that counts: a
/// container may have a FIFO, a file, `/dev/null` or a terminal there, where no record ever comes.
fn open_log(path: &Path, kernel_log: &Path) -> io::Result<Device> {
    let device = Device::open(path)?;
    if path == kernel_log && !device.is_kernels() {
        return Err(io::Error::other(StandIn));
    }
    Ok(device)
}

/// The message for a log that is not there. A service never sees the device itself (`PrivateDevices=`), only what systemd
/// passes on.
fn missing(log: &str, is_service: bool) -> &'static str {
    if is_service && log == KERNEL_LOG { "KmsgMissing/service" } else { "KmsgMissing" }
}

impl Source for Kmsg {
    fn run(mut self: Box<Self>, sink: &mut dyn Sink, stop: &Stop) {
        while !stop.is_set() {
            let Err(error) = self.follow(sink, stop) else { continue };
            let blind = self.blind(&error);
            self.state.report(blind, sink);
            self.passes_over_descriptor = !self.passes_over_descriptor;
            sink.idle();
            wait(stop, &[], Some(self.backoff.pause()));
        }
    }
}

/// What the next record is, if it follows at once. A stream's stamps may be another machine's: each is stamped on reading.
fn after(arrival: Arrival, device: &Device) -> Arrival {
    match arrival {
        Arrival::Woke if device.is_ring() => Arrival::Following,
        other => other,
    }
}

#[cfg(test)]
mod tests;
