//! Where journal files are, and why there are none to read: libsystemd opens an absent journal without an error.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::sources::SourceState;

/// The system's own, persistent and volatile (`systemd-journald.service(8)`).
const SYSTEM_ROOTS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// The directories that may have journal files, directly or in a folder for each machine id.
#[derive(Debug, Clone)]
pub(crate) struct JournalDirectory {
    roots: Vec<PathBuf>,
}

/// Which directories there are, by device and inode: another answer means that the journal has to be opened again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout(Vec<(u64, u64)>);

impl JournalDirectory {
    pub(crate) fn new(directory: Option<&Path>) -> Self {
        let roots = directory.map_or_else(|| SYSTEM_ROOTS.map(PathBuf::from).to_vec(), |one| vec![one.to_owned()]);
        Self { roots }
    }

    pub(crate) fn layout(&self) -> Layout {
        let identities = self.folders().into_iter().filter_map(|folder| {
            let metadata = folder.metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        });
        Layout(identities.collect())
    }

    /// `None` if a journal file can be read; else what is wrong and what to do.
    pub(crate) fn blindness(&self) -> Option<SourceState> {
        let mut denied = None;
        let mut present = false;
        for root in &self.roots {
            match fs::read_dir(root) {
                Ok(_) => present = true,
                Err(error) if error.kind() == ErrorKind::PermissionDenied => denied = Some(root.clone()),
                Err(_) => {}
            }
        }
        for file in self.files() {
            match File::open(&file) {
                Ok(_) => return None,
                Err(error) if error.kind() == ErrorKind::PermissionDenied => denied = Some(file),
                Err(_) => {}
            }
        }
        Some(self.why(denied.as_deref(), present))
    }

    fn why(&self, denied: Option<&Path>, present: bool) -> SourceState {
        let roots = self.roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(" and ");
        match (denied, present) {
            (Some(path), _) => SourceState::blind("PermissionDenied/journal-file", &[("path", &path.display())]),
            (None, true) => SourceState::blind("JournalEmpty", &[("directories", &roots)]),
            (None, false) => SourceState::blind("JournalMissing", &[("directories", &roots)]),
        }
    }

    /// The roots and the folders in them.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders = self.roots.clone();
        for root in &self.roots {
            folders.extend(entries(root).filter(|path| path.is_dir()));
        }
        folders
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.folders()
            .into_iter()
            .flat_map(|folder| entries(&folder).collect::<Vec<_>>())
            .filter(|path| path.extension().is_some_and(|extension| extension == OsStr::new("journal")))
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(directory: &JournalDirectory) -> Option<String> {
        match directory.blindness()? {
            SourceState::Blind { reason, .. } => Some(reason.to_string()),
            SourceState::Running => None,
        }
    }

    #[test]
    fn a_journal_is_missing_empty_or_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("journal");
        let directory = JournalDirectory::new(Some(&root));
        assert_eq!(reason(&directory).as_deref(), Some("JournalMissing"));
        let before = directory.layout();
        fs::create_dir_all(root.join("0123456789abcdef")).unwrap();
        assert_eq!(reason(&directory).as_deref(), Some("JournalEmpty"));
        assert_ne!(directory.layout(), before);
        fs::write(root.join("0123456789abcdef/system.journal"), "").unwrap();
        assert_eq!(reason(&directory), None);
    }
}
