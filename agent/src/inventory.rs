//! How the inventory gets to people and back, by two small files beside the socket: what the check process shows, and what a
//! person accepts.
//!
//! The check process is root's and has the accepted inventory in its own state, so it takes orders from root alone, and from
//! its own user: the agent could not give it any. `nodewell release` works the same way.

use std::{
    io,
    path::{Path, PathBuf},
};

use nodewell_model::inventory::{Acceptance, InventoryView};
use serde::{Serialize, de::DeserializeOwned};

use crate::runtime::shared_file::SharedFile;

/// Six classes of 512 components, half a kilobyte each.
const LIMIT_BYTES: u64 = 2 << 20;

/// Both files, each in a folder of its writer's.
#[derive(Debug, Clone)]
pub struct InventoryFiles {
    shown: SharedFile,
    accepted: SharedFile,
}

impl InventoryFiles {
    /// Of the agent that listens on `socket`.
    #[must_use]
    pub fn of(socket: &Path) -> Self {
        Self {
            shown: SharedFile::beside(socket, "inventory", "shown"),
            accepted: SharedFile::beside(socket, "inventory-accepted", "latest"),
        }
    }

    /// The check process shows what it sees.
    pub fn show(&self, view: &InventoryView) -> io::Result<()> {
        write(&self.shown, view)
    }

    /// What it shows; nothing before its first look.
    #[must_use]
    pub fn shown(&self) -> Option<InventoryView> {
        read(&self.shown)
    }

    /// A person accepts; the next one takes the place of one that no check process has read.
    pub fn accept(&self, acceptance: &Acceptance) -> io::Result<()> {
        write(&self.accepted, acceptance)
    }

    /// The latest that a person accepts.
    #[must_use]
    pub fn acceptance(&self) -> Option<Acceptance> {
        read(&self.accepted)
    }

    /// Where a person's acceptance lies, for errors.
    #[must_use]
    pub fn accepted_path(&self) -> PathBuf {
        self.accepted.path().to_owned()
    }
}

fn write(file: &SharedFile, value: &impl Serialize) -> io::Result<()> {
    file.write(&serde_json::to_vec(value)?)
}

/// What is not of this version is nothing.
fn read<T: DeserializeOwned>(file: &SharedFile) -> Option<T> {
    serde_json::from_str(&file.read(LIMIT_BYTES)?).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::Timestamp;

    use super::*;

    #[test]
    fn both_files_are_read_as_they_were_written_and_garbage_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = InventoryFiles::of(&folder.path().join("nodewell.sock"));
        assert_eq!((files.shown(), files.acceptance()), (None, None));
        let view = InventoryView { read: Some(Timestamp::UNIX_EPOCH), ..InventoryView::default() };
        let names = vec!["disk S1".to_owned()];
        let acceptance =
            Acceptance { boot_id: "b".to_owned(), time: Timestamp::UNIX_EPOCH, names, by: "root".to_owned() };
        files.show(&view).unwrap();
        files.accept(&acceptance).unwrap();
        assert_eq!((files.shown(), files.acceptance()), (Some(view), Some(acceptance)));
        for garbage in ["", "[]", "{\"names\": 7}", "nonsense"] {
            fs::write(files.accepted_path(), garbage).unwrap();
            assert_eq!(files.acceptance(), None, "{garbage}");
        }
    }
}
