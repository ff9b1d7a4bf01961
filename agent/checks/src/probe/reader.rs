//! What a worker process does: blocking calls to devices, one at a time.

use std::{io, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

use super::RawReading;

/// Reads the devices of one check. Every call may hang or take the process with it.
pub trait Reader {
    /// The devices that are there now, by the names that [`Reader::read`] takes. They are subjects, too: `nvme0n1`, a PCI
    /// address, a DIMM's label.
    fn list(&mut self) -> Result<Vec<String>, ReadError>;

    /// Whether the list, once there is one, stays the same for as long as this process lives: it is not asked again.
    fn is_list_fixed(&self) -> bool {
        false
    }

    /// One device's reading, of the check's own type. A part that is not supported is left out of the reading; an
    /// error is for a device that cannot be read at all.
    fn read(&mut self, device: &str) -> Result<RawReading, ReadError>;

    /// The same, for a device whose readings go on where the last one ended: a log. `cursor` is the judge's, which saves it,
    /// so that what a worker read and its check process never judged is read once more.
    fn read_from(&mut self, device: &str, cursor: Option<&RawReading>) -> Result<RawReading, ReadError> {
        let _ = cursor;
        self.read(device)
    }

    /// Whether [`Reader::wait`] is worth calling.
    fn has_events(&self) -> bool {
        false
    }

    /// Waits for what devices report by themselves, for at most `within`; returns at once with what there is.
    fn wait(&mut self, within: Duration) -> Result<Vec<RawReading>, ReadError> {
        let _ = within;
        Ok(Vec::new())
    }
}

/// Why a device, or the list of devices, could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "kebab-case")]
pub enum ReadError {
    /// It was there a moment ago, or its driver or library is not there at all: nothing is published.
    #[error("{what} is not there")]
    Gone { what: String },
    /// The message names the missing right.
    #[error("no permission: {message}")]
    Denied { message: String },
    /// The device does not know the command: it is never asked again in this worker's life.
    #[error("not supported: {message}")]
    Unsupported { message: String },
    #[error("{message}")]
    Failed { message: String },
}

impl ReadError {
    /// Why a file of the kernel's could not be read.
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        let what = path.display().to_string();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Gone { what },
            io::ErrorKind::PermissionDenied => Self::Denied { message: format!("cannot read {what}") },
            _ => Self::Failed { message: format!("{what}: {error}") },
        }
    }
}
