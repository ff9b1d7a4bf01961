//! Writes the copies: a whole new folder next to the old one, which replaces it at the end.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{PstoreCollectorError, gather::RecordFile, remove_folder};

/// Readable for the group that the service gives us, which is the agent's.
const FILE_MODE: u32 = 0o640;
const FOLDER_MODE: u32 = 0o750;

/// The new folder in the making.
pub(super) struct StagingDir(PathBuf);

impl StagingDir {
    /// An empty one next to `copy`.
    pub(super) fn next_to(copy: &Path) -> Result<Self, PstoreCollectorError> {
        let mut name = copy.as_os_str().to_owned();
        name.push(".new");
        let path = PathBuf::from(name);
        // Made by us, or not used: in a folder that others write to, another process may create it first.
        let made = remove_folder(&path).and_then(|()| DirBuilder::new().mode(FOLDER_MODE).create(&path));
        made.map_err(PstoreCollectorError::at(&path))?;
        Ok(Self(path))
    }

    /// Files of one origin, in a folder of their own.
    pub(super) fn put(&self, origin: &str, files: &[RecordFile]) -> Result<(), PstoreCollectorError> {
        let root = self.0.join(origin);
        folder(&root).map_err(PstoreCollectorError::at(&root))?;
        for record_file in files {
            let path = root.join(&record_file.path);
            write(&path, record_file).map_err(PstoreCollectorError::at(&path))?;
        }
        Ok(())
    }

    /// Takes the place of what is at `copy`.
    pub(super) fn replace(self, copy: &Path) -> Result<(), PstoreCollectorError> {
        remove_folder(copy).and_then(|()| fs::rename(&self.0, copy)).map_err(PstoreCollectorError::at(copy))
    }
}

fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

fn write(path: &Path, record_file: &RecordFile) -> io::Result<()> {
    path.parent().map_or(Ok(()), folder)?;
    let mut file = File::options().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.write_all(&record_file.text)?;
    // The kernel stores in a record's file time when it was written.
    record_file.written.map_or(Ok(()), |written| file.set_modified(SystemTime::from(written)))
}
