//! A folder that only root writes, below one that it cannot trust: opened once, then used by its descriptor.
//!
//! `/var/lib/nodewell` belongs to the agent's user, who could replace `pki` by a link. So what is opened must
//! be a folder, no link, of our own user, and writable by no other user.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg, OFlag, open, openat, renameat},
    sys::stat::{FileStat, Mode, fchmod, fstat, mkdirat},
    unistd::{Gid, UnlinkatFlags, fchown, geteuid, unlinkat},
};

/// Credentials are a few kilobytes.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Who may read what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// We alone.
    Private,
    /// A group as well.
    Group(Gid),
}

impl Access {
    fn folder_mode(self) -> Mode {
        Mode::from_bits_truncate(if self == Self::Private { 0o700 } else { 0o750 })
    }

    fn file_mode(self) -> Mode {
        Mode::from_bits_truncate(if self == Self::Private { 0o600 } else { 0o640 })
    }

    fn group(self) -> Option<Gid> {
        if let Self::Group(gid) = self { Some(gid) } else { None }
    }
}

/// What is wrong with the folder or a file in it.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot {doing} {path}: {source}")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is a link, or no folder: remove it")]
    NoFolder { path: PathBuf },
    #[error("{path} can be written by others than user {uid}: remove it and enroll again")]
    NotOurs { path: PathBuf, uid: u32 },
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    access: Access,
}

impl Folder {
    /// Opens `path`, making it if it is missing; what it lies in must be there.
    pub fn open(path: &Path, access: Access) -> Result<Self, FolderError> {
        let failed = |doing| move |error: Errno| FolderError::Io { doing, path: path.to_owned(), source: error.into() };
        let (parent, name) = parent_of(path);
        let parent =
            open(parent, OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty()).map_err(failed("open what holds"))?;
        match mkdirat(&parent, name, access.folder_mode()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(failed("make")(error)),
        }
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(&parent, name, flags, Mode::empty()).map_err(|error| match error {
            Errno::ELOOP | Errno::ENOTDIR => FolderError::NoFolder { path: path.to_owned() },
            other => failed("open")(other),
        })?;
        let folder = Self { fd, path: path.to_owned(), access };
        folder.must_be_ours()?;
        folder.set_access(folder.fd.as_fd(), access.folder_mode()).map_err(failed("give to its group"))?;
        Ok(folder)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of a file; `None` if it is not there.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(self.failed("read", name, error.into())),
        };
        let mut content = Vec::new();
        File::from(fd)
            .take(FILE_LIMIT_BYTES)
            .read_to_end(&mut content)
            .map_err(|error| self.failed("read", name, error))?;
        Ok(Some(content))
    }

    /// Replaces the file by `content` in one step, durably; returns whether that changed anything.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<bool, FolderError> {
        if self.read(name)?.as_deref() == Some(content) {
            return Ok(false);
        }
        self.write_new(name, content).map_err(|error| self.failed("write", name, error))?;
        Ok(true)
    }

    /// Removes a file; returns whether it was there.
    pub fn remove(&self, name: &str) -> Result<bool, FolderError> {
        match unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(error) => Err(self.failed("remove", name, error.into())),
        }
    }

    /// Waits until no other process works in it; the lock ends with what is given back, or with the process.
    pub fn lock(&self) -> Result<Flock<File>, FolderError> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, "lock", flags, Mode::from_bits_truncate(0o600))
            .map_err(|error| self.failed("open", "lock", error.into()))?;
        Flock::lock(File::from(fd), FlockArg::LockExclusive)
            .map_err(|(_, error)| self.failed("lock", "lock", error.into()))
    }

    fn write_new(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        // Left by a process that was killed here.
        let _ = unlinkat(&self.fd, new.as_str(), UnlinkatFlags::NoRemoveDir);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(&self.fd, new.as_str(), flags, Mode::from_bits_truncate(0o600))?);
        file.write_all(content)?;
        self.set_access(file.as_fd(), self.access.file_mode())?;
        file.sync_all()?;
        renameat(&self.fd, new.as_str(), &self.fd, name)?;
        Ok(nix::unistd::fsync(&self.fd)?)
    }

    /// Group and mode as they are meant, whatever the umask.
    fn set_access(&self, fd: impl AsFd, mode: Mode) -> nix::Result<()> {
        let stat = fstat(fd.as_fd())?;
        if let Some(gid) = self.access.group()
            && stat.st_gid != gid.as_raw()
        {
            fchown(fd.as_fd(), None, Some(gid))?;
        }
        if mode_of(&stat) != mode { fchmod(fd, mode) } else { Ok(()) }
    }

    fn must_be_ours(&self) -> Result<(), FolderError> {
        let stat = fstat(&self.fd).map_err(|error| self.failed("look at", ".", error.into()))?;
        let foreign = stat.st_uid != geteuid().as_raw();
        if foreign || mode_of(&stat).intersects(Mode::S_IWGRP | Mode::S_IWOTH) {
            return Err(FolderError::NotOurs { path: self.path.clone(), uid: geteuid().as_raw() });
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str, name: &str, source: io::Error) -> FolderError {
        FolderError::Io { doing, path: self.path.join(name), source }
    }
}

