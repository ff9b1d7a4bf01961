//! The file `boot-id` in the state directory: which boot the agent ran in last, whether it was stopped in it, when it
//! was alive, and which dumps it has reported. Under 1 KiB, replaced in one step.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use nodewell_model::BootId;
use serde::{Deserialize, Serialize};

/// What is longer was not written by us.
const FILE_LIMIT_BYTES: u64 = 4096;
/// Dumps that are not reported again: more than storage of firmware holds.
pub const REPORTED_LIMIT: usize = 32;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub boot_id: BootId,
    /// The agent was asked to stop, and has not started again since.
    pub stopped: bool,
    /// Then it ran; by the wall clock, written rarely.
    pub alive: Timestamp,
    /// Dumps that were there and judged, newest first; of 64 bits each.
    #[serde(default)]
    pub reported: Vec<String>,
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkFile(PathBuf);

impl MarkFile {
    #[must_use]
    pub fn in_state(directory: &Path) -> Self {
        Self(directory.join("boot-id"))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `None` if there is none yet. A damaged one is an error.
    pub fn read(&self) -> io::Result<Option<Mark>> {
        let file = match File::open(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = Vec::new();
        file.take(FILE_LIMIT_BYTES).read_to_end(&mut text)?;
        Ok(Some(serde_json::from_slice(&text)?))
    }

    /// Old or new, never half of one, also after a crash of the machine.
    pub fn write(&self, mark: &Mark) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        if !folder.exists() {
            DirBuilder::new().mode(0o750).create(folder)?;
        }
        let new = self.0.with_extension("new");
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(mark)?)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&new, &self.0)?;
        File::open(folder)?.sync_all()
    }
}

impl Mark {
    /// Whether the dump was judged before.
    #[must_use]
    pub fn knows(&self, dump: u64) -> bool {
        self.reported.contains(&hexadecimal(dump))
    }

    /// The dumps that are there now, newest first.
    #[must_use]
    pub fn ids(dumps: impl Iterator<Item = u64>) -> Vec<String> {
        dumps.take(REPORTED_LIMIT).map(hexadecimal).collect()
    }
}

fn hexadecimal(id: u64) -> String {
    format!("{id:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Mark {
        Mark {
            boot_id: BootId::from_bytes([7; 16]),
            stopped: false,
            alive: "2026-11-20T01:02:03Z".parse().unwrap(),
            reported: Mark::ids(0..100),
        }
    }

    #[test]
    fn what_was_written_is_read_and_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let file = MarkFile::in_state(&dir.path().join("state"));
        assert_eq!(file.read().unwrap(), None);
        file.write(&mark()).unwrap();
        file.write(&Mark { stopped: true, ..mark() }).unwrap();
        assert_eq!(file.read().unwrap(), Some(Mark { stopped: true, ..mark() }));
        assert!(fs::metadata(file.path()).unwrap().len() < 1024);
        assert!(mark().knows(31) && !mark().knows(32));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = MarkFile::in_state(dir.path());
        for damaged in [&b""[..], b"{\"boot_id\": ", &[0xff; 10_000]] {
            fs::write(file.path(), damaged).unwrap();
            assert!(file.read().is_err());
        }
        file.write(&mark()).unwrap();
        assert_eq!(file.read().unwrap(), Some(mark()));
    }

    #[test]
    fn a_state_directory_that_takes_nothing_is_an_error() {
        assert!(MarkFile::in_state(Path::new("/proc/nodewell/state")).write(&mark()).is_err());
    }
}
