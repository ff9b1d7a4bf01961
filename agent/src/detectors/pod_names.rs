//! The names of pods, as the check process has written them beside the socket (`check_process::pod_names`): what the kernel's
//! messages have is a pod's uid.
//!
//! The agent does not look into the kubelet's folder by itself. It is an ordinary user, and since Kubernetes 1.29 that folder is
//! root's alone; and it is on a disk, which may hang. The file here is in memory, so that a look-up takes no time, no finding
//! waits for one, and the order of findings and cursors is as it is without names.

use std::path::Path;

use nodewell_checks::pod_names::{self, Names, PodNames};

use crate::runtime::shared_file::SharedFile;

/// The file, for its writer and its reader.
#[derive(Debug, Clone)]
pub struct PodNamesFile(SharedFile);

/// The names that the agent knows: those of the file when a uid was last looked for that it did not have.
#[derive(Debug, Clone)]
pub struct KnownPodNames {
    file: PodNamesFile,
    names: PodNames,
}

impl PodNamesFile {
    /// Of the agent that listens on `socket`.
    #[must_use]
    pub fn of(socket: &Path) -> Self {
        Self(SharedFile::beside(socket, "pods", "names"))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, names: &Names) -> std::io::Result<()> {
        self.0.write(pod_names::to_text(names).as_bytes())
    }

    fn read(&self) -> Option<Names> {
        self.0.read(pod_names::TEXT_LIMIT_BYTES).map(|text| pod_names::from_text(&text))
    }
}

impl KnownPodNames {
    #[must_use]
    pub fn new(file: PodNamesFile) -> Self {
        Self { file, names: PodNames::default() }
    }

    /// `namespace/name`; `None` for a pod that the check process does not know, or does not know yet.
    #[must_use]
    pub fn name(&self, uid: &str) -> Option<String> {
        self.names.name(uid).or_else(|| {
            self.names.replace(self.file.read()?);
            self.names.name(uid)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

    #[test]
    fn a_name_is_there_once_the_check_process_has_written_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = PodNamesFile::of(&folder.path().join("nodewell.sock"));
        let known = KnownPodNames::new(file.clone());
        assert_eq!(known.name(UID), None);
        file.write(&[(UID.to_owned(), "default/web-0".to_owned())].into()).unwrap();
        assert_eq!(known.name(UID).as_deref(), Some("default/web-0"));
        // What is known needs no file.
        std::fs::remove_file(file.path()).unwrap();
        assert_eq!((known.name(UID).as_deref(), known.name("other")), (Some("default/web-0"), None));
    }
}
