//! `nodewell collect-pstore`: the root oneshot that copies what the last boot's kernel left in pstore to where the
//! agent may read it. The agent itself has no right to it.
//!
//! The originals stay where they are: they are the administrator's, and systemd-pstore's to empty.

mod copy;
mod flags;
pub mod gather;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use flags::PstoreCollectorFlags;

use copy::StagingDir;
use gather::RecordFile;

/// Where the copies are; gone with the next boot, as all of `/run`.
pub const COPY_DIR: &str = "/run/nodewell/pstore";
/// Made by the kernel from what its storage (EFI, ERST, ramoops) preserved over the reset.
const PSTORE: &str = "/sys/fs/pstore";
/// Where `systemd-pstore.service` moves it early in the boot.
const ARCHIVE: &str = "/var/lib/systemd/pstore";

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {error}; it is made by root on /run")]
pub struct PstoreCollectorError {
    path: PathBuf,
    error: io::Error,
}

impl PstoreCollectorError {
    fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self { path: path.to_owned(), error }
    }
}

/// Where the records of a boot before are, on the host or in a test's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    pub pstore: PathBuf,
    pub archive: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { pstore: PSTORE.into(), archive: ARCHIVE.into() }
    }
}

impl Roots {
    /// The two folders of a copy.
    fn of_copy(copy: &Path) -> Self {
        Self { pstore: copy.join("pstore"), archive: copy.join("archive") }
    }

    /// Everything of both, the kernel's own folder first, bounded as a whole.
    #[must_use]
    pub fn read(&self) -> PstoreRecords {
        let mut budget = gather::Budget::default();
        let pstore = gather::newest(&self.pstore, &mut budget);
        let archive = gather::newest(&self.archive, &mut budget);
        PstoreRecords { pstore, archive }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PstoreRecords {
    /// A file's time is the record's own.
    pub pstore: Vec<RecordFile>,
    /// A file's time is that of the move.
    pub archive: Vec<RecordFile>,
}

/// What the agent can read: the copy if there is one, else the originals, which takes root.
#[must_use]
pub fn readable(copy: &Path, originals: &Roots) -> PstoreRecords {
    if copy.is_dir() { Roots::of_copy(copy).read() } else { originals.read() }
}

/// Copies everything again; returns how many files there are.
pub fn run(flags: &PstoreCollectorFlags) -> Result<usize, PstoreCollectorError> {
    let records = flags.roots().read();
    let staging = StagingDir::next_to(&flags.to)?;
    staging.put("pstore", &records.pstore)?;
    staging.put("archive", &records.archive)?;
    staging.replace(&flags.to)?;
    Ok(records.pstore.len() + records.archive.len())
}

/// Removes a folder of an earlier run, if there is one.
fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
