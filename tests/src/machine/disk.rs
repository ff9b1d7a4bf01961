//! A machine's disk that outlives its boots: a copy of a release's tree, with a persistent journal.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::{Release, Tree};
use crate::leftovers;

/// Gone when dropped.
#[derive(Debug)]
pub struct Disk {
    _folder: TempDir,
    root: PathBuf,
}

impl Disk {
    /// A fresh one.
    ///
    /// # Panics
    /// If there is no room for it, or no tree of this release.
    #[must_use]
    pub fn of(release: Release) -> Self {
        let tree = Tree::of(release).path().unwrap_or_else(|reason| panic!("{reason}"));
        let folder = leftovers::folder("root");
        let root = folder.path().join("root");
        assert!(Command::new("cp").arg("-a").args([&tree, &root]).status().unwrap().success());
        fs::create_dir_all(root.join("var/log/journal")).unwrap();
        Self { _folder: folder, root }
    }

    /// Where its root lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Writes a file that root alone may read, while the machine is off.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, inside: &str, content: &str) {
        let path = self.root.join(inside.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).unwrap();
    }
}
