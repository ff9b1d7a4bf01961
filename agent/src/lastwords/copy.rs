//! Writes the copies: a whole new folder beside the old one, put in its place at the end.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{LastWordsError, gather::Words, remove_folder};

/// Readable for the group that the service gives us, which is the agent's.
const FILE_MODE: u32 = 0o640;
const FOLDER_MODE: u32 = 0o750;

/// The new folder in the making.
pub(super) struct Shelf(PathBuf);

impl Shelf {
    /// An empty one beside `place`.
    pub(super) fn beside(place: &Path) -> Result<Self, LastWordsError> {
        let mut name = place.as_os_str().to_owned();
        name.push(".new");
        let path = PathBuf::from(name);
        // Made by us, or not used: in a folder that others write to, another process may create it first.
        let made = remove_folder(&path).and_then(|()| DirBuilder::new().mode(FOLDER_MODE).create(&path));
        made.map_err(LastWordsError::at(&path))?;
        Ok(Self(path))
    }

    /// Files of one origin, in a folder of their own.
    pub(super) fn put(&self, origin: &str, files: &[Words]) -> Result<(), LastWordsError> {
        let root = self.0.join(origin);
        folder(&root).map_err(LastWordsError::at(&root))?;
        for words in files {
            let path = root.join(&words.path);
            write(&path, words).map_err(LastWordsError::at(&path))?;
        }
        Ok(())
    }

    /// From now on this is what stands at `place`.
    pub(super) fn take_the_place_of(self, place: &Path) -> Result<(), LastWordsError> {
        remove_folder(place).and_then(|()| fs::rename(&self.0, place)).map_err(LastWordsError::at(place))
    }
}

fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

fn write(path: &Path, words: &Words) -> io::Result<()> {
    path.parent().map_or(Ok(()), folder)?;
    let mut file = File::options().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.write_all(&words.text)?;
    // The kernel stores in a record's file time when it was written.
    words.written.map_or(Ok(()), |written| file.set_modified(SystemTime::from(written)))
}