fn mode_of(stat: &FileStat) -> Mode {
    Mode::from_bits_truncate(stat.st_mode & 0o7777)
}

fn parent_of(path: &Path) -> (&Path, &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    (parent.unwrap_or(Path::new(".")), path.file_name().map_or(path, Path::new))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_written_is_ours_alone_and_only_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(&root.path().join("pki"), Access::Private).unwrap();
        assert!(folder.replace("key", b"secret").unwrap());
        let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(root.path().join("pki/key")).unwrap());
        let first = inode();
        assert!(!folder.replace("key", b"secret").unwrap());
        assert_eq!(inode(), first, "the same content touches nothing");
        assert_eq!((mode(&root.path().join("pki")), mode(&root.path().join("pki/key"))), (0o700, 0o600));
        assert_eq!(folder.read("key").unwrap().as_deref(), Some(&b"secret"[..]));
        assert!(folder.remove("key").unwrap() && !folder.remove("key").unwrap());
        assert_eq!(folder.read("key").unwrap(), None);
    }

    #[test]
    fn a_group_may_read_and_not_write() {
        let root = tempfile::tempdir().unwrap();
        let group = nix::unistd::getegid();
        let folder = Folder::open(&root.path().join("identity"), Access::Group(group)).unwrap();
        folder.replace("kubeconfig", b"x").unwrap();
        let modes = (mode(&root.path().join("identity")), mode(&root.path().join("identity/kubeconfig")));
        assert_eq!(modes, (0o750, 0o640));
    }

    #[test]
    fn a_link_instead_of_it_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.path().join("pki")).unwrap();
        let refused = Folder::open(&root.path().join("pki"), Access::Private).unwrap_err();
        assert!(matches!(refused, FolderError::NoFolder { .. }), "{refused}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_linked_file_is_not_followed_either() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(&root.path().join("pki"), Access::Private).unwrap();
        let target = root.path().join("target");
        fs::write(&target, "old").unwrap();
        symlink(&target, root.path().join("pki/key")).unwrap();
        assert!(folder.read("key").is_err());
    }

    #[test]
    fn a_folder_that_others_write_is_rejected() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pki");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
        let refused = Folder::open(&path, Access::Private).unwrap_err();
        assert!(matches!(refused, FolderError::NotOurs { .. }), "{refused}");
    }

    #[test]
    fn a_folder_of_another_user_is_rejected() {
        if !geteuid().is_root() {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pki");
        fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        assert!(matches!(Folder::open(&path, Access::Private), Err(FolderError::NotOurs { .. })));
    }
}
