//! `nodewell release`: a pause in which a check process closes its devices and asks nothing of them, so that a person
//! can reset them or upgrade their driver. The check process reports them as Unknown meanwhile.
//!
//! A release is a file beside the agent's socket, which only the owner of that folder can make. It has the end of the
//! release in it; a check process that starts in the meantime sees it too, and a reboot takes it away with the rest of
//! `/run`.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    check_process::Group,
    runtime::{clock, shared_file::SharedFile},
};

/// Ours is a tenth of it.
const FILE_LIMIT_BYTES: u64 = 4096;

/// The file for one check process.
#[derive(Debug, Clone)]
pub struct ReleaseFile(SharedFile);

/// A pause in which a check process has its devices closed; the content of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// By the clock that cannot be set: a release ends in time whatever happens to the wall clock.
    until_boottime_millis: u64,
    boot_id: String,
    /// For people.
    pub until: Timestamp,
}

/// Why a release cannot be made or ended.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; only the agent's user or root can release devices", path.display())]
pub struct ReleaseError {
    path: PathBuf,
    source: io::Error,
}

impl ReleaseFile {
    /// Of the check process `group` whose agent listens on `socket`.
    #[must_use]
    pub fn of(socket: &Path, group: Group) -> Self {
        Self(SharedFile::beside(socket, "released", group.as_str()))
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// From now on, for so long.
    pub fn write(&self, length: Duration) -> Result<Release, ReleaseError> {
        let release = Release::of(length);
        let content = serde_json::to_vec(&release).unwrap_or_default();
        self.0.write(&content).map_err(|source| self.error(source))?;
        Ok(release)
    }

    /// Returns whether there was one.
    pub fn remove(&self) -> Result<bool, ReleaseError> {
        self.0.remove().map_err(|source| self.error(source))
    }

    /// The release that holds now.
    #[must_use]
    pub fn now(&self) -> Option<Release> {
        let text = self.0.read(FILE_LIMIT_BYTES)?;
        serde_json::from_str::<Release>(&text).ok().filter(Release::holds)
    }

    fn error(&self, source: io::Error) -> ReleaseError {
        ReleaseError { path: self.0.path().to_owned(), source }
    }
}

impl Release {
    fn of(length: Duration) -> Self {
        let until = clock::boottime() + length;
        Self {
            until_boottime_millis: u64::try_from(until.as_millis()).unwrap_or(u64::MAX),
            boot_id: boot_id(),
            until: Timestamp::now() + length,
        }
    }

    /// The end, for people.
    pub(super) fn until_text(&self) -> String {
        self.until.strftime("%F %T UTC").to_string()
    }

    fn holds(&self) -> bool {
        self.boot_id == boot_id() && clock::boottime() < Duration::from_millis(self.until_boottime_millis)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "released until {} by `nodewell release`", self.until_text())
    }
}

fn boot_id() -> String {
    clock::boot_id().map(|id| id.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    fn file() -> (tempfile::TempDir, ReleaseFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = ReleaseFile::of(&folder.path().join("socket"), Group::Gpu);
        (folder, file)
    }

    #[test]
    fn a_release_holds_until_it_is_removed() {
        let (_folder, file) = file();
        assert_eq!(file.now(), None);
        let release = file.write(Duration::from_secs(600)).unwrap();
        assert_eq!(file.now(), Some(release));
        assert!(file.remove().unwrap());
        assert!(!file.remove().unwrap());
        assert_eq!(file.now(), None);
    }

    #[test]
    fn a_release_ends_by_itself_and_with_the_boot() {
        let (_folder, file) = file();
        file.write(Duration::ZERO).unwrap();
        assert_eq!(file.now(), None);
        let other = Release { boot_id: "another".to_owned(), ..Release::of(Duration::from_secs(600)) };
        assert!(!other.holds());
    }

    /// It is in a condition's message, beside times of other nodes.
    #[test]
    fn its_end_is_written_in_utc() {
        let until = "2026-01-01T12:00:00.5Z".parse().unwrap();
        assert_eq!(Release { until, ..Release::of(Duration::ZERO) }.until_text(), "2026-01-01 12:00:00 UTC");
    }

    #[test]
    fn garbage_and_links_are_no_release() {
        let (folder, file) = file();
        let release = file.write(Duration::from_secs(600)).unwrap();
        let path = folder.path().join("released/gpu");
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(file.now(), None, "a link may lead to any file");
        fs::remove_file(&path).unwrap();
        for garbage in ["", "{}", "nonsense", "{\"until_boottime_millis\": -1}"] {
            fs::write(&path, garbage).unwrap();
            assert_eq!(file.now(), None, "{garbage}");
        }
        assert!(release.holds());
    }

    #[test]
    fn a_folder_that_is_a_link_or_open_to_others_is_not_used() {
        let (folder, file) = file();
        let length = Duration::from_secs(600);
        let released = folder.path().join("released");
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &released).unwrap();
        assert!(file.write(length).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::remove_file(&released).unwrap();
        file.write(length).unwrap();
        fs::set_permissions(&released, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(file.now(), None);
        assert!(file.write(length).unwrap_err().to_string().contains("others may write"));
    }

    #[test]
    fn a_draft_that_is_a_link_leads_nowhere() {
        let (folder, file) = file();
        file.write(Duration::ZERO).unwrap();
        let victim = folder.path().join("victim");
        std::os::unix::fs::symlink(&victim, folder.path().join("released/gpu.new")).unwrap();
        file.write(Duration::from_secs(600)).unwrap();
        assert!(!victim.exists() && file.now().is_some());
    }
}
